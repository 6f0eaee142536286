package scenarios

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
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what follows the timeline: no more faults, and everything must come right.

const (
	quiet = 10 * time.Minute // of calm in which nothing may be done
	// longestHang is how long a helper may sit in the kernel (hal/sim), longestStart how long a node may take to boot and an agent to start.
	longestHang  = 20 * time.Minute
	longestStart = 15 * time.Minute
	maxBackoff   = 2*time.Minute + 2*time.Second
	// slowest is how long a call may take that was slow when calm came: a record that is being written, and who waits for it.
	slowest = 30 * time.Second
	// hasty is the bound of a restart of a healthy agent: no call is to be made.
	hasty = 10 * time.Minute
)

// bound is laws 9: time-out + late window + (rungs up + rungs down) × the longest backoff, and what was under way when the faults stopped.
func (r *run) bound() time.Duration {
	rungs := 0
	if r.core != nil {
		r.core.Beliefs(func(core.Belief) { rungs++ })
	}
	rungs = max(rungs, len(r.list)) + 2*len(r.pods)
	return 2*time.Minute + sim.LateWindow + time.Duration(rungs)*maxBackoff + longestHang + longestStart
}

// finish is the liveness phase: calm, convergence, quiet, a restart without a call, everything deleted, nothing left.
func (r *run) finish(restart bool) {
	r.stop = true
	r.w.Calm()
	r.w.Allow()
	if !r.outwaits() {
		return
	}
	r.registrars.calm = r.w.Now()
	r.uncoversManifests()
	r.swapsBack(true)
	if r.source != nil && !r.isTended {
		r.isTended = true
		r.looksForMissing()
	}
	r.w.SweepForeign(lang.RootDir)
	r.letsGo()
	r.tidies()
	r.turnsBack()
	if !r.makesRoom() {
		return
	}
	if r.broken != "" {
		if !r.comesToRest("L2", "the core works", r.bound()) || !r.isolates() {
			return
		}
		if !r.explains() || !r.outlasts() {
			return
		}
		r.breaks(r.broken, sim.Works)
		r.broken, r.registrars.calm = "", r.w.Now()
	}
	isAtRest := r.comesToRest("L2", "converged", r.bound()) && r.untouched() && r.knowsAll() && r.confesses() && r.expels()
	if !isAtRest || !r.hasCompared() || !r.facesTruth() || !r.isQuiet() || !r.judgesCost() || !r.recovers() || !r.spares() || restart && !r.restarts() {
		return
	}
	r.empties()
}

// explains asks for the status while a driver is broken.
func (r *run) explains() bool {
	status, ok := r.status()
	return !ok || r.explained(status)
}

// explained is L12: what is not as it should be says why, or what is under way.
func (r *run) explained(status engine.Status) bool {
	r.judges("L12")
	for _, k := range status.Rungs {
		if k.State != engine.Ready && k.State != engine.Gone && k.Why == "" && k.Next == "" && k.Step == "" {
			r.fail("L12", "status", string(k.Key), string(k.Key)+" is "+string(k.State)+", and the status does not say why")
			return false
		}
	}
	for _, p := range status.Pods {
		for _, v := range p.Volumes {
			if v.State != engine.Ready && v.State != engine.Gone && v.Why == "" {
				r.fail("L12", "status", p.Name, "volume "+v.Name+" of pod "+p.Name+" is "+string(v.State)+", and the status does not say why")
				return false
			}
		}
	}
	return true
}

// letsGo has containers let go of volumes whose filesystem is dead, as those do that fail on it and are started again: as long as they keep it
// busy, no driver can replace its mount.
func (r *run) letsGo() {
	for _, p := range r.pods {
		if r.occupiesFailed(p) {
			r.remove(p, time.Second)
		}
		isDead := slices.ContainsFunc(p.uses, func(u use) bool {
			v, errno := r.w.OpenView(u.path)
			return errno == syscall.ENOTCONN || errno == syscall.ESTALE || errno == 0 && v.IsDead()
		})
		if isDead {
			p.letGo()
		}
	}
}

// givesUpFailed is a person who reads that a volume of a pod whose containers run has failed: one that came up after calm did, on what another pod
// still had.
func (r *run) givesUpFailed() {
	for _, p := range r.pods {
		if p.isRunning && r.occupiesFailed(p) {
			r.remove(p, time.Second)
		}
	}
}

// awaitRest lets the world go on until everything is as wanted.
func (r *run) awaitRest(property, phase string, within time.Duration) bool {
	r.judges(property)
	end := r.w.Now().Add(within)
	for step := time.Second; ; step = min(2*step, 30*time.Second) {
		if !r.until(min(end, r.w.Now().Add(step))) || !r.isReached() {
			return false
		}
		object, why := r.restless()
		if why == "" {
			return true
		}
		if r.alive() && r.w.Now() >= end.Add(-within/2) {
			r.unmix()
			r.givesUpFailed()
			r.discards()
			r.gathers()
		}
		if r.w.Now() >= end {
			r.fail(property, phase, object, fmt.Sprintf("%s after %s of calm: %s", why, within, r.tellWhy(object)))
			return false
		}
	}
}

// comesToRest lets all settle, and those hear of it who wait. What is noticed or let go only meanwhile, as what somebody has unmounted, or what a
// broken driver had at the path of another volume, settles as well.
func (r *run) comesToRest(property, phase string, within time.Duration) bool {
	if !r.awaitRest(property, phase, within) || !r.told() {
		return false
	}
	if _, why := r.restless(); why == "" && !slices.ContainsFunc(r.pods, r.isUnwoken) {
		return true
	}
	return r.awaitRest(property, phase, within) && r.told()
}

// restless names something that is not as it should stay, and why; "" if there is none.
func (r *run) restless() (object, why string) {
	switch {
	case r.w.Off():
		return "node", "it is down"
	case !r.alive():
		return "agent", "it has not started"
	case r.w.IsStalled():
		return "agent", "its threads do not run"
	case r.w.IsTorn():
		return "agent", "a manifest of its source is half written"
	case !r.synced:
		return "agent", "its source is not synced"
	case r.w.HasNews():
		return "agent", "it has not been told all that has changed"
	case r.isTended && len(r.missing) > 0:
		return "agent", "manifests are missing in another directory"
	}
	for _, name := range slices.Sorted(maps.Keys(r.away)) {
		if r.isWantedHere(r.away[name]) {
			return name, "another node has it, and gives it back"
		}
	}
	drivers := r.w.Drivers()
	for _, d := range drivers {
		isServed := slices.ContainsFunc(drivers, func(o sim.DriverState) bool { return o.Name == d.Name && o.Up })
		switch {
		case slices.ContainsFunc(drivers, func(o sim.DriverState) bool { return o.Name == d.Name && o.Endpoint != d.Endpoint }):
			return d.Name, "a version of it takes the place of another"
		case d.Name == r.broken:
		case !isServed:
			return d.Name, "the driver is down"
		case d.Up && d.Hides:
			return d.Name, "what it mounts does not reach the host, and somebody is to see to that"
		case d.Up && !(r.registrars.registered[d.Name] && r.registrars.connected[d.Name]):
			return d.Name, "the driver is up, and it is not registered and connected"
		case r.w.HoldsRetired(d.Name):
			return d.Name, "a version of it has ended, and the agent has not noticed that"
		}
	}
	if calls, _, _ := r.core.Memories(); calls > 0 && r.broken == "" {
		return "agent", "it remembers a call that was answered with an error"
	}
	rebuilt := r.rebuilt()
	r.core.Beliefs(func(b core.Belief) {
		if why == "" && !r.isBroken(string(b.Key)) && !r.awaitsClaim(&b) && !r.isHung(&b) && !r.awaitsPath(&b) && !r.isIntruding(&b) {
			object, why = string(b.Key), whyNotAtRest(&b, rebuilt)
		}
	})
	if why != "" {
		return object, why
	}
	for _, p := range r.pods {
		switch {
		case p.isLeaving:
			return p.name, "it is being deleted"
		case r.uses(p, r.broken):
		case r.broken == "" && r.hangs(p):
			return p.name, "its containers wait for a server that is silent"
		case p.isWanted && !r.isCurrent(p):
			return p.name, "the agent has not been told of it, or of its volumes, as it is"
		case p.isWanted && !r.core.Ready(p.uid) && !r.isHeldBack(p):
			return p.name, "the pod is not ready"
		case !p.isWanted && p.told != nil:
			return p.name, "the agent has not been told that it is gone"
		}
	}
	if active := r.w.Active(); r.broken == "" && len(active) > 0 {
		return string(active[0].Key), "a " + active[0].Method + " may still act"
	}
	return "", ""
}

// whyNotAtRest says why a rung will not stay as it is believed to be.
func whyNotAtRest(b *core.Belief, rebuilt []string) string {
	switch {
	case b.InFlight:
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

// rebuilt returns the volumes, as driver^handle, whose stage must be made again, which is done once no container runs on it. Until then nothing new
// is made upon it.
func (r *run) rebuilt() []string {
	var all []string
	r.core.Beliefs(func(b core.Belief) {
		if b.IsHeldBack && b.Pod == "" {
			all = append(all, b.Volume)
		}
	})
	return all
}

// isHeldBack: the pod or a volume of it was edited, and what the edit asks for is made once no container runs on it; or another pod has its claim.
func (r *run) isHeldBack(p *pod) bool {
	if r.isRenamed && r.isOccupied(p) || r.isIntruder(p) {
		return true
	}
	rebuilt, isHeld := r.rebuilt(), false
	r.core.Beliefs(func(b core.Belief) { isHeld = isHeld || b.Pod == p.uid && (b.IsHeldBack || r.awaitsClaim(&b)) })
	return isHeld || slices.ContainsFunc(p.uses, func(u use) bool {
		return u.driver != "" && slices.Contains(rebuilt, u.driver+"^"+u.volume)
	})
}

// awaitsClaim: the rung is of a ReadWriteOncePod claim that another pod has, be it that its containers keep its volume from being made again.
func (r *run) awaitsClaim(b *core.Belief) bool {
	if !r.exclusive[b.Volume] || b.Pod == "" || b.State != core.Absent || !b.IsWanted || b.InFlight || b.SetUpOpen != 0 || b.TearDownOpen != 0 {
		return false
	}
	isTaken := false
	r.core.Beliefs(func(o core.Belief) {
		isTaken = isTaken || o.Key != b.Key && o.Volume == b.Volume && o.Pod != "" && (o.State == core.Present || o.IsHeldBack)
	})
	return isTaken
}

// awaitsPath: the rung waits for containers that have another volume at its path; or it is what those have, of a pod that wants another one now.
func (r *run) awaitsPath(b *core.Belief) bool {
	if b.InFlight || b.HasChild || b.SetUpOpen != 0 || b.TearDownOpen != 0 || b.IsTimed {
		return false
	}
	if !b.IsWanted && b.State == core.Absent {
		return r.isBelow(b)
	}
	isOf := func(u use) bool { return u.driver+"^"+u.volume == b.Volume }
	return slices.ContainsFunc(r.pods, func(p *pod) bool {
		if b.Pod != "" && b.Pod != p.uid {
			return false
		}
		if b.IsWanted {
			isDown := b.State == core.Absent && (r.isOccupied(p) || r.keepsAll(p, b)) || b.State == core.Unknown && r.isContested(b, p)
			return isDown && p.isWanted && slices.ContainsFunc(p.uses, isOf)
		}
		isKept := r.keepsAll(p, b) || r.bearsPresumed(b, p) || r.isContested(b, p) || r.isOverlaid(b)
		return !slices.ContainsFunc(p.uses, isOf) && (isKept || slices.ContainsFunc(r.list, func(at *place) bool {
			return at.thing == b.Volume && r.podOf(at.path) == p && r.mayRun(at)
		}))
	})
}

// isBelow: a rung that is down may have left something at its path, where another volume is by now: containers may run on
// that, or its driver is broken.
func (r *run) isBelow(b *core.Belief) bool {
	p := r.places[b.Key]
	return p != nil && slices.ContainsFunc(r.list, func(q *place) bool {
		return q.path == p.path && q.thing != p.thing && (r.mayRun(q) || r.isBroken(string(q.key)) && r.knows(q.key))
	})
}

// keepsAll: a volume of p can't be resolved, for its driver is broken, so all that p had stays as it is; the rung is of that, or below it.
func (r *run) keepsAll(p *pod, b *core.Belief) bool {
	isKept := false
	if p.isWanted && r.uses(p, r.broken) {
		r.core.Beliefs(func(o core.Belief) { isKept = isKept || o.Pod == p.uid && o.Volume == b.Volume })
	}
	return isKept
}

// isBroken reports whether a rung is of the driver that is broken for good.
func (r *run) isBroken(key string) bool {
	return r.broken != "" && strings.Contains(key, "/"+r.broken+"^")
}

func (r *run) uses(p *pod, driver string) bool {
	return driver != "" && slices.ContainsFunc(p.uses, func(u use) bool { return u.driver == driver })
}

// told: who waits for a pod that is ready has been woken, some time after.
func (r *run) told() bool {
	unwoken := slices.DeleteFunc(slices.Clone(r.pods), func(p *pod) bool { return !r.isUnwoken(p) })
	if !r.until(r.w.Now().Add(slowest)) {
		return false
	}
	for _, p := range unwoken {
		if r.isUnwoken(p) {
			r.fail("L2", "waiter", p.name, "pod "+p.name+" is ready, and who waits for it is not woken")
			return false
		}
	}
	return true
}

// isUnwoken: a pod is ready, and nobody has been woken yet who waits for that.
func (r *run) isUnwoken(p *pod) bool {
	return r.alive() && p.isWanted && !p.isRunning && !r.isHeldBack(p) && !r.uses(p, r.broken) && r.core.Ready(p.uid)
}

// holdsForgotten reports whether a driver holds what the agent knew of only by a journal that was lost: a call that was late brought it, and the
// next start finds it.
func (r *run) holdsForgotten() bool {
	return r.root.forgotten && slices.ContainsFunc(r.list, func(p *place) bool {
		_, isKnown := r.core.Belief(p.key)
		return p.isHeld && !isKnown
	})
}

// restarts kills the agent and starts it again: it must adopt everything without a call.
func (r *run) restarts() bool {
	isHealthy := r.isHealthy() && !r.holdsForgotten()
	r.w.Restarts(false)
	r.w.KillAgent()
	before := r.actual.mounting
	r.w.After(time.Second, "start the agent again", r.w.StartAgent)
	if !r.until(r.w.Now().Add(2*time.Second)) || !r.comesToRest("L6", "restarted", hasty) {
		return false
	}
	r.w.Restarts(true)
	if isHealthy {
		r.judges("L11")
	}
	if n := r.actual.mounting - before; n > 0 && isHealthy {
		r.fail("L11", "restart", "agent",
			fmt.Sprintf("a restart over healthy volumes made %d calls that stage, publish or mount them, or undo it", n))
		return false
	}
	return true
}

// status asks the engine for its status.
func (r *run) status() (s engine.Status, ok bool) {
	if !r.alive() {
		return s, false
	}
	m := r.m
	r.w.Do(func() {
		status, err := m.Status(r.w.Context(0))
		s, ok = status, err == nil
	})
	r.readsStatus(s)
	return s, ok
}

// tellWhy is what the engine itself says of a rung or pod.
func (r *run) tellWhy(object string) string {
	s, ok := r.status()
	if !ok {
		return "the agent does not answer"
	}
	for _, rung := range s.Rungs {
		if string(rung.Key) == object {
			return strings.Join([]string{string(rung.State), rung.Actual, rung.Desired, rung.Step, rung.Why, rung.Next}, "; ")
		}
	}
	for _, p := range s.Pods {
		if p.Namespace+"/"+p.Name == object {
			return fmt.Sprintf("%s %+v", p.State, p.Volumes)
		}
	}
	for _, d := range s.Drivers {
		if d.Name == object || d.Name == "" {
			return fmt.Sprintf("%+v", d)
		}
	}
	return "the engine does not know it"
}
