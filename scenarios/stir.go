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
	fewTrials, manyTrials = 300, 4000
)

// offer is a choice of a fault that a run came to.
type offer struct {
	id   sim.ID
	menu uint64 // equal for choices among the same faults
}

// surveyor notes the faults that a run could have chosen.
type surveyor struct {
	sim.Chooser
	offers []offer
}

// Pick implements sim.Chooser.
func (s *surveyor) Pick(id sim.ID, weights []uint32) int {
	if !isWorkload(id.Site) {
		s.offers = append(s.offers, offer{id, menuOf(weights)})
	}
	return s.Chooser.Pick(id, weights)
}

func menuOf(weights []uint32) uint64 {
	h := uint64(len(weights))
	for _, w := range weights {
		h = h*0x100000001b3 ^ uint64(w)
	}
	return h
}

// places is where the faults of a case might be instead, by menu, and the menu of each fault.
type places struct {
	byMenu map[uint64][]sim.ID
	menus  map[uint64]uint64 // of a choice, by its hash
}

// survey looks at the run of a case and at the one without its faults.
func (s *shrinker) survey(c Case) places {
	calm := c
	calm.Keep = slices.DeleteFunc(slices.Clone(c.Keep), func(k Kept) bool { return !isWorkload(k.ID.Site) })
	all := places{map[uint64][]sim.ID{}, map[uint64]uint64{}}
	for _, of := range []Case{c, calm} {
		run := &surveyor{Chooser: of.Chooser()}
		s.runs++
		s.hunter.Run(Schedule{Seed: s.seed, Chooser: run})
		for _, o := range run.offers {
			if _, known := all.menus[o.id.Hash()]; !known {
				all.menus[o.id.Hash()] = o.menu
				all.byMenu[o.menu] = append(all.byMenu[o.menu], o.id)
			}
		}
	}
	return all
}

// stir takes some choices away at random, moves a fault and draws other times, again and again, and goes on from what fails like before.
// Who draws is made from the seed, so a case is always shrunk in the same way.
func (s *shrinker) stir(c Case) Case {
	draw := rand.New(rand.NewPCG(s.seed, uint64(len(c.Keep))))
	for vain, at := 0, s.survey(c); vain < trials(c); vain++ {
		other := s.stirred(c, at, draw)
		if !s.fails(other) {
			continue
		}
		if len(other.Keep) < len(c.Keep) {
			other, vain = s.minimise(other), 0
		}
		c, at = other, s.survey(other)
	}
	return s.minimise(c) // a fault that has moved may have made another one superfluous
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

func (s *shrinker) stirred(c Case, at places, draw *rand.Rand) Case {
	c.Keep = slices.Clone(c.Keep)
	less := draw.IntN(min(4, len(c.Keep)))
	for range less {
		i := draw.IntN(len(c.Keep))
		c.Keep = slices.Delete(c.Keep, i, i+1)
	}
	isMoved := false
	if i := draw.IntN(len(c.Keep)); !isWorkload(c.Keep[i].ID.Site) && draw.IntN(4) > 0 {
		k := c.Keep[i]
		if ids := at.byMenu[at.menus[k.Hash]]; len(ids) > 1 {
			id := ids[draw.IntN(len(ids))]
			if !slices.ContainsFunc(c.Keep, func(o Kept) bool { return o.Hash == id.Hash() }) {
				c.Keep[i], isMoved = Kept{ID: id, Hash: id.Hash(), Value: s.chosen(k)}, true
			}
		}
	}
	if less == 0 && !isMoved || draw.IntN(2) == 0 {
		c.Times, c.Still = draw.Uint64N(1<<16), draw.IntN(3) == 0
	}
	return c
}
