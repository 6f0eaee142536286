package scenarios

import (
	"math/rand/v2"
	"slices"

	"github.com/volnode/volnode/hal/sim"
)

// This file gets a shrunk case out of a local minimum. A fault is keyed by the call that it hits, the third write of that file: what is left is often
// there only so that this call is made at all. The same fault at another call, at other times, does with less.

const (
	// fewChoices are told in one screen.
	fewChoices = 10
	// fewTrials is how often a case that is small is stirred in vain, manyTrials one that is not.
	fewTrials, manyTrials = 200, 4000
	// stirs is how often a case that stays large is stirred.
	stirs = 4
	// seatings is how many calls are tried for the faults of one trial.
	seatings = 6
)

// offers is what a run could have chosen: for each menu of faults where it was laid out, and the menu of each choice, by the hash of its id.
type offers struct {
	byMenu map[uint64][]sim.ID
	menus  map[uint64]uint64
}

// surveyor notes the faults that a run could have chosen.
type surveyor struct {
	sim.Chooser
	offers
}

// Pick implements sim.Chooser.
func (s *surveyor) Pick(id sim.ID, weights []uint32) int {
	if !isWorkload(id.Site) {
		menu := uint64(len(weights))
		for _, w := range weights {
			menu = menu*0x100000001b3 ^ uint64(w)
		}
		s.menus[id.Hash()] = menu
		s.byMenu[menu] = append(s.byMenu[menu], id)
	}
	return s.Chooser.Pick(id, weights)
}

// survey runs a case and reports whether it fails like before, and what else it could have chosen.
func (s *shrinker) survey(c Case) (offers, bool) {
	run := &surveyor{c.Chooser(), offers{map[uint64][]sim.ID{}, map[uint64]uint64{}}}
	s.runs++
	res := s.hunter.Run(Schedule{Seed: s.seed, Chooser: run})
	return run.offers, res.Violation != nil && res.Violation.Signature() == s.want
}

// stir takes some choices away at random, seats faults anew and draws other times, again and again, and goes on from what fails like before. Who
// draws is made from the seed, so a case is always shrunk in the same way.
func (s *shrinker) stir(c Case, nth uint64) Case {
	draw := rand.New(rand.NewPCG(s.seed, nth))
	at, _ := s.survey(c)
	for vain := 0; vain < trials(c); vain++ {
		other, ok := s.stirred(c, at, draw)
		if !ok {
			continue
		}
		if len(other.Keep) < len(c.Keep) {
			other, vain = s.minimise(other), 0
		}
		c = other
		at, _ = s.survey(c)
	}
	return s.minimise(c) // a fault that sits elsewhere may have made another one superfluous
}

func trials(c Case) int {
	switch n := len(c.Keep); {
	case n <= 1:
		return 0
	case n <= fewChoices:
		return fewTrials
	}
	return manyTrials
}

// stirred makes one trial of a case whose run offered at. It reports whether it fails.
func (s *shrinker) stirred(c Case, at offers, draw *rand.Rand) (Case, bool) {
	less := lighter(c, draw)
	if len(less.Keep) == 0 {
		return c, false
	}
	if draw.IntN(4) > 0 {
		other := disturbed(less, draw)
		for range draw.IntN(3) {
			s.seat(&other, draw.IntN(len(other.Keep)), at, at, draw)
		}
		return other, s.fails(other)
	}
	// The calls that the faults sat at may be gone with what was taken away: they need others.
	seen, fails := s.survey(less)
	if fails {
		return less, len(less.Keep) < len(c.Keep)
	}
	for range seatings {
		other := disturbed(less, draw)
		for i, k := range other.Keep {
			if _, isMet := seen.menus[k.Hash]; !isMet {
				s.seat(&other, i, at, seen, draw)
			}
		}
		if s.fails(other) {
			return other, true
		}
	}
	return c, false
}

// disturbed draws, as often as not, other times for a copy of the case.
func disturbed(c Case, draw *rand.Rand) Case {
	c.Keep = slices.Clone(c.Keep)
	if draw.IntN(2) == 0 {
		c.Times, c.Still = draw.Uint64N(1<<16), draw.IntN(3) == 0
	}
	return c
}

// lighter takes away up to three choices, or all that is drawn about one object of the workload.
func lighter(c Case, draw *rand.Rand) Case {
	c.Keep = slices.Clone(c.Keep)
	if k := c.Keep[draw.IntN(len(c.Keep))]; isWorkload(k.ID.Site) && draw.IntN(2) == 0 {
		c.Keep = slices.DeleteFunc(c.Keep, func(o Kept) bool { return isWorkload(o.ID.Site) && o.ID.Object == k.ID.Object })
		return c
	}
	for range draw.IntN(min(4, len(c.Keep))) {
		i := draw.IntN(len(c.Keep))
		c.Keep = slices.Delete(c.Keep, i, i+1)
	}
	return c
}

// seat puts a fault of the case elsewhere: at a call of any kind that can meet it or, as often, of its own kind. at knows its menu, to has the calls.
func (s *shrinker) seat(c *Case, i int, at, to offers, draw *rand.Rand) {
	k := c.Keep[i]
	ids := to.byMenu[at.menus[k.Hash]]
	if isWorkload(k.ID.Site) {
		return
	}
	if draw.IntN(2) == 0 {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id sim.ID) bool { return id.Site != k.ID.Site })
	}
	if len(ids) == 0 {
		return
	}
	id := ids[draw.IntN(len(ids))]
	if !slices.ContainsFunc(c.Keep, func(o Kept) bool { return o.Hash == id.Hash() }) {
		c.Keep[i] = Kept{ID: id, Hash: id.Hash(), Value: s.chosen(k)}
	}
}
