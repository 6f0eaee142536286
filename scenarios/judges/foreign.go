package judges

import (
	"path"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what holds of a place at which somebody else than the agent and the drivers has changed what stands
// there. Most beliefs of it are excused until it is as believed again; these are not:
//
//   - what somebody else has mounted is never unmounted by the agent (S1);
//   - it is never taken for a volume that was there when it came (S14);
//   - once everything is as wanted, what is believed to be up is there (S14);
//   - the agent mounts nothing on an emptyDir that somebody else has mounted over (S18), unless that came while its own
//     mount hung in the kernel.

// touch: somebody else has changed what is at a path.
func touch(r *world.Run, path string) {
	for _, p := range r.List {
		if p.Path == path || world.Below(path, p.Path) {
			p.IsTouched, p.TouchedAt, p.IsSpirited = true, r.W.Now(), p.IsSpirited || p.IsBetrayed
			p.IsFramed = p.IsFramed || max(p.SetUpUntil, p.DownUntil) > r.W.Now()
			r.Untold.Framed[p.Driver] = r.Untold.Framed[p.Driver] || p.IsFramed
		}
	}
}

// mountedOver: somebody else has mounted m at a path. What the agent can know to be another's is held against it if it
// takes it for its own: what came before it has begun in this boot, where a record tells of another one, what came over
// a rung that it has confirmed while no call could bring that up again, and what stands on an emptyDir. All else may,
// for all that it can see, be the late effect of a call of its own.
func mountedOver(r *world.Run, m hal.Mount) {
	if !r.W.IsForeign(m.ID) {
		return
	}
	p := r.ByPath[m.Path]
	isOther := p == nil && IsPodPlace(r, m.Path) || p != nil &&
		(!r.IsBegun && !p.IsTrace || isUsed(r, p) && len(p.Calls) == 0 && r.W.Now() > p.SetUpUntil)
	r.Foreign[m.ID] = world.Foreign{Since: r.W.Now(), IsOther: isOther}
	if p != nil && !isOther {
		p.IsMixedUp = true
	}
}

// MixesUp: a call of an earlier life, of which only a journal knew that was lost, mounts. The agent can't tell that
// from what somebody else has mounted there since it has begun.
func MixesUp(r *world.Run, e *sim.Effect) {
	p := r.ByPath[e.Path]
	if p == nil || e.Actor == "agent" || !r.IsBegun && !isNameless(r, p) {
		return
	}
	p.IsMixedUp = p.IsMixedUp || isOfLostJournal(r, e, p)
}

// isOfLostJournal reports whether a call is of an earlier life, of which only a journal knew that was lost.
func isOfLostJournal(r *world.Run, e *sim.Effect, p *world.Place) bool {
	return r.Root.Forgotten && e.Run < r.W.Life() &&
		!slices.ContainsFunc(p.Calls, func(c world.OpenCall) bool { return c.Id == e.Call })
}

// IsPodPlace reports whether a path is that of a volume which is mounted for one pod alone, such as an emptyDir: what
// the agent mounts there carries its mark.
func IsPodPlace(r *world.Run, path string) bool {
	owner := r.PodOf(path)
	return owner != nil && slices.ContainsFunc(owner.Uses,
		func(u world.Use) bool { return u.Driver == "" && !u.Exempt && u.Path == path })
}

// Unmix does what the agent asks a person for who reads its status: where it may have taken another's mount for its
// own, it takes its own for another's once that is gone, and leaves it alone; and so with what a driver leaves mounted
// after its last unpublish, once the journal is lost. So it is unmounted by hand, and the containers that keep it busy
// are made to let go of it.
func Unmix(r *world.Run) {
	leaves := map[string]bool{}
	for _, d := range r.W.Drivers() {
		leaves[d.Name] = leaves[d.Name] || r.Root.Forgotten && d.Is.Leaves
	}
	for _, p := range r.List {
		b, ok := r.Core.Belief(p.Key)
		if b.InFlight {
			continue // that person comes again
		}
		if ok && (p.IsMixedUp || leaves[p.Driver]) && b.State != core.Present {
			if owner := r.PodOf(p.Path); owner != nil {
				owner.LetGo()
			}
			_ = r.W.UnmountTop(p.Path) // somebody else keeps it busy, or nothing is left there
		}
		p.IsMixedUp = false
	}
}

// Gathers is a person who reads that a driver can't remove a target directory, and takes away what containers wrote to
// it while somebody had unmounted the volume: no agent and no driver may delete that.
func Gathers(r *world.Run) {
	r.Astray = slices.DeleteFunc(r.Astray, func(file string) bool {
		return len(r.W.MountsAt(path.Dir(file))) == 0 && r.W.RemoveFile(file) == 0
	})
}

// isUsed reports whether containers run on a place: then the agent has confirmed it.
func isUsed(r *world.Run, p *world.Place) bool {
	return slices.ContainsFunc(r.Pods, func(o *world.Pod) bool {
		return o.IsRunning && slices.ContainsFunc(o.Uses, func(u world.Use) bool {
			return u.Path == p.Path || !p.IsPublish && u.Driver == p.Driver && u.Volume == p.Volume
		})
	})
}

// undoes is S1 for what others have mounted. What the agent has not been told of yet, it need not know.
func undoes(r *world.Run, e *sim.Effect) {
	if m := r.Foreign[e.Mount.ID]; m.IsOther && r.W.Now().Sub(m.Since) > dealings.Noticing {
		r.Fail("S1", "unmount foreign", e.Path,
			"the agent unmounts what somebody else mounted at "+e.Path+": "+e.Mount.Fingerprint())
	}
}

// RefineTouched is refine for a place that was touched.
func RefineTouched(r *world.Run, p *world.Place, b *core.Belief) {
	if b.State != core.Present || b.InFlight || !strings.HasPrefix(b.Fingerprint, "mount ") {
		return
	}
	for _, m := range r.W.MountsAt(p.Path) {
		if r.Foreign[m.ID].IsOther && m.Fingerprint() == b.Fingerprint {
			r.Fail("S14", "taken for ours", string(p.Key),
				"somebody mounted "+b.Fingerprint+" over "+string(p.Key)+", and the engine takes it for the volume")
			return
		}
	}
}

// Untouched compares what is believed of touched places with the truth, once everything is as wanted. From then on
// nothing of them is excused, but where a call that renews a volume is under way: what it has mounted is its own until
// it ends.
func Untouched(r *world.Run) bool {
	for _, p := range r.List {
		if !p.IsTouched || p.IsBetrayed || r.Broken != "" && p.Driver == r.Broken {
			continue
		}
		b, ok := r.Core.Belief(p.Key)
		if !MustBeSeen(p, &b) || b.InFlight || ok && b.State == core.Unknown && hasRivalInDoubt(r, p) {
			continue
		}
		if ok && b.State == core.Present && !b.IsHeldBack {
			if why := differs(r, p, &b); why != "" {
				r.Fail("S14", "never noticed", string(p.Key),
					"the engine believes "+string(p.Key)+" to be up, and "+why)
				return false
			}
		}
		if len(r.W.MountsAt(p.Path)) <= 1 {
			p.IsTouched, p.Checked = false, world.Seen{}
		}
	}
	return true
}

// hasRivalInDoubt: the agent took what somebody mounted at the path of p for another volume, which a call that had
// ended with an error brought. Containers keep it from looking there, so both stay in doubt, and one must be let go of
// first.
func hasRivalInDoubt(r *world.Run, p *world.Place) bool {
	for q := r.ByPath[p.Path]; q != nil; q = q.Earlier {
		if b, ok := r.Core.Belief(q.Key); ok && q.Thing != p.Thing && b.State == core.Unknown {
			return true
		}
	}
	return false
}

// MustBeSeen: what has become of a place can be seen. Where nothing is mounted, nothing tells before the next call that
// one of a lost journal has taken the volume away.
func MustBeSeen(p *world.Place, b *core.Belief) bool {
	return !p.IsUndone || strings.HasPrefix(b.Fingerprint, "mount ")
}

// isExcused reports whether somebody else has had a hand in what stands where a mount is made, or it is one that nobody
// could call back. Nor could anybody see it: once the journal is lost, what a driver has left mounted looks like what
// is up.
func isExcused(r *world.Run, e *sim.Effect, under hal.Mount) bool {
	for p := r.ByPath[e.Path]; p != nil; p = p.Earlier {
		if p.IsTouched || isBelated(p, e) || p.Leftover == under.ID {
			return true
		}
	}
	return false
}

// isBelated reports whether a mount is made by a call that was given up and undone, where its driver has let go of the
// volume since: what that has left mounted need not be gone by then, and nobody can call the call back.
func isBelated(p *world.Place, e *sim.Effect) bool {
	return !p.IsHeld && slices.ContainsFunc(p.Calls,
		func(c world.OpenCall) bool { return c.Id == e.Call && c.IsUndone })
}

// isUnseen reports whether all of a stack came while the helper that now mounts on it was in the kernel already:
// whoever started it looked before, and nobody can call it back. What was there when it started, and a mount of ours,
// it should not have been sent to.
func isUnseen(r *world.Run, e *sim.Effect, stack []hal.Mount) bool {
	return e.Since > 0 && !slices.ContainsFunc(stack, func(m hal.Mount) bool {
		return !dealings.IsForeign(r, m) || r.Foreign[m.ID].Since < e.Since
	})
}

// SeesHider is S21 of a pod that was ready when somebody mounted over one of its volumes.
func SeesHider(r *world.Run, p *world.Pod) {
	if !r.Alive() || !p.IsWanted || !r.Core.Ready(p.Uid) {
		return
	}
	for _, u := range p.Uses {
		r.Judges("S21")
		if m := dealings.Hider(r, u); m.ID != 0 && dealings.MustKnow(r, p, u, m) {
			r.Fail("S21", "stays ready", p.Name,
				"pod "+p.Name+" is ready, and what somebody has mounted on "+m.Path+" hides its volume "+u.Name)
			return
		}
	}
}
