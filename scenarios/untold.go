package scenarios

import (
	"path"
	"slices"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is drivers that act after they have answered with an error, and of which nobody has said so. What they do
// behind an answer nobody can know: the place is excused, as one that somebody else has touched. What can be seen is
// another matter: what comes to stand where nothing was left goes, and its driver is held to it from then on (S23).

// untold is what a run knows of such drivers.
type untold struct {
	framed  map[string]bool // somebody has done what a call could have done after its answer, for all that can be seen
	durable map[string]bool // the agent has called a driver of which it knows that, so its journal names it
}

// isAnswered: a call was answered before it has acted. If the answer ends it, for all that the agent can know, it is
// none that may still act.
func (r *run) isAnswered(e *sim.Effect) {
	p := r.places[e.Key]
	if p == nil || !r.alive() || r.core.ActsAfterReply(e.Driver) || r.cfg.Drivers[e.Driver].ActsAfterReply {
		return
	}
	if !csi.Ends(&hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: e.Code, Detail: e.Text}) {
		return
	}
	is := func(c openCall) bool { return c.id == e.Call }
	if slices.ContainsFunc(p.calls, is) {
		p.calls = slices.DeleteFunc(p.calls, is)
		p.untold = append(p.untold, e.Call)
	}
}

// betrays: an effect of such a call.
func (r *run) betrays(e *sim.Effect) {
	if e.Call == 0 {
		return
	}
	p := r.places[e.Key]
	if p != nil && slices.Contains(p.forgotten, e.Call) {
		switch e.Kind {
		case sim.EffectStaged, sim.EffectPublished:
			p.isStranded, p.isTouched, p.touchedAt = true, true, r.w.Now()
			p.isUnheard = len(r.w.MountsAt(p.path)) == 0
		case sim.EffectUnstaged, sim.EffectUnpublished:
			p.isUndone, p.isTouched, p.touchedAt = true, true, r.w.Now()
		default:
		}
	}
	if p != nil && e.Kind == sim.EffectActed && r.alive() && !r.knows(p.key) &&
		(slices.Contains(p.forgotten, e.Call) || slices.Contains(p.answered, e.Call)) {
		p.littered = r.w.Life()
	}
	if p == nil || !slices.Contains(p.untold, e.Call) {
		return
	}
	switch e.Kind {
	case sim.EffectMount, sim.EffectUnmount, sim.EffectStaged, sim.EffectUnstaged, sim.EffectPublished,
		sim.EffectUnpublished, sim.EffectActed:
	default:
		return
	}
	p.isTouched, p.isBetrayed, p.touchedAt = true, true, r.w.Now()
	p.isShown = p.isShown || e.Kind == sim.EffectMount
	if e.Kind == sim.EffectMount && e.Path == p.path && r.root.forgotten && !(r.alive() && r.knows(p.key)) {
		p.unclaimed = r.w.Life()
	}
	if e.Kind == sim.EffectMount && r.alive() && e.Path == p.path && len(r.w.MountsAt(p.path)) > 0 {
		r.mustNotice(p)
	}
}

// endsUnheard: what a forgotten call has brought without a mount came after the driver of a teardown was asked, so that
// may end without it; or that has ended, and is not repeated: no setup is known that may yet act, but for teardowns.
func (p *place) endsUnheard(b *core.Belief) bool {
	isDown := b.State == core.Absent && b.SetUpOpen == 0 && !b.IsDoubtful && !b.IsWanted && !b.InFlight
	return p.isUnheard && (b.IsGone || isDown || b.InFlight && b.Verb == core.TearDown)
}

// mustNotice is S23: what has come to stand where nothing was left, and nobody wants anything, is noticed, and held
// against its driver. That a teardown may still act is no excuse: it makes no mount.
func (r *run) mustNotice(p *place) {
	b, ok := r.core.Belief(p.key)
	if isDown := b.State == core.Absent && !b.IsDoubtful && b.SetUpOpen == 0 && !b.InFlight && !b.HasChild; !ok ||
		!isDown || b.IsWanted {
		return
	}
	mayBeIts := func(q *place) bool {
		o, _ := r.core.Belief(q.key)
		return q.path == p.path && q.thing != p.thing && (o.InFlight || o.SetUpOpen != 0)
	}
	if slices.ContainsFunc(r.list, mayBeIts) {
		return // for all that can be known a call for another volume has made it
	}
	life, from := r.w.Life(), p.touchedAt
	r.w.After(noticing, "noticed "+string(p.key), func() {
		if r.w.Life() != life || !r.alive() || p.touchedAt != from || p.setUpUntil > r.w.Now() {
			return
		}
		r.judges("S23")
		if !r.core.ActsAfterReply(p.driver) {
			r.fail("S23", "acts after its answer", string(p.key), "driver "+p.driver+" has made a mount at "+p.path+
				" after it had answered with an error, and it is trusted still")
		}
	})
}

// remembersActors is S23 over a restart.
func (r *run) remembersActors() {
	for _, d := range r.w.Drivers() {
		if !r.untold.durable[d.Name] {
			continue
		}
		r.judges("S23")
		if !r.core.ActsAfterReply(d.Name) {
			r.fail("S23", "start", d.Name,
				"driver "+d.Name+" was seen to act after it had answered with an error, and the next run trusts "+
					"it again")
		}
	}
}

// isUnseeable: what is left at a path came after an answer that ended its call, or of a call that a lost journal alone
// knew of, or no name was left that tells of it as the journal was lost; and nothing of it is seen there.
func (r *run) isUnseeable(h *sim.Held) bool {
	if len(r.w.MountsAt(h.Path)) > 0 {
		return false
	}
	if p := r.byPath[h.Path]; p != nil && p.isBetrayed && p.driver == h.Driver && p.volume == h.Volume {
		return true
	}
	for p := r.byPath[h.Path]; p != nil; p = p.earlier {
		if p.driver == h.Driver && p.volume == h.Volume && p.isBetrayed && (p.isSpirited || !p.isShown) {
			return true
		}
		if p.driver == h.Driver && p.volume == h.Volume && (p.isStranded || r.root.forgotten && !p.isTold) {
			_, isKnown := r.core.Belief(p.key)
			return !isKnown
		}
	}
	return false
}

// isOverlaid: what such a driver has brought, or what somebody else has mounted there and looks like it, is at a path
// that by then belongs to another volume, on which containers may run: it goes once they have ended.
func (r *run) isOverlaid(b *core.Belief) bool {
	p := r.places[b.Key]
	return p != nil && (p.isBetrayed || p.isFramed) && slices.ContainsFunc(r.list,
		func(q *place) bool { return q.path == p.path && q.thing != p.thing && r.mayRun(q) })
}

func (r *run) knows(key hal.Key) bool {
	_, is := r.core.Belief(key)
	return is
}

// isLitter: all that is below a directory is bare directories which only the next start removes: the target of a call
// that a lost journal alone knew of, answered or not, and that made it once this life looked there no more; or what
// this life found without a volume as it started, and could not remove.
func (r *run) isLitter(dir string) bool {
	names := r.w.Entries(dir)
	if p := r.byPath[dir]; p != nil || r.root.unpruned[dir] {
		isLeft := r.root.unpruned[dir] || p.littered == r.w.Life()
		return isLeft && len(names) == 0 && len(r.w.MountsAt(dir)) == 0
	}
	if len(names) == 0 {
		// above the devices of a raw volume: without a journal nobody knows of them, and the next start prunes it
		return r.root.forgotten && !r.root.isSwept && slices.ContainsFunc(r.list,
			func(p *place) bool { return r.isRaw(p) && path.Dir(p.path) == dir })
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !r.isLitter(path.Join(dir, name)) })
}

// cantPrune notes that a start can't remove a name in which there is no volume, or what is above it and as empty.
func (r *run) cantPrune(i sim.Injected) {
	at := i.Object
	if i.Site != "tree.remove/fault" || i.Key != "" || !isOurs(at) {
		return
	}
	for _, is := r.w.Exists(at); !is && isOurs(path.Dir(at)); _, is = r.w.Exists(at) {
		at = path.Dir(at)
	}
	r.root.unpruned[at] = true
}

// sweeps starts the agent again, if something is left that only the next start removes. It must be gone then.
func (r *run) sweeps() {
	if r.namesLeft(func(string) bool { return false }) == "" {
		return
	}
	r.w.KillAgent()
	if !r.until(r.w.Now().Add(2*time.Second)) || !r.comesToRest("L6", "restarted", hasty) {
		return
	}
	r.root.isSwept = true
	if what := r.namesLeft(r.isLitter); what != "" {
		r.fail("L1", "swept", what, "every pod is deleted, the agent has started since, and this is left: "+what)
	}
}
