package dealings

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// Apply makes or edits a pod of the cluster. uses is what follows from the objects as they were at first.
func Apply(r *world.Run, object *corev1.Pod, uses []world.Use) {
	if p := r.ByUID[core.PodUID(object.UID)]; p != nil && p.Told == object && !p.IsWanted {
		object = object.DeepCopy() // the agent has not heard of the deletion; what it knows is not this pod
	}
	p := r.Register(object, r.UsesNow(object, uses))
	p.IsSteady = !p.IsWanted && p.Stops == 0
	p.IsWanted, p.IsLeaving = true, false
	r.Give(object)
	if !p.IsRunning {
		Await(r, p)
	}
}

// Await has the engine say when p is ready. The question dies with the agent.
func Await(r *world.Run, p *world.Pod) {
	if p.IsWaiting || r.M == nil || !r.W.AgentLives() {
		return
	}
	p.IsWaiting = true
	m, life, asked := r.M, r.W.Life(), world.Question{Pod: p.Told, Volumes: r.ToldOf(p)}
	r.W.Go(func() {
		err := m.WaitForAttachAndMount(r.W.Context(0), p.Uid)
		if r.W.Life() != life {
			return
		}
		p.IsWaiting = false
		if err == nil {
			for _, at := range r.List {
				at.IsSaid = at.IsSaid || at.MayBeUsed && r.PodOf(at.Path) == p
			}
			Ready(r, p, asked)
		} else {
			r.Reveals("wait", p.Name, err.Error())
			r.Wording("wait", p.Name, err.Error())
		}
	})
}

// Ready: the engine says that all volumes of p are there. If it had been told of p as it is when it was asked, the
// containers of p start.
func Ready(r *world.Run, p *world.Pod, asked world.Question) {
	if !p.IsWanted || p.IsRunning || p.IsLeaving {
		return
	}
	switch {
	case !r.IsCurrent(p):
		askAgain(r, p)
		return
	case asked != world.Question{Pod: p.Object, Volumes: r.ToldOf(p)}:
		Await(r, p) // it was asked too early; now it knows of whom
		return
	}
	for _, m := range r.Rooms {
		if !m.LetsIn(r, p) {
			askAgain(r, p)
			return
		}
	}
	if !finds(r, p) {
		askAgain(r, p)
		return
	}
	isolatesData(r, p)
	p.IsRunning, p.HasData, p.Given = true, true, p.Uses
	r.LeavesBehind(p)
	for i := range p.Uses {
		if p.Uses[i].Ephemeral { // it may have been made again since its containers ended
			losesInline(r, dataID(p, &p.Uses[i]))
		}
	}
	r.StartsRaw(p)
	StartWriting(r, p)
	if !p.IsPinned {
		return
	}
	for _, u := range p.Uses {
		if release, err := r.W.Hold(u.Path); err == nil {
			p.Release = append(p.Release, release)
		}
	}
}

// finds is S21: containers of p that start find all their volumes, and no helper of an earlier run may yet take one
// away. It reports whether they do.
func finds(r *world.Run, p *world.Pod) bool {
	for _, c := range r.W.Outlived() {
		if strings.Contains(string(c.Key), string(p.Uid)) {
			r.Fail("S21", "told ready", p.Name,
				"pod "+p.Name+" is reported ready, and a helper of an earlier run may still act on its volume: "+c.What)
			return false
		}
	}
	if u := onFailed(r, p); u != nil {
		r.Fail("S33", "told ready", p.Name, "pod "+p.Name+" is reported ready, and its volume "+u.Name+
			" was published on a filesystem that had failed")
		return false
	}
	for _, u := range p.Uses {
		r.Judges("S21")
		if r.IsLeftBehind(p, u) {
			r.Fail("S10", "told ready", p.Name,
				"pod "+p.Name+" is reported ready, and its volume "+u.Name+" is of a stage that has ended and was "+
					"made again")
			return false
		}
		if m := Hider(r, u); m.ID != 0 {
			if MustKnow(r, p, u, m) {
				r.Fail("S21", "told ready", p.Name,
					"pod "+p.Name+" is reported ready, and what somebody has mounted on "+m.Path+" hides its volume "+u.Name)
			}
			return false
		}
		if group, is := ofAnotherGroup(r, p, u); is {
			r.Fail("S21", "told ready", p.Name, "pod "+p.Name+" is reported ready, and the files of "+u.Name+
				" were given to group \""+group+"\"")
			return false
		}
		why := r.Lacks(u)
		if why == "" || isOnBetrayed(r, u) || isOnForeign(r, u) {
			continue
		}
		if at := r.ByPath[u.Path]; at != nil && at.IsMixedUp {
			rejects(r, at)
		} else if !IsDisturbed(r, u.Path) {
			r.Fail("S21", "told ready", p.Name,
				"pod "+p.Name+" is reported ready, and its volume "+u.Name+" is not as asked: "+
					why)
		}
		return false
	}
	return true
}

// isOnBetrayed reports whether the stage of a volume was changed by a call that had been answered with an error: what
// was published on it since is not what it seems, and nobody can tell.
func isOnBetrayed(r *world.Run, u world.Use) bool {
	return slices.ContainsFunc(r.List, func(p *world.Place) bool {
		return !p.IsPublish && p.IsBetrayed && p.Driver == u.Driver && p.Volume == u.Volume
	})
}

// isOnForeign reports whether a driver that believes any mount has published a foreign mount that stands in the place
// of its stage. Only the journal, which was lost, told that the place was empty, so the agent cannot know.
func isOnForeign(r *world.Run, u world.Use) bool {
	isCredulous := func(d sim.DriverState) bool { return d.Name == u.Driver && d.Is.Credulous }
	isForeign := func(m hal.Mount) bool { return r.Foreign[m.ID].Since != 0 }
	isStage := func(p *world.Place) bool { return !p.IsPublish && p.Driver == u.Driver && p.Volume == u.Volume }
	return r.Root.Forgotten && slices.ContainsFunc(r.W.Drivers(), isCredulous) &&
		slices.ContainsFunc(r.List, func(p *world.Place) bool {
			return isStage(p) && slices.ContainsFunc(r.W.MountsAt(p.Path), isForeign)
		})
}

// askAgain asks a moment later whether p is ready.
func askAgain(r *world.Run, p *world.Pod) {
	r.W.After(time.Second, "ask again "+p.Name, func() {
		if p.IsWanted && !p.IsRunning {
			Await(r, p)
		}
	})
}
