package scenarios

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/coverage"
)

// covers lets a run note what it reaches.
func (r *run) covers() {
	r.cover = coverage.New()
	r.cover.Runs = 1
	r.cfg.Stepping = r.stepping
	r.w.OnFault(r.faulted)
	r.w.OnEffect(r.probeEffect)
}

// judges notes that a property has something to judge.
func (r *run) judges(property string) {
	if r.cover != nil {
		r.cover.Checks[property]++
	}
}

func (r *run) faulted(i sim.Injected) {
	site := sim.SiteOf(i.Site)
	r.cover.Faults[coverage.FaultAt{Site: site, Fault: i.Fault}]++
	r.cover.Tuples[coverage.Tuple(coverage.SiteNumbers[site]<<coverage.TupleSite|uint64(i.Fault)<<coverage.TupleFault)|r.tupleOf(i.Key)]++
}

// tupleOf is the state of a rung, as bits of a tuple.
func (r *run) tupleOf(key hal.Key) coverage.Tuple {
	t := coverage.Tuple(0)
	set := func(bit coverage.Tuple, is bool) {
		if is {
			t |= bit
		}
	}
	set(coverage.TupleUnsynced, !r.synced)
	if r.alive() {
		b, _ := r.core.Belief(key)
		set(coverage.TupleWanted, b.IsWanted)
		t |= coverage.Tuple(r.core.StateClassOf(key)) << coverage.TupleClass
	}
	p := r.places[key]
	if p == nil {
		return t
	}
	set(coverage.TupleHeld, p.isHeld)
	set(coverage.TupleMounted, len(r.w.MountsAt(p.path)) > 0)
	set(coverage.TupleTouched, p.isTouched)
	owner := r.podOf(p.path)
	set(coverage.TupleRunning, owner != nil && owner.isRunning)
	for _, c := range p.calls {
		isSetUp := c.method == stage || c.method == publish
		set(coverage.TupleSetUp, isSetUp)
		set(coverage.TupleTearDown, !isSetUp)
	}
	return t
}

// stepping is called before each step of core.
func (r *run) stepping(c *core.Core, e core.Event) {
	c.Classify(r.h.Runtime.Now(), e, func(t core.Transition) { r.cover.Transitions[t]++ })
	r.probeEvent(c, e)
}

// covered is called after each step of core; first says that it has just begun.
func (r *run) covered(c *core.Core, first bool) {
	if first {
		r.probeBegun(c)
	}
	r.probeStepped(c)
	for _, key := range c.Decided() {
		if why := c.Reason(key); why != "" {
			r.cover.Decisions[why]++
		}
	}
}
