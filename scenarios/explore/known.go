package explore

import (
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/states"
)

// known is the states that runs of a scenario came to after their last faults, and those that deaths lead to.
// Combinations are told level by level, so those who came first have at least as many faults to come: what can follow
// is tried, or will be, on top of their faults.
//
// A run that comes to a known state is cut short. Of a death it is known before it is told to what it leads: nothing is
// left of the agent, so it is a function of the world, of the checks that watch it and of what is left of the timeline
// ([scenarios.Moment.AfterDeath]).
//
// Not a part of a state is how often a call was made before, by which the model decides where a few faults strike, so
// that both come up over a run: does a driver that dies at a call die before its effect or after it, does a stalled
// call act. A fault on top of a run that was cut short may strike there.
type known struct {
	*states.Comparer
	states map[states.State]uint64 // and the run that came to it first
	deaths map[death]bool
}

// death is a way in which the agent dies, and the state that it is the end of.
type death struct {
	how   way
	state states.State
}

type way struct {
	fault sim.Fault
	none  bool // a power cut that leaves nothing of what was not synced
}

// newKnown is for combinations of up to depth faults.
func newKnown(depth int) *known {
	return &known{states.NewComparer(depth - 1), map[states.State]uint64{}, map[death]bool{}}
}

// has notes the state of a moment of a run, and reports whether nobody has come to it, and whether another run has.
func (k *known) has(m scenarios.Moment, run uint64) (isNew, isKnown bool) {
	at, ok := m.State(k.Comparer)
	if !ok {
		return false, false
	}
	first, was := k.states[at]
	if !was {
		k.states[at] = run
	}
	return !was, was && first != run
}

// isTorn is the calls of which a death after the effect may leave a part of it, by itself.
var isTorn = map[string]bool{"tree.remove-tree": true, "files.allocate": true}

// leadsNowhereNew notes the state that a death leads to, and reports whether it was there. Of a death in the middle of
// an effect, or beside an RPC that may act, it is not known.
func (k *known) leadsNowhereNew(o offer, choices []cases.Kept) bool {
	d := death{way{choices[0].Fault, len(choices) > 1}, o.after}
	if !o.isAfter || !o.isDeath() || d.how.fault == sim.CrashAfter && (len(choices) > 1 || isTorn[o.caller.Site]) {
		return false
	}
	was := k.deaths[d]
	k.deaths[d] = true
	return was
}
