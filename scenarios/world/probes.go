package world

import (
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/coverage"
)

// reaches notes a probe of a run that covers.
func (r *Run) reaches(p coverage.Probe) {
	r.Cover.Probes[p]++
}

// probeEffect looks at an effect after the checks have.
func (r *Run) probeEffect(e sim.Effect) {
	p := r.Places[e.Key]
	if p == nil {
		return
	}
	isSetUp := e.Method == Stage || e.Method == Publish
	switch {
	case e.Kind == sim.EffectActed && e.Late && isSetUp:
		r.reaches(coverage.LateSetUp)
	case e.Kind == sim.EffectActed && e.Late:
		r.reaches(coverage.LateTearDown)
	case e.Kind == sim.EffectSent:
		for _, c := range p.Calls {
			switch {
			case c.Id == e.Call:
			case c.Method == e.Method && !isSetUp:
				r.reaches(coverage.TearDownRepeated)
			case Contrary[c.Method] == e.Method && !isSetUp:
				r.reaches(coverage.SetUpUndone)
			}
		}
		r.probePublish(p, &e)
	}
}

// probePublish looks at who else has a volume that is published.
func (r *Run) probePublish(p *Place, e *sim.Effect) {
	if e.Method != Publish {
		return
	}
	for _, q := range r.List {
		switch {
		case q == p || !q.IsPublish || q.Driver != p.Driver || q.Volume != p.Volume:
		case q.IsHeld:
			r.reaches(coverage.SecondUser)
		case r.Exclusive[p.Driver+"^"+p.Volume]:
			r.reaches(coverage.ClaimPassed)
		}
	}
}

// fullJournal begins the reason of an operation for which the journal has no room.
const fullJournal = "the journal is full"

// probeEvent looks at an event that core is about to take in.
func (r *Run) probeEvent(c *core.Core, e core.Event) {
	r.probing.ended, r.probing.event = 0, nil
	switch e := e.(type) {
	case core.Answered:
		r.probing.event = e
	case core.ActorGone:
		r.probing.event = e
	case core.Refused:
		if strings.HasPrefix(e.Reason, fullJournal) {
			r.reaches(coverage.JournalFull)
		}
	case core.Completed:
		if e.Result.BelowUnknown {
			r.reaches(coverage.DriverDenies)
		}
		if e.Result.Answer == core.Final {
			r.probing.event = e
		}
	}
	if r.probing.event != nil {
		r.probing.ended = r.openCalls(c)
	}
}

// probing is the event that core is taking in, if it may end the wait for a call.
type probing struct {
	event core.Event // nil for others
	ended int        // calls that were waited for before
}

// openCalls counts the calls without a known end whose bound is still to come, at most one for each rung and direction.
func (r *Run) openCalls(c *core.Core) int {
	n, now := 0, r.H.Runtime.Now()
	c.Beliefs(func(b core.Belief) {
		for _, bound := range [...]hal.Instant{b.SetUpOpen, b.TearDownOpen} {
			if bound > now {
				n++
			}
		}
	})
	return n
}

// probeStepped looks at what an event has changed.
func (r *Run) probeStepped(c *core.Core) {
	if r.probing.event == nil || r.openCalls(c) >= r.probing.ended {
		return
	}
	switch r.probing.event.(type) {
	case core.Answered:
		r.reaches(coverage.EndByAnswer)
	case core.ActorGone:
		r.reaches(coverage.EndByDeath)
	case core.Completed:
		r.reaches(coverage.EndByAborted)
	}
}

// probeBegun looks at what a start believes.
func (r *Run) probeBegun(c *core.Core) {
	c.Beliefs(func(b core.Belief) {
		switch {
		case b.HasChild:
			r.Cover.Transitions[core.Transition{From: c.StateClassOf(b.Key), On: core.InputChildSeen}]++
		case b.State == core.Present:
			r.reaches(coverage.StartAdopts)
		case b.State == core.Unknown:
			r.reaches(coverage.StartDoubts)
		}
	})
}

// Probes notes which probes an event of the engine reaches.
func (r *Run) Probes(e engine.Event) {
	without := 0
	switch e := e.(type) {
	case engine.JournalDamaged:
		r.reaches(coverage.JournalDamaged)
	case engine.JournalUnwritten:
		r.reaches(coverage.JournalRefuses)
	case engine.StartFailed:
		r.reaches(coverage.StartFails)
	case engine.VolumeChanged:
		r.reaches(coverage.ForeignChange)
	case engine.VolumeBlocked:
		r.reaches(coverage.VolumeBlocked)
	case engine.RegistrationFailed:
		r.reaches(coverage.RegistrationFails)
	case engine.Started:
		without = e.WithoutRecord
	case engine.ListedAgain:
		without = e.WithoutRecord
	}
	if without > 0 {
		r.reaches(coverage.StartFindsOrphan)
	}
}
