package core

import "github.com/volnode/volnode/hal"

// Event is one of the types below: something that happened or was asked.
type Event interface{ event() }

type (
	// Wanted: the pod wants these rungs, all of them, in place of those of an earlier Wanted. Complete is false while
	// some volume of the pod could not be resolved: then the pod is not ready, and rungs missing from the list are kept
	// as they are.
	Wanted struct {
		Pod      PodUID
		Rungs    []Rung
		Complete bool
	}
	// Unwanted: the pod wants nothing any more; its containers may still run.
	Unwanted struct{ Pod PodUID }
	// Gone: no container of the pod runs.
	Gone struct{ Pod PodUID }
	// Completed: an operation has ended.
	Completed struct {
		Op     hal.OpID
		Result Result
	}
	// Answered: an answer of the operation's call came after its deadline. It ends that call.
	Answered struct{ Op hal.OpID }
	// ActorGone: that life of an actor is dead with all that it started.
	ActorGone struct{ Actor, Instance string }
	// Registered: an actor can be reached, perhaps again.
	Registered struct{ Actor string }
	// Serves: who serves an actor while somebody waits who would come first at a start; By is "" if nobody does.
	Serves struct{ Actor, By string }
	// OwnerGone: the object is gone that [ParamOwner] names.
	OwnerGone struct{ Owner string }
	// Observed: what is at a rung's place, read at or after the Step numbered Since.
	Observed struct {
		Key         hal.Key
		Fingerprint string
		Since       uint64
	}
	// Covered: these mounts, which are no volumes, hide what is below their paths. They replace those of the last
	// Covered. Core neither sets up, tears down nor inspects what they hide, and no pod that needs it is ready.
	Covered struct{ By []Cover }
	// Discovered: what a start could not look at was looked at again. Strays are what an earlier life has left there
	// without a record. Hidden and Unseen come in place of what was told before.
	Discovered struct {
		Orphans []Rung
		Hidden  []string
		Unseen  []string
	}
	// Unblocked: what kept a Blocked rung from moving may have changed.
	Unblocked struct{ Key hal.Key }
	// ChildSeen: a helper process of an earlier run still lives and may act on the rung.
	ChildSeen struct {
		Key  hal.Key
		What string // for people: "pid 4121 mkdir /mnt/a (state D)"
	}
	// ChildGone: that helper process, of several the last, is dead.
	ChildGone struct{ Key hal.Key }
	// AllSynced: every source has said everything it knows. Nothing is torn down before.
	AllSynced struct{}
	// Refused: lines of a batch could not be written; its operations were not started. Keys are the rungs of which the
	// journal keeps no record, as it has no room for their first one: a line of the others is written later.
	Refused struct {
		Ops    []hal.OpID
		Keys   []hal.Key
		Reason string
		// IsUnwritten: a write failed, which says nothing of the operations: they are tried again soon, however often
		// that was, and count as no attempt.
		IsUnwritten bool
	}
	// Written: a write succeeded after writes had failed. What they held up is tried soon.
	Written struct{}
	// Await registers a waiter. It is woken when the condition holds, at once if it does.
	Await struct {
		Waiter Waiter
		Pod    PodUID
		For    Condition
	}
	// Forget takes a waiter back.
	Forget struct{ Waiter Waiter }
	// Wake: the instant of NextWake has come.
	Wake struct{}
)

func (Wanted) event()     {}
func (Unwanted) event()   {}
func (Gone) event()       {}
func (Completed) event()  {}
func (Answered) event()   {}
func (ActorGone) event()  {}
func (Registered) event() {}
func (Serves) event()     {}
func (OwnerGone) event()  {}
func (Observed) event()   {}
func (Discovered) event() {}
func (Unblocked) event()  {}
func (Covered) event()    {}
func (ChildSeen) event()  {}
func (ChildGone) event()  {}
func (AllSynced) event()  {}
func (Refused) event()    {}
func (Written) event()    {}
func (Await) event()      {}
func (Forget) event()     {}
func (Wake) event()       {}
