package sim

import (
	"github.com/volnode/volnode/hal"
)

// This file is how a call gets its answer: from its driver, from a connection that breaks, or never.

// answer sends the driver's status back.
func (r *rpc) answer(code hal.Code) {
	r.code, r.reply = code, hal.ReplyStatus
	r.w.sched.at(r.w.sched.now.Add(r.between(r.site.reply, fastest, rpcMost)), r.subject.hash^r.id, r.inc, r.deliver)
}

// broken is the end of the connection, before an answer.
func (r *rpc) broken() {
	if r.reply == hal.ReplyStatus || r.state == rpcEnded {
		return
	}
	r.code, r.reply = hal.CodeUnavailable, hal.ReplyNone
	r.w.sched.at(r.w.sched.now.Add(fastest), r.subject.hash^r.id, r.inc, r.deliver)
}

var (
	siteLate     = newSite("rpc.late-reply")
	siteTimedOut = newSite("rpc.timed-out")
)

// deliver hands the answer to the task that waits, or, after the deadline, to the call's Late.
func (r *rpc) deliver() {
	w := r.w
	if !r.task.done && r.task.parked == r.park {
		r.answered = true
		w.sched.wake(w.sched.now, r.subject.hash, r.task)
		return
	}
	if r.reply != hal.ReplyStatus || r.call.Late == nil || w.happens(LateDropped, siteLate, r.subject.name) {
		return
	}
	call := r.call
	err := r.failure()
	r.note(MarkReply)
	w.sched.post(r.inc, 0, func() { call.Late(call.Op, err) })
}

// failure is the error of an answer, nil for OK.
func (r *rpc) failure() error {
	if r.reply == hal.ReplyStatus && r.code == hal.CodeOK {
		return nil
	}
	e := &hal.Error{
		Op: r.method, Object: r.subject.name, Class: hal.ClassRPC, Outcome: hal.Unknown, Code: r.code, Reply: r.reply,
	}
	if r.reply == hal.ReplyStatus {
		e.Detail = r.says()
	}
	return e
}
