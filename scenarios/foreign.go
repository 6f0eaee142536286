package scenarios

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what holds of a place at which somebody else than the agent and the drivers has changed what stands
// there. Most beliefs of it are excused until it is as believed again; these are not:
//
//   - what somebody else has mounted is never unmounted by the agent (S1);
//   - it is never taken for a volume that was there when it came (S14);
//   - once everything is as wanted, what is believed to be up is there (S14);
//   - the agent mounts nothing on an emptyDir that somebody else has mounted over (S18), unless that came while its own
//     mount hung in the kernel.

// noticing is how long it may take until the agent has heard of a change of the mount table: a notice that is late, an
// owner that runs late, a table that can't be read at first.
const noticing = 5 * time.Minute

// touch: somebody else has changed what is at a path.
func (r *run) touch(path string) {
	for _, p := range r.list {
		if p.path == path || below(path, p.path) {
			p.isTouched, p.touchedAt, p.isSpirited = true, r.w.Now(), p.isSpirited || p.isBetrayed
			p.isFramed = p.isFramed || max(p.setUpUntil, p.downUntil) > r.w.Now()
			r.untold.framed[p.driver] = r.untold.framed[p.driver] || p.isFramed
		}
	}
}

// mountedOver: somebody else has mounted m at a path. What the agent can know to be another's is held against it if it
// takes it for its own: what came before it has begun in this boot, where a record tells of another one, what came over
// a rung that it has confirmed while no call could bring that up again, and what stands on an emptyDir. All else may,
// for all that it can see, be the late effect of a call of its own.
func (r *run) mountedOver(m hal.Mount) {
	if !r.w.IsForeign(m.ID) {
		return
	}
	p := r.byPath[m.Path]
	isOther := p == nil && r.isEmptyDir(m.Path) || p != nil &&
		(!r.isBegun && !p.isTrace || r.isUsed(p) && len(p.calls) == 0 && r.w.Now() > p.setUpUntil)
	r.foreign[m.ID] = foreign{since: r.w.Now(), isOther: isOther}
	if p != nil && !isOther {
		p.isMixedUp = true
	}
}

// mixesUp: a call of an earlier life, of which only a journal knew that was lost, mounts. The agent can't tell that
// from what somebody else has mounted there since it has begun.
func (r *run) mixesUp(e *sim.Effect) {
	p := r.byPath[e.Path]
	if p == nil || e.Actor == "agent" || !r.isBegun && !r.isNameless(p) {
		return
	}
	p.isMixedUp = p.isMixedUp || r.isOfLostJournal(e, p)
}

// isOfLostJournal reports whether a call is of an earlier life, of which only a journal knew that was lost.
func (r *run) isOfLostJournal(e *sim.Effect, p *place) bool {
	return r.root.forgotten && e.Run < r.w.Life() && !slices.ContainsFunc(p.calls, func(c openCall) bool { return c.id == e.Call })
}

// rejects is a person who finds another's data where a pod has its volume: a driver has taken it for the volume, and
// the agent can't tell. It is unmounted by hand.
func (r *run) rejects(p *place) {
	r.w.After(time.Minute, "a person rejects "+p.path, func() {
		if p.isMixedUp && len(r.w.MountsAt(p.path)) > 0 && !r.w.Shows(p.driver, p.volume, p.path) {
			_ = r.w.UnmountTop(p.path) // somebody else keeps it busy
		}
	})
}

// isEmptyDir reports whether a path is that of an emptyDir: what the agent mounts there carries its mark.
func (r *run) isEmptyDir(path string) bool {
	owner := r.podOf(path)
	return owner != nil && slices.ContainsFunc(owner.uses,
		func(u use) bool { return u.driver == "" && !u.exempt && u.path == path })
}

// unmix does what the agent asks a person for who reads its status: where it may have taken another's mount for its
// own, it takes its own for another's once that is gone, and leaves it alone; and so with what a driver leaves mounted
// after its last unpublish, once the journal is lost. So it is unmounted by hand, and the containers that keep it busy
// are made to let go of it.
func (r *run) unmix() {
	leaves := map[string]bool{}
	for _, d := range r.w.Drivers() {
		leaves[d.Name] = leaves[d.Name] || r.root.forgotten && d.Is.Leaves
	}
	for _, p := range r.list {
		b, ok := r.core.Belief(p.key)
		if b.InFlight {
			continue // that person comes again
		}
		if ok && (p.isMixedUp || leaves[p.driver]) && b.State != core.Present {
			if owner := r.podOf(p.path); owner != nil {
				owner.letGo()
			}
			_ = r.w.UnmountTop(p.path) // somebody else keeps it busy, or nothing is left there
		}
		p.isMixedUp = false
	}
}

// gathers is a person who reads that a driver can't remove a target directory, and takes away what containers wrote to
// it while somebody had unmounted the volume: no agent and no driver may delete that.
func (r *run) gathers() {
	r.astray = slices.DeleteFunc(r.astray, func(file string) bool {
		return len(r.w.MountsAt(path.Dir(file))) == 0 && r.w.RemoveFile(file) == 0
	})
}

// foreign is a mount that somebody else has made.
type foreign struct {
	since   hal.Instant
	isOther bool // the agent can tell that it is not its own
}

// isUsed reports whether containers run on a place: then the agent has confirmed it.
func (r *run) isUsed(p *place) bool {
	return slices.ContainsFunc(r.pods, func(o *pod) bool {
		return o.isRunning && slices.ContainsFunc(o.uses, func(u use) bool {
			return u.path == p.path || !p.isPublish && u.driver == p.driver && u.volume == p.volume
		})
	})
}

// undoes is S1 for what others have mounted. What the agent has not been told of yet, it need not know.
func (r *run) undoes(e *sim.Effect) {
	if m := r.foreign[e.Mount.ID]; m.isOther && r.w.Now().Sub(m.since) > noticing {
		r.fail("S1", "unmount foreign", e.Path,
			"the mount that somebody else has made at "+e.Path+" is unmounted: "+e.Mount.Fingerprint())
	}
}

// refineTouched is refine for a place that was touched.
func (r *run) refineTouched(p *place, b *core.Belief) {
	if b.State != core.Present || b.InFlight || !strings.HasPrefix(b.Fingerprint, "mount ") {
		return
	}
	for _, m := range r.w.MountsAt(p.path) {
		if r.foreign[m.ID].isOther && m.Fingerprint() == b.Fingerprint {
			r.fail("S14", "taken for ours", string(p.key),
				string(p.key)+" stood when somebody mounted "+b.Fingerprint+" over it, and that is taken for it")
			return
		}
	}
}

// untouched compares what is believed of touched places with the truth, once everything is as wanted. From then on
// nothing of them is excused.
func (r *run) untouched() bool {
	for _, p := range r.list {
		if !p.isTouched || p.isBetrayed || r.broken != "" && p.driver == r.broken {
			continue
		}
		b, ok := r.core.Belief(p.key)
		if !p.mustBeSeen(&b) || ok && b.State == core.Unknown && r.hasRivalInDoubt(p) {
			continue
		}
		if ok && b.State == core.Present && !b.IsHeldBack {
			if why := r.differs(p, &b); why != "" {
				r.fail("S14", "never noticed", string(p.key), string(p.key)+" is believed to be up, and "+why)
				return false
			}
		}
		if len(r.w.MountsAt(p.path)) <= 1 {
			p.isTouched, p.checked = false, seen{}
		}
	}
	return true
}

// hasRivalInDoubt: the agent took what somebody mounted at the path of p for another volume, which a call that had ended
// with an error brought. Containers keep it from looking there, so both stay in doubt, and one must be let go of first.
func (r *run) hasRivalInDoubt(p *place) bool {
	for q := r.byPath[p.path]; q != nil; q = q.earlier {
		if b, ok := r.core.Belief(q.key); ok && q.thing != p.thing && b.State == core.Unknown {
			return true
		}
	}
	return false
}

// mustBeSeen: what has become of a place can be seen. Where nothing is mounted, nothing tells before the next call that
// one of a lost journal has taken the volume away.
func (p *place) mustBeSeen(b *core.Belief) bool {
	return !p.isUndone || strings.HasPrefix(b.Fingerprint, "mount ")
}

// isDisturbed reports whether somebody has changed what is at a path, and the agent need not know it yet.
func (r *run) isDisturbed(path string) bool {
	p := r.byPath[path]
	if p == nil || !p.isTouched {
		return r.isUpset(path)
	}
	stack := r.w.MountsAt(path)
	return r.w.Now().Sub(p.touchedAt) < noticing || len(stack) > 0 && r.isForeign(stack[len(stack)-1])
}

// isExcused reports whether somebody else has had a hand in what stands where a mount is made, or it is one that nobody
// could call back. Nor could anybody see it: once the journal is lost, what a driver has left mounted looks like what is
// up.
func (r *run) isExcused(e *sim.Effect, under hal.Mount) bool {
	for p := r.byPath[e.Path]; p != nil; p = p.earlier {
		if p.isTouched || p.isBelated(e) || p.leftover == under.ID {
			return true
		}
	}
	return false
}

// isBelated reports whether a mount is made by a call that was given up and undone, where its driver has let go of the
// volume since: what that has left mounted need not be gone by then, and nobody can call the call back.
func (p *place) isBelated(e *sim.Effect) bool {
	return !p.isHeld && slices.ContainsFunc(p.calls, func(c openCall) bool { return c.id == e.Call && c.isUndone })
}

// isUnseen reports whether all of a stack came while the helper that now mounts on it was in the kernel already:
// whoever started it looked before, and nobody can call it back. What was there when it started, and a mount of ours,
// it should not have been sent to.
func (r *run) isUnseen(e *sim.Effect, stack []hal.Mount) bool {
	return e.Since > 0 && !slices.ContainsFunc(stack, func(m hal.Mount) bool {
		return !r.isForeign(m) || r.foreign[m.ID].since < e.Since
	})
}

func (r *run) isForeign(m hal.Mount) bool {
	_, is := r.foreign[m.ID]
	return is
}

// hider is the mount of somebody else that hides the place of a volume; the zero Mount if none does. What stands on a
// driver's path itself is judged by what shows there.
func (r *run) hider(u use) hal.Mount {
	if u.exempt || !below(u.path, lang.RootDir) {
		return hal.Mount{}
	}
	at := u.path
	if u.driver != "" {
		at = path.Dir(at)
	}
	for ; len(at) > len(lang.RootDir); at = path.Dir(at) {
		if stack := r.w.MountsAt(at); len(stack) > 0 && r.isForeign(stack[len(stack)-1]) {
			return stack[len(stack)-1]
		}
	}
	return hal.Mount{}
}

// mustKnow: the agent knows of a mount that hides a volume of p, or has had the time to hear of it.
func (r *run) mustKnow(p *pod, u use, m hal.Mount) bool {
	isKnown := false
	r.core.Beliefs(func(b core.Belief) {
		_, is := r.core.CoverOf(b.Key)
		isKnown = isKnown || is && b.Pod == p.uid && b.Path == u.path
	})
	return isKnown || r.w.Now().Sub(r.foreign[m.ID].since) > noticing
}

// seesHider is S21 of a pod that was ready when somebody mounted over one of its volumes.
func (r *run) seesHider(p *pod) {
	if !r.alive() || !p.isWanted || !r.core.Ready(p.uid) {
		return
	}
	for _, u := range p.uses {
		r.judges("S21")
		if m := r.hider(u); m.ID != 0 && r.mustKnow(p, u, m) {
			r.fail("S21", "stays ready", p.name,
				"pod "+p.name+" is ready, and what somebody has mounted on "+m.Path+" hides its volume "+u.name)
			return
		}
	}
}
