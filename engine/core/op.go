package core

import (
	"fmt"

	"github.com/volnode/volnode/hal"
)

// Verb is what an operation does to a rung.
type Verb uint8

const (
	// Inspect reads what is there and changes nothing.
	Inspect Verb = iota
	// SetUp brings a rung up, from any state.
	SetUp
	// Refresh repeats the setup of a rung that is up; if it fails, the rung stays up.
	Refresh
	// TearDown takes a rung down, from any state.
	TearDown
)

func (v Verb) String() string { return [...]string{"inspect", "setup", "refresh", "teardown"}[v] }

// Foundation is one rung below the rung that an operation acts on, as core knew it when it decided. For a teardown, it
// may be a rung that was lost, as core knew it last in this boot.
type Foundation struct {
	Key         hal.Key
	Kind        Kind
	Facts       []Fact
	Fingerprint string
}

// Op is one operation: everything its verb may know. Its effects on the node are those of running it once, however
// often it runs.
type Op struct {
	ID     hal.OpID
	Verb   Verb
	Key    hal.Key
	Kind   Kind
	Pod    PodUID
	Volume string
	Actor  string

	Params []Param // Setup, Refresh: what is wanted. Tear down, Look: what the rung was made with.
	Facts  []Fact  // of the rung's last Done
	Below  []Foundation

	// Fingerprint is the confirmed one of this rung, "" if none.
	Fingerprint string
	// Seen is what a look saw at the rung's path before the first intent, "" if nothing; or SeenUnknown.
	Seen string
	// First: no earlier setup of this rung can have left anything. A setup that ends NotDone then removes what it made.
	First bool
	// Quiet: no setup of this rung is without a known end.
	Quiet bool
	// Left: a teardown of this rung may have had an effect since it last was up. What it held is given up.
	Left bool
	// IsNamed: a source has named the pod in this life of the agent. Who starts the operation says so.
	IsNamed bool
	// Deadline is the instant at which the operation's calls give up; 0 is none.
	Deadline hal.Instant
}

func (o Op) String() string { return fmt.Sprintf("#%d %s %s", o.ID, o.Verb, o.Key) }

// SeenUnknown says that something is at the path, and that nobody knows whether it was there before our first
// intent.
const SeenUnknown = "something unknown"

// Answer is what the actor said last, as far as it tells whether calls of ours have ended.
type Answer uint8

const (
	// NoAnswer: none was asked, or none came.
	NoAnswer Answer = iota
	// Final: OK. The actor has been at the volume and has done with it.
	Final
	// Aborted: the server says that another operation on the volume is under way.
	Aborted
	// Failed: the server's own error. It ends this call, and tells nothing of another: it may have been given before
	// the actor was at the volume.
	Failed
	// Doubted: an error that does not prove the end of this call: something between may have made it up, or it names a
	// time-out of the actor's own.
	Doubted
)

func (a Answer) String() string {
	return [...]string{"none", "final", "aborted", "failed", "doubted"}[a]
}

// Result is how an operation ended.
type Result struct {
	Outcome hal.Outcome
	// Fenced, with Unknown: the call has no known end and may still act until its deadline and the rung's Settle have
	// passed.
	Fenced   bool
	Answer   Answer
	Instance string // of the actor that was asked, "" if not known
	Unsent   bool   // the actor could not be asked: it is not there, or it is not the one that registered

	Facts       []Fact // with Done
	Fingerprint string // with Done: what is there, "" for nothing

	Short     string      // with Done: what is missing, "" for nothing; the rung is Present and Degraded
	RefreshBy hal.Instant // with Done: when the setup must be repeated; 0 is never
	Expires   hal.Instant // with Done: from when on the rung is not as wanted; 0 is never

	// BelowUnknown: the actor says that what the rung depends on is not there. The rungs below become Unknown,
	// whatever an inspection shows.
	BelowUnknown bool
	// AboveUnknown, of a teardown: the actor says that something depends on the rung. The wanted rungs above become
	// Unknown.
	AboveUnknown bool
	// UndoFirst, with Unknown: the actor holds something incompatible, or may have left something; tear down before the
	// next setup.
	UndoFirst bool
	// Failed comes with UndoFirst: the mount at the path is on a filesystem that has failed. With BelowUnknown, so is
	// the rung below.
	Failed bool
	// Unfinished: the operation has come nearer its end, and stopped so that others get their turn. It goes on at once,
	// or, if it is Done and Short, in a moment.
	Unfinished bool
	// Blocked: repeating will not help until something that Reason names changes.
	Blocked bool
	// Panicked, with Unknown: the verb has a defect.
	Panicked bool

	Reason string // why it is not Done, for people; free of secrets
	Call   string // the call that was not answered, or not with OK: "NodeStageVolume"
	Code   string // what it was answered with: "UNAVAILABLE"; "" for nothing
}
