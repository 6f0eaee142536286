package csi

import (
	"errors"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// verdict is what the reply to one call says of its effect, before any look.
type verdict struct {
	outcome      hal.Outcome
	fenced       bool
	answer       core.Answer
	belowUnknown bool
	undoFirst    bool
	unsent       bool
	blocked      bool
	aboveUnknown bool
}

// judge is the table of outcomes of CSI calls, in full. A status that the server itself gave ends its call; one that a
// broken connection or an interceptor could have made up does not. That no answer of a driver ends a call whose effect
// is open, since that driver is known to act after it has answered, is core's to know ([core.Limits]).
//
// UNKNOWN is what the plain error of a driver written in Go becomes, so it is the commonest code of all. It ends its
// own call, unless its text says that the driver itself does not know: then it waits for nobody any more, and what it
// has begun goes on.
//
//	reply                                    setup                             teardown
//	never sent, UNIMPLEMENTED,
//	INVALID_ARGUMENT, ABORTED                not done                          not done
//	NOT_FOUND                                not done                          done if quiet, else unknown
//	FAILED_PRECONDITION                      not done, below unknown           unknown, above unknown
//	ALREADY_EXISTS                           unknown, undo first             unknown
//	OK                                       done, after an inspection                done, after an inspection
//	DEADLINE_EXCEEDED, CANCELLED, UNAVAILABLE,
//	UNKNOWN without a text or with one of a
//	time-out, a cancellation or a killed
//	child, no status                         unknown, fenced                   unknown, fenced
//	any other status                         unknown                           unknown
//
// A publish whose teardown is unknown is undone first, too: its driver may have let go of it and left it mounted.
func judge(verb core.Verb, err error, quiet bool) verdict {
	if err == nil {
		return verdict{outcome: hal.Done, answer: core.Final}
	}
	e, ok := errors.AsType[*hal.Error](err)
	switch {
	case ok && e.Class == hal.ClassRPC && e.Reply == hal.ReplyNever:
		return verdict{outcome: hal.NotDone, unsent: true}
	case !ok || e.Class != hal.ClassRPC || e.Reply != hal.ReplyStatus:
		return verdict{outcome: hal.Unknown, fenced: true}
	}
	open := verdict{outcome: hal.Unknown, answer: core.Failed}
	notDone := verdict{outcome: hal.NotDone, answer: core.Failed}
	doubted := verdict{outcome: hal.Unknown, fenced: true, answer: core.Doubted}
	tearDown := verb == core.TearDown
	switch e.Code {
	case hal.CodeAborted:
		return verdict{outcome: hal.NotDone, answer: core.Aborted}
	case hal.CodeUnimplemented, hal.CodeInvalidArgument:
		notDone.blocked = tearDown // it will say so for ever: a person must know
		return notDone
	case hal.CodeNotFound:
		if !tearDown {
			return notDone
		}
		if quiet {
			return verdict{outcome: hal.Done, answer: core.Failed}
		}
		return open
	case hal.CodeFailedPrecondition:
		if !tearDown {
			notDone.belowUnknown = true
			return notDone
		}
		open.aboveUnknown = true
		return open
	case hal.CodeAlreadyExists:
		open.undoFirst = !tearDown
		return open
	case hal.CodeOK, hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable:
		return doubted
	case hal.CodeUnknown:
		if e.Doubtful || plugin.Doubtful(e.Detail) {
			return doubted
		}
		return open
	case hal.CodePermissionDenied, hal.CodeResourceExhausted, hal.CodeOutOfRange, hal.CodeInternal, hal.CodeDataLoss,
		hal.CodeUnauthenticated:
		return open
	}
	return open
}

// Ends reports whether a reply proves that its call has ended: a status that a broken connection or an interceptor
// could have made up does not.
func Ends(err error) bool { return !judge(core.TearDown, err, false).fenced }

// result is the verdict as the end of an operation, with the reason why.
func (v verdict) result(err error) core.Result {
	r := core.Result{
		Outcome: v.outcome, Fenced: v.fenced, Answer: v.answer,
		BelowUnknown: v.belowUnknown, AboveUnknown: v.aboveUnknown, UndoFirst: v.undoFirst, Unsent: v.unsent,
		Blocked: v.blocked,
	}
	if e, ok := errors.AsType[*hal.Error](err); ok {
		judged := *e
		judged.Outcome = v.outcome // the HAL names what its class leaves open; the code says more
		r.Reason, r.Call = judged.Error(), e.Op
		if e.Class == hal.ClassRPC && e.Reply == hal.ReplyStatus {
			r.Code = e.Code.String()
		}
		if v.answer == core.Doubted {
			r.Reason += "; this answer does not end the call"
		}
	} else if err != nil {
		r.Reason = err.Error()
	}
	return r
}
