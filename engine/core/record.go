package core

import "github.com/volnode/volnode/hal"

// Phase is what the last line of a rung says.
type Phase uint8

const (
	// Intent: a setup may have been sent.
	Intent Phase = iota
	// Confirmed: it ended Done and was looked at.
	Confirmed
	// Leaving: a teardown may have been sent.
	Leaving
	// Lingering: nothing of the rung is left. The record only remembers a call that was answered with an error, until
	// its bound: what comes to are at the place until then is its effect.
	Lingering
)

func (p Phase) String() string { return [...]string{"intent", "confirmed", "leaving", "lingering"}[p] }

// Record is what the journal holds of one rung: all that is needed to take it down, or to adopt it, after a restart.
// Nobody changes its lists.
type Record struct {
	Rung  Rung // Want: the parameters the last setup was started with
	Phase Phase
	Boot  hal.BootID // the boot in which it was written

	Facts       []Fact
	Fingerprint string       // with Confirmed, and kept in Leaving
	Seen        string       // what was at the path before the first intent
	Generation  []Foundation // what it was set up on; only Key and Fingerprint are set

	SetUpUntil    hal.Instant // of Boot: the latest bound of setups whose end is not known; 0 is none
	TearDownUntil hal.Instant // of Boot: the same for teardowns
	// AnsweredSetUp and AnsweredTearDown are the latest bounds, of Boot, of calls that were answered with an error:
	// they have ended, as far as their actor can be trusted. 0 is none.
	AnsweredSetUp, AnsweredTearDown hal.Instant

	// Refused: a refresh with other parameters than Want began, and is not known to have come to nothing or to all: the
	// rung may differ from Want.
	Refused   bool
	MayBeUsed bool   // containers may have run on it, until ContainersGone
	Seq       uint64 // order of first intents
}

// Line is one change of the journal. Lines of one batch are durable, where they ask for it, before any operation of the
// batch starts.
type Line struct {
	Key    hal.Key
	Drop   bool // the record goes; Record is unset
	Record Record
	Sync   bool // durable before what follows
	// Again: a repeated setup has ended, of a rung that was up as wanted before, and recorded so. Nobody waits for this
	// line to hear that it is.
	Again bool
	// Room is the bytes to keep free for the further records of this ladder, over this line's own size; 0 for all but a
	// ladder's first record.
	Room int
}

// Batch is what Step asks of its caller, in this order: Lines written and, if any has Sync, made durable; then Start;
// then Wake.
type Batch struct {
	Lines []Line
	Start []Op
	Wake  []Waiter
}

// mostKept is how many flights are kept for others, and how much a batch may have held whose memory is kept: that of a
// storm is not.
const mostKept = 4 * MaxInFlight

// Emptied is the memory of b, for another batch.
func (b Batch) Emptied() Batch {
	if cap(b.Lines)+cap(b.Start)+cap(b.Wake) > mostKept {
		return Batch{}
	}
	clear(b.Lines)
	clear(b.Start)
	return Batch{Lines: b.Lines[:0], Start: b.Start[:0], Wake: b.Wake[:0]}
}

// Waiter names one registered wait.
type Waiter uint64

// Condition is what a waiter waits for.
type Condition uint8

const (
	// PodReady: every rung that the pod wants at the top is Present, made with what is wanted, and recorded.
	PodReady Condition = iota
	// PodGone: nothing of the pod is left, and no call may bring it back: every rung of it is gone (see [View].IsGone).
	PodGone
	// AllGone: the same of every rung, shared ones included, and no pod is wanted.
	AllGone
)
