package sim

import (
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// site is one place of choice.
type site struct {
	name string
	hash uint64
}

func newSite(name string) *site { return &site{name, hashString(name)} }

// callSite is one method of the host, with its places of choice.
type callSite struct {
	site
	op     string // what errors call it: "umount"
	class  hal.Class
	writes bool

	// Of each call: what goes wrong, whether the agent dies, and the times of the way there and back.
	fault, crash, request, reply *site
	// Of an RPC: when it reaches the driver, how long it takes there, the second time, the status and the text of some
	// faults, when in it the agent dies.
	arrive, execute, late, code, text, moment *site
	// Of RemoveTree: how many names are removed before the agent dies.
	amount *site
}

func newCallSite(name string, class hal.Class, writes bool) *callSite {
	op := strings.ReplaceAll(name[strings.IndexByte(name, '.')+1:], "-", " ")
	if op == "unmount" {
		op = "umount"
	}
	return &callSite{
		op: op, site: *newSite(name), class: class, writes: writes,
		fault: newSite(name + "/fault"), crash: newSite(name + "/crash"), request: newSite(name + "/request"),
		reply: newSite(name + "/reply"), arrive: newSite(name + "/arrive"), execute: newSite(name + "/execute"),
		late: newSite(name + "/late"), code: newSite(name + "/code"), text: newSite(name + "/text"),
		moment: newSite(name + "/moment"),
		amount: newSite(name + "/amount"),
	}
}

// latency bounds by class: the way there, and the way back.
const (
	fastest     = time.Microsecond
	syscallMost = 2 * time.Millisecond
	fileMost    = 20 * time.Millisecond
	rpcMost     = 50 * time.Millisecond
)

// A call that hangs sits in the kernel for HangLeast to HangMost.
const (
	HangLeast = time.Second
	HangMost  = 20 * time.Minute
)

func mostOf(c hal.Class) time.Duration {
	switch c {
	case hal.ClassSyscall:
		return syscallMost
	case hal.ClassFile:
		return fileMost
	case hal.ClassHelper, hal.ClassRPC:
		return rpcMost
	}
	return rpcMost
}

// call is one call into the host, from its request to its reply.
type call struct {
	h       *host
	w       *World
	site    *callSite
	c       hal.Call
	subject subject
	begin   uint64 // trace record
	fault   Fault
	crash   Fault
	expired bool // the deadline had passed before it was sent
	// timedOut: a helper was given up at the deadline; its effect may still come.
	timedOut bool
	dies     func(actor) // what its helper has made when it dies before its end; nil for nothing
	// most is how long a call that hangs takes, if that is shorter than HangMost.
	most time.Duration
}

// enter begins a call on the current task: it draws what will happen to it and parks for the way there.
func (h *host) enter(at *callSite, object string, c hal.Call, m *menu) call {
	w := h.w
	w.sched.alive(h.inc, at.name)
	k := call{h: h, w: w, site: at, c: c, subject: w.subject(&at.site, object)}
	k.subject.key = c.Key
	k.begin = w.trace.add(k.record(MarkCall))
	if c.Deadline != 0 && h.now() >= c.Deadline {
		k.expired = true
		return k
	}
	w.entered, w.enteredFor = at, c.Key
	k.fault = w.pick(at.fault, &k.subject, m)
	crashes := &w.menus.crashIdle
	if at.writes {
		crashes = &w.menus.crash
	}
	k.crash = w.pick(at.crash, &k.subject, crashes)
	wait := time.Duration(w.chooser.Between(k.subject.id(at.request), int64(fastest), int64(mostOf(at.class))))
	if k.fault == Slow {
		wait *= 1000
	}
	k.sleep(wait)
	if w.isSpared() {
		k.crash = NoFault
	}
	if k.diesBefore() {
		k.die()
	}
	return k
}

// diesBefore: the death that was drawn for the call comes before its effect.
func (k *call) diesBefore() bool {
	switch isAfter := k.site.writes && k.w.config.DiesAfter; k.crash {
	case CrashBefore:
		return true
	case Reboot:
		return !isAfter
	case PowerCut:
		return !isAfter && (!k.site.writes || k.subject.hash&1 == 0)
	default:
		return false
	}
}

// Caller is the call that a choice is about.
type Caller struct {
	Site   string // "csi.stage"; "" is none
	Class  hal.Class
	Writes bool // it changes something
	Run    uint32
	Op     hal.OpID
	Key    hal.Key // of the rung that the operation is about, if it is about one
}

// Caller returns the call that the choice id, which is being made, is about: what goes wrong with it, or whether the
// agent dies at it. It is the zero Caller for other choices.
func (w *World) Caller(id ID) Caller {
	at := w.entered
	if at == nil || id.Site != at.fault.name && id.Site != at.crash.name {
		return Caller{}
	}
	return Caller{at.name, at.class, at.writes, w.lives, w.trace.last.op, w.enteredFor}
}

func (k *call) record(m Mark) Record {
	return Record{
		Cause: k.begin, At: k.w.sched.now, Run: k.h.inc.number, Op: k.c.Op, Mark: m, What: k.site.name,
		Object: k.subject.name,
		Fault:  k.fault, hash: k.site.hash ^ k.subject.hash,
	}
}

// sleep parks the task.
func (k *call) sleep(d time.Duration) {
	s := k.w.sched
	s.wake(s.now.Add(d), k.subject.hash+uint64(k.subject.nth), s.current)
	s.park()
}

// die carries out the crash that was drawn for the call. It does not return.
func (k *call) die() {
	k.w.down = k.crash
	k.w.sched.die(k.h.inc)
}

// leave ends a call: crashes that come after the effect, the way back, and the error.
func (k *call) leave(errno syscall.Errno, outcome hal.Outcome) error {
	w := k.w
	if !k.expired && k.site.writes {
		if k.crash == CrashAfter || k.crash == PowerCut || k.crash == Reboot {
			k.die()
		}
		k.sleep(time.Duration(w.chooser.Between(k.subject.id(k.site.reply), int64(fastest),
			int64(mostOf(k.site.class)))))
	}
	if k.crash == CrashReplied {
		w.dieSoon(k.h.inc)
	}
	r := k.record(MarkReply)
	r.Outcome, r.Errno = hal.Done, errno
	if errno == 0 {
		w.trace.add(r)
		return nil
	}
	r.Outcome = outcome
	w.trace.add(r)
	return &hal.Error{
		Op: k.site.op, Object: k.subject.name, Class: k.site.class, Outcome: outcome, Errno: errno, Detail: k.detail(),
	}
}

func (k *call) detail() string {
	if k.expired {
		return "deadline passed before it was sent"
	}
	return ""
}

// done ends a call whose error, if any, means no effect.
func (k *call) done(errno syscall.Errno) error {
	if k.expired {
		return k.leave(syscall.ETIMEDOUT, hal.NotDone)
	}
	if k.timedOut {
		return k.leave(errno, hal.Unknown)
	}
	return k.leave(errno, hal.NotDone)
}

// acts says whether the call may have its effect, and otherwise why not.
func (k *call) acts() (syscall.Errno, bool) {
	switch {
	case k.expired:
		return syscall.ETIMEDOUT, false
	case k.fault == FailNone:
		return syscall.EIO, false
	case k.fault == NoSpace:
		return syscall.ENOSPC, false
	}
	return 0, true
}

// dieSoon kills the agent a moment from now: after it has the reply, somewhere in what it does next.
func (w *World) dieSoon(inc *incarnation) {
	if w.isSpared() {
		return
	}
	w.sched.at(w.sched.now.Add(fastest/2), 0, inc, func() {
		w.down = CrashReplied
		w.sched.dying = inc
	})
}
