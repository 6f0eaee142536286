package world

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/coverage"
)

// Covers lets a run note what it reaches.
func (r *Run) Covers() {
	r.Cover = coverage.New()
	r.Cover.Runs = 1
	r.Cfg.Stepping = r.stepping
	r.W.OnFault(r.faulted)
	r.W.OnEffect(r.probeEffect)
}

// Judges notes that a property has something to judge.
func (r *Run) Judges(property string) {
	if r.Cover != nil {
		r.Cover.Checks[property]++
	}
}

func (r *Run) faulted(i sim.Injected) {
	site := sim.SiteOf(i.Site)
	r.Cover.Faults[coverage.FaultAt{Site: site, Fault: i.Fault}]++
	where := coverage.Tuple(coverage.SiteNumbers[site]<<coverage.TupleSite | uint64(i.Fault)<<coverage.TupleFault)
	r.Cover.Tuples[where|r.tupleOf(i.Key)]++
}

// tupleOf is the state of a rung, as bits of a tuple.
func (r *Run) tupleOf(key hal.Key) coverage.Tuple {
	t := coverage.Tuple(0)
	set := func(bit coverage.Tuple, is bool) {
		if is {
			t |= bit
		}
	}
	set(coverage.TupleUnsynced, !r.Synced)
	if r.Alive() {
		b, _ := r.Core.Belief(key)
		set(coverage.TupleWanted, b.IsWanted)
		t |= coverage.Tuple(r.Core.StateClassOf(key)) << coverage.TupleClass
	}
	p := r.Places[key]
	if p == nil {
		return t
	}
	set(coverage.TupleHeld, p.IsHeld)
	set(coverage.TupleMounted, len(r.W.MountsAt(p.Path)) > 0)
	set(coverage.TupleTouched, p.IsTouched)
	owner := r.PodOf(p.Path)
	set(coverage.TupleRunning, owner != nil && owner.IsRunning)
	for _, c := range p.Calls {
		isSetUp := c.Method == Stage || c.Method == Publish
		set(coverage.TupleSetUp, isSetUp)
		set(coverage.TupleTearDown, !isSetUp)
	}
	return t
}

// stepping is called before each step of core.
func (r *Run) stepping(c *core.Core, e core.Event) {
	c.Classify(r.H.Runtime.Now(), e, func(t core.Transition) { r.Cover.Transitions[t]++ })
	r.probeEvent(c, e)
}

// Covered is called after each step of core; first says that it has just begun.
func (r *Run) Covered(c *core.Core, first bool) {
	if first {
		r.probeBegun(c)
	}
	r.probeStepped(c)
	for _, key := range c.Decided() {
		if why := c.Reason(key); why != "" {
			r.Cover.Decisions[why]++
		}
	}
}
