package sim

import "github.com/volnode/volnode/hal"

// EffectKind is what an effect changed.
type EffectKind uint8

// The kinds of effect.
const (
	// EffectMount: a mount was made at Path.
	EffectMount EffectKind = iota + 1
	// EffectUnmount: the mount at Path was removed.
	EffectUnmount
	// EffectMade: a directory, file or socket was made at Path.
	EffectMade
	// EffectRemoved: a name was removed at Path.
	EffectRemoved
	// EffectRemovedTree: Path and all below it was removed, or (Outcome Unknown) a part of it.
	EffectRemovedTree
	// EffectRenamed: Path became NewPath.
	EffectRenamed
	// EffectWritten: the content of the file Path changed.
	EffectWritten
	// EffectSynced: the file or directory Path was synced; Outcome NotDone if that failed.
	EffectSynced
	// EffectSent: an RPC left the agent. From here on it may act.
	EffectSent
	// EffectStarted: the driver began to carry an RPC out.
	EffectStarted
	// EffectActed: an RPC has acted on the node or the driver's state.
	EffectActed
	// EffectAnswered: an RPC was answered before it has acted.
	EffectAnswered
	// EffectEnded: an RPC can act no more.
	EffectEnded
	// EffectStaged: the driver holds the volume staged at Path.
	EffectStaged
	// EffectUnstaged: it does not any more.
	EffectUnstaged
	// EffectPublished: the driver holds the volume published at Path.
	EffectPublished
	// EffectUnpublished: it does not any more.
	EffectUnpublished
	// EffectAgentStarted: a new life of the agent began.
	EffectAgentStarted
	// EffectAgentDied: the agent was killed.
	EffectAgentDied
	// EffectNodeDown: the node went down.
	EffectNodeDown
	// EffectNodeUp: the node has booted.
	EffectNodeUp
	// EffectDriverUp: a driver's process runs.
	EffectDriverUp
	// EffectDriverDown: a driver's process died.
	EffectDriverDown
	// EffectRefused: a registrar was told that its driver was not taken. Path is its socket.
	EffectRefused
	// EffectDiskFailed: the filesystem of a volume has failed, or its device was detached.
	EffectDiskFailed
	// EffectAsked: the agent has connected to Path, the endpoint of a driver, or has asked the registrar behind the
	// socket Path who it is, or has tried to.
	EffectAsked
	// EffectFreed: a process that kept what is mounted at Path busy has let go of it.
	EffectFreed
	// EffectMeasured: the agent has asked how full a volume is, or what is wrong with it: its driver, about what is at
	// Target, or, without a driver, the filesystem at Path. Without a volume: what is wrong with the driver's storage.
	EffectMeasured
	// EffectFormatted: a filesystem, or a part of one, was made on the disk at Path. Text is what was there and is lost,
	// "" if nothing. Volume names it, if it is of an array.
	EffectFormatted
	// EffectChecked: the filesystem on the disk at Path, whose uuid Text is, was checked, Volume as above; Outcome
	// Unknown if it may have errors still, NotDone if the program was refused the disk, which is in use.
	EffectChecked
	// EffectGiven: what is at Path was given to a user and a group, or got another mode.
	EffectGiven
	// EffectDriven: a FlexVolume driver carries out a call: Driver, Method, Target, and as Message its options.
	EffectDriven
	// EffectLimited: the directory at Path got a project, or its limit.
	EffectLimited
	// EffectLoggedIn: the node has a session with the target Volume at the portal Path, by the interface Text.
	EffectLoggedIn
	// EffectLoggedOut: it has that no more.
	EffectLoggedOut
	// EffectDiskFound: the disk Volume of an array is at Path.
	EffectDiskFound
	// EffectDiskRemoved: it is there no more. Volume is its WWID, as it said when the kernel found it.
	EffectDiskRemoved
	// EffectMapMade: the map of the disk Volume is at Path.
	EffectMapMade
	// EffectMapRemoved: it is there no more.
	EffectMapRemoved
	// EffectHeld: the disk at Path is held as Text. Volume is its WWID, its serial number, or its path.
	EffectHeld
	// EffectLetGo: it is held no more.
	EffectLetGo
)

var effectNames = [...]string{
	"", "mount", "unmount", "made", "removed", "removed tree", "renamed", "written", "synced", "sent", "started",
	"acted", "answered", "ended",
	"staged", "unstaged", "published", "unpublished", "agent started", "agent died", "node down", "node up",
	"driver up",
	"driver down", "refused", "disk failed", "asked", "freed", "measured",
	"formatted", "checked", "given", "driven", "limited", "logged in", "logged out",
	"disk found", "disk removed", "map made", "map removed", "held", "let go",
}

// IsQuestion reports whether an effect of the agent's is that it has asked something, and nothing has changed.
func (k EffectKind) IsQuestion() bool { return k == EffectAsked || k == EffectMeasured }

func (k EffectKind) String() string { return effectNames[k] }

// Effect is one change of the truth, told at its instant, after it has happened.
type Effect struct {
	Kind    EffectKind
	At      hal.Instant // of the world's clock
	Actor   string      // "agent", or a driver's name
	Run     uint32      // the incarnation whose call this is
	Op      hal.OpID    // and its operation
	Key     hal.Key     // and its rung
	Path    string
	NewPath string    // EffectRenamed
	Mount   hal.Mount // EffectMount, EffectUnmount
	Outcome hal.Outcome

	// Of an RPC, and of what it changed.
	Call   uint64 // names the RPC, never used again; 0 if no RPC is the cause
	Driver string
	// Endpoint is the socket of the version of the driver; also of EffectDriverUp and EffectDriverDown.
	Endpoint string
	Method   string // "NodeStageVolume"
	Volume   string
	Staging  string // its staging target path
	Target   string // its target path
	Code     hal.Code
	Text     string // of the error of EffectAnswered; see EffectFormatted, EffectChecked
	Late     bool   // the RPC's deadline has passed, or its sender is dead, or it is a helper's that has hung
	// Message is the request itself, of EffectSent: *csi.NodeStageVolumeRequest or *csi.NodePublishVolumeRequest; of
	// EffectDriven, []hal.Option; nil of all else. It is not changed.
	Message any
	// Since when a helper that has hung was under way, of the world's clock; 0 of all else.
	Since hal.Instant
	// Deadline of the RPC, of the world's clock; 0 is none.
	Deadline hal.Instant
}

// actor is who has an effect: the agent by a call, a driver by an RPC or on its own, or the world.
type actor struct {
	call *call
	rpc  *rpc
	kid  *child
}

func (w *World) tell(a actor, e Effect) {
	if len(w.observe) == 0 {
		return
	}
	e.At = w.sched.now
	switch {
	case a.rpc != nil:
		a.rpc.describe(&e)
	case a.call != nil:
		e.Actor, e.Run, e.Op, e.Key = "agent", a.call.h.inc.number, a.call.c.Op, a.call.c.Key
	case a.kid != nil:
		e.Actor, e.Run, e.Op, e.Key = "agent", a.kid.run, a.kid.op, a.kid.key
		e.Late, e.Since = true, a.kid.since
	}
	for _, f := range w.observe {
		f(e)
	}
}
