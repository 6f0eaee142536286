package hal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// ErrEnded is the answer of [Runtime.Await] once the owner has ended.
var ErrEnded = errors.New("volnode has stopped and answers no more questions")

// Code is a gRPC status code (grpc.io, "Status codes and their use in gRPC"). The numbers are the protocol's.
type Code uint32

// The codes of gRPC.
const (
	CodeOK                 Code = 0
	CodeCanceled           Code = 1
	CodeUnknown            Code = 2
	CodeInvalidArgument    Code = 3
	CodeDeadlineExceeded   Code = 4
	CodeNotFound           Code = 5
	CodeAlreadyExists      Code = 6
	CodePermissionDenied   Code = 7
	CodeResourceExhausted  Code = 8
	CodeFailedPrecondition Code = 9
	CodeAborted            Code = 10
	CodeOutOfRange         Code = 11
	CodeUnimplemented      Code = 12
	CodeInternal           Code = 13
	CodeUnavailable        Code = 14
	CodeDataLoss           Code = 15
	CodeUnauthenticated    Code = 16
)

var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
	"DATA_LOSS",
	"UNAUTHENTICATED",
}

func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("CODE(%d)", uint32(c))
}

// Reply says how far an RPC got. It is meaningful only in an [Error] of class RPC, or of [FlexDrivers].
type Reply uint8

const (
	// ReplyNone: the request may have been sent and no status came back before the deadline or the end of the
	// connection.
	ReplyNone Reply = iota
	// ReplyNever: the request was never sent: no driver registered, dial refused, deadline already passed.
	ReplyNever
	// ReplyStatus: the server itself sent the status Code. One that the RPC framework or something between made up is
	// ReplyNone.
	ReplyStatus
)

// Error is what every method of a Host returns when it fails.
type Error struct {
	Op      string // the call: "umount", "NodeStageVolume"
	Object  string // what it acted on: a path, a driver and volume
	Class   Class
	Outcome Outcome // what is known of this call's effect, by its class alone; RPC callers refine it by the code
	Errno   syscall.Errno
	Exit    int // exit code of a helper process, 0 if none ran
	Code    Code
	Reply   Reply
	// of an RPC that was answered, the driver's own words: they may quote secrets until hal/scrub has read them
	Detail string
	// Doubtful: what a driver said leaves open whether the call has ended, though Detail, from which something was
	// taken out, may not show it.
	Doubtful bool
}

// NotSent is what the text of an [Error] says of a call that was not sent.
const NotSent = "not sent"

// Error prints in one line, like "umount /var/lib/v/a: device or resource busy".
func (e *Error) Error() string {
	var b strings.Builder
	b.Grow(len(e.Op) + len(e.Object) + len(e.Detail) + 48)
	b.WriteString(e.Op)
	if e.Object != "" {
		b.WriteByte(' ')
		b.WriteString(e.Object)
	}
	b.WriteString(": ")
	switch {
	case e.Class == ClassRPC && e.Reply == ReplyNever:
		b.WriteString(NotSent)
	case e.Class == ClassRPC && e.Reply == ReplyNone:
		b.WriteString("no reply")
	case e.Class == ClassRPC:
		b.WriteString(e.Code.String())
	case e.Errno != 0:
		b.WriteString(e.Errno.Error())
	case e.Exit != 0:
		fmt.Fprintf(&b, "exit code %d", e.Exit)
	default:
		b.WriteString("failed")
	}
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(e.Detail)
	}
	return b.String()
}

// Unwrap yields the errno, so that errors.Is(err, syscall.EBUSY) works.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// OutcomeOf returns Done for nil, the outcome of the [*Error] in err's chain, and Unknown for any other error.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Done
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Outcome
	}
	return Unknown
}

// Is reports whether err carries errno. It is errors.Is for the common case.
func Is(err error, errno syscall.Errno) bool { return errors.Is(err, errno) }

// DiskAdvice says what volnode does next, and what people can do, when a file in a directory can't be written.
func DiskAdvice(dir string, err error) string {
	is := func(all ...syscall.Errno) bool {
		return slices.ContainsFunc(all, func(errno syscall.Errno) bool { return Is(err, errno) })
	}
	switch {
	case is(syscall.ENOSPC):
		return "volnode tries again; free space on the disk of " + dir
	case is(syscall.EDQUOT):
		return "volnode tries again; free space in " + dir + ", or raise its quota"
	case is(syscall.EISDIR):
		return "volnode tries again; a directory is at the path of a file of volnode: move it away (ls -la " + dir + ")"
	case is(syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.ELOOP, syscall.ENXIO, syscall.EINVAL, syscall.EFBIG):
		return "volnode tries again; something else is at the path of a file or directory of volnode: move it away " +
			"(ls -la " + dir + ")"
	case is(syscall.EPERM, syscall.EACCES):
		return "volnode tries again; the file is immutable: run chattr -R -i " + dir
	case is(syscall.EXDEV, syscall.EBUSY):
		return "volnode tries again; something is mounted there: unmount it (findmnt -T " + dir + ")"
	case is(syscall.EROFS):
		return "volnode tries again; the filesystem is read-only: mount it writable (findmnt -T " + dir + ")"
	}
	return "volnode tries again; check the disk of " + dir
}
