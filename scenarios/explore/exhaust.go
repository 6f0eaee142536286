package explore

import (
	"runtime/debug"
	"time"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/verdict"
)

// Exhaust tells scenarios with every combination of up to Depth faults on top of their own.
type Exhaust struct {
	Scenarios []*lang.Scenario
	Depth     int // at least 1
	// All: every combination is told to its end.
	All bool
	// Exact: what is not told again is what is known for certain, see [known]. Else a fault is told once in like
	// circumstances, see [alike]; with a Depth of more than 1 every first fault is told, and only the further ones are
	// told once. Every combination that is told at all is told to its end.
	Exact   bool
	Workers int // how many scenarios at the same time; the outcome is the same with any number
	// Budget is how long it may take, shared out among the scenarios; 0 is as long as it takes. What could not be told
	// in that time is left.
	Budget time.Duration
	// Check is one more check of all runs, at each step of the engine; nil for none.
	Check func(scenarios.View)
	// Stop ends it early when it is closed, as the end of a budget does; nil is never.
	Stop <-chan struct{}
	// Progress is told of each scenario when it is through, in no certain order, by one goroutine at a time; nil for
	// nobody.
	Progress func(Exhausted)
	// Merged is told of the sum of all scenarios when each first fault of theirs is told, as far as there was time, and
	// none of the further ones, if those are told once in like circumstances; not if one has failed by then. nil for
	// nobody.
	Merged func(Exhausted)
}

// Exhausted is what became of one scenario.
type Exhausted struct {
	Name string `json:"name"`
	// Generated is the combinations that came up, the scenario as it is written and the one without a fault included.
	Generated uint64 `json:"generated"`
	// Pruned is, of them, those that were not told: with a death after which all is as after the death of another, or
	// with a further fault in circumstances in which it is told.
	Pruned uint64 `json:"pruned"`
	Run    uint64 `json:"run"` // the others
	// of those, the ones that were cut short: they came to a state that an earlier one had come to
	Cut uint64 `json:"cut"`
	// of those that are neither, for want of time; what they would have led to did not come up
	Left   uint64 `json:"left,omitempty"`
	Events uint64 `json:"events"`
	// Violation is what the first combination breaks that breaks something; nil if none does.
	Violation *verdict.Violation `json:"violation,omitempty"`
	Case      cases.Case         `json:"-"` // that combination
	Stale     []string           `json:"stale,omitempty"`
}

// Failed reports whether the scenario does not run clean.
func (e *Exhausted) Failed() bool { return e.Violation != nil || len(e.Stale) > 0 }

// gcPercent lets the heap grow to many times what lives before it is collected: worlds are small and short. The pairs
// of the whole catalogue are some 60 MB, so it grows to a gigabyte then.
const gcPercent = 1500

// isRough: faults are told once in like circumstances.
func (e *Exhaust) isRough() bool { return !e.All && !e.Exact }

// whole is how many faults are told in all circumstances, if more than that are told once in like ones.
func (e *Exhaust) whole() int { return min(e.Depth-1, 1) }

// Run tells the scenarios in their order, until one fails. It returns what became of each that was told to its end, or
// to its failure.
//
// What comes up in all scenarios without a fault, or with a first one if there are further ones, is known before any
// fault is told that is told once: in which scenario that is does not hang on which is through first.
func (e Exhaust) Run() []Exhausted {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	r, begin := e.running(), time.Now()
	if e.isRough() {
		r.pass(e.whole(), e.Budget/2, r.merge)
		if r.hasFailed(len(r.tellings) - 1) {
			for i := range r.outcome() {
				r.tellProgress(i)
			}
			return r.outcome()
		}
		if e.Merged != nil && e.Depth > 1 {
			e.Merged(Total(r.outcome()))
		}
	}
	budget := e.Budget
	if e.Budget > 0 {
		budget = max(e.Budget-time.Since(begin), 1)
	}
	r.pass(e.Depth, budget, r.tellProgress)
	return r.outcome()
}

// Total adds what became of scenarios.
func Total(all []Exhausted) Exhausted {
	sum := Exhausted{Name: "total"}
	for _, x := range all {
		sum.Generated += x.Generated
		sum.Pruned += x.Pruned
		sum.Run += x.Run
		sum.Cut += x.Cut
		sum.Left += x.Left
		sum.Events += x.Events
	}
	return sum
}
