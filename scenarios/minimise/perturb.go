package minimise

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
)

// This file gets a shrunk case out of a local minimum. A fault is keyed by the call that it hits, the third write of
// that file: what is left is often there only so that this call is made at all. The same fault at another call, at
// other times, does with less.

const (
	// fewChoices are what a case should come down to.
	fewChoices = 6
	// mostRuns is after how many runs a case is left as it is, but for what can go alone; fewTrials is how often one
	// that is small is unblocked in vain.
	mostRuns, fewTrials = 1000, 60
	// carries is how many runs are spent on seating again what lost its calls, before chance is tried.
	carries = 300
	// relocations is how many calls are tried for one fault whose own is gone.
	relocations = 3
)

// carry takes each choice away and seats those that lost their calls by it again, at the call of the same kind that is
// nearest.
func (s *shrinker) carry(c cases.Case) cases.Case {
	end := s.runs + carries
	for again := true; again; {
		again = false
		for i := 0; i < len(c.Keep) && s.runs < end && !s.stops(); i++ {
			if !c.Keep[i].IsChoice() {
				continue
			}
			if less, ok := s.carried(c.Without(i, i+1), 2); ok {
				c, again = s.minimise(less, removable), true
				break
			}
		}
	}
	return c
}

// carried seats what a run does not come to any more again, at most so many choices, and reports whether it fails then.
func (s *shrinker) carried(c cases.Case, most int) (cases.Case, bool) {
	seen, fails := s.survey(c)
	if fails {
		return c, true
	}
	lost := slices.IndexFunc(c.Keep, func(k cases.Kept) bool { return k.IsChoice() && !seen.Met(k.ID) })
	if lost < 0 || most == 0 || s.stops() {
		return c, false
	}
	for _, id := range s.near(c, lost, seen) {
		if other, ok := s.carried(moved(c, lost, id), most-1); ok {
			return other, true
		}
	}
	return c, false
}

// near returns calls of the kind of a lost choice, the nearest first.
func (s *shrinker) near(c cases.Case, lost int, seen *cases.Survey) []sim.ID {
	id := c.Keep[lost].ID
	var all []sim.ID
	if cases.IsWorkload(id.Site) {
		for n := range id.Nth {
			all = append(all, sim.NewID(id.Site, id.Object, id.Nth-1-n))
		}
	}
	for _, key := range sortedMenus(seen) {
		if key.Has(c.Keep[lost].Fault) {
			all = append(all, seen.ByMenu[key]...)
		}
	}
	all = slices.DeleteFunc(all, func(o sim.ID) bool {
		return o.Site != id.Site || slices.ContainsFunc(c.Keep, func(k cases.Kept) bool { return k.ID == o })
	})
	slices.SortStableFunc(all, func(a, b sim.ID) int { return distance(a, id) - distance(b, id) })
	return all[:min(len(all), relocations)]
}

func distance(a, b sim.ID) int {
	d := int(b.Nth) - int(a.Nth)
	d = max(d, -d)
	if a.Object != b.Object {
		d += 1 << 16
	}
	return d
}

func sortedMenus(seen *cases.Survey) []cases.MenuKey {
	keys := make([]cases.MenuKey, 0, len(seen.ByMenu))
	for key := range seen.ByMenu {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b cases.MenuKey) int { return slices.Compare(a[:], b[:]) })
	return keys
}

// moved seats the i-th choice elsewhere, with the times that go with it.
func moved(c cases.Case, i int, to sim.ID) cases.Case {
	from := c.Keep[i].ID
	base := func(site string) string {
		if cases.IsWorkload(site) {
			return "workload"
		}
		head, _, _ := strings.Cut(site, "/")
		return head
	}
	c.Keep = slices.Clone(c.Keep)
	for j, k := range c.Keep {
		if k.Time && k.ID.Object == from.Object && k.ID.Nth == from.Nth && base(k.ID.Site) == base(from.Site) {
			site := k.ID.Site
			if _, part, ok := strings.Cut(site, "/"); ok {
				site = base(to.Site) + "/" + part
			}
			c.Keep[j].ID = sim.NewID(site, to.Object, to.Nth)
		}
	}
	c.Keep[i].ID = to
	return c
}

// perturb takes some choices away at random, seats faults again and draws other times, again and again, and goes on
// from what fails like before. Who draws is made from the seed, so a case is always shrunk in the same way.
func (s *shrinker) perturb(c cases.Case) cases.Case {
	seen, _ := s.survey(c)
	for vain := 0; s.runs < mostRuns && !s.stops() && (vain < fewTrials || len(c.Choices()) > fewChoices); vain++ {
		if len(c.Choices()) <= 2 {
			break
		}
		before := s.runs
		other, ok := s.stirred(c, seen)
		if s.runs == before {
			s.runs++ // a trial that was known already counts, so that this ends
		}
		if !ok {
			continue
		}
		if len(other.Choices()) < len(c.Choices()) {
			other, vain = s.minimise(other, removable), 0
		}
		c = other
		seen, _ = s.survey(c)
	}
	return c
}

// unblocked makes one trial of a case whose run came to what was seen. It reports whether it fails.
func (s *shrinker) stirred(c cases.Case, seen *cases.Survey) (cases.Case, bool) {
	less := s.lighter(c)
	if len(less.Keep) == 0 {
		return c, false
	}
	if s.draw.IntN(3) == 0 {
		return s.carried(s.disturbed(less, seen), 2)
	}
	other := s.disturbed(less, seen)
	for range s.draw.IntN(3) {
		other = s.relocate(other, seen)
	}
	return other, s.fails(other)
}

// lighter takes away up to two choices, or all that is drawn about one object of the workload.
func (s *shrinker) lighter(c cases.Case) cases.Case {
	c.Keep = slices.Clone(c.Keep)
	if k := c.Keep[s.draw.IntN(len(c.Keep))]; cases.IsWorkload(k.ID.Site) && s.draw.IntN(2) == 0 {
		c.Keep = slices.DeleteFunc(c.Keep, func(o cases.Kept) bool {
			return cases.IsWorkload(o.ID.Site) && o.ID.Object == k.ID.Object
		})
		return c
	}
	for range 1 + s.draw.IntN(2) {
		if len(c.Keep) > 1 {
			i := s.draw.IntN(len(c.Keep))
			c.Keep = slices.Delete(c.Keep, i, i+1)
		}
	}
	return c
}

// disturbed draws, as often as not, other times.
func (s *shrinker) disturbed(c cases.Case, seen *cases.Survey) cases.Case {
	if s.draw.IntN(2) == 0 || len(seen.Spans) == 0 {
		return c
	}
	if !c.Still {
		c.Times = s.draw.Uint64N(1 << 16)
		return c
	}
	long := slices.DeleteFunc(slices.Clone(seen.Spans),
		func(t cases.Span) bool { return cases.IsLatency(t.Id.Site) || t.Hi < int64(time.Second) })
	for range 1 + s.draw.IntN(2) {
		if len(long) == 0 {
			break
		}
		t := long[s.draw.IntN(len(long))]
		k := cases.Kept{ID: t.Id, Time: true, Value: s.draw.Int64N(t.Hi)}
		if s.draw.IntN(2) == 0 {
			k.Value >>= s.draw.IntN(8)
		}
		if at := slices.IndexFunc(c.Keep, func(o cases.Kept) bool { return o.ID == k.ID }); at >= 0 {
			c = c.With(at, k)
		} else {
			c.Keep = append(slices.Clone(c.Keep), k)
		}
	}
	return c
}

// relocate puts a fault of the case elsewhere: at a call of any kind that can meet it or, as often, of its own kind.
func (s *shrinker) relocate(c cases.Case, seen *cases.Survey) cases.Case {
	i := s.draw.IntN(len(c.Keep))
	k := c.Keep[i]
	if k.Fault == sim.NoFault {
		return c
	}
	ids := seen.ByMenu[seen.Menus[k.ID.Hash()]]
	if s.draw.IntN(2) == 0 {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id sim.ID) bool { return id.Site != k.ID.Site })
	}
	if len(ids) == 0 {
		return c
	}
	to := ids[s.draw.IntN(len(ids))]
	if slices.ContainsFunc(c.Keep, func(o cases.Kept) bool { return o.ID == to }) {
		return c
	}
	return moved(c, i, to)
}

// grid is the times that a case prefers.
var grid = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
	2 * time.Minute, 3 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
}

// roundTimes makes times round and short, and lets pods do what they do in the earliest slots.
func (s *shrinker) roundTimes(c cases.Case) cases.Case {
	for i := range c.Keep {
		if k := c.Keep[i]; cases.IsWorkload(k.ID.Site) && k.IsChoice() && k.ID.Nth > 0 {
			c = s.sooner(c, i)
		}
	}
	for i := range c.Keep {
		k := c.Keep[i]
		if !k.Time || k.Value < int64(time.Millisecond) {
			continue
		}
		was := time.Duration(k.Value)
		whole := was.Truncate(time.Second)
		for _, d := range append(slices.Clone(grid), whole, whole+time.Second, was.Truncate(time.Millisecond)) {
			k.Value = int64(d)
			if d > 0 && (d <= was || was > 10*time.Second && d < was+time.Second) && s.fails(c.With(i, k)) {
				c = c.With(i, k)
				break
			}
		}
	}
	if s.isShort || c.Scenario != nil {
		return c
	}
	for _, d := range grid {
		sooner := c
		isChaos := func(k cases.Kept) bool { return k.ID == cases.SetChaos }
		sooner.Keep = append(slices.DeleteFunc(slices.Clone(c.Keep), isChaos),
			cases.Kept{ID: cases.SetChaos, Value: int64(d), Time: true})
		if s.fails(sooner) {
			return sooner
		}
	}
	return c
}

func (s *shrinker) sooner(c cases.Case, i int) cases.Case {
	id := c.Keep[i].ID
	for nth := range id.Nth {
		to := sim.NewID(id.Site, id.Object, nth)
		if slices.ContainsFunc(c.Keep, func(o cases.Kept) bool { return o.ID == to }) {
			continue
		}
		if other := moved(c, i, to); s.fails(other) {
			return other
		}
	}
	return c
}
