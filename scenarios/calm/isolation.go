package calm

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is L3, in two parts. In chaos, whatever goes wrong with others, a pod comes and goes promptly if nothing
// goes wrong with what is its own: its volumes, their drivers, and what all pods share (the agent's life, its files,
// the mount table, the cluster). In calm, while one driver is broken, a pod that does not use it goes and comes as if
// it were not. All times are the world's.

// Times has the run judge how promptly pods come. The faults of a scenario come by its statements, too, of which
// disturbs knows nothing.
func Times(r *world.Run) {
	r.Faulty = map[hal.Key]bool{}
	r.W.OnFault(func(i sim.Injected) { Disturbs(r, i) })
}

// Disturbs notes a fault: of one rung, whose volume is no matter of this check any more, or of all.
func Disturbs(r *world.Run, i sim.Injected) {
	switch {
	case i.Key != "":
		r.Faulty[i.Key] = true
	case strings.HasPrefix(i.Site, "cluster."):
		judges.Delays(r, judges.ForLong)
	default:
		judges.Delays(r, judges.Shortly)
	}
}

// isHeldOpen: somebody keeps what is mounted for a volume of a pod busy, or what it depends on.
func isHeldOpen(r *world.Run, u world.Use) bool {
	return r.W.IsHeldOpen(u.Path) || u.Driver != "" && slices.ContainsFunc(r.List, func(at *world.Place) bool {
		return !at.IsPublish && at.Driver == u.Driver && at.Volume == u.Volume && r.W.IsHeldOpen(at.Path)
	})
}

// isolates has a pod that does not use the broken driver go and come again.
func isolates(r *world.Run) bool {
	p := bystander(r)
	if p == nil {
		return true
	}
	return goesAndComes(r, p, "driver "+r.Broken+", which is broken")
}

// goesAndComes has a pod go and come again beside something that does not concern it.
func goesAndComes(r *world.Run, p *world.Pod, beside string) bool {
	r.Judges("L3")
	// After a lost journal a stage waits for what an unstage of an earlier run may still do (laws 4.4).
	if r.Root.Forgotten && !r.Until(r.W.Now().Add(dealings.UnstageTime+sim.LateWindow)) {
		return false
	}
	judges.Remove(r, p, time.Second)
	if !hearsOf(r, p, nil, beside) {
		return r.Violation == nil
	}
	if !promptly(r, p, "go", beside, func() bool { return !p.IsRunning && p.Told == nil && !judges.HasRungs(r, p) }) {
		return false
	}
	dealings.Apply(r, p.Object, p.Uses)
	if !hearsOf(r, p, p.Object, beside) {
		return r.Violation == nil
	}
	return promptly(r, p, "come", beside, func() bool { return p.IsRunning })
}

// hearsOf lets the agent be told of the pod: a cluster that was silent when calm came may stay so for minutes, and
// manifests never are. It reports whether it was.
func hearsOf(r *world.Run, p *world.Pod, as *corev1.Pod, beside string) bool {
	for end := r.W.Now().Add(dealings.LongestStart); p.Told != as && r.W.Now() < end; {
		if !r.Until(r.W.Now().Add(time.Second)) {
			return false
		}
	}
	// What the agent knew of manifests may be lost: what is gone may then be in one that is bad.
	if p.Told != as && r.Files && (as != nil || r.Root.WoundedAt == 0) {
		r.Fail("L3", "be heard of", p.Name,
			"the manifest of pod "+p.Name+", which has nothing to do with "+beside+", has changed, and the agent "+
				"does not act on it: "+judges.TellWhy(r, p.Name))
	}
	return p.Told == as
}

// promptly waits for something that the pod comes to.
func promptly(r *world.Run, p *world.Pod, verb, beside string, done func() bool) bool {
	end := r.W.Now().Add(judges.Prompt)
	for !done() {
		if r.W.Now() >= end {
			r.Fail("L3", verb, p.Name, "pod "+p.Name+" has nothing to do with "+beside+", and it did not "+verb+
				" within "+judges.Prompt.String()+": "+judges.TellWhy(r, p.Name))
			return false
		}
		if !r.Until(min(end, r.W.Now().Add(time.Second))) {
			return false
		}
	}
	return true
}

// bystander is a running pod with volumes of working drivers alone, which take no time of their own for what they do;
// nil if there is none. A driver of whose life the agent has not heard may be without a registration socket for
// minutes.
func bystander(r *world.Run) *world.Pod {
	if i := slices.IndexFunc(r.Pods, func(p *world.Pod) bool { return isBystander(r, p) }); i >= 0 {
		return r.Pods[i]
	}
	return nil
}

func isBystander(r *world.Run, p *world.Pod) bool {
	slow := map[string]bool{}
	for _, d := range r.W.Drivers() {
		slow[d.Name] = slow[d.Name] || d.Name == r.Broken || !judges.IsPrompt(d) || !r.Registrars.Connected[d.Name]
	}
	isPlain := !slices.ContainsFunc(p.Uses, func(u world.Use) bool {
		return slow[u.Driver] || r.Exclusive[u.Thing()] || r.Away[u.Driver+"^"+u.Volume] != nil ||
			dealings.IsDisturbed(r, u.Path) ||
			r.IsCut[u.Driver+"^"+u.Volume] ||
			isHeldOpen(r, u) || r.IsSilent(u) || dealings.HasFailed(r, u)
	})
	return p.IsWanted && p.IsRunning && isPlain && !judges.IsHeldBack(r, p)
}
