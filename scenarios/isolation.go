package scenarios

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
)

// This file is L3: while one driver is broken, a pod that does not use it comes and goes as if it were not. All times are the world's.

// prompt is how long a pod may take to go, or to come, with nothing in its way: a handful of calls that work at once, each of a few seconds, and the
// lines for them.
const prompt = time.Minute

// isolates has a pod that does not use the broken driver go and come again.
func (r *run) isolates() bool {
	p := r.bystander()
	if p == nil {
		return true
	}
	r.judges("L3")
	r.remove(p, time.Second)
	if !r.hearsOf(p, nil) {
		return r.violation == nil
	}
	if !r.promptly(p, "go", func() bool { return !p.isRunning && p.told == nil && !r.hasRungs(p) }) {
		return false
	}
	r.apply(p.object, p.uses)
	if !r.hearsOf(p, p.object) {
		return r.violation == nil
	}
	return r.promptly(p, "come", func() bool { return p.isRunning })
}

// hearsOf lets the agent be told of the pod: a cluster that was silent when calm came may stay so for minutes. It reports whether it was.
func (r *run) hearsOf(p *pod, as *corev1.Pod) bool {
	for end := r.w.Now().Add(longestStart); p.told != as && r.w.Now() < end; {
		if !r.until(r.w.Now().Add(time.Second)) {
			return false
		}
	}
	return p.told == as
}

// promptly waits for something that the pod comes to.
func (r *run) promptly(p *pod, verb string, done func() bool) bool {
	end := r.w.Now().Add(prompt)
	for !done() {
		if r.w.Now() >= end {
			r.fail("L3", verb, p.name, "pod "+p.name+" uses nothing of driver "+r.broken+", which is broken, and it did not "+verb+" within "+
				prompt.String()+": "+r.tellWhy(p.name))
			return false
		}
		if !r.until(min(end, r.w.Now().Add(time.Second))) {
			return false
		}
	}
	return true
}

func (r *run) hasRungs(p *pod) bool {
	has := false
	r.core.Beliefs(func(b core.Belief) { has = has || b.Pod == p.uid })
	return has
}

// bystander is a running pod with volumes of working drivers alone, which take no time of their own for what they do; nil if there is none.
func (r *run) bystander() *pod {
	slow := map[string]bool{}
	for _, d := range r.w.Drivers() {
		slow[d.Name] = slow[d.Name] || d.Name == r.broken || !isPrompt(d)
	}
	for _, p := range r.pods {
		isPlain := !slices.ContainsFunc(p.uses, func(u use) bool {
			return slow[u.driver] || r.exclusive[u.driver+"^"+u.volume] || r.away[u.driver+"^"+u.volume] != nil || r.isDisturbed(u.path) ||
				r.w.IsHeldOpen(u.path) || r.isSilent(u)
		})
		if p.isWanted && p.isRunning && isPlain && !r.isHeldBack(p) {
			return p
		}
	}
	return nil
}

// isPrompt: a call of the driver takes seconds at most, and works.
func isPrompt(d sim.DriverState) bool {
	return d.Up && !d.Hides && !d.Is.Slow && !d.Is.Queues && d.Is.CrashesOn == 0 && !d.Is.ActsBehind
}
