package engine

import (
	"strconv"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Event is something that has happened, as [Config.Events] gets it. Its texts are free of secrets.
type Event interface {
	// Line is the event as a line of a log.
	Line() Line
}

// Line is an [Event] for people.
type Line struct {
	Level   Level
	Message string
	// Fields are alternating names and values.
	Fields []string
}

// Level says how much a [Line] matters.
type Level int8

const (
	// LevelDebug is each operation as it starts, each inspection, and each further turn of a long operation.
	LevelDebug Level = iota - 1
	LevelInfo        // what has changed
	LevelWarn        // what failed, and is tried again
	LevelError       // what needs somebody
)

// Started: a start has read the node, and volnode serves volumes.
type Started struct {
	Records       int // in the journal
	InDoubt       int // of them, of which a later record may be lost
	WithoutRecord int // rungs that are on the node and in no record
	HelpersAlive  int // of earlier runs
}

// StartFailed: volnode could not read the node, and tries again.
type StartFailed struct{ Error string }

// StartRefused: the root directory is not this node's. Nothing has changed, and Run returns.
type StartRefused struct{ Why string }

// NotRecognised: a start has found what belongs to no source.
type NotRecognised struct{ Path, Why string }

// ListedAgain: what earlier lives have left on the node was listed once more. A start could not read all of it, or some
// of it has come since.
type ListedAgain struct {
	WithoutRecord int // rungs that were found there
	Hidden        int // places that can't be listed yet
}

// OperationStarted: volnode has begun to carry out an operation. The level is LevelDebug.
type OperationStarted struct {
	Op   hal.OpID
	Verb core.Verb
	Kind core.Kind
	Rung hal.Key
}

// OperationEnded: an operation has ended.
type OperationEnded struct {
	OperationStarted
	Outcome    hal.Outcome
	Unfinished bool // a deletion has come as far as one operation goes
	// Continues: this was a further turn of a deletion, or of keeping data, that has been logged, or a setup was
	// repeated because it was time to. The level of such a turn, and of an inspection, is LevelDebug.
	Continues bool
	Reason    string // why it is not done, or what was found; "" if there is nothing to say
	Took      time.Duration
}

// OperationPanicked: a defect of volnode. The operation ends Unknown.
type OperationPanicked struct {
	OperationStarted
	Panic, Stack string
}

// EvidenceIllegal: a defect of volnode. What it knew of a rung contradicted itself, and it inspects the rung.
type EvidenceIllegal struct {
	Rung     hal.Key
	Evidence string
}

// VolumeBlocked: a volume of a pod can't be served.
type VolumeBlocked struct {
	Pod    string // namespace/name
	Volume string
	Field  string // the field of the pod, or of the object that it names
	Why    string
}

// PodEvent is what the users of a pod should hear of one of its volumes: what a cluster shows as an event of the pod.
// It comes each time that it happens; what is no news has LevelDebug.
type PodEvent struct {
	Pod             core.PodUID
	Namespace, Name string // "" if no source has named the pod in this life
	IsNews          bool   // it has not happened before, or not for a while
	PodEventStatus
}

// VolumeLost: the data of a volume is gone.
type VolumeLost struct {
	Rung hal.Key
	What string
}

// VolumeChanged: a volume is no longer as volnode has made it.
type VolumeChanged struct {
	Rung  hal.Key
	Found string // the fingerprint of what is there
}

// MountHides: a mount of somebody else hides directories of volumes.
type MountHides struct{ Path, Mount, Why string }

// PodIgnored: a pod has no UID.
type PodIgnored struct{}

// AllSynced: every source has named its pods, so that teardowns may begin.
type AllSynced struct{ Pods int }

// SourceTroubled: a source could not read something.
type SourceTroubled struct {
	Source     hal.Source
	Where, Why string
}

// SourceInOrder: an earlier SourceTroubled has ended.
type SourceInOrder struct {
	Source hal.Source
	Where  string
}

// DriverStorage: a driver says something new of what is wrong with its storage; no Problems: it is well again.
type DriverStorage struct {
	Driver   string
	Problems []hal.HealthEntry
}

// OverLimit: a volume holds more than its limit. Nothing stops it from growing.
type OverLimit struct {
	Rung        hal.Key
	Used, Limit int64 // bytes
}

// WithinLimit: an earlier OverLimit has ended.
type WithinLimit OverLimit

// SocketRefused: a plugin socket can't be used as it is.
type SocketRefused struct{ Socket, Why string }

// SocketGone: a plugin socket was removed.
type SocketGone struct{ Socket string }

// RegistrationFailed: the plugin behind a socket did not say who it is.
type RegistrationFailed struct {
	Socket, Why string
	Retry       time.Duration
}

// DriverUnreachable: a driver did not answer behind a socket that registers it.
type DriverUnreachable RegistrationFailed

// DriverRegistered: a driver serves its volumes from now on.
type DriverRegistered struct {
	Driver, Socket string
	Node           string // as the driver calls it
}

// DriverDeregistered: the socket that registered a driver is gone.
type DriverDeregistered struct{ Driver, Socket string }

// DriverConnected: a driver that stayed registered answers again.
type DriverConnected struct{ Driver, Socket string }

// DriverDisconnected: the connection to a driver has broken.
type DriverDisconnected struct{ Driver, Socket string }

// DriverMoved: another endpoint serves a driver from now on.
type DriverMoved struct{ Driver, Socket, Before string }

// DriverContested: a second endpoint registers a driver's name, and waits.
type DriverContested struct{ Driver, Waits, Serves string }

// DriverActsAfterReply: a call of a driver had an effect after an error had answered it.
type DriverActsAfterReply struct{ Driver string }

// JournalUnwritten: a write of the journal has failed.
type JournalUnwritten struct {
	Error string
	Again time.Duration // until the next event of this kind, if the writes fail on
}

// JournalWritten: the journal is written again.
type JournalWritten struct{ Earlier string }

// JournalDamaged: records of the journal can't be read.
type JournalDamaged struct{ Damage string }

// OwnFileRemoved: somebody has removed or damaged a file of volnode.
type OwnFileRemoved struct {
	File string
	Why  string // why it is not there again, "" if it is
}

// EventsDropped: Config.Events was too slow.
type EventsDropped struct{ Events int }

// Line implements [Event].
func (e Started) Line() Line {
	return line(LevelInfo, "started", "records", itoa(e.Records), "in-doubt", itoa(e.InDoubt),
		"without-record", itoa(e.WithoutRecord), "helpers-alive", itoa(e.HelpersAlive))
}

// Line implements [Event].
func (e StartFailed) Line() Line {
	return line(LevelError, "start failed; volnode tries again", "error", e.Error)
}

// Line implements [Event].
func (e StartRefused) Line() Line {
	return line(LevelError, "start refused; volnode changed nothing", "why", e.Why)
}

// Line implements [Event].
func (e NotRecognised) Line() Line {
	return line(LevelWarn, "not recognised; volnode leaves it alone", "path", e.Path, "why", e.Why)
}

// Line implements [Event].
func (e ListedAgain) Line() Line {
	return line(LevelInfo, "listed again what earlier runs have left", "without-record", itoa(e.WithoutRecord),
		"hidden", itoa(e.Hidden))
}

func (e *OperationStarted) fields() []string {
	return []string{"op", strconv.FormatUint(uint64(e.Op), 10), "verb", e.Verb.String(), "rung", string(e.Rung)}
}

// Line implements [Event].
func (e OperationStarted) Line() Line { return line(LevelDebug, "operation started", e.fields()...) }

// Line implements [Event].
func (e OperationEnded) Line() Line {
	fields := append(e.fields(), "outcome", e.Outcome.String())
	if e.Reason != "" {
		fields = append(fields, "reason", e.Reason)
	}
	return line(e.level(), "operation", fields...)
}

func (e *OperationEnded) level() Level {
	switch {
	case e.Verb == core.Inspect || e.Continues:
		return LevelDebug
	case e.Outcome == hal.Done || e.Unfinished:
		return LevelInfo
	default:
		return LevelWarn
	}
}

// defect begins the message of each event that is a defect of volnode.
const defect = "defect of volnode: "

// Line implements [Event].
func (e OperationPanicked) Line() Line {
	return line(LevelError, defect+"an operation panicked", append(e.fields(), "panic", e.Panic, "stack", e.Stack)...)
}

// Line implements [Event].
func (e EvidenceIllegal) Line() Line {
	return line(LevelError, defect+"evidence that no law allows; volnode inspects the volume again",
		"rung", string(e.Rung), "evidence", e.Evidence)
}

// Line implements [Event].
func (e VolumeBlocked) Line() Line {
	return line(LevelWarn, "volume blocked", "pod", e.Pod, "volume", e.Volume, "field", e.Field, "why", e.Why)
}

func (e PodEvent) level() Level {
	if !e.IsNews {
		return LevelDebug
	}
	return LevelInfo
}

// Line implements [Event].
func (e PodEvent) Line() Line {
	fields := []string{
		"uid", string(e.Pod), "volume", e.Volume, "type", e.Type, "reason", e.Reason, "message", e.Message,
	}
	if e.Name != "" {
		fields = append([]string{"pod", e.Namespace + "/" + e.Name}, fields...)
	}
	return line(e.level(), "event", fields...)
}

// Line implements [Event].
func (e VolumeLost) Line() Line {
	return line(LevelError, "volume lost its data", "rung", string(e.Rung), "what", e.What)
}

// Line implements [Event].
func (e VolumeChanged) Line() Line {
	return line(LevelWarn, "volume changed by someone else", "rung", string(e.Rung), "found", e.Found)
}

// Line implements [Event].
func (e MountHides) Line() Line {
	return line(LevelWarn, "a mount hides paths of volumes", "path", e.Path, "mount", e.Mount, "why", e.Why)
}

// Line implements [Event].
func (PodIgnored) Line() Line {
	return line(LevelError, "pod ignored", "why", "it has no UID; volnode names the data of a pod by its UID")
}

// Line implements [Event].
func (e AllSynced) Line() Line { return line(LevelInfo, "all sources synced", "pods", itoa(e.Pods)) }

// Line implements [Event].
func (e SourceTroubled) Line() Line {
	return line(LevelError, "source in trouble", "source", string(e.Source), "where", e.Where, "why", e.Why)
}

// Line implements [Event].
func (e SourceInOrder) Line() Line {
	return line(LevelInfo, "source in order again", "source", string(e.Source), "where", e.Where)
}

// Line implements [Event].
func (e DriverStorage) Line() Line {
	if len(e.Problems) == 0 {
		return line(LevelInfo, "driver says that its storage is well again", "driver", e.Driver)
	}
	return line(LevelWarn, "driver says that its storage is not well", "driver", e.Driver, "health",
		HealthText(e.Problems))
}

// Line implements [Event].
func (e OverLimit) Line() Line {
	return line(LevelWarn, "volume holds more than its limit", "rung", string(e.Rung), "bytes",
		strconv.FormatInt(e.Used, 10), "limit", strconv.FormatInt(e.Limit, 10))
}

// Line implements [Event].
func (e WithinLimit) Line() Line {
	return line(LevelInfo, "volume is within its limit again", "rung", string(e.Rung), "bytes",
		strconv.FormatInt(e.Used, 10), "limit", strconv.FormatInt(e.Limit, 10))
}

// Line implements [Event].
func (e SocketRefused) Line() Line {
	return line(LevelWarn, "plugin socket refused", "socket", e.Socket, "why", e.Why)
}

// Line implements [Event].
func (e SocketGone) Line() Line { return line(LevelInfo, "plugin socket gone", "socket", e.Socket) }

// Line implements [Event].
func (e RegistrationFailed) Line() Line {
	return line(LevelWarn, "registration failed", "socket", e.Socket, "why", e.Why, "retry", e.Retry.String())
}

// Line implements [Event].
func (e DriverUnreachable) Line() Line {
	return line(LevelWarn, "cannot reach driver", "socket", e.Socket, "why", e.Why, "retry", e.Retry.String())
}

// Line implements [Event].
func (e DriverRegistered) Line() Line {
	return line(LevelInfo, "driver registered", "driver", e.Driver, "socket", e.Socket, "node", e.Node)
}

// Line implements [Event].
func (e DriverDeregistered) Line() Line {
	return line(LevelInfo, "driver deregistered", "driver", e.Driver, "socket", e.Socket)
}

// Line implements [Event].
func (e DriverConnected) Line() Line {
	return line(LevelInfo, "driver connected", "driver", e.Driver, "socket", e.Socket)
}

// Line implements [Event].
func (e DriverDisconnected) Line() Line {
	return line(LevelWarn, "driver disconnected", "driver", e.Driver, "socket", e.Socket)
}

// Line implements [Event].
func (e DriverMoved) Line() Line {
	return line(LevelWarn, "driver is served by another endpoint", "driver", e.Driver, "socket", e.Socket,
		"before", e.Before)
}

// Line implements [Event].
func (e DriverContested) Line() Line {
	return line(LevelWarn, "driver is registered twice", "driver", e.Driver, "waits", e.Waits, "serves", e.Serves)
}

// Line implements [Event].
func (e DriverActsAfterReply) Line() Line {
	return line(LevelError, "driver acts after it answers: no error of this driver ends a call from here on",
		"driver", e.Driver)
}

// Line implements [Event].
func (e JournalUnwritten) Line() Line {
	return line(LevelError, "journal not written; volnode starts nothing", "error", e.Error,
		"next", "volnode tries again each second, and logs this again in "+e.Again.String())
}

// Line implements [Event].
func (e JournalWritten) Line() Line {
	return line(LevelInfo, "journal is written again", "error", "earlier: "+e.Earlier)
}

// Line implements [Event].
func (e JournalDamaged) Line() Line { return line(LevelError, "journal damaged", "damage", e.Damage) }

// Line implements [Event].
func (e OwnFileRemoved) Line() Line {
	return line(LevelError, "own file removed", "file", e.File,
		"next", "volnode writes it again from memory."+e.Why)
}

// Line implements [Event].
func (e EventsDropped) Line() Line {
	return line(LevelWarn, "log lines dropped: the log is too slow", "lines", itoa(e.Events))
}

func line(level Level, message string, fields ...string) Line { return Line{level, message, fields} }
