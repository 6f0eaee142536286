package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// Probe is one rare thing that some run must come to: a hunt that never does is not as good as it looks.
type Probe uint8

// The probes.
const (
	// LateSetUp: a stage or publish acted after its deadline, or after the death of the agent that sent it.
	LateSetUp Probe = iota
	// LateTearDown: the same of an unstage or unpublish.
	LateTearDown
	// SetUpUndone: the contrary of a setup was sent while that setup could still act.
	SetUpUndone
	// TearDownRepeated: a teardown was sent again while an earlier one could still act.
	TearDownRepeated
	// EndByAnswer: a late answer ended the wait for a call.
	EndByAnswer
	// EndByDeath: the death of a driver ended the wait for a call.
	EndByDeath
	// EndByAborted: a repeat that was aborted, and a still later answer, ended the wait for a call.
	EndByAborted
	// DriverDenies: a driver denied what a rung stands on.
	DriverDenies
	// StartAdopts: a start took what stands for up, by its record.
	StartAdopts
	// StartDoubts: a start knew of a rung that was neither up nor down for sure.
	StartDoubts
	// StartFindsOrphan: a start found a trace of a rung of which no record told.
	StartFindsOrphan
	// StartFails: a start could not read the node, and was tried again.
	StartFails
	// JournalDamaged: a start found the journal damaged.
	JournalDamaged
	// JournalRefuses: a batch could not be written, and its operations were not started.
	JournalRefuses
	// JournalFull: the journal had no room for another ladder.
	JournalFull
	// ForeignChange: what is at a place was changed behind the agent's back.
	ForeignChange
	// ClaimPassed: a volume of a ReadWriteOncePod claim was published for another pod than before.
	ClaimPassed
	// SecondUser: a volume was published for a pod while another pod had it.
	SecondUser
	// VolumeBlocked: a volume was blocked, for its objects or its driver.
	VolumeBlocked
	// RegistrationFails: a driver that registers was not taken in.
	RegistrationFails

	numProbes
)

var probeNames = [numProbes]string{
	"a setup acts late", "a teardown acts late", "a setup that may act is undone", "a teardown that may act is repeated",
	"a late answer ends a wait",
	"the death of a driver ends a wait", "an aborted repeat ends a wait", "a driver denies what a rung stands on",
	"a start adopts",
	"a start is in doubt", "a start finds a stray", "a start fails", "the journal is damaged",
	"the journal can't be written", "the journal is full",
	"a foreign change is noticed", "a claim is passed on", "a volume has a second user", "a volume is blocked",
	"a registration fails",
}

// Probes returns all probes.
func Probes() []Probe {
	all := make([]Probe, numProbes)
	for i := range all {
		all[i] = Probe(i)
	}
	return all
}

func (p Probe) String() string { return probeNames[p] }

// MarshalText prints it; UnmarshalText reads it.
func (p Probe) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText prints.
func (p *Probe) UnmarshalText(text []byte) error {
	i := slices.Index(probeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no probe", text)
	}
	*p = Probe(i)
	return nil
}

// reaches notes a probe of a run that covers.
func (r *run) reaches(p Probe) {
	r.cover.Probes[p]++
}

// probeEffect looks at an effect after the checks have.
func (r *run) probeEffect(e sim.Effect) {
	p := r.places[e.Key]
	if p == nil {
		return
	}
	isSetUp := e.Method == stage || e.Method == publish
	switch {
	case e.Kind == sim.EffectActed && e.Late && isSetUp:
		r.reaches(LateSetUp)
	case e.Kind == sim.EffectActed && e.Late:
		r.reaches(LateTearDown)
	case e.Kind == sim.EffectSent:
		for _, c := range p.calls {
			switch {
			case c.id == e.Call:
			case c.method == e.Method && !isSetUp:
				r.reaches(TearDownRepeated)
			case contrary[c.method] == e.Method && !isSetUp:
				r.reaches(SetUpUndone)
			}
		}
		r.probePublish(p, &e)
	}
}

// probePublish looks at who else has a volume that is published.
func (r *run) probePublish(p *place, e *sim.Effect) {
	if e.Method != publish {
		return
	}
	for _, q := range r.list {
		switch {
		case q == p || !q.isPublish || q.driver != p.driver || q.volume != p.volume:
		case q.isHeld:
			r.reaches(SecondUser)
		case r.exclusive[p.driver+"^"+p.volume]:
			r.reaches(ClaimPassed)
		}
	}
}

// fullJournal begins the reason of an operation for which the journal has no room.
const fullJournal = "the journal is full"

// probeEvent looks at an event that core is about to take in.
func (r *run) probeEvent(c *core.Core, e core.Event) {
	r.probing.ended, r.probing.event = 0, nil
	switch e := e.(type) {
	case core.Answered:
		r.probing.event = e
	case core.ActorGone:
		r.probing.event = e
	case core.Refused:
		if strings.HasPrefix(e.Reason, fullJournal) {
			r.reaches(JournalFull)
		}
	case core.Completed:
		if e.Result.BelowUnknown {
			r.reaches(DriverDenies)
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
func (r *run) openCalls(c *core.Core) int {
	n, now := 0, r.h.Runtime.Now()
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
func (r *run) probeStepped(c *core.Core) {
	if r.probing.event == nil || r.openCalls(c) >= r.probing.ended {
		return
	}
	switch r.probing.event.(type) {
	case core.Answered:
		r.reaches(EndByAnswer)
	case core.ActorGone:
		r.reaches(EndByDeath)
	case core.Completed:
		r.reaches(EndByAborted)
	}
}

// probeBegun looks at what a start believes.
func (r *run) probeBegun(c *core.Core) {
	c.Beliefs(func(b core.Belief) {
		switch {
		case b.HasChild:
			r.cover.Transitions[core.Transition{From: c.StateClassOf(b.Key), On: core.InputChildSeen}]++
		case b.State == core.Present:
			r.reaches(StartAdopts)
		case b.State == core.Unknown:
			r.reaches(StartDoubts)
		}
	})
}

// probeLines are the probes that a line of the engine's log shows.
var probeLines = map[string]Probe{
	"journal damaged": JournalDamaged, "journal not written; volnode starts nothing": JournalRefuses,
	"start failed; volnode tries again": StartFails,
	"volume changed by someone else":    ForeignChange, "volume blocked": VolumeBlocked,
	"registration failed": RegistrationFails,
}

// probeLine looks at a line of the engine's log.
func (r *run) probeLine(e engine.Entry) {
	if p, ok := probeLines[e.Message]; ok {
		r.reaches(p)
	}
	if i := slices.Index(e.Fields, "without-record"); i >= 0 && e.Fields[i+1] != "0" {
		r.reaches(StartFindsOrphan)
	}
}
