package hal

import (
	"fmt"
	"time"
)

// Outcome is what is known of the effect of one call, or of one operation made of calls.
type Outcome uint8

const (
	// Unknown: the effect may have happened, may happen later, or may not happen at all.
	Unknown Outcome = iota
	// NotDone: this call had and will have no effect. It says nothing of earlier calls.
	NotDone
	// Done: the effect has happened.
	Done
)

func (o Outcome) String() string {
	switch o {
	case Unknown:
		return "unknown"
	case NotDone:
		return "not done"
	case Done:
		return "done"
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// Instant is a point in monotonic time of one boot, in nanoseconds (CLOCK_MONOTONIC: suspend does not count). The zero
// Instant means "none".
type Instant int64

// Add returns the instant d after t.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns the time from u to t.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

func (t Instant) String() string { return time.Duration(t).String() }

// BootID names one boot of the node (/proc/sys/kernel/random/boot_id). Instants of different boots cannot be compared.
type BootID string

// Key is the injective name of one rung (see engine/core). It contains no secret and may be shown.
type Key string

// OpID numbers the operations of one run of the agent, from 1.
type OpID uint64

// Call accompanies every call into a Host: who asks, and until when an answer is of use.
type Call struct {
	Op  OpID // the operation that makes the call; 0 for the manager's own reads
	Key Key  // the rung operated on; "" for the manager's own reads

	// Deadline is the instant at which the caller stops waiting; zero means none. A call whose deadline has passed
	// before it is sent is not sent: its error is NotDone. Calls of class [ClassSyscall] ignore it once they are in the
	// kernel.
	Deadline Instant

	// Inside is a mount that the calls of [Tree] and [Files] go into; zero means none.
	Inside Inside

	// Late, when set, is called on the owner with Op, at most once, if the answer of an RPC arrives after Deadline. It
	// is the proof that this call has ended, but for a status that something between agent and driver could have made
	// up.
	Late func(OpID, error)
}

// Inside names a mount of the caller's own, as [Mounts].At shows it. A path below Path is looked up on that mount and
// on no other: ESTALE if another one, or none, is on top there. Path itself is the root of the mount for calls that
// read it, and a name on the filesystem below for calls that change it.
type Inside struct {
	Path string
	ID   MountID
}

// Class says what an error, a time-out and the caller's death leave open for a call. The simulator injects what the
// class allows and nothing else.
type Class uint8

const (
	// ClassSyscall: an error means no effect, or full effect for some errno of network filesystems; there is no
	// time-out: a call hangs and its effect may come after the caller's death.
	ClassSyscall Class = iota
	// ClassFile: agent death loses nothing; power loss keeps a legal subset of what was not synced.
	ClassFile
	// ClassHelper: a child process; an error may mean any prefix of its work, and a killed child may leave a daemon at
	// work.
	ClassHelper
	// ClassRPC: a time-out is always possible; the server goes on and may act later, also after the contrary call.
	ClassRPC
)

func (c Class) String() string {
	switch c {
	case ClassSyscall:
		return "syscall"
	case ClassFile:
		return "file"
	case ClassHelper:
		return "helper"
	case ClassRPC:
		return "rpc"
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}
