package calm

import (
	"fmt"
	"slices"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what the host asks the engine once the world is calm, and what must be answered.

// readIn is the longest time until the agent has read what somebody wrote: two readings agree.
const readIn = 2 * time.Second

// renewalCosts is how many effects one renewal may have: its call, its lines in the journal, and its part of the next
// file of the journal.
const renewalCosts = 10

// tokenCosts is the same of a token that is written in the place of another: its file and those beside it, their
// directory and the links to it, and what goes.
const tokenCosts = 24

// hasCompared lets the agent find what somebody has changed in place: in that instant its journal is in trouble.
func hasCompared(r *world.Run) bool {
	return r.Root.WoundedAt == 0 || restsAt(r, r.Root.WoundedAt.Add(dealings.Noticing))
}

// restsAt lets time pass until then, unless that has passed.
func restsAt(r *world.Run, then hal.Instant) bool {
	return r.W.Now() >= then || r.Until(then) && comesToRest(r, "L2", "converged", bound(r))
}

// isQuiet lets some time pass in which nothing may be done.
func isQuiet(r *world.Run) bool {
	if r.FailedAt != 0 && !restsAt(r, r.FailedAt.Add(dealings.FailureTold)) || !hasCompared(r) {
		return false // until then the agent may not have looked
	}
	if dealings.AnyRenews(r) && !restsAt(r, r.Registrars.Calm.Add(dealings.AllRenewed)) {
		return false // what a driver has forgotten shows when it is asked to publish again
	}
	before, renewals, tokens, since := r.Actual, dealings.Renewals(r), len(r.W.Tokens()), r.W.Now()
	if !r.Until(since.Add(dealings.Quiet)) {
		return false
	}
	if r.EditedAt > since.Add(-readIn) { // what somebody had begun before the calm
		return comesToRest(r, "L2", "converged", bound(r)) && isQuiet(r)
	}
	r.Judges("L7")
	n := r.Actual.Effects - before.Effects
	most := renewalCosts*(r.Actual.Renewals-before.Renewals) + tokenCosts*(len(r.W.Tokens())-tokens)
	if r.Actual.Mounting == before.Mounting && n <= most {
		n = 0
	}
	if n > 0 && r.Actual.Mounting == before.Mounting && dealings.NotesAgain(r, since) {
		return comesToRest(r, "L2", "converged", bound(r)) && isQuiet(r)
	}
	if n > 0 {
		r.Fail("L7", "quiet", "agent",
			fmt.Sprintf("%d effects in %s of calm in which everything was as wanted", n, dealings.Quiet))
		return false
	}
	return (!isHealthy(r) || renewsInTime(r, renewals) && saysHowFull(r)) &&
		dealings.KeepsNoMore(r) && dealings.TellsRegistrars(r) && plansNothing(r)
}

// saysHowFull is a part of L18: what the status says of volumes whose driver answers, after a time of calm.
func saysHowFull(r *world.Run) bool {
	if r.Cfg.MeasureEvery == 0 {
		return true
	}
	s, ok := judges.Status(r)
	if !ok {
		return true
	}
	isPrompt, saysHealth, saysStorage := map[string]bool{"": true}, map[string]bool{}, map[string]bool{}
	for _, d := range r.W.Drivers() {
		isPrompt[d.Name] = d.Is.Stats && judges.IsPrompt(d)
		saysHealth[d.Name] = d.Is.Health && judges.IsPrompt(d)
		saysStorage[d.Name] = d.Is.StorageHealth && judges.IsPrompt(d)
	}
	return dealings.SaysHowFull(r, s, func(driver string) bool { return isPrompt[driver] }) &&
		dealings.SaysHealth(r, s, func(driver string) bool { return saysHealth[driver] }) &&
		dealings.SaysStorage(r, s, func(driver string) bool { return saysStorage[driver] })
}

// renewsInTime is L17, of the drivers whose calls take seconds at most.
func renewsInTime(r *world.Run, before map[*world.Place]int) bool {
	for _, d := range r.W.Drivers() {
		if judges.IsPrompt(d) && !dealings.RenewsInTime(r, d.Name, before, dealings.Quiet) {
			return false
		}
	}
	return true
}

// plansNothing is a part of L7: once everything is as wanted, nothing is planned either.
func plansNothing(r *world.Run) bool {
	if r.Broken != "" || !isHealthy(r) {
		return true
	}
	var plan []core.Op
	m := r.M
	var err error
	r.W.Do(func() { plan, err = m.Plan(r.W.Context(0)) })
	plan = slices.DeleteFunc(plan, func(o core.Op) bool { return dealings.IsRenewal(r, &o) })
	switch {
	case err != nil:
		r.Fail("L7", "plan", "agent", "the engine does not say what it plans: "+err.Error())
	case len(plan) > 0:
		r.Fail("L7", "plan", string(plan[0].Key),
			fmt.Sprintf("everything is as wanted, and %d operations are planned, the first %s", len(plan), plan[0]))
	}
	return r.Violation == nil
}

// isHealthy: every rung is up and as wanted.
func isHealthy(r *world.Run) bool {
	healthy := true
	r.Core.Beliefs(func(b core.Belief) { healthy = healthy && b.State == core.Present && !b.IsHeldBack })
	return healthy
}

// impatience is how long who asks for something that will not come waits.
const impatience = 2 * time.Second

// hangsOn reports whether a helper sits in the kernel, be it of an earlier life: it may do so for a day, and as long as
// it may act, its rung is left.
func hangsOn(r *world.Run) bool {
	hangs := false
	if r.Alive() {
		r.Core.Beliefs(func(b core.Belief) { hangs = hangs || b.HasChild })
	}
	return hangs
}

// asksForTheEnd is a part of L4: who waits until nothing is left is told, and so is who waits until a pod is down;
// before, who has no more time is told that it is not. The answers must be there when check is called.
func asksForTheEnd(r *world.Run) (check func() bool) {
	m, life := r.M, r.W.Life()
	asked, told, early := "", false, false
	for _, p := range r.Pods {
		if p.IsWanted && p.IsRunning {
			asked = p.Name
			r.W.Go(func() { early = m.WaitForUnmount(r.W.Context(impatience), p.Uid) == nil })
			break
		}
	}
	if asked != "" && !r.Until(r.W.Now().Add(2*impatience)) {
		return func() bool { return false }
	}
	if early {
		r.Fail("L4", "waiter", asked, "pod "+asked+" runs, and a wait for its end returns")
	}
	r.W.Go(func() { told = m.WaitForNothing(r.W.Context(0)) == nil })
	return func() bool {
		if r.Until(r.W.Now().Add(dealings.Slowest)) && !told && !hangsOn(r) && r.W.Life() == life {
			r.Fail("L4", "waiter", "agent", "nothing is left, and a wait for that does not return")
		}
		return r.Violation == nil
	}
}
