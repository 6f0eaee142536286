package judges

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Prompt is how long a pod may take to go, or to come, with nothing in its way: a handful of calls that work at once,
// each of a few seconds, and the lines for them.
const Prompt = time.Minute

// For how long something that has gone wrong may delay everybody.
const (
	// a reading that is tried again, an agent that is paused or stalled, calls of its last life that may still act.
	Shortly = 5 * time.Minute
	Lengthy = 10 * time.Minute      // a driver that has ended, and registers late
	ForLong = dealings.LongestStart // a cluster that is silent
)

// Delays: for so long, nobody need be served promptly.
func Delays(r *world.Run, d time.Duration) {
	if r.Faulty != nil {
		r.QuietFrom = max(r.QuietFrom, r.W.Now().Add(d))
	}
}

func comes(r *world.Run) *world.Move {
	return &world.Move{
		Verb: "come", IsFree: func(p *world.Pod) bool { return isFree(r, p) },
		IsDone: func(p *world.Pod) bool { return r.Core.Ready(p.Uid) },
	}
}

func goes(r *world.Run) *world.Move {
	return &world.Move{
		Verb: "go", IsFree: func(p *world.Pod) bool { return isFreeToGo(r, p) },
		IsDone: func(p *world.Pod) bool { return !HasRungs(r, p) },
	}
}

// expects looks from now on whether a pod comes of which the agent has been told, or goes that is gone with its
// containers, as far as the agent has heard.
func expects(r *world.Run, p *world.Pod) {
	if r.Faulty == nil || p.Expected != nil || r.Stop || p.IsRunning {
		return
	}
	p.Expected = comes(r)
	if p.Told == nil {
		p.Expected = goes(r)
	}
	expectsFrom(r, p, p.Expected, p.Expected.IsFree(p))
}

// expectsFrom looks in a while: a pod that is free from now until then must have moved.
func expectsFrom(r *world.Run, p *world.Pod, m *world.Move, isFree bool) {
	life, object, told, since := r.W.Life(), p.Object, p.Told, r.W.Now()
	r.W.After(Prompt, "prompt "+p.Name, func() {
		if p.Expected != m {
			return
		}
		if r.Stop || r.W.Life() != life || !r.Alive() || p.Object != object || p.Told != told || told != nil &&
			told != object {
			p.Expected = nil
			return
		}
		isStill, isDone := m.IsFree(p), m.IsDone(p)
		if isFree && isStill && r.QuietFrom <= since {
			r.Judges("L3")
			if !isDone {
				r.Fail("L3", m.Verb+" in chaos", p.Name,
					"nothing has gone wrong with what pod "+p.Name+" uses, and it did not "+m.Verb+" within "+Prompt.String()+
						": "+TellWhy(r, p.Name))
			}
		}
		if isDone {
			p.Expected = nil
			return
		}
		expectsFrom(r, p, m, isStill)
	})
}

// isFreeToGo reports whether nothing that has gone wrong keeps what is left of a pod.
func isFreeToGo(r *world.Run, p *world.Pod) bool {
	if !r.Alive() || !r.Synced || r.W.Now() < r.QuietFrom || p.FreedIn != r.W.Life() || p.IsRunning || p.Told != nil {
		return false
	}
	isFree := true
	r.Core.Beliefs(func(b core.Belief) { isFree = isFree && (b.Pod != p.Uid || isFreeRung(r, &b)) })
	return isFree
}

// isFreeRung is isFreeToGo of one rung.
func isFreeRung(r *world.Run, b *core.Belief) bool {
	if r.Faulty[b.Key] || b.HasChild || b.SetUpOpen != 0 || b.TearDownOpen != 0 || r.W.IsHeldOpen(b.Path) ||
		dealings.IsDisturbed(r, b.Path) {
		return false
	}
	if slices.ContainsFunc(r.Rooms, func(m world.RoomRun) bool { return m.Waits(r, b) }) {
		return false
	}
	if world.RoomOf(b.Kind) != nil { // once the journal is lost, data goes only if a source has named its pod
		return !r.Exclusive[b.Volume] && (!r.Root.Forgotten || len(r.News["pod "+string(b.Pod)]) > 0)
	}
	driver, volume, isCSI := strings.Cut(b.Volume, "^")
	if !isCSI {
		return true
	}
	isBusy := false // a driver may do one thing at a time for a volume
	r.Core.Beliefs(func(o core.Belief) {
		isBusy = isBusy || o.Volume == b.Volume && o.Key != b.Key &&
			(r.Faulty[o.Key] || o.InFlight || o.SetUpOpen != 0 || o.TearDownOpen != 0)
	})
	if isBusy {
		return false
	}
	at := r.ByPath[b.Path]
	return isFreeUse(r, world.Use{Driver: driver, Volume: volume}) && (at == nil || !at.IsTouched)
}

// isFree reports whether nothing that has gone wrong delays a pod.
func isFree(r *world.Run, p *world.Pod) bool {
	if !r.Alive() || !r.Synced || r.W.Now() < r.QuietFrom || lacksManifests(r) || IsHeldBack(r, p) {
		return false
	}
	for _, u := range p.Uses {
		if u.Exempt || u.IsHosts() || u.Driver != "" && !isFreeUse(r, u) || r.IsSilent(u) || r.Exclusive[u.Thing()] {
			return false
		}
	}
	isHurt := false // a call of a rung that it needs has met a fault, be it that nothing was ever made of the rung
	r.Core.Beliefs(func(b core.Belief) {
		// The journal is lost, and with it which calls had ended: any may still act. What strays among the directories of
		// pods may have the first start of all think so.
		isOpen := (r.Root.Forgotten || len(r.Root.Strays) > 0) && b.SetUpOpen+b.TearDownOpen != 0
		isHurt = isHurt || (r.Faulty[b.Key] || isOpen || isBlindTo(r, &b)) && (b.Pod == p.Uid || b.Pod == "" &&
			slices.ContainsFunc(p.Uses, func(u world.Use) bool { return u.Upon() == b.Volume && b.Volume != "" }))
	})
	isInTheWay := func(u world.Use) bool { return hasInTheWay(r, u) }
	return !isHurt && !slices.ContainsFunc(p.Uses, isInTheWay) &&
		!slices.ContainsFunc(r.List, func(at *world.Place) bool {
			return (r.Faulty[at.Key] || at.IsTouched || isKeptUp(r, at)) &&
				slices.ContainsFunc(p.Uses, func(u world.Use) bool {
					return u.Driver == at.Driver &&
						u.Volume == at.Volume
				})
		})
}

// hasInTheWay: another volume was where a volume of a pod comes, as its object was edited, and something that has gone
// wrong keeps what is left of that one: one path has one volume.
func hasInTheWay(r *world.Run, u world.Use) bool {
	for _, at := range [...]string{u.Path, lang.RootDir + "/plugins/kubernetes.io/csi/volumeDevices/staging/" +
		u.Spec} {
		for q := r.ByPath[at]; q != nil; q = q.Earlier {
			if b, known := r.Core.Belief(q.Key); known && !b.IsGone && b.Volume != u.Driver+"^"+u.Volume &&
				!isFreeRung(r, &b) {
				return true
			}
		}
	}
	return false
}

// isKeptUp: somebody keeps what is mounted at a place busy, and it is to go, as when it is made again.
func isKeptUp(r *world.Run, at *world.Place) bool {
	b, ok := r.Core.Belief(at.Key)
	return ok && b.State != core.Present && r.W.IsHeldOpen(at.Path)
}

// isBlindTo: a stage is to go, as when it is made again, and a start could not look at a stray among the directories of
// pods: one that no record tells of may have the volume there. An intent is enough, be it that nothing came of it.
func isBlindTo(r *world.Run, b *core.Belief) bool {
	why, _ := r.Core.Prospect(b.Key)
	isToGo := b.Pod == "" && !b.IsGone && (b.State != core.Present || why.Change == core.OnChangeRebuild ||
		why.MustUndo)
	return isToGo && slices.ContainsFunc(r.Root.Strays, func(stray string) bool {
		_, is := r.W.Exists(stray)
		return is && (r.Root.Left[stray] || r.Root.Left[stray+"/volumes"])
	})
}

// isFreeUse is isFree of one volume, but for what is up of it.
func isFreeUse(r *world.Run, u world.Use) bool {
	name := u.Driver + "^" + u.Volume
	return !r.IsCut[name] && r.Registrars.Registered[u.Driver] && r.Registrars.Connected[u.Driver] &&
		!r.Exclusive[name] && r.Away[name] == nil && !r.Denied[name] && !r.IsSilent(u) &&
		!slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool { return d.Name == u.Driver && !IsPrompt(d) })
}

// HasRungs reports whether the agent believes anything of a pod.
func HasRungs(r *world.Run, p *world.Pod) bool {
	has := false
	r.Core.Beliefs(func(b core.Belief) { has = has || b.Pod == p.Uid })
	return has
}

// IsPrompt: a call of the driver takes seconds at most, and works.
func IsPrompt(d sim.DriverState) bool {
	return d.Up && !d.Hides && !d.Is.Slow && !d.Is.Queues && d.Is.CrashesOn == 0 && !d.Is.ActsBehind && !d.Is.ActsUntold
}
