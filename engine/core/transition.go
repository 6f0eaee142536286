package core

import (
	"fmt"

	"github.com/volnode/volnode/hal"
)

// StateClass is the state of a rung when an event comes, and whether Absent is for good.
type StateClass uint8

const (
	// ClassNone: core knows of no such rung.
	ClassNone StateClass = iota
	// ClassUnknown: nobody knows whether it is up.
	ClassUnknown
	// ClassAbsent: Absent, and no call may bring it up again.
	ClassAbsent
	// ClassAbsentInDoubt: Absent, and a call may still bring it up, or a second teardown is due.
	ClassAbsentInDoubt
	// ClassPresent: it is up, as far as core knows.
	ClassPresent

	numStateClasses
)

// Input is what an event is to one rung.
type Input uint8

// Each is an [Event], or the end of an operation by its outcome; Wake is the one whose instant has come.
const (
	InputWanted Input = iota // a pod wants it, perhaps with other parameters
	InputUnwanted
	InputGone // no container of its pod runs
	InputInspectDone
	InputInspectNotDone
	InputInspectUnknown
	InputSetUpDone
	InputSetUpNotDone
	InputSetUpUnknown
	InputRefreshDone
	InputRefreshNotDone
	InputRefreshUnknown
	InputTearDownDone
	InputTearDownNotDone
	InputTearDownUnknown
	InputAnswered
	InputActorGone
	InputRegistered
	InputObserved
	InputUnblocked
	InputChildSeen
	InputChildGone
	InputAllSynced
	InputRefused
	InputWake // its own instant has come

	numInputs
)

// inputOfEnd is the first input of an operation's end, by verb; one for each outcome follows.
var inputOfEnd = [...]Input{
	Inspect: InputInspectDone, SetUp: InputSetUpDone, Refresh: InputRefreshDone,
	TearDown: InputTearDownDone,
}

var (
	stateClassNames = [numStateClasses]string{"no rung", "Unknown", "Absent", "Absent in doubt", "Present"}
	inputNames      = [numInputs]string{
		"wanted", "unwanted", "containers gone", "inspect done", "inspect not done", "inspect unknown", "setup done",
		"setup not done", "setup unknown",
		"refresh done", "refresh not done", "refresh unknown", "teardown done", "teardown not done", "teardown unknown",
		"late answer", "actor gone",
		"actor registered", "observed", "unblocked", "helper seen", "helper gone", "all synced", "refused", "wake",
	}
)

func (s StateClass) String() string { return stateClassNames[s] }
func (h Input) String() string      { return inputNames[h] }

// Transition is one cell of the table that Step works on: an event that meets a rung. Await and Forget are about pods,
// Covered and Discovered about places, Serves about an actor, and OwnerGone about a volume: they are in no cell.
type Transition struct {
	From StateClass
	On   Input
}

// Transitions returns all cells of the table, in a fixed order. Some of them can never happen.
func Transitions() []Transition {
	all := make([]Transition, 0, int(numStateClasses)*int(numInputs))
	for h := range numInputs {
		for s := range numStateClasses {
			all = append(all, Transition{s, h})
		}
	}
	return all
}

func (t Transition) String() string { return t.From.String() + " + " + t.On.String() }

// MarshalText prints the cell; UnmarshalText reads it.
func (t Transition) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText prints.
func (t *Transition) UnmarshalText(text []byte) error {
	for _, cell := range Transitions() {
		if cell.String() == string(text) {
			*t = cell
			return nil
		}
	}
	return fmt.Errorf("core: %q is no transition", text)
}

// Classify calls f with the transition of each rung that Step(now, e) would be about. It changes nothing: those who
// measure what a run has reached call it before the step.
func (c *Core) Classify(now hal.Instant, e Event, f func(Transition)) {
	rung := func(r *rung, on Input) { f(Transition{c.stateClass(r), on}) }
	key := func(k hal.Key, on Input) { rung(c.rungs[k], on) }
	switch e := e.(type) {
	case Wanted:
		c.classifyWanted(e, key)
	case Unwanted:
		if p := c.pods[e.Pod]; p != nil {
			for _, k := range p.tops {
				key(k, InputUnwanted)
			}
		}
	case Gone:
		if p := c.pods[e.Pod]; p != nil {
			for _, r := range p.rungs {
				rung(r, InputGone)
			}
		}
	case Completed:
		if r := c.ops[e.Op]; r != nil {
			rung(r, inputOfEnd[r.op.Verb]+outcomeStep(e.Result.Outcome))
		}
	case Answered:
		if r := c.open[e.Op]; r != nil {
			rung(r, InputAnswered)
		} else if r := c.ops[e.Op]; r != nil {
			rung(r, InputAnswered)
		}
	case ActorGone:
		for _, r := range c.of(e.Actor) {
			rung(r, InputActorGone)
		}
	case Registered:
		for _, r := range c.of(e.Actor) {
			rung(r, InputRegistered)
		}
	case Observed:
		key(e.Key, InputObserved)
	case Unblocked:
		key(e.Key, InputUnblocked)
	case ChildSeen:
		key(e.Key, InputChildSeen)
	case ChildGone:
		key(e.Key, InputChildGone)
	case AllSynced:
		for _, r := range c.sorted() {
			rung(r, InputAllSynced)
		}
	case Refused:
		for _, id := range e.Ops {
			if r := c.ops[id]; r != nil {
				rung(r, InputRefused)
			}
		}
	case Wake:
		for _, t := range c.timers {
			if t.at <= now {
				rung(t.r, InputWake)
			}
		}
	case Await, Forget, Covered, Discovered, Serves, OwnerGone, Written:
	default:
		panic(fmt.Sprintf("core: event %T", e))
	}
}

// classifyWanted is Classify of a pod's wishes: what it wanted so far and does not name any more is not wanted, if it
// names all.
func (c *Core) classifyWanted(e Wanted, key func(hal.Key, Input)) {
	named := map[hal.Key]bool{}
	for _, spec := range e.Rungs {
		named[spec.Key] = true
		key(spec.Key, InputWanted)
	}
	if p := c.pods[e.Pod]; p != nil && e.Complete {
		for _, k := range p.tops {
			if !named[k] {
				key(k, InputUnwanted)
			}
		}
	}
}

// outcomeStep orders outcomes as the inputs of an operation's end are.
func outcomeStep(o hal.Outcome) Input {
	switch o {
	case hal.Done:
		return 0
	case hal.NotDone:
		return 1
	case hal.Unknown:
		return 2
	}
	panic(fmt.Sprintf("core: outcome %d", o))
}

func (c *Core) stateClass(r *rung) StateClass {
	switch {
	case r == nil:
		return ClassNone
	case r.state == Unknown:
		return ClassUnknown
	case r.state == Present:
		return ClassPresent
	case r.trust == clean && len(r.calls) == 0:
		return ClassAbsent
	}
	return ClassAbsentInDoubt
}

// StateClassOf returns the state class of a rung.
func (c *Core) StateClassOf(key hal.Key) StateClass { return c.stateClass(c.rungs[key]) }

// Reason returns the kind of reason, one of [Reasons], of the operation in flight on a rung, or of there being none; ""
// if core knows of no such rung.
func (c *Core) Reason(key hal.Key) string {
	r := c.rungs[key]
	switch {
	case r == nil:
		return ""
	case r.op != nil:
		return whyTexts[r.op.why]
	}
	return whyTexts[r.next.why]
}

// Reasons returns the kinds of reasons that an operation, or a wait, can have, with %s in place of a rung's key.
func Reasons() []string {
	var all []string
	for w, text := range whyTexts {
		switch why(w) {
		case whyNothing, whyInFlight: // for a removed rung; Reason returns the reason of the operation instead
		default:
			all = append(all, text)
		}
	}
	return all
}
