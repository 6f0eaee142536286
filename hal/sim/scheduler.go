package sim

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is the only one of the package that may recover, start coroutines and know contexts.

// killed unwinds a task of a dead incarnation.
type killed struct{}

// Dies implements [hal.Death].
func (killed) Dies() {}

// Failure is a defect that ended a run: a panic of the agent's code, or a rule of the runtime that it broke.
type Failure struct {
	What  string
	Stack string // of the task or owner function that failed, "" if the scheduler itself saw the defect
}

func (f *Failure) Error() string {
	if f.Stack == "" {
		return f.What
	}
	return f.What + "\n" + f.Stack
}

// worker is a coroutine that is used for many tasks, one after another: half the cost of a new one each.
type worker struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	task  *task
}

// task is one thread of control of an incarnation.
type task struct {
	fn     func()
	inc    *incarnation
	id     uint64 // among all tasks of the world
	w      *worker
	index  int    // in inc.tasks
	parked uint32 // number of the present park; a wake-up for an earlier one is void
	dead   bool
	done   bool
}

// incarnation is one life of the agent: what dies together.
type incarnation struct {
	number  uint32
	boot    *boot
	dead    bool
	stalled hal.Instant // until when nothing of it runs, of the world's clock
	tasks   []*task
	queue   []func() // posted to the owner
	drains  bool     // a drain of the queue is scheduled or under way
	drain   func()   // empties the queue; nil until something was posted
	started uint32   // tasks so far: their identity for the tie-break
	drained uint32
	conns   []*conn
	watches watchSet
}

// scheduler runs coroutines and events under a virtual clock.
type scheduler struct {
	now     hal.Instant // since the world began; it never restarts
	events  eventQueue
	tie     uint64 // seed of the order of events at one instant; 0 is first in, first out
	ranks   *ranks // nil: events of one instant have no order but the tie's
	seq     uint64
	steps   uint64
	current *task
	onOwner *incarnation
	idle    []*worker
	dying   *incarnation // killed at the next step, before anything else happens
	onKill  func(*incarnation)
	failure *Failure
	closed  bool
}

// ownerBurst bounds the functions that one drain of the owner's queue runs: more is a loop that time does not pass in.
const ownerBurst = 100_000

func newWorker() *worker {
	w := &worker{}
	w.next, w.stop = iter.Pull(func(yield func(struct{}) bool) {
		w.yield = yield
		for yield(struct{}{}) {
			w.run()
		}
	})
	w.next()
	return w
}

// run runs one task to its end, however it ends.
func (w *worker) run() {
	t := w.task
	s := t.inc.boot.world.sched
	returned := false
	defer func() {
		t.done = true
		r := recover()
		if _, ok := r.(killed); ok || returned {
			return
		}
		if r == nil {
			// Goexit can't be stopped: it ends the scheduler's goroutine as well.
			s.fail("a task called runtime.Goexit (FailNow of a test?)", "")
			return
		}
		s.fail(fmt.Sprintf("panic: %v", r), string(debug.Stack()))
	}()
	t.fn()
	returned = true
}

func (s *scheduler) fail(what, stack string) {
	if s.failure == nil {
		s.failure = &Failure{What: what, Stack: stack}
	}
}

// at schedules run at the instant t. With inc not nil, the event is void once inc is dead. key names the event for the
// tie-break.
func (s *scheduler) at(t hal.Instant, key uint64, inc *incarnation, run func()) {
	s.push(event{at: max(t, s.now), key: key, inc: inc, run: run})
}

// timer posts f to the owner of inc at the instant t.
func (s *scheduler) timer(t hal.Instant, inc *incarnation, f func()) {
	s.push(event{at: max(t, s.now), key: siteTimer.hash, inc: inc, run: f, isTimer: true})
}

func (s *scheduler) push(e event) {
	s.seq++
	e.seq, e.name = s.seq, e.key
	switch {
	case s.ranks != nil:
		e.at = roundUp(e.at)
		e.key = s.ranks.of(s.tie, e.chain())
	case s.tie != 0:
		e.key = mix(s.tie ^ e.key)
	default:
		e.key = 0
	}
	s.events.push(e)
}

// spawn starts fn as a task of inc.
func (s *scheduler) spawn(inc *incarnation, fn func()) *task {
	inc.started++
	t := &task{fn: fn, inc: inc, id: mix(uint64(inc.number)<<32 | uint64(inc.started)), index: len(inc.tasks)}
	inc.tasks = append(inc.tasks, t)
	s.push(event{at: s.now, key: t.id, task: t, inc: inc})
	return t
}

// wake schedules the end of the present park of t.
func (s *scheduler) wake(at hal.Instant, key uint64, t *task) {
	s.push(event{at: max(at, s.now), key: key, task: t, park: t.parked, inc: t.inc})
}

// park blocks the current task until it is woken. A dead task is unwound, before and after.
func (s *scheduler) park() {
	t := s.current
	if t.dead {
		panic(killed{})
	}
	if !t.w.yield(struct{}{}) {
		t.dead = true
	}
	if t.dead {
		panic(killed{})
	}
	t.parked++
}

// die ends the incarnation of the current task, and so never returns.
func (s *scheduler) die(inc *incarnation) {
	s.dying = inc
	s.park()
}

// alive panics if the caller may not make a blocking call, and returns the current task.
func (s *scheduler) alive(inc *incarnation, site string) *task {
	t := s.current
	if t == nil || t.inc != inc {
		if inc.dead || s.closed {
			panic(killed{})
		}
		panic("sim: " + site + " called outside a task of this incarnation: a blocking call on the owner?")
	}
	if t.dead {
		panic(killed{})
	}
	return t
}

func (s *scheduler) resume(t *task) {
	if t.w == nil {
		if t.dead {
			t.done = true
			s.unlink(t)
			return
		}
		if n := len(s.idle); n > 0 {
			t.w, s.idle = s.idle[n-1], s.idle[:n-1]
		} else {
			t.w = newWorker()
		}
		t.w.task = t
	}
	outer := s.current
	s.current = t
	t.w.next()
	s.current = outer
	if t.done {
		s.idle = append(s.idle, t.w)
		s.unlink(t)
	}
}

func (s *scheduler) unlink(t *task) {
	list := t.inc.tasks
	last := len(list) - 1
	list[t.index] = list[last]
	list[t.index].index = t.index
	list[last] = nil
	t.inc.tasks = list[:last]
	if t.w != nil {
		t.w.task = nil
	}
}

// kill ends inc: its tasks are unwound, its posted functions, timers and watches are void.
func (s *scheduler) kill(inc *incarnation) {
	if inc == nil || inc.dead {
		return
	}
	inc.dead = true
	inc.queue = nil
	for n := len(inc.tasks); n > 0; n = len(inc.tasks) {
		t := inc.tasks[n-1]
		t.dead = true
		s.resume(t)
		if !t.done {
			panic("sim: a killed task lives on: it recovered the panic that unwinds it and parked again")
		}
	}
}

// step runs the next event; false if there is none.
func (s *scheduler) step() bool {
	if s.dying != nil {
		inc := s.dying
		s.dying = nil
		s.onKill(inc)
		return true
	}
	if len(s.events.list) == 0 {
		return false
	}
	if s.ranks != nil && s.ranks.falls(s.steps) {
		s.ranks.fall(&s.events)
	}
	e := s.events.pop()
	s.now = e.at
	if e.inc != nil {
		switch {
		case e.inc.dead:
			return true
		case e.inc.stalled > e.at: // it comes when the agent goes on, in its order
			s.seq++
			e.at, e.seq = e.inc.stalled, s.seq
			s.events.push(e)
			return true
		}
	}
	s.steps++
	switch {
	case e.isTimer:
		h := host{e.inc.boot.world, e.inc}
		h.post(e.run)
	case e.task == nil:
		e.run()
	case !e.task.done && e.task.parked == e.park:
		s.resume(e.task)
	}
	return true
}

// post queues f for the owner of inc; the queue is drained wait later.
func (s *scheduler) post(inc *incarnation, wait int64, f func()) {
	if inc.dead {
		return
	}
	inc.queue = append(inc.queue, f)
	if inc.drains {
		return
	}
	inc.drains = true
	if s.ranks == nil {
		inc.drained++ // with ranks the owner is one thread of control
	}
	if inc.drain == nil {
		inc.drain = func() { s.drain(inc) }
	}
	s.at(s.now+hal.Instant(wait), mix(uint64(inc.number)<<40|uint64(inc.drained)), inc, inc.drain)
}

// drain runs the owner until its queue is empty.
func (s *scheduler) drain(inc *incarnation) {
	defer func() {
		s.onOwner = nil
		if r := recover(); r != nil {
			s.fail(fmt.Sprintf("panic on the owner: %v", r), string(debug.Stack()))
		}
	}()
	s.onOwner = inc
	for i := 0; i < len(inc.queue) && !inc.dead; i++ {
		if i == ownerBurst {
			panic("sim: the owner's queue never gets empty")
		}
		f := inc.queue[i]
		inc.queue[i] = nil
		f()
	}
	inc.queue = inc.queue[:0]
	inc.drains = false
}

// close ends all coroutines, or hands them to who keeps them. Tasks that are left are unwound first. After a failure
// none is used again.
func (s *scheduler) close(keeper *Buffers) {
	s.closed = true
	if keeper != nil && keeper.keeps && s.failure == nil {
		keeper.workers = append(keeper.workers, s.idle...)
	} else {
		end(s.idle)
	}
	s.idle = nil
}

func end(workers []*worker) {
	for _, w := range workers {
		w.stop()
	}
}

// KeepCoroutines has the coroutines of closed worlds used by those that come. They leak if b is not closed.
func (b *Buffers) KeepCoroutines() { b.keeps = true }

// Close ends the coroutines that were kept. No world may use b any more.
func (b *Buffers) Close() {
	end(b.workers)
	b.workers, b.keeps = nil, false
}

// lend hands the coroutines that were kept to a new world.
func (b *Buffers) lend() []*worker {
	workers := b.workers
	b.workers = nil
	return workers
}

// await parks the current task until the function that register was given is called, or ctx is over.
func (s *scheduler) await(ctx context.Context, inc *incarnation, post func(func()), register func(done func())) error {
	t := s.alive(inc, "Await")
	if ctx == nil {
		ctx = context.Background()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ready := false
	park := t.parked
	post(func() {
		register(func() {
			if !ready && !inc.dead {
				ready = true
				if t.parked == park {
					s.wake(s.now, uint64(t.parked), t)
				}
			}
		})
	})
	if v, ok := ctx.Value(contextKey{}).(*Context); ok {
		v.watch(s, t)
	}
	s.park()
	if !ready && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

type contextKey struct{}

// Context is a context of virtual time, for Runtime.Await. It also works below context.WithValue. Done returns nil:
// nothing in a world may wait on a channel.
type Context struct {
	world    *World
	deadline hal.Instant // of the world's clock; 0 is none
	err      error
	waiting  []waiting
}

// waiting is a task, and which time it was parked.
type waiting struct {
	task *task
	park uint32
}

// Context returns a context that ends after d of virtual time, or never if d is 0.
func (w *World) Context(d time.Duration) *Context {
	c := &Context{world: w}
	if d > 0 {
		c.deadline = w.sched.now.Add(d)
	}
	return c
}

// Cancel ends the context.
func (c *Context) Cancel() {
	if c.Err() != nil {
		return
	}
	c.err = context.Canceled
	s := c.world.sched
	for _, is := range c.waiting {
		if t := is.task; !t.done && t.parked == is.park {
			s.wake(s.now, uint64(t.parked), t)
		}
	}
	c.waiting = nil
}

// watch wakes the current task, about to park, at the end of the context.
func (c *Context) watch(s *scheduler, t *task) {
	if c.deadline != 0 {
		s.wake(c.deadline, uint64(t.parked), t)
	}
	c.waiting = append(c.waiting, waiting{t, t.parked})
}

// Deadline is unset: virtual time is no time.Time.
func (c *Context) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Done returns nil.
func (c *Context) Done() <-chan struct{} { return nil }

// Err is nil until the context is over, then context.Canceled or context.DeadlineExceeded.
func (c *Context) Err() error {
	if c.err == nil && c.deadline != 0 && c.world.sched.now >= c.deadline {
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Value returns the context itself for the package's own key.
func (c *Context) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c
	}
	return nil
}
