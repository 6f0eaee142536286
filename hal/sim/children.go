package sim

import (
	"cmp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// child is a helper process with one effect to make. It may outlive the agent that started it.
type child struct {
	pid   int
	begun uint64
	since hal.Instant // of the world's clock
	run   uint32
	op    hal.OpID
	key   hal.Key
	what  string
	act   func(actor) syscall.Errno
	dies  func(actor) // what it has made when it dies; nil for nothing
	errno syscall.Errno
	ended bool
	hung  bool  // it waits for a server: it can't be killed
	owner *task // the task that waits for it; nil once it is dead
	gone  []goneNotice
}

type goneNotice struct {
	inc *incarnation
	f   func()
}

var (
	siteHang  = newSite("child.hang")
	siteLives = newSite("child.lives")
	siteGone  = newSite("child.gone")
)

// clockTicks is the unit of a process's start time (USER_HZ).
const clockTicks = time.Second / 100

// inKernel carries out the effect of a call that may hang: at once, or after a time during which the call sits in a
// helper in D state. If the agent dies meanwhile, the helper may live on, and act.
func (k *call) inKernel(what string, act func(actor) syscall.Errno) syscall.Errno {
	w := k.w
	if k.fault != Hang {
		if errno := act(actor{call: k}); errno != hangs {
			return errno
		}
	}
	w.pids++
	begun := uint64(time.Duration(k.h.now()) / clockTicks)
	c := &child{
		pid: w.pids, begun: begun, since: w.sched.now, run: k.h.inc.number, op: k.c.Op, key: k.c.Key,
		what: what, act: act,
		owner: w.sched.current, dies: k.dies,
	}
	w.children = append(w.children, c)
	if k.fault == Hang {
		most := cmp.Or(k.most, HangMost)
		w.sched.at(w.sched.now.Add(w.time(siteHang, what, HangLeast, most)), k.subject.hash, nil, w.goesOn(c))
	} else {
		w.hangsOn(c)
	}
	if k.site.class == hal.ClassHelper && k.c.Deadline != 0 {
		w.sched.wake(k.h.instant(k.c.Deadline), k.subject.hash, c.owner)
	}
	w.sched.park()
	if !c.ended { // the helper is killed; what it asked the kernel for goes on
		c.owner = nil
		k.timedOut = true
		return syscall.ETIMEDOUT
	}
	return c.errno
}

// hangsOn keeps a helper in the kernel until the server answers that its last call waits for.
func (w *World) hangsOn(c *child) {
	c.hung = true
	w.hungAt.wait(w.goesOn(c))
}

// goesOn is what lets a helper that sits in the kernel go on, unless it has ended meanwhile.
func (w *World) goesOn(c *child) func() {
	boot := w.boot
	return func() {
		if w.boot == boot && !c.ended {
			w.endChild(c, true)
		}
	}
}

// endChild lets a helper end, with its effect or without; or it hangs on.
func (w *World) endChild(c *child, acts bool) {
	if acts {
		if c.errno = c.act(actor{kid: c}); c.errno == hangs {
			w.hangsOn(c)
			return
		}
	} else if c.dies != nil {
		c.dies(actor{kid: c})
	}
	c.ended = true
	if acts {
		w.trace.add(Record{
			At: w.sched.now, Run: c.run, Op: c.op, Mark: MarkEffect, What: "child.acted", Object: c.what,
			Errno: c.errno,
			hash:  hashString(c.what),
		})
	}
	w.children = slices.DeleteFunc(w.children, func(k *child) bool { return k == c })
	if t := c.owner; t != nil && !t.done && !t.dead {
		w.sched.wake(w.sched.now, 0, t)
	}
	for _, g := range c.gone {
		w.notify(g.inc, siteGone, c.what, g.f)
	}
	c.gone = nil
}

// orphan decides for each helper of a dead agent whether it lives on. One that does not dies without effect. One that
// waits for a server lives on.
func (w *World) orphan() {
	for _, c := range slices.Clone(w.children) {
		if c.owner == nil {
			continue
		}
		c.owner = nil
		if !c.hung && !w.happens(ChildLives, siteLives, c.what) {
			w.endChild(c, false)
		}
	}
}

type hostChildren struct{ *host }

var callLiving = newCallSite("children.living", hal.ClassSyscall, false)

func (h hostChildren) Living(c hal.Call) ([]hal.Child, error) {
	k := h.enter(callLiving, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	var living []hal.Child
	for _, c := range h.w.children {
		if c.owner == nil && c.run != h.inc.number {
			living = append(living, hal.Child{PID: c.pid, Start: c.begun, Key: c.key, What: c.what, State: "D"})
		}
	}
	return living, k.done(0)
}

func (h hostChildren) Gone(child hal.Child, f func()) {
	if h.inc.dead {
		return
	}
	for _, c := range h.w.children {
		if c.pid == child.PID && c.begun == child.Start {
			c.gone = append(c.gone, goneNotice{h.inc, f})
			return
		}
	}
	h.w.notify(h.inc, siteGone, strconv.Itoa(child.PID), f)
}
