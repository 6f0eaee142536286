package explore

import (
	"math/rand/v2"
	"slices"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// node is one combination: a path of the tree whose root is the scenario with nothing more going wrong.
type node struct {
	from  *node // without what was added last; nil for the root
	added []cases.Kept
	look  operation // whose looks share the point of what was added; its zero value if it is no inspection
	deep  int       // how many points were chosen
	// met is what was new about the circumstances of the point when it came up; nil once that is settled: see alike.
	met []uint64
}

func rootNode() *node { return &node{added: []cases.Kept{cases.Steady()}} }

// with is all choices of the combination.
func (n *node) with() []cases.Kept {
	if n.from == nil {
		return n.added
	}
	return append(slices.Clip(n.from.with()), n.added...)
}

// last is the point that was chosen last; its zero value for the root.
func (n *node) last() sim.ID {
	if n.from == nil {
		return sim.ID{}
	}
	return n.added[0].ID
}

// telling is one scenario as its combinations are told, level by level: the smallest that breaks something is found
// first.
type telling struct {
	s     *lang.Scenario
	out   Exhausted
	depth int    // of the deepest combinations that will be told
	known *known // nil if all are told to their ends
	check func(scenarios.View)
	alike *alike // nil if faults are told in all circumstances
	mixes bool   // the order of a level is mixed: there may be time for a part of it
	level []*node
}

func (e *Exhaust) telling(s *lang.Scenario) *telling {
	t := &telling{s: s, check: e.Check, depth: e.Depth, mixes: e.Budget > 0, level: []*node{rootNode()}}
	t.out = Exhausted{Name: s.Name, Generated: 1, Case: cases.Case{Scenario: s}}
	switch {
	case e.All:
	case e.isRough():
		t.alike = newAlike(s, e.whole())
	default:
		t.known = newKnown(e.Depth)
	}
	return t
}

// asWritten tells the scenario with nothing added.
func (t *telling) asWritten() {
	written := scenarios.Play{Scenario: t.s, Check: t.check}.Run()
	t.out.Generated++
	t.out.Run++
	t.out.Events, t.out.Violation, t.out.Stale = written.Events, written.Violation, written.Stale
}

// through tells the combinations of up to depth faults that were not told yet. isOver ends it early.
func (t *telling) through(depth int, buffers *scenarios.Buffers, isOver func() bool) {
	if t.out.Run == 0 {
		t.asWritten()
	}
	for len(t.level) > 0 && t.level[0].deep <= depth && !t.out.Failed() && !isOver() {
		var next []*node
		for len(t.level) > 0 && !t.out.Failed() && !isOver() {
			next = append(next, t.tell(t.level[0], buffers)...)
			t.level = t.level[1:]
		}
		if len(t.level) > 0 {
			t.level = append(t.level, next...) // of two levels: this is the end
			break
		}
		if t.level = next; len(next) > 0 && next[0].deep > 1 {
			t.mix()
		}
	}
	t.out.Left = uint64(len(t.level))
}

// tell tells one combination, and returns those with one point more.
func (t *telling) tell(n *node, buffers *scenarios.Buffers) []*node {
	f := newFinder(t.s, n, n.deep == t.depth)
	f.check = t.check
	f.buffers, f.alike, f.known, f.run = buffers, t.alike, t.known, t.out.Run
	res := f.play().Run()
	t.out.Run++
	t.out.Events += res.Events
	t.out.Generated += uint64(len(f.found)) + f.pruned
	t.out.Pruned += f.pruned
	if f.isCut {
		t.out.Cut++
	}
	if res.Violation != nil {
		t.out.Violation, t.out.Case = res.Violation, f.subject
	}
	return f.found
}

// mix puts the combinations of a level in an order in which the first ones, which is all that a budget may have time
// for, are some of each kind: of a few first faults with all the second ones that follow much less would be learnt. The
// order is always the same.
func (t *telling) mix() {
	if !t.mixes {
		return
	}
	rand.New(rand.NewPCG(uint64(len(t.level)), 0)).Shuffle(len(t.level),
		func(i, j int) { t.level[i], t.level[j] = t.level[j], t.level[i] })
}
