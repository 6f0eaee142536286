package coverage

import (
	"fmt"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/verdict"
)

// This file is what there is to reach, and why some of it is never reached.

// Item is one thing that a run can reach.
type Item struct {
	Kind string `json:"kind"` // "fault", "site", "check", "transition", "decision", "probe"
	Name string `json:"name"`
}

func (i Item) String() string { return i.Kind + " " + i.Name }

// Gap is an item that was never reached.
type Gap struct {
	Item
	// the reason that is known for it; "" for none: then more is to be run, or the worlds are too small
	Why string `json:"why"`
}

// Items returns all that there is to reach, in a fixed order: the lists are those of the simulator's and the engine's
// own types.
func Items() []Item {
	var all []Item
	add := func(kind string, name fmt.Stringer) { all = append(all, Item{kind, name.String()}) }
	for _, f := range sim.Faults() {
		add("fault", f)
	}
	for _, s := range sim.Sites() {
		all = append(all, Item{"site", s.Name})
	}
	for _, p := range verdict.Properties {
		all = append(all, Item{"check", p.Code})
	}
	for _, t := range core.Transitions() {
		add("transition", t)
	}
	for _, why := range core.Reasons() {
		all = append(all, Item{"decision", why})
	}
	for _, p := range Probes() {
		add("probe", p)
	}
	return all
}

// reached is how often each item was reached.
func (c *Coverage) reached() map[Item]uint64 {
	n := map[Item]uint64{}
	for at, k := range c.Faults {
		n[Item{"fault", at.Fault.String()}] += k
		n[Item{"site", at.Site}] += k
	}
	for code, k := range c.Checks {
		n[Item{"check", code}] = k
	}
	for t, k := range c.Transitions {
		n[Item{"transition", t.String()}] = k
	}
	for why, k := range c.Decisions {
		n[Item{"decision", why}] = k
	}
	for p, k := range c.Probes {
		n[Item{"probe", p.String()}] = k
	}
	return n
}

// Gaps returns what was never reached, in the order of [Items].
func (c *Coverage) Gaps() []Gap {
	var gaps []Gap
	n := c.reached()
	for _, i := range Items() {
		if n[i] == 0 {
			gaps = append(gaps, Gap{i, reasonFor(i)})
		}
	}
	return gaps
}

// Refuted returns the items that were reached although there is a reason why that can't be.
func (c *Coverage) Refuted() []Gap {
	var wrong []Gap
	n := c.reached()
	for _, i := range Items() {
		if why := reasonFor(i); why != "" && n[i] > 0 {
			wrong = append(wrong, Gap{i, why})
		}
	}
	return wrong
}

// Reasons are why single items are never reached.
var Reasons = map[Item]string{
	{"site", "csi.create"}:                  "the engine is on the node and calls no controller",
	{"site", "csi.delete"}:                  "the engine is on the node and calls no controller",
	{"site", "csi.controller-publish"}:      "the engine is on the node and calls no controller",
	{"site", "csi.controller-unpublish"}:    "the engine is on the node and calls no controller",
	{"site", "csi.controller-capabilities"}: "the engine is on the node and calls no controller",
	{"site", "csi.plugin-capabilities"}:     "the engine asks for the node's capabilities only",
	{"site", "csi.probe"}: "the engine asks a driver for its name and its node, which proves as " +
		"much as a probe",
	{"site", "multipath.resize"}: "the engine enlarges no disk of an array",
	{"site", "multipath.fail"}:   "the engine leaves it to multipathd how long what is written waits for a path",
}

// reasonFor returns why an item is never reached, "" if it should be.
func reasonFor(i Item) string {
	if i.Kind != "transition" {
		return Reasons[i]
	}
	var t core.Transition
	if t.UnmarshalText([]byte(i.Name)) != nil {
		return ""
	}
	return impossible(t)
}

// impossible says which law keeps a transition from being, "" if it can be.
func impossible(t core.Transition) string {
	if t.From == core.ClassNone && t.On != core.InputWanted {
		return "only a rung that there is is told of it; an operation or a helper keeps its rung"
	}
	if t.On >= core.InputInspectDone && t.On <= core.InputTearDownUnknown {
		return impossibleEnd(t)
	}
	isDoubtful := t.From == core.ClassAbsentInDoubt
	switch {
	case t.On == core.InputUnblocked && isDoubtful:
		return "a setup is blocked by what is at its path, which leaves its rung Unknown (laws 3.4)"
	case (t.On == core.InputChildSeen || t.On == core.InputChildGone) && isDoubtful:
		return "a start knows of no rung that is down but by its record, and then it is Unknown (laws 5.4)"
	}
	return ""
}

// impossibleEnd is impossible of the end of an operation.
func impossibleEnd(t core.Transition) string {
	switch t.On {
	case core.InputInspectUnknown:
		return "a look changes nothing: it ends Done or NotDone (laws 3.1)"
	case core.InputInspectDone, core.InputInspectNotDone:
		if t.From == core.ClassAbsentInDoubt {
			return "what was there was looked at before the first intent (laws 3.4); later a look would take a " +
				"late setup's mount for it"
		}
	case core.InputSetUpDone, core.InputSetUpNotDone, core.InputSetUpUnknown:
		if t.From == core.ClassPresent {
			return "a setup begins on a rung that is not up, and nothing else brings it up meanwhile (laws 2.2)"
		}
	case core.InputRefreshDone, core.InputRefreshNotDone, core.InputRefreshUnknown:
		if t.From != core.ClassPresent && t.From != core.ClassUnknown {
			return "a refresh begins on a rung that is up, and nothing takes it down meanwhile (laws 2.2)"
		}
	default: // a teardown
		if t.From == core.ClassAbsent {
			return "what is down for good is not taken down (laws 4.4)"
		}
	}
	return ""
}
