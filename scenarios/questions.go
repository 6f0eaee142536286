package scenarios

import (
	"fmt"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// This file is what the host asks the engine once the world is calm, and what must be answered.

// readIn is the longest time until the agent has read what somebody wrote: two readings agree.
const readIn = 2 * time.Second

// hasCompared lets the agent find what somebody has changed in place: in that instant its journal is in trouble.
func (r *run) hasCompared() bool {
	return r.root.woundedAt == 0 || r.restsAt(r.root.woundedAt.Add(noticing))
}

// restsAt lets time pass until then, unless that has passed.
func (r *run) restsAt(then hal.Instant) bool {
	return r.w.Now() >= then || r.until(then) && r.comesToRest("L2", "converged", r.bound())
}

// isQuiet lets some time pass in which nothing may be done.
func (r *run) isQuiet() bool {
	if r.failedAt != 0 && !r.restsAt(r.failedAt.Add(failureTold)) || !r.hasCompared() {
		return false // until then the agent may not have looked
	}
	before, since := r.actual, r.w.Now()
	if !r.until(since.Add(quiet)) {
		return false
	}
	if r.editedAt > since.Add(-readIn) { // what somebody had begun before the calm
		return r.comesToRest("L2", "converged", r.bound()) && r.isQuiet()
	}
	r.judges("L7")
	n := r.actual.effects - before.effects
	if n > 0 && r.actual.mounting == before.mounting && r.notesAgain(since) {
		return r.comesToRest("L2", "converged", r.bound()) && r.isQuiet()
	}
	if n > 0 {
		r.fail("L7", "quiet", "agent",
			fmt.Sprintf("%d effects in %s of calm in which everything was as wanted", n, quiet))
		return false
	}
	return r.keepsNoMore() && r.tellsRegistrars() && r.plansNothing()
}

// plansNothing is a part of L7: once everything is as wanted, nothing is planned either.
func (r *run) plansNothing() bool {
	if r.broken != "" || !r.isHealthy() {
		return true
	}
	var plan []core.Op
	m := r.m
	var err error
	r.w.Do(func() { plan, err = m.Plan(r.w.Context(0)) })
	switch {
	case err != nil:
		r.fail("L7", "plan", "agent", "the engine does not say what it plans: "+err.Error())
	case len(plan) > 0:
		r.fail("L7", "plan", string(plan[0].Key),
			fmt.Sprintf("everything is as wanted, and %d operations are planned, the first %s", len(plan), plan[0]))
	}
	return r.violation == nil
}

// isHealthy: every rung is up and as wanted.
func (r *run) isHealthy() bool {
	healthy := true
	r.core.Beliefs(func(b core.Belief) { healthy = healthy && b.State == core.Present && !b.IsHeldBack })
	return healthy
}

// impatience is how long who asks for something that will not come waits.
const impatience = 2 * time.Second

// hangsOn reports whether a helper sits in the kernel, be it of an earlier life: it may do so for a day, and as long as
// it may act, its rung is left.
func (r *run) hangsOn() bool {
	hangs := false
	if r.alive() {
		r.core.Beliefs(func(b core.Belief) { hangs = hangs || b.HasChild })
	}
	return hangs
}

// asksForTheEnd is a part of L4: who waits until nothing is left is told, and so is who waits until a pod is down;
// before, who has no more time is told that it is not. The answers must be there when check is called.
func (r *run) asksForTheEnd() (check func() bool) {
	m, life := r.m, r.w.Life()
	asked, told, early := "", false, false
	for _, p := range r.pods {
		if p.isWanted && p.isRunning {
			asked = p.name
			r.w.Go(func() { early = m.WaitForUnmount(r.w.Context(impatience), p.uid) == nil })
			break
		}
	}
	if asked != "" && !r.until(r.w.Now().Add(2*impatience)) {
		return func() bool { return false }
	}
	if early {
		r.fail("L4", "waiter", asked, "pod "+asked+" runs, and who waits for its end is told of it")
	}
	r.w.Go(func() { told = m.WaitForNothing(r.w.Context(0)) == nil })
	return func() bool {
		if r.until(r.w.Now().Add(slowest)) && !told && !r.hangsOn() && r.w.Life() == life {
			r.fail("L4", "waiter", "agent", "nothing is left, and who waits for that is not told")
		}
		return r.violation == nil
	}
}
