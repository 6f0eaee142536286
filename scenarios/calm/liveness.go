package calm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what follows the timeline: no more faults, and everything must come right.

// bound is laws 9: time-out + late window + (rungs up + rungs down) × the longest backoff, and what was under way when
// the faults stopped.
func bound(r *world.Run) time.Duration {
	rungs := 0
	if r.Core != nil {
		r.Core.Beliefs(func(core.Belief) { rungs++ })
	}
	rungs = max(rungs, len(r.List)) + 2*len(r.Pods)
	return 2*time.Minute + sim.LateWindow + time.Duration(rungs)*dealings.MaxBackoff + dealings.LongestHang +
		dealings.LongestStart
}

// Finish is the liveness phase: calm, convergence, quiet, a restart without a call, everything deleted, nothing left.
func Finish(r *world.Run, restart bool) {
	r.Stop = true
	r.W.Calm()
	r.W.Allow()
	if neverRests(r) || !outwaits(r) {
		return
	}
	r.Registrars.Calm = r.W.Now()
	judges.UncoversManifests(r)
	workload.SwapsBack(r, true)
	if r.Source != nil && !r.IsTended {
		r.IsTended = true
		workload.LooksForMissing(r)
	}
	r.W.SweepForeign(lang.RootDir)
	letsGo(r)
	judges.Tidies(r)
	for _, m := range r.Rooms {
		m.Mends(r)
	}
	if !makesRoom(r) {
		return
	}
	if r.Broken != "" {
		if !comesToRest(r, "L2", "the core works", bound(r)) || !isolates(r) {
			return
		}
		if !explains(r) || !dealings.Outlasts(r) {
			return
		}
		dealings.Breaks(r, r.Broken, sim.Works)
		r.Broken, r.Registrars.Calm = "", r.W.Now()
	}
	isAtRest := comesToRest(r, "L2", "converged", bound(r)) && judges.Untouched(r) && judges.KnowsAll(r) &&
		workload.Confesses(r) && expels(r)
	if !isAtRest || !hasCompared(r) || !judges.FacesTruth(r) || !isQuiet(r) || !judgesCost(r) || !recovers(r) ||
		!spares(r) || restart && !restarts(r) {
		return
	}
	empties(r)
}

// neverRests reports whether a driver that wants its publishes repeated has become slow in an upgrade: it takes longer
// for one than until the next, so one is always under way.
func neverRests(r *world.Run) bool {
	return slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool {
		return d.Is.Slow && dealings.Renewing(r, d.Name)
	})
}

// explains asks for the status while a driver is broken.
func explains(r *world.Run) bool {
	status, ok := judges.Status(r)
	return !ok || Explained(r, status)
}

// Explained is L12: what is not as it should be says why, or what is under way.
func Explained(r *world.Run, status engine.Status) bool {
	r.Judges("L12")
	for _, k := range status.Rungs {
		if k.State != engine.Ready && k.State != engine.Gone && k.Why == "" && k.Next == "" && k.Step == "" {
			r.Fail("L12", "status", string(k.Key),
				string(k.Key)+" is "+string(k.State)+", and the status does not say why")
			return false
		}
	}
	for _, p := range status.Pods {
		for _, v := range p.Volumes {
			if v.State != engine.Ready && v.State != engine.Gone && v.Why == "" {
				r.Fail("L12", "status", p.Name,
					"volume "+v.Name+" of pod "+p.Name+" is "+string(v.State)+", and the status does not say why")
				return false
			}
		}
	}
	return judges.Eventless(r, &status, true)
}

// letsGo has containers let go of volumes whose filesystem is dead, as those do that fail on it and are started again:
// as long as they keep it busy, no driver can replace its mount. Nor can volnode have a FlexVolume mounted again
// that was never up by an old copy of the journal.
func letsGo(r *world.Run) {
	for _, p := range r.Pods {
		isOutdated := func(u world.Use) bool { return r.Root.Outdated[u.Path] }
		if dealings.OccupiesFailed(r, p) || slices.ContainsFunc(p.Uses, isOutdated) {
			judges.Remove(r, p, time.Second)
		}
		isDead := func(u world.Use) bool {
			v, errno := r.W.OpenView(u.Path)
			return errno == syscall.ENOTCONN || errno == syscall.ESTALE || errno == 0 && v.IsDead()
		}
		isAsked := func(u world.Use) bool { return dealings.Renewing(r, u.Driver) && isDead(u) }
		switch {
		case slices.ContainsFunc(p.Uses, isAsked): // each publish upon it fails, and somebody reads why
			judges.Remove(r, p, time.Second)
		case slices.ContainsFunc(p.Uses, isDead):
			p.LetGo()
		}
	}
}

// givesUpFailed is a person who reads that a volume of a pod whose containers run has failed: one that came up after
// calm did, on what another pod still had.
func givesUpFailed(r *world.Run) {
	for _, p := range r.Pods {
		if p.IsRunning && dealings.OccupiesFailed(r, p) {
			judges.Remove(r, p, time.Second)
		}
	}
}

// awaitRest lets the world go on until everything is as wanted.
func awaitRest(r *world.Run, property, phase string, within time.Duration) bool {
	r.Judges(property)
	end := r.W.Now().Add(within)
	for step := time.Second; ; step = min(2*step, 30*time.Second) {
		if !r.Until(min(end, r.W.Now().Add(step))) || !judges.IsReached(r) {
			return false
		}
		object, why := restless(r)
		if why == "" {
			return true
		}
		if r.Alive() && r.W.Now() >= end.Add(-within/2) {
			judges.Unmix(r)
			givesUpFailed(r)
			judges.Discards(r)
			judges.Gathers(r)
		}
		if r.W.Now() >= end {
			r.Fail(property, phase, object, fmt.Sprintf("%s after %s of calm: %s", why, within, judges.TellWhy(r,
				object)))
			return false
		}
	}
}

// comesToRest lets all settle, and those hear of it who wait. What is noticed or let go only meanwhile, as what
// somebody has unmounted, or what a broken driver had at the path of another volume, settles as well.
func comesToRest(r *world.Run, property, phase string, within time.Duration) bool {
	if !awaitRest(r, property, phase, within) || !told(r) {
		return false
	}
	if _, why := restless(r); why == "" && !slices.ContainsFunc(r.Pods, func(p *world.Pod) bool {
		return isUnwoken(r,
			p)
	}) {
		return true
	}
	return awaitRest(r, property, phase, within) && told(r)
}

// restless names something that is not as it should stay, and why; "" if there is none.
func restless(r *world.Run) (object, why string) {
	switch {
	case r.W.Off():
		return "node", "it is down"
	case !r.Alive():
		return "agent", "it has not started"
	case r.W.IsStalled():
		return "agent", "its threads do not run"
	case r.W.IsTorn():
		return "agent", "a manifest of its source is half written"
	case !r.Synced:
		return "agent", "its source is not synced"
	case r.W.Cluster.HasNews():
		return "agent", "it has not been told all that has changed"
	case r.IsTended && len(r.Missing()) > 0:
		return "agent", "manifests are missing in another directory"
	}
	for _, name := range slices.Sorted(maps.Keys(r.Away)) {
		if dealings.IsWantedHere(r, r.Away[name]) {
			return name, "another node has it, and gives it back"
		}
	}
	return restlessInside(r)
}

// restlessInside is restless of drivers, of what core believes and of pods.
func restlessInside(r *world.Run) (object, why string) {
	drivers := r.W.Drivers()
	for _, d := range drivers {
		isServed := slices.ContainsFunc(drivers, func(o sim.DriverState) bool { return o.Name == d.Name && o.Up })
		switch {
		case slices.ContainsFunc(drivers, func(o sim.DriverState) bool {
			return o.Name == d.Name && o.Endpoint != d.Endpoint
		}):
			return d.Name, "a version of it takes the place of another"
		case d.Name == r.Broken:
		case !isServed:
			return d.Name, "the driver is down"
		case d.Up && d.Hides:
			return d.Name, "what it mounts does not reach the host, and somebody is to see to that"
		case d.Up && !(r.Registrars.Registered[d.Name] && r.Registrars.Connected[d.Name]):
			return d.Name, "the driver is up, and it is not registered and connected"
		case r.W.HoldsRetired(d.Name):
			return d.Name, "a version of it has ended, and the agent has not noticed that"
		}
	}
	if calls, _, _ := r.Core.Memories(); calls > 0 && r.Broken == "" {
		return "agent", "it remembers a call that was answered with an error"
	}
	rebuilt := judges.Rebuilt(r)
	r.Core.Beliefs(func(b core.Belief) {
		if why == "" && !r.IsBroken(string(b.Key)) && !judges.AwaitsClaim(r, &b) && !r.IsHung(&b) &&
			!awaitsPath(r, &b) && !isRefused(r, &b) {
			object, why = string(b.Key), whyNotAtRest(r, &b, rebuilt)
		}
	})
	if why != "" {
		return object, why
	}
	for _, p := range r.Pods {
		switch {
		case p.IsLeaving:
			return p.Name, "it is being deleted"
		case uses(p, r.Broken):
		case r.Broken == "" && r.Hangs(p):
			return p.Name, "its containers wait for a server that is silent"
		case p.IsWanted && !r.IsCurrent(p):
			return p.Name, "the agent has not been told of it, or of its volumes, as it is"
		case p.IsWanted && !r.Core.Ready(p.Uid) && !judges.IsHeldBack(r, p):
			return p.Name, "the pod is not ready"
		case !p.IsWanted && p.Told != nil:
			return p.Name, "the agent has not been told that it is gone"
		}
	}
	active := slices.DeleteFunc(r.W.Active(), func(a sim.ActiveCall) bool {
		return a.Method == world.Publish && dealings.IsRenewing(r, a.Key)
	})
	if r.Broken == "" && len(active) > 0 {
		return string(active[0].Key), "a " + active[0].Method + " may still act"
	}
	return "", ""
}

// whyNotAtRest says why a rung will not stay as it is believed to be.
func whyNotAtRest(r *world.Run, b *core.Belief, rebuilt []string) string {
	switch {
	case dealings.RenewsInVain(r, b):
		return ""
	case b.InFlight && !(b.State == core.Present && b.Verb == core.Refresh && dealings.IsRenewing(r, b.Key)):
		return "an operation is in flight"
	case b.HasChild:
		return "a helper still lives"
	case b.SetUpOpen != 0 || b.TearDownOpen != 0:
		return "a call has no known end"
	case b.IsTimed:
		return "something will be tried again"
	case b.IsHeldBack || b.IsWanted && slices.Contains(rebuilt, b.Volume):
		return ""
	case b.IsWanted && b.State != core.Present:
		return "it is wanted and " + strings.ToLower(b.State.String())
	case !b.IsWanted && b.State != core.Present:
		return "it is not wanted and " + strings.ToLower(b.State.String())
	case !b.IsWanted:
		return "it is not wanted and up"
	}
	return ""
}

// awaitsPath: the rung waits for containers that have another volume at its path; or it is what those have, of a pod
// that wants another one now.
func awaitsPath(r *world.Run, b *core.Belief) bool {
	if b.InFlight || b.HasChild || b.SetUpOpen != 0 || b.TearDownOpen != 0 || b.IsTimed {
		return false
	}
	if !b.IsWanted && b.State == core.Absent {
		return isBelow(r, b)
	}
	isOf := func(u world.Use) bool { return u.Driver+"^"+u.Volume == b.Volume }
	return slices.ContainsFunc(r.Pods, func(p *world.Pod) bool {
		if b.Pod != "" && b.Pod != p.Uid {
			return false
		}
		if b.IsWanted {
			isDown := b.State == core.Absent && (r.IsOccupied(p) || keepsAll(r, p, b)) || b.State == core.Unknown &&
				r.IsContested(b, p)
			return isDown && p.IsWanted && slices.ContainsFunc(p.Uses, isOf)
		}
		isKept := keepsAll(r, p, b) || r.BearsPresumed(b, p) || r.IsContested(b, p) || judges.IsOverlaid(r, b)
		return !slices.ContainsFunc(p.Uses, isOf) && (isKept || slices.ContainsFunc(r.List, func(at *world.Place) bool {
			return at.Thing == b.Volume && r.PodOf(at.Path) == p && (r.MayRun(at) || at.IsUnheard)
		}))
	})
}

// isBelow: a rung that is down may have left something at its path, where another volume is by now: containers may run
// on that, or its driver is broken.
func isBelow(r *world.Run, b *core.Belief) bool {
	p := r.Places[b.Key]
	return p != nil && slices.ContainsFunc(r.List, func(q *world.Place) bool {
		return q.Path == p.Path && q.Thing != p.Thing &&
			(r.MayRun(q) || r.IsBroken(string(q.Key)) && judges.Knows(r, q.Key))
	})
}

// keepsAll: a volume of p can't be resolved, for its driver is broken, so all that p had stays as it is; the rung is
// of that, or below it.
func keepsAll(r *world.Run, p *world.Pod, b *core.Belief) bool {
	isKept := false
	if p.IsWanted && uses(p, r.Broken) {
		r.Core.Beliefs(func(o core.Belief) { isKept = isKept || o.Pod == p.Uid && o.Volume == b.Volume })
	}
	return isKept
}

func uses(p *world.Pod, driver string) bool {
	return driver != "" && slices.ContainsFunc(p.Uses, func(u world.Use) bool { return u.Driver == driver })
}

// told: who waits for a pod that is ready has been woken, some time after.
func told(r *world.Run) bool {
	unwoken := slices.DeleteFunc(slices.Clone(r.Pods), func(p *world.Pod) bool { return !isUnwoken(r, p) })
	if !r.Until(r.W.Now().Add(dealings.Slowest)) {
		return false
	}
	for _, p := range unwoken {
		if isUnwoken(r, p) {
			r.Fail("L2", "waiter", p.Name, "pod "+p.Name+" is ready, and the engine does not wake a wait for it")
			return false
		}
	}
	return true
}

// isUnwoken: a pod is ready, and nobody has been woken yet who waits for that.
func isUnwoken(r *world.Run, p *world.Pod) bool {
	return r.Alive() && p.IsWanted && !p.IsRunning && !judges.IsHeldBack(r, p) && !uses(p, r.Broken) &&
		r.Core.Ready(p.Uid)
}

// holdsForgotten reports whether a driver holds what the agent knew of only by a journal that was lost: a call that
// was late brought it, and the next start finds it.
func holdsForgotten(r *world.Run) bool {
	return r.Root.Forgotten && slices.ContainsFunc(r.List, func(p *world.Place) bool {
		_, isKnown := r.Core.Belief(p.Key)
		return p.IsHeld && !isKnown
	})
}

// restarts kills the agent and starts it again: it must adopt everything without a call.
func restarts(r *world.Run) bool {
	isHealthy := isHealthy(r) && !holdsForgotten(r)
	r.W.Restarts(false)
	r.W.KillAgent()
	before := r.Actual.Mounting
	r.W.After(time.Second, "start the agent again", r.W.StartAgent)
	if !r.Until(r.W.Now().Add(2*time.Second)) || !comesToRest(r, "L6", "restarted", dealings.Hasty) {
		return false
	}
	r.W.Restarts(true)
	if isHealthy {
		r.Judges("L11")
	}
	if n := r.Actual.Mounting - before; n > 0 && isHealthy {
		r.Fail("L11", "restart", "agent",
			fmt.Sprintf("a restart over healthy volumes made %d calls that stage, publish or mount them, or undo it",
				n))
		return false
	}
	return true
}
