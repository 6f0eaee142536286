// Package minimise takes the choices of a failing run away until none can go, and tells people what is left: a
// sentence, a timeline, what each choice does, and where two runs of one case part.
package minimise

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/verdict"
)

// Shrunk is what became of a failing run.
type Shrunk struct {
	Case      cases.Case
	Choices   int // of the whole run
	Runs      int // that it took
	Violation *verdict.Violation
	Equal     int // replays of three whose trace is the same
	CPU       time.Duration
	InsteadOf uint64 // the seed that was asked for, if that of the case is another, which comes down to less; else 0
	// Difference is where a replay that is not equal parts from the first; nil if all are equal.
	Difference *Difference
	// StoppedEarly: the budget was used up before nothing more could go. The case is the smallest that was found by
	// then.
	StoppedEarly bool
}

// shrinker takes choices away as long as the same property breaks at the same site.
type shrinker struct {
	hunter  *scenarios.Hunter
	want    string
	isShort bool // the property broke before calm
	runs    int
	known   map[uint64]bool // verdicts, by the hash of the case
	draw    *rand.Rand
	end     time.Time // when the budget is used up; the zero time for no budget
	isOver  bool      // it was used up while something was left to try
}

// ShrinkBudget is how long people may be kept waiting for a smaller case than there is.
const ShrinkBudget = 3 * time.Minute

const (
	// manyChoices is more than people read.
	manyChoices = 10
	// neighbours is how many seeds are run for another that breaks the same.
	neighbours = 2500
)

// Shrink minimises a failing seed within a time, of the clock on the wall; 0 is no limit. It returns nil if the seed
// does not fail, and where two runs of it part if they are not the same. What a schedule comes down to is a matter of
// its luck. Where that is too much to read, the seeds behind it are asked for one that breaks the same property at the
// same site, and comes down to less.
func Shrink(h *scenarios.Hunter, seed uint64, budget time.Duration) (*Shrunk, *Difference) {
	end := endOf(budget)
	best, d := shrinkSeed(h, seed, end)
	if best == nil {
		return nil, d
	}
	began, runs, spent := scenarios.CPUTime(), best.Runs, best.CPU
	for next := seed + 1; next <= seed+neighbours && len(best.Case.Choices()) > manyChoices && !isPast(end); next++ {
		runs++
		res := h.Run(scenarios.Schedule{Seed: next})
		if res.Violation == nil || res.Violation.Signature() != best.Violation.Signature() {
			continue
		}
		other, _ := shrinkSeed(h, next, end)
		if other == nil {
			continue
		}
		runs += other.Runs
		if len(other.Case.Choices()) < len(best.Case.Choices()) {
			other.InsteadOf = seed
			best = other
		}
	}
	best.Runs, best.CPU = runs, spent+scenarios.CPUTime()-began
	return best, nil
}

func shrinkSeed(h *scenarios.Hunter, seed uint64, end time.Time) (*Shrunk, *Difference) {
	return shrink(h, cases.Case{Seed: seed}, func() sim.Chooser { return sim.Seeded(seed) }, end)
}

// ShrinkCase minimises a failing case further: a scenario, with choices or without. What it returns is what [Shrink]
// returns.
func ShrinkCase(h *scenarios.Hunter, c cases.Case, budget time.Duration) (*Shrunk, *Difference) {
	return shrink(h, c, nil, endOf(budget))
}

// endOf is when a budget that begins now is used up; the zero time for none.
func endOf(budget time.Duration) time.Time {
	if budget <= 0 {
		return time.Time{}
	}
	return time.Now().Add(budget)
}

func isPast(end time.Time) bool { return !end.IsZero() && !time.Now().Before(end) }

// shrink records what a run chooses, and shrinks that. drawn makes the choices of the first run; nil is the case
// itself.
func shrink(h *scenarios.Hunter, c cases.Case, drawn func() sim.Chooser, end time.Time) (*Shrunk, *Difference) {
	defer debug.SetGCPercent(debug.SetGCPercent(scenarios.GCPercent))
	began := scenarios.CPUTime()
	whole := cases.SurveyOf(c, made(drawn))
	failed := play(h, c, whole)
	again := 1
	if failed.Violation == nil {
		again = replays
	}
	if _, d := replay(h, c, drawn, &failed, again); d != nil || failed.Violation == nil {
		return nil, d
	}
	s := &shrinker{
		hunter: h, want: failed.Violation.Signature(), isShort: c.Scenario == nil &&
			time.Duration(failed.Violation.At) < c.Setup().Chaos,
		runs: 1, known: map[uint64]bool{}, draw: rand.New(rand.NewPCG(c.Seed, 0)), end: end,
	}
	if drawn != nil {
		c.Keep = slices.DeleteFunc(slices.Clone(whole.Chose), func(k cases.Kept) bool { return k.Time })
	}
	all := len(c.Choices())
	out, d := AsItIs(h, s.reduce(c))
	if out == nil { // what failed a moment ago does not
		if last := play(h, c, nil); d == nil {
			d = parts(&failed, &last)
		}
		return nil, d
	}
	out.Choices, out.Runs, out.CPU, out.StoppedEarly = all, s.runs, scenarios.CPUTime()-began, s.isOver
	return out, nil
}

// AsItIs takes a case for shrunk as it is, and replays it three times. What it returns is what [Shrink] returns.
func AsItIs(h *scenarios.Hunter, c cases.Case) (*Shrunk, *Difference) {
	began := scenarios.CPUTime()
	first := play(h, c, nil)
	if first.Violation == nil {
		_, d := replay(h, c, nil, &first, replays)
		return nil, d
	}
	s := &Shrunk{Case: c, Choices: len(c.Choices()), Runs: 4, Violation: first.Violation}
	s.Equal, s.Difference = replay(h, c, nil, &first, 3)
	s.CPU = scenarios.CPUTime() - began
	return s, nil
}

// reduce is the whole way from what a seed chose to what is needed.
func (s *shrinker) reduce(c cases.Case) cases.Case {
	if c.Scenario != nil {
		c = s.dropLines(c)
	}
	c = s.least(s.dropGroups(c))
	c = s.dropSeed(c)
	isShort := s.isShort
	s.isShort = false // what is left is quickly run to the end, where it may break the same with less
	c = s.minimise(s.dropGroups(c), removable)
	c = s.carry(s.weaken(c))
	s.isShort = isShort
	c = s.perturb(c)
	s.isShort = false
	c = s.minimise(c, removable)
	if c.Still {
		c = s.minimise(s.roundTimes(s.weaken(c)), removable)
	}
	return inOrder(s, c)
}

// removable: what makes a case shorter by being kept is not.
func removable(k cases.Kept) bool {
	return k.ID.Site != cases.SiteWithout && k.ID.Hash() != cases.SetChaos.Hash()
}

// fails runs a case, unless it has been run. Once the budget is used up no other case fails: everything stays as it is.
func (s *shrinker) fails(c cases.Case) bool {
	verdict, isKnown := s.known[s.key(c)]
	if !isKnown && !s.stops() {
		s.runs++
		verdict = s.note(c, s.hunter.Rerun(c, scenarios.Watch{IsShort: s.isShort}))
	}
	return verdict
}

// key is of a verdict: one of a run that ended before calm is another.
func (s *shrinker) key(c cases.Case) uint64 {
	if s.isShort {
		return ^hash(c)
	}
	return hash(c)
}

// stops reports whether the budget is used up.
func (s *shrinker) stops() bool {
	s.isOver = s.isOver || isPast(s.end)
	return s.isOver
}

func (s *shrinker) note(c cases.Case, res scenarios.Result) bool {
	verdict := res.Violation != nil && res.Violation.Signature() == s.want
	s.known[s.key(c)] = verdict
	return verdict
}

// hash is the same for cases that keep the same, in any order.
func hash(c cases.Case) uint64 {
	h := c.Times * 3
	if c.Still {
		h++
	}
	for i := range c.Keep {
		k := &c.Keep[i]
		x := k.ID.Hash() ^ uint64(k.Value)*0x9e3779b97f4a7c15 ^ uint64(k.Fault)<<56
		x ^= x >> 29
		x *= 0xbf58476d1ce4e5b9
		h += x ^ x>>32
	}
	return h
}

// survey runs a case, and tells what it came to and whether it fails.
func (s *shrinker) survey(c cases.Case) (*cases.Survey, bool) {
	seen := cases.SurveyOf(c, nil)
	s.runs++
	return seen, s.note(c, s.hunter.Rerun(c, scenarios.Watch{Chooser: seen, IsShort: s.isShort}))
}

// dropGroups takes away what belongs together: all faults of a kind, all that a pod or a driver does, all faults at one
// site.
func (s *shrinker) dropGroups(c cases.Case) cases.Case {
	for _, of := range []func(cases.Kept) string{
		func(k cases.Kept) string { return k.Fault.String() },
		func(k cases.Kept) string {
			if cases.IsWorkload(k.ID.Site) {
				return k.ID.Object
			}
			return ""
		},
		func(k cases.Kept) string {
			site, _, _ := strings.Cut(k.ID.Site, "/")
			return site
		},
	} {
		for _, name := range groups(c.Keep, of) {
			less := c
			less.Keep = slices.DeleteFunc(slices.Clone(c.Keep),
				func(k cases.Kept) bool { return of(k) == name && removable(k) })
			if s.fails(less) {
				c = less
			}
		}
	}
	return c
}

// groups are the names of the groups of two and more, the largest first.
func groups(kept []cases.Kept, of func(cases.Kept) string) []string {
	count := map[string]int{}
	var names []string
	for _, k := range kept {
		name := of(k)
		if name == "" || !removable(k) {
			continue
		}
		if count[name]++; count[name] == 2 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	return names
}

// orders is in how many orders a case is minimised that does not become small.
const orders = 6

// least minimises from the front, from the back and in orders that are drawn, and takes the smallest result: what can't
// be taken away alone depends on what went before it.
func (s *shrinker) least(c cases.Case) cases.Case {
	best := c
	for n := range orders {
		other := c
		other.Keep = slices.Clone(c.Keep)
		switch n {
		case 0:
		case 1:
			slices.Reverse(other.Keep)
		default:
			s.draw.Shuffle(len(other.Keep), func(i, j int) {
				other.Keep[i], other.Keep[j] = other.Keep[j], other.Keep[i]
			})
		}
		other = s.minimise(other, cases.Kept.IsChoice)
		if len(other.Keep) < len(best.Keep) {
			best = other
		}
		if len(best.Keep) <= fewChoices || s.runs > mostRuns/2 {
			break
		}
	}
	return best
}

// minimise is delta debugging: ever smaller parts of what is eligible are taken away, at last single choices, until
// none can go.
func (s *shrinker) minimise(c cases.Case, eligible func(cases.Kept) bool) cases.Case {
	n := 0
	for _, k := range c.Keep {
		if eligible(k) {
			n++
		}
	}
	for size := max(n/2, 1); ; {
		gone := false
		for i := 0; ; {
			less, cut := cut(c, i, size, eligible)
			if cut == 0 {
				break
			}
			if s.fails(less) {
				c, gone = less, true
				continue
			}
			i += size
		}
		switch {
		case size > 1:
			size /= 2
		case !gone:
			return c
		}
	}
}

// cut takes the i-th eligible choice away and those after it, n in all. It returns how many it took.
func cut(c cases.Case, i, n int, eligible func(cases.Kept) bool) (cases.Case, int) {
	less := c
	less.Keep = make([]cases.Kept, 0, len(c.Keep))
	at, cut := 0, 0
	for _, k := range c.Keep {
		if eligible(k) {
			at++
			if at > i && at <= i+n {
				cut++
				continue
			}
		}
		less.Keep = append(less.Keep, k)
	}
	return less, cut
}

// dropSeed makes a case that no longer hangs on its seed: the setup and the times that it needs are kept, the others
// are the plainest and the shortest.
func (s *shrinker) dropSeed(c cases.Case) cases.Case {
	if c.Still || c.Scenario != nil {
		c.Still = true
		return c
	}
	seen, _ := s.survey(c)
	for _, times := range []func(cases.Kept) bool{
		func(cases.Kept) bool { return false },
		func(k cases.Kept) bool { return !cases.IsLatency(k.ID.Site) },
		func(cases.Kept) bool { return true },
	} {
		still := cases.Case{Seed: c.Seed, Still: true, Keep: c.Setup().Settings()}
		for _, k := range seen.Chose {
			if !k.Time || times(k) {
				still.Keep = append(still.Keep, k)
			}
		}
		if s.fails(still) {
			return s.minimise(still, func(k cases.Kept) bool { return !k.IsChoice() })
		}
	}
	return c
}

// milder is the faults of a call, and the deaths at a call, from the mildest on.
var milder = [][]sim.Fault{
	{
		sim.Slow, sim.Refused, sim.FailNone, sim.ErrorNone, sim.NoSpace, sim.FailPart, sim.ErrorPart, sim.FailFull,
		sim.ErrorFull, sim.Lost,
		sim.Dropped, sim.Late, sim.Stalled, sim.Intercepted, sim.Doubled, sim.Hang, sim.DriverCrash,
	},
	{sim.CrashBefore, sim.CrashAfter, sim.CrashReplied, sim.Reboot, sim.PowerCut},
}

// weaken replaces faults by milder ones of the same call, and other picks by what comes before them, where that fails
// too.
func (s *shrinker) weaken(c cases.Case) cases.Case {
	seen, _ := s.survey(c)
	for i := range c.Keep {
		k := c.Keep[i]
		if !k.IsChoice() {
			continue
		}
		for _, other := range weaker(k, seen.Menus[k.ID.Hash()]) {
			if s.fails(c.With(i, other)) {
				c = c.With(i, other)
				break
			}
		}
	}
	return c
}

func weaker(k cases.Kept, menu cases.MenuKey) []cases.Kept {
	var all []cases.Kept
	for _, faults := range milder {
		at := slices.Index(faults, k.Fault)
		for i := 0; i < at; i++ {
			if menu.Has(faults[i]) {
				all = append(all, cases.Kept{ID: k.ID, Fault: faults[i]})
			}
		}
	}
	if k.Fault == sim.NoFault {
		for v := int64(1); v < k.Value; v++ {
			all = append(all, cases.Kept{ID: k.ID, Value: v})
		}
	}
	return all
}

// inOrder sorts what is kept as the run comes to it; the settings come first.
func inOrder(s *shrinker, c cases.Case) cases.Case {
	seen, _ := s.survey(c)
	at := make(map[uint64]int, len(seen.Chose))
	for i, k := range seen.Chose {
		at[k.ID.Hash()] = i + 1
	}
	c.Keep = slices.Clone(c.Keep)
	slices.SortStableFunc(c.Keep, func(a, b cases.Kept) int { return at[a.ID.Hash()] - at[b.ID.Hash()] })
	return c
}

// dropLines leaves out what a scenario can do without: its faults, and what it says that nothing else looks at.
func (s *shrinker) dropLines(c cases.Case) cases.Case {
	var lines []int
	for _, f := range c.Scenario.Faults {
		lines = append(lines, f.Line)
	}
	if !strings.HasPrefix(s.want, "expect ") { // else it could fail because what it expects was never asked for
		for _, step := range c.Scenario.Steps {
			lines = append(lines, step.Line)
		}
	}
	for _, line := range lines {
		less := c
		less.Keep = append(slices.Clone(c.Keep), cases.WithoutLine(line))
		if s.fails(less) {
			c = less
		}
	}
	return c
}
