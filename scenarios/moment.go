package scenarios

import (
	"reflect"
	"slices"
	"time"

	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/states"
)

// Moment is one moment of a play. It is valid until the play goes on.
type Moment struct{ t *scenario }

// State is the state of the play; false if something is under way, which no field tells.
func (m Moment) State(c *states.Comparer) (states.State, bool) { return m.t.state(c, false) }

// AfterDeath is the state in which the play would be if the agent died now, or the node with it; false if something is
// under way that outlives them.
func (m Moment) AfterDeath(c *states.Comparer) (states.State, bool) { return m.t.state(c, true) }

// At is the time since the play began.
func (m Moment) At() time.Duration { return m.t.W.Now().Sub(0) }

// IsDue: the next statement comes now, or calm.
func (m Moment) IsDue() bool { return m.t.W.Now() >= m.t.end }

// IsCalm: what is left is to see whether all comes to rest.
func (m Moment) IsCalm() bool { return m.t.next == len(m.t.S.Steps) }

// state follows a run.
func (t *scenario) state(c *states.Comparer, dies bool) (states.State, bool) {
	events, isAtRest := t.W.Upcoming(dies)
	if !isAtRest {
		return 0, false
	}
	f := states.Facts{
		Now: t.W.Now(), Boot: t.W.BootID(), Events: events, IsDead: dies || !t.W.AgentLives(),
		IsCovered: mountsOver(t.S), Secrets: t.R.Leaks,
	}
	f.IsUnread = f.IsDead || t.R.Core == nil || t.R.Root.WoundedAt != 0
	if t.R.H.Runtime != nil {
		f.Agent = t.R.H.Runtime.Now()
	}
	if !f.IsDead && t.R.Core != nil {
		f.Steps = t.R.Core.Seq()
	}
	v, ok := c.Begin(f)
	if !ok {
		return 0, false
	}
	v.Number(uint64(t.next))
	v.Number(uint64(t.end.Sub(f.Now)))
	v.Flag(t.hasActed)
	if !t.play.IsSteady && t.hasDates(t.next) {
		v.Number(uint64(f.Now))
	}
	v.Value(reflect.ValueOf(t.met))
	t.remembered(v)
	v.Value(reflect.ValueOf(t.R))
	return v.Sum(), true
}

// remembered adds what the expectations that are still to come, and are waited for, make of the past: of calls their
// number, of the log whether a line has the text.
func (t *scenario) remembered(v *states.Walk) {
	for i := t.next; i < len(t.S.Steps); i++ {
		if s := &t.S.Steps[i]; s.Within && (slices.Contains(s.Words, "calls") || slices.Contains(s.Words, "log")) {
			v.Plain(t.does(s))
		}
	}
}

// hasDates: a statement from there on comes at a time since the beginning.
func (t *scenario) hasDates(step int) bool {
	return slices.ContainsFunc(t.S.Steps[step:], func(s lang.Step) bool { return !s.Since })
}

// mountsOver: somebody mounts over a volume in the scenario.
func mountsOver(s *lang.Scenario) bool {
	return slices.ContainsFunc(s.Steps, func(s lang.Step) bool { return s.Words[0] == "mount" })
}
