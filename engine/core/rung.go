package core

import (
	"time"

	"github.com/volnode/volnode/hal"
)

// PodUID is a pod's metadata.uid.
type PodUID string

// Kind names what sort of thing a rung is, and so the verbs that move it: "csi.stage". Core only prints and compares
// it.
type Kind string

// OnChange says what core does with a rung that is up when a parameter changes.
type OnChange uint8

const (
	// OnChangeKeep: nothing; the value of the last setup stays in force until the next rebuild.
	OnChangeKeep OnChange = iota
	// OnChangeRefresh: the setup is repeated on the rung that is up.
	OnChangeRefresh
	// OnChangeRebuild: core tears down what depends on the rung, then the rung, and sets it up; never under a live
	// container.
	OnChangeRebuild
	// OnChangeGrow: the rung is enlarged in place.
	OnChangeGrow
	// OnChangeVoid: as OnChangeRebuild, and for good: core rebuilds the rung even if the former value is wanted again,
	// and also if it does not know the former value.
	OnChangeVoid
)

func (c OnChange) String() string {
	return [...]string{"keep", "refresh", "rebuild", "grow", "void"}[c]
}

// Param is one input of a setup. Values hold no secrets.
type Param struct {
	Name, Value string
	OnChange    OnChange
}

// Fact is one thing that an operation learnt. Later operations need it, also after a restart.
type Fact struct{ Name, Value string }

// Limits are the times of a rung's operations.
type Limits struct {
	SetUp    time.Duration // time-out of setup and refresh; 0 is none (class syscall: it ends when it ends)
	TearDown time.Duration // time-out of tear down
	// LateWindow is Z: how long after its deadline a call without a known end may still act. Meaningful where a
	// time-out exists.
	LateWindow time.Duration
	// ActsAfterReply: the operator says that the actor acts after it answers. Then core fences every answer that leaves
	// the effect open. Core may also find this out itself: see [Core.ActsAfterReply].
	ActsAfterReply bool
}

// Rung is one thing that can be up or down on this node. The ladder of a plugin makes it.
type Rung struct {
	Key  hal.Key // injective over everything that the rung is
	Kind Kind
	Pod  PodUID // the pod whose containers use it; "" for what pods share

	Below []hal.Key // what it depends on, directly

	Want []Param // sorted by name

	// Awaits is why it may not be set up yet, for people; "" if it may.
	Awaits string

	// Places are the paths that it makes its own. Rungs of one volume may share one (its vol_data.json); of two
	// volumes, one has it at a time. They follow from Kind and Want, so a record does not hold them.
	Places []string

	Volume    string // "driver^handle": operations on one volume of a serial actor exclude each other
	Actor     string // the party that acts on a call: a CSI driver's name; "" is this agent
	Exclusive string // the claim that lets no other rung of its Volume and Kind be up (ReadWriteOncePod); "" for none

	Need int16 // how many of Below must be Present before it may be set up; 0 is all
	// Intent: its effects cannot all be listed by a start (an RPC, a daemon, a device), so they are announced in the
	// journal first, and what is at its path is looked at before that.
	Intent bool
	// Pins: its facts tell what containers were given, and only the journal remembers them: they are durable before
	// anybody hears that it is up.
	Pins bool
	// Renew is how many seconds after its last setup the setup of a rung that is up is repeated; 0 is never. A start of
	// the agent knows of no last setup, so it repeats it at once.
	Renew uint16
	// Looks: instead it is inspected, which writes no record, and its setup is repeated if something is missing.
	Looks  bool
	Limits Limits
}

// State is what is known of a rung.
type State uint8

const (
	// Unknown: it may be up, down or half-way.
	Unknown State = iota
	// Absent: it is down. While its fence is open it may come back: then it is not Absent for good.
	Absent
	// Present: it is up, with the facts and the fingerprint of the last inspection.
	Present
)

func (s State) String() string { return [...]string{"Unknown", "Absent", "Present"}[s] }

// Value returns the value of the parameter name, "" if there is none.
func Value(params []Param, name string) string {
	for _, p := range params {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// FactOf returns the value of the fact name, "" if there is none.
func FactOf(facts []Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}
