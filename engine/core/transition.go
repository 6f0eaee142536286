package core

import (
	"fmt"

	"github.com/volnode/volnode/hal"
)

// Standing is how a rung stands when an event comes: its state, and whether Absent is for good.
type Standing uint8

const (
	// StandsNowhere: core knows of no such rung.
	StandsNowhere Standing = iota
	StandsUnknown
	// StandsDown: Absent, and no call may bring it up again.
	StandsDown
	// StandsDoubtful: Absent, and a call may still bring it up, or a second descent is due.
	StandsDoubtful
	StandsUp

	numStandings
)

// Happening is what an event is to one rung.
type Happening uint8

const (
	HappensWanted Happening = iota // a pod wants it, perhaps with other parameters
	HappensUnwanted
	HappensGone // no container of its pod runs
	HappensLookDone
	HappensLookNotDone
	HappensLookUnknown
	HappensClimbDone
	HappensClimbNotDone
	HappensClimbUnknown
	HappensRefreshDone
	HappensRefreshNotDone
	HappensRefreshUnknown
	HappensDescendDone
	HappensDescendNotDone
	HappensDescendUnknown
	HappensAnswered
	HappensActorGone
	HappensRegistered
	HappensObserved
	HappensStirred
	HappensChildSeen
	HappensChildGone
	HappensAllSynced
	HappensRefused
	HappensWake // its own instant has come

	numHappenings
)

// ends is the first happening of an operation's end, by verb; one for each outcome follows.
var ends = [...]Happening{
	Look: HappensLookDone, Climb: HappensClimbDone, Refresh: HappensRefreshDone,
	Descend: HappensDescendDone,
}

var (
	standingNames  = [numStandings]string{"no rung", "Unknown", "Absent", "Absent in doubt", "Present"}
	happeningNames = [numHappenings]string{
		"wanted", "unwanted", "containers gone", "look done", "look not done", "look unknown", "climb done",
		"climb not done", "climb unknown",
		"refresh done", "refresh not done", "refresh unknown", "descend done", "descend not done", "descend unknown",
		"late answer", "actor gone",
		"actor registered", "observed", "stirred", "helper seen", "helper gone", "all synced", "refused", "wake",
	}
)

func (s Standing) String() string  { return standingNames[s] }
func (h Happening) String() string { return happeningNames[h] }

// Transition is one cell of the table that Step works on: an event that meets a rung. Await and Forget are about pods,
// Covered and Discovered about places, and Serves about an actor: they are in no cell.
type Transition struct {
	From Standing
	On   Happening
}

// Transitions returns all cells of the table, in a fixed order; that some cannot be is not told here.
func Transitions() []Transition {
	all := make([]Transition, 0, int(numStandings)*int(numHappenings))
	for h := range numHappenings {
		for s := range numStandings {
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

// Meets calls f with the transition of each rung that Step(now, e) would be about. It changes nothing: those who
// measure what a run has reached call it before the step.
func (c *Core) Meets(now hal.Instant, e Event, f func(Transition)) {
	rung := func(r *rung, on Happening) { f(Transition{c.standing(r), on}) }
	key := func(k hal.Key, on Happening) { rung(c.rungs[k], on) }
	switch e := e.(type) {
	case Wanted:
		c.meetsWanted(e, key)
	case Unwanted:
		if p := c.pods[e.Pod]; p != nil {
			for _, k := range p.tops {
				key(k, HappensUnwanted)
			}
		}
	case Gone:
		if p := c.pods[e.Pod]; p != nil {
			for _, r := range p.rungs {
				rung(r, HappensGone)
			}
		}
	case Completed:
		if r := c.ops[e.Op]; r != nil {
			rung(r, ends[r.op.Verb]+outcomeStep(e.Result.Outcome))
		}
	case Answered:
		if r := c.open[e.Op]; r != nil {
			rung(r, HappensAnswered)
		} else if r := c.ops[e.Op]; r != nil {
			rung(r, HappensAnswered)
		}
	case ActorGone:
		for _, r := range c.of(e.Actor) {
			rung(r, HappensActorGone)
		}
	case Registered:
		for _, r := range c.of(e.Actor) {
			rung(r, HappensRegistered)
		}
	case Observed:
		key(e.Key, HappensObserved)
	case Stirred:
		key(e.Key, HappensStirred)
	case ChildSeen:
		key(e.Key, HappensChildSeen)
	case ChildGone:
		key(e.Key, HappensChildGone)
	case AllSynced:
		for _, r := range c.sorted() {
			rung(r, HappensAllSynced)
		}
	case Refused:
		for _, id := range e.Ops {
			if r := c.ops[id]; r != nil {
				rung(r, HappensRefused)
			}
		}
	case Wake:
		for _, t := range c.timers {
			if t.at <= now {
				rung(t.r, HappensWake)
			}
		}
	case Await, Forget, Covered, Discovered, Serves:
	default:
		panic(fmt.Sprintf("core: event %T", e))
	}
}

// meetsWanted is Meets of a pod's wishes: what it wanted so far and does not name any more is not wanted, if it names
// all.
func (c *Core) meetsWanted(e Wanted, key func(hal.Key, Happening)) {
	named := map[hal.Key]bool{}
	for _, spec := range e.Rungs {
		named[spec.Key] = true
		key(spec.Key, HappensWanted)
	}
	if p := c.pods[e.Pod]; p != nil && e.Complete {
		for _, k := range p.tops {
			if !named[k] {
				key(k, HappensUnwanted)
			}
		}
	}
}

// outcomeStep orders outcomes as the happenings of an operation's end are.
func outcomeStep(o hal.Outcome) Happening {
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

func (c *Core) standing(r *rung) Standing {
	switch {
	case r == nil:
		return StandsNowhere
	case r.state == Unknown:
		return StandsUnknown
	case r.state == Present:
		return StandsUp
	case r.purged && len(r.calls) == 0:
		return StandsDown
	}
	return StandsDoubtful
}

// StandingOf returns how a rung stands.
func (c *Core) StandingOf(key hal.Key) Standing { return c.standing(c.rungs[key]) }

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
		case whyNothing, whyInFlight: // of a rung that is no more; told by the reason of the operation
		default:
			all = append(all, text)
		}
	}
	return all
}
