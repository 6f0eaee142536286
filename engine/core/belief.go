package core

import "github.com/volnode/volnode/hal"

// Belief is what is believed of one rung, without what it takes to print it: for those who compare it with a truth.
type Belief struct {
	Key         hal.Key
	Kind        Kind
	Pod         PodUID
	Volume      string
	State       State
	Fingerprint string
	Path        string // the parameter of that name that it was made with
	Verb        Verb   // of the operation in flight
	InFlight    bool   // an operation is in flight
	HasChild    bool   // a helper of an earlier run may act on it
	IsGone      bool   // Absent for good: nothing is left and nothing can come
	// Absent by a teardown that began before the end of every setup: it will be taken down once more
	IsDoubtful   bool
	IsWanted     bool        // by a pod, or by a rung that depends on it
	IsHeldBack   bool        // it must be made again, once no container runs on it
	IsDisplaced  bool        // containers run on what another volume has at its path
	IsTimed      bool        // it waits for a time, and then something is done
	SetUpOpen    hal.Instant // bound of setups without a known end, 0 for none
	TearDownOpen hal.Instant // the same of teardowns
}

// Belief returns what is believed of a rung; false if core knows of no such rung.
func (c *Core) Belief(key hal.Key) (Belief, bool) {
	r := c.rungs[key]
	if r == nil {
		return Belief{}, false
	}
	b := Belief{
		Key: key, Kind: r.Kind, Pod: r.Pod, Volume: r.Volume, State: r.state, Fingerprint: r.fingerprint,
		Path:     Value(r.made, "path"),
		InFlight: r.op != nil, HasChild: r.child != "", IsGone: r.isGone(), IsDoubtful: r.state == Absent &&
			r.trust != clean, IsWanted: c.desire(r) == wanted,
		IsHeldBack:  r.isHeldBack(),
		IsDisplaced: r.next.why == whyPlaceUsed,
		IsTimed:     c.isTimed(r), SetUpOpen: r.bound(SetUp), TearDownOpen: r.bound(TearDown),
	}
	if r.op != nil {
		b.Verb = r.op.Verb
	}
	return b, true
}

// isHeldBack reports whether r must be made again and containers still run on it.
func (r *rung) isHeldBack() bool {
	switch r.next.why {
	case whyRebuildHeld, whyVoidHeld, whyFailedHeld, whyDenied, whyPlaceHeld:
		return true
	default:
		return false
	}
}

// Prospect is what decides, beside a [Belief], what is done about a rung next.
type Prospect struct {
	Change     OnChange // what the difference between how it was made and what is wanted asks for
	Phase      Phase    // of its record
	IsRecorded bool     // it has one
	// it is not wanted, and not taken down: containers may run on it, or not all that its pod wants is known
	IsHeld          bool
	IsUsed          bool // containers may run on it
	IsReconfirmable bool // if it is Unknown, an inspection that finds its fingerprint again is enough
	MustUndo        bool // it goes before the next setup
	IsDenied        bool // an actor said that it is not there
	DropsBelow      bool // once it is gone, it drops a dependency or a path
	IsExclusive     bool // nothing else of its volume may be up
}

// Prospect returns what decides what is done about a rung next; false if core knows of no such rung.
func (c *Core) Prospect(key hal.Key) (Prospect, bool) {
	r := c.rungs[key]
	if r == nil {
		return Prospect{}, false
	}
	return Prospect{
		Change: c.change(r), Phase: r.phase, IsRecorded: r.recorded, IsHeld: c.desire(r) == held, IsUsed: c.runs(r),
		IsReconfirmable: r.trust == reconfirmable,
		MustUndo:        r.mustUndo(), IsDenied: r.denied, DropsBelow: len(r.droppedBelow)+len(r.vacates) > 0,
		IsExclusive: r.Exclusive != "",
	}, true
}

// Beliefs calls f with each rung that is not only remembered, in the order of keys. It is for who judges, and no work.
func (c *Core) Beliefs(f func(Belief)) {
	defer func(work Work) { c.work = work }(c.work)
	for _, r := range c.sorted() {
		if b, _ := c.Belief(r.Key); !c.isPast(r) {
			f(b)
		}
	}
}

// Decided returns the keys of the rungs that the last Step decided on, some of them more than once: no belief of
// another rung has changed in it. The slice is valid until the next Step.
func (c *Core) Decided() []hal.Key { return c.decided }
