package explore

import (
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
)

// Exhaust tells scenarios with every combination of up to Depth faults on top of their own.
type Exhaust struct {
	Scenarios []*scenarios.Scenario
	Depth     int // at least 1
	// All: no run is cut short when it comes to a state that an earlier one has come to, and what can follow is tried on top of both.
	All     bool
	Workers int // how many scenarios at the same time; the outcome is the same with any number
	// Progress is told of each scenario when it is through, in no certain order, by one goroutine at a time; nil for nobody.
	Progress func(Exhausted)
}

// Exhausted is what became of one scenario.
type Exhausted struct {
	Name      string `json:"name"`
	Generated uint64 `json:"generated"` // combinations, the one without a fault included
	Run       uint64 `json:"run"`       // of them, those that were told
	Pruned    uint64 `json:"pruned"`    // of those, the ones that were cut short: they came to a state that an earlier one had come to
	Events    uint64 `json:"events"`
	// Violation is what the first combination breaks that breaks something; nil if none does.
	Violation *scenarios.Violation `json:"violation,omitempty"`
	Case      scenarios.Case       `json:"-"` // that combination
	Stale     []string             `json:"stale,omitempty"`
}

// Failed reports whether the scenario does not run clean.
func (e *Exhausted) Failed() bool { return e.Violation != nil || len(e.Stale) > 0 }

// gcPercent lets the heap grow to many times what lives before it is collected: worlds are small and short.
const gcPercent = 1500

// Run tells the scenarios in their order, until one fails. It returns what became of each that was told to its end, or to its failure.
func (e Exhaust) Run() []Exhausted {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var (
		all    = make([]Exhausted, len(e.Scenarios))
		next   atomic.Int64
		failed atomic.Int64 // the first scenario that failed
		mu     sync.Mutex
		wait   sync.WaitGroup
	)
	failed.Store(int64(len(e.Scenarios)))
	for range max(e.Workers, 1) {
		wait.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= failed.Load() || i >= int64(len(e.Scenarios)) {
					return
				}
				all[i] = e.one(e.Scenarios[i], func() bool { return failed.Load() < i })
				mu.Lock()
				if all[i].Failed() {
					failed.Store(min(failed.Load(), i))
				}
				if e.Progress != nil && failed.Load() >= i {
					e.Progress(all[i])
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return all[:min(failed.Load()+1, int64(len(all)))]
}

// Total adds what became of scenarios.
func Total(all []Exhausted) Exhausted {
	sum := Exhausted{Name: "total"}
	for _, x := range all {
		sum.Generated += x.Generated
		sum.Run += x.Run
		sum.Pruned += x.Pruned
		sum.Events += x.Events
	}
	return sum
}

// node is one combination: a path of the tree whose root is the scenario as it is written.
type node struct {
	with []scenarios.Kept
	last sim.ID    // the point that was chosen last
	look operation // whose looks share that point; its zero value if it is no look
	deep int       // how many points were chosen
}

// states is what the runs of a scenario came to after their last faults. Those who came first have at least as many faults to come: what can follow
// is tried, or will be, on top of their faults.
type states struct {
	*scenarios.Comparer
	all map[scenarios.State]bool
}

// has notes a state, and reports whether it was there.
func (s *states) has(state func(*scenarios.Comparer) (scenarios.State, bool)) bool {
	at, ok := state(s.Comparer)
	was := s.all[at]
	if ok {
		s.all[at] = true
	}
	return ok && was
}

// operation names one operation of one life of the agent.
type operation struct {
	run uint32
	op  hal.OpID
}

// one exhausts one scenario, level by level: the smallest combination that breaks something is found first. isOver ends it early.
func (e Exhaust) one(s *scenarios.Scenario, isOver func() bool) Exhausted {
	out := Exhausted{Name: s.Name, Generated: 1}
	queue := []node{{}}
	seen := states{scenarios.NewComparer(), map[scenarios.State]bool{}}
	for len(queue) > 0 && !isOver() {
		n := queue[0]
		queue = queue[1:]
		f := finder{node: n, isDeepest: n.deep == e.Depth, isPast: n.deep == 0, looked: map[operation]bool{}}
		c := scenarios.Case{Scenario: s, Still: true, Keep: n.with}
		v := &variation{Keeper: c.Chooser(), hear: f.hear}
		play := scenarios.Play{Choices: v, Made: func(w *sim.World) { v.world = w }}
		if !e.All {
			play.Reaches = func(_ int, state func(*scenarios.Comparer) (scenarios.State, bool)) bool {
				isKnown := f.isPast && seen.has(state) && n.deep > 0
				if isKnown {
					out.Pruned++
				}
				return !isKnown
			}
		}
		res := c.Play(play).Run()
		out.Run++
		out.Events += res.Events
		if n.deep == 0 {
			out.Stale = res.Stale
		}
		if res.Violation != nil || len(out.Stale) > 0 {
			out.Violation, out.Case = res.Violation, c
			return out
		}
		out.Generated += uint64(len(f.found))
		queue = append(queue, f.found...)
	}
	return out
}

// variation makes the choices of a combination, and nothing else go wrong.
type variation struct {
	*scenarios.Keeper
	world *sim.World
	hear  func(offer) // of each fault that can be chosen
}

// PickFault implements sim.FaultChooser.
func (v *variation) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	v.hear(offer{id, faults, v.world.Caller(id), v.world.NextID})
	return v.Keeper.PickFault(id, faults, weights)
}

// finder finds the combinations that have one point more than a node, behind its last: so each set of points comes up once.
type finder struct {
	node      node
	isDeepest bool               // nothing is added to the node
	isPast    bool               // the last point of the node has come up
	looked    map[operation]bool // the operation has looked since its last effect, or its begin
	found     []node
}

func (f *finder) hear(o offer) {
	by := operation{o.caller.Run, o.caller.Op}
	isNew := true
	switch {
	case isLook(o):
		isNew = !f.looked[by]
		f.looked[by] = true
	case o.caller.Site != "":
		f.looked[by] = false
	}
	switch {
	case !f.isPast:
		f.isPast = o.id == f.node.last
		return
	case f.isDeepest:
		return
	case !isPoint(o) || !isNew || isLook(o) && f.node.deep > 0 && f.node.look == by:
		return
	}
	for _, choices := range alternatives(o) {
		n := node{with: append(slices.Clip(f.node.with), choices...), last: o.id, deep: f.node.deep + 1}
		if isLook(o) {
			n.look = by
		}
		f.found = append(f.found, n)
	}
}
