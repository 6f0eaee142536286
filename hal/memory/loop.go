package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/volnode/volnode/hal"
)

// Loop is a runtime without goroutines: Run runs what was posted and the tasks that were begun, in order. Its clock
// stands still but for Sleep. For one goroutine; who waits on it waits for what Run has done.
type Loop struct {
	now    hal.Instant
	queue  []func()
	timers []timer
}

type timer struct {
	at hal.Instant
	f  func()
}

// NewLoop returns a loop with nothing to do.
func NewLoop() *Loop { return &Loop{now: 1} }

// Now is the instant to which Run has come.
func (l *Loop) Now() hal.Instant { return l.now }

// BootID is always the same.
func (l *Loop) BootID() hal.BootID { return "00000000-0000-4000-8000-000000000001" }

// Post has Run call f as the owner.
func (l *Loop) Post(f func()) { l.queue = append(l.queue, f) }

// Go has Run call task: the loop has one thread.
func (l *Loop) Go(task func()) { l.queue = append(l.queue, task) }

// At has Run call f as the owner once its time has come to t.
func (l *Loop) At(t hal.Instant, f func()) {
	at, _ := slices.BinarySearchFunc(l.timers, t, func(x timer, t hal.Instant) int {
		if x.at <= t {
			return -1
		}
		return 1
	})
	l.timers = slices.Insert(l.timers, at, timer{t, f})
}

// errWaits is the end of a wait for what Run has not brought about.
var errWaits = errors.New("memory: Run has ended, and what was waited for has not come")

// Await runs the loop until done is called. It is an error if nothing is left to run before.
func (l *Loop) Await(_ context.Context, register func(done func())) error {
	isDone := false
	l.Post(func() { register(func() { isDone = true }) })
	l.Run()
	if !isDone {
		return errWaits
	}
	return nil
}

// Run runs until nothing is left to do at this instant.
func (l *Loop) Run() {
	for {
		for len(l.timers) > 0 && l.timers[0].at <= l.now {
			f := l.timers[0].f
			l.timers = l.timers[1:]
			l.queue = append(l.queue, f)
		}
		if len(l.queue) == 0 {
			return
		}
		batch := l.queue
		l.queue = nil
		for _, f := range batch {
			f()
		}
	}
}

// Sleep lets the clock go on by d nanoseconds, timer by timer.
func (l *Loop) Sleep(d int64) {
	end := l.now + hal.Instant(d)
	for len(l.timers) > 0 && l.timers[0].at <= end {
		l.now = max(l.now, l.timers[0].at)
		l.Run()
	}
	l.now = end
	l.Run()
}

var _ hal.Runtime = (*Loop)(nil)
