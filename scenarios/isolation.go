package scenarios

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/hostpath"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is L3, in two parts. In chaos, whatever goes wrong with others, a pod comes and goes promptly if nothing
// goes wrong with what is its own: its volumes, their drivers, and what all pods share (the agent's life, its files,
// the mount table, the cluster). In calm, while one driver is broken, a pod that does not use it goes and comes as if
// it were not. All times are the world's.

// prompt is how long a pod may take to go, or to come, with nothing in its way: a handful of calls that work at once,
// each of a few seconds, and the lines for them.
const prompt = time.Minute

// For how long something that has gone wrong may delay everybody.
const (
	// a reading that is tried again, an agent that is paused or stalled, calls of its last life that may still act.
	shortly = 5 * time.Minute
	lengthy = 10 * time.Minute // a driver that has ended, and registers late
	forLong = longestStart     // a cluster that is silent
)

// times has the run judge how promptly pods come. The faults of a scenario come by its statements, too, of which
// disturbs knows nothing.
func (r *run) times() {
	r.faulty = map[hal.Key]bool{}
	r.w.OnFault(r.disturbs)
}

// disturbs notes a fault: of one rung, whose volume is no matter of this check any more, or of all.
func (r *run) disturbs(i sim.Injected) {
	switch {
	case i.Key != "":
		r.faulty[i.Key] = true
	case strings.HasPrefix(i.Site, "cluster."):
		r.delays(forLong)
	default:
		r.delays(shortly)
	}
}

// delays: for so long, nobody need be served promptly.
func (r *run) delays(d time.Duration) {
	if r.faulty != nil {
		r.quietFrom = max(r.quietFrom, r.w.Now().Add(d))
	}
}

// move is what a pod does: it comes, or it goes.
type move struct {
	verb   string
	isFree func(*pod) bool // nothing that has gone wrong delays it
	isDone func(*pod) bool
}

func (r *run) comes() *move {
	return &move{"come", r.isFree, func(p *pod) bool { return r.core.Ready(p.uid) }}
}

func (r *run) goes() *move {
	return &move{"go", r.isFreeToGo, func(p *pod) bool { return !r.hasRungs(p) }}
}

// expects looks from now on whether a pod comes of which the agent has been told, or goes that is gone with its
// containers, as far as the agent has heard.
func (r *run) expects(p *pod) {
	if r.faulty == nil || p.expected != nil || r.stop || p.isRunning {
		return
	}
	p.expected = r.comes()
	if p.told == nil {
		p.expected = r.goes()
	}
	r.expectsFrom(p, p.expected, p.expected.isFree(p))
}

// expectsFrom looks in a while: a pod that is free from now until then must have moved.
func (r *run) expectsFrom(p *pod, m *move, isFree bool) {
	life, object, told, since := r.w.Life(), p.object, p.told, r.w.Now()
	r.w.After(prompt, "prompt "+p.name, func() {
		if p.expected != m {
			return
		}
		if r.stop || r.w.Life() != life || !r.alive() || p.object != object || p.told != told || told != nil &&
			told != object {
			p.expected = nil
			return
		}
		isStill, isDone := m.isFree(p), m.isDone(p)
		if isFree && isStill && r.quietFrom <= since {
			r.judges("L3")
			if !isDone {
				r.fail("L3", m.verb+" in chaos", p.name,
					"nothing has gone wrong with what pod "+p.name+" uses, and it did not "+m.verb+" within "+prompt.String()+
						": "+r.tellWhy(p.name))
			}
		}
		if isDone {
			p.expected = nil
			return
		}
		r.expectsFrom(p, m, isStill)
	})
}

// isFreeToGo reports whether nothing that has gone wrong keeps what is left of a pod.
func (r *run) isFreeToGo(p *pod) bool {
	if !r.alive() || !r.synced || r.w.Now() < r.quietFrom || p.freedIn != r.w.Life() || p.isRunning || p.told != nil {
		return false
	}
	isFree := true
	r.core.Beliefs(func(b core.Belief) { isFree = isFree && (b.Pod != p.uid || r.isFreeRung(&b)) })
	return isFree
}

// isFreeRung is isFreeToGo of one rung.
func (r *run) isFreeRung(b *core.Belief) bool {
	if r.faulty[b.Key] || b.HasChild || b.SetUpOpen != 0 || b.TearDownOpen != 0 || r.w.IsHeldOpen(b.Path) ||
		r.isDisturbed(b.Path) {
		return false
	}
	if b.Kind == hostpath.Kind && b.InFlight && r.w.IsShareSilent(hostShare) {
		return false // who looks for it waits for the server, and may still make it
	}
	driver, volume, isCSI := strings.Cut(b.Volume, "^")
	if !isCSI { // once the journal is lost, data goes only if a source has named its pod
		return !r.root.forgotten || len(r.news["pod "+string(b.Pod)]) > 0
	}
	isBusy := false // a driver may do one thing at a time for a volume
	r.core.Beliefs(func(o core.Belief) {
		isBusy = isBusy || o.Volume == b.Volume && o.Key != b.Key &&
			(r.faulty[o.Key] || o.InFlight || o.SetUpOpen != 0 || o.TearDownOpen != 0)
	})
	if isBusy {
		return false
	}
	at := r.byPath[b.Path]
	return r.isFreeUse(use{driver: driver, volume: volume}) && (at == nil || !at.isTouched)
}

// isFree reports whether nothing that has gone wrong delays a pod.
func (r *run) isFree(p *pod) bool {
	if !r.alive() || !r.synced || r.w.Now() < r.quietFrom || r.lacksManifests() || r.isHeldBack(p) {
		return false
	}
	for _, u := range p.uses {
		if u.exempt || u.isHost || u.driver != "" && !r.isFreeUse(u) {
			return false
		}
	}
	isHurt := false // a call of a rung that it needs has met a fault, be it that nothing was ever made of the rung
	r.core.Beliefs(func(b core.Belief) {
		isHurt = isHurt || (r.faulty[b.Key] || r.isBlindTo(&b)) && (b.Pod == p.uid || b.Pod == "" &&
			slices.ContainsFunc(p.uses, func(u use) bool {
				return u.driver != "" && u.driver+"^"+u.volume == b.Volume
			}))
	})
	return !isHurt && !slices.ContainsFunc(p.uses, r.hasInTheWay) && !slices.ContainsFunc(r.list, func(at *place) bool {
		return (r.faulty[at.key] || at.isTouched || r.isKeptUp(at)) &&
			slices.ContainsFunc(p.uses, func(u use) bool { return u.driver == at.driver && u.volume == at.volume })
	})
}

// hasInTheWay: another volume was where a volume of a pod comes, as its object was edited, and something that has gone
// wrong keeps what is left of that one: one path has one volume.
func (r *run) hasInTheWay(u use) bool {
	for _, at := range [...]string{u.path, lang.RootDir + "/plugins/kubernetes.io/csi/volumeDevices/staging/" + u.spec} {
		for q := r.byPath[at]; q != nil; q = q.earlier {
			if b, known := r.core.Belief(q.key); known && !b.IsGone && b.Volume != u.driver+"^"+u.volume &&
				!r.isFreeRung(&b) {
				return true
			}
		}
	}
	return false
}

// isKeptUp: somebody keeps what is mounted at a place busy, and it is to go, as when it is made again.
func (r *run) isKeptUp(at *place) bool {
	b, ok := r.core.Belief(at.key)
	return ok && b.State != core.Present && r.w.IsHeldOpen(at.path)
}

// isBlindTo: a stage is to go, as when it is made again, and a start could not look at a stray among the directories of
// pods: one that no record tells of may have the volume there. An intent is enough, be it that nothing came of it.
func (r *run) isBlindTo(b *core.Belief) bool {
	why, _ := r.core.Prospect(b.Key)
	isToGo := b.Pod == "" && !b.IsGone && (b.State != core.Present || why.Change == core.OnChangeRebuild || why.MustUndo)
	return isToGo && slices.ContainsFunc(r.root.strays, func(stray string) bool {
		_, is := r.w.Exists(stray)
		return is && (r.root.left[stray] || r.root.left[stray+"/volumes"])
	})
}

// isHeldOpen: somebody keeps what is mounted for a volume of a pod busy, or what it depends on.
func (r *run) isHeldOpen(u use) bool {
	return r.w.IsHeldOpen(u.path) || u.driver != "" && slices.ContainsFunc(r.list, func(at *place) bool {
		return !at.isPublish && at.driver == u.driver && at.volume == u.volume && r.w.IsHeldOpen(at.path)
	})
}

// isFreeUse is isFree of one volume, but for what is up of it.
func (r *run) isFreeUse(u use) bool {
	name := u.driver + "^" + u.volume
	return !r.isCut[name] && r.registrars.registered[u.driver] && r.registrars.connected[u.driver] &&
		!r.exclusive[name] && r.away[name] == nil && !r.denied[name] && !r.isSilent(u) &&
		!slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool { return d.Name == u.driver && !isPrompt(d) })
}

// isolates has a pod that does not use the broken driver go and come again.
func (r *run) isolates() bool {
	p := r.bystander()
	if p == nil {
		return true
	}
	return r.goesAndComes(p, "driver "+r.broken+", which is broken")
}

// goesAndComes has a pod go and come again beside something that does not concern it.
func (r *run) goesAndComes(p *pod, beside string) bool {
	r.judges("L3")
	r.remove(p, time.Second)
	if !r.hearsOf(p, nil, beside) {
		return r.violation == nil
	}
	if !r.promptly(p, "go", beside, func() bool { return !p.isRunning && p.told == nil && !r.hasRungs(p) }) {
		return false
	}
	r.apply(p.object, p.uses)
	if !r.hearsOf(p, p.object, beside) {
		return r.violation == nil
	}
	return r.promptly(p, "come", beside, func() bool { return p.isRunning })
}

// hearsOf lets the agent be told of the pod: a cluster that was silent when calm came may stay so for minutes, and
// manifests never are. It reports whether it was.
func (r *run) hearsOf(p *pod, as *corev1.Pod, beside string) bool {
	for end := r.w.Now().Add(longestStart); p.told != as && r.w.Now() < end; {
		if !r.until(r.w.Now().Add(time.Second)) {
			return false
		}
	}
	if p.told != as && r.files {
		r.fail("L3", "be heard of", p.name,
			"the manifest of pod "+p.name+", which has nothing to do with "+beside+", has changed, and the agent "+
				"does not act on it: "+r.tellWhy(p.name))
	}
	return p.told == as
}

// promptly waits for something that the pod comes to.
func (r *run) promptly(p *pod, verb, beside string, done func() bool) bool {
	end := r.w.Now().Add(prompt)
	for !done() {
		if r.w.Now() >= end {
			r.fail("L3", verb, p.name, "pod "+p.name+" has nothing to do with "+beside+", and it did not "+verb+
				" within "+prompt.String()+": "+r.tellWhy(p.name))
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

// bystander is a running pod with volumes of working drivers alone, which take no time of their own for what they do;
// nil if there is none. A driver of whose life the agent has not heard may be without a registration socket for
// minutes.
func (r *run) bystander() *pod {
	if i := slices.IndexFunc(r.pods, r.isBystander); i >= 0 {
		return r.pods[i]
	}
	return nil
}

func (r *run) isBystander(p *pod) bool {
	slow := map[string]bool{}
	for _, d := range r.w.Drivers() {
		slow[d.Name] = slow[d.Name] || d.Name == r.broken || !isPrompt(d) || !r.registrars.connected[d.Name]
	}
	isPlain := !slices.ContainsFunc(p.uses, func(u use) bool {
		return slow[u.driver] || r.exclusive[u.driver+"^"+u.volume] || r.away[u.driver+"^"+u.volume] != nil ||
			r.isDisturbed(u.path) ||
			r.isCut[u.driver+"^"+u.volume] ||
			r.isHeldOpen(u) || r.isSilent(u) || r.hasFailed(u)
	})
	return p.isWanted && p.isRunning && isPlain && !r.isHeldBack(p)
}

// isPrompt: a call of the driver takes seconds at most, and works.
func isPrompt(d sim.DriverState) bool {
	return d.Up && !d.Hides && !d.Is.Slow && !d.Is.Queues && d.Is.CrashesOn == 0 && !d.Is.ActsBehind && !d.Is.ActsUntold
}
