package judges

import (
	"path"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is drivers that act after they have answered with an error, and of which nobody has said so. What they do
// behind an answer nobody can know: the place is excused, as one that somebody else has touched. What can be seen is
// another matter: what comes to stand where nothing was left goes, and its driver is held to it from then on (S23).

// isAnswered: a call was answered before it has acted. If the answer ends it, for all that the agent can know, it is
// none that may still act.
func isAnswered(r *world.Run, e *sim.Effect) {
	p := r.Places[e.Key]
	if p == nil || !r.Alive() || r.Core.ActsAfterReply(e.Driver) || r.Cfg.Drivers[e.Driver].ActsAfterReply {
		return
	}
	if !csi.Ends(&hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: e.Code, Detail: e.Text}) {
		return
	}
	is := func(c world.OpenCall) bool { return c.Id == e.Call }
	if slices.ContainsFunc(p.Calls, is) {
		p.Calls = slices.DeleteFunc(p.Calls, is)
		p.Untold = append(p.Untold, e.Call)
	}
}

// Betrays: an effect of such a call.
func Betrays(r *world.Run, e *sim.Effect) {
	if e.Call == 0 {
		return
	}
	p := r.Places[e.Key]
	if p != nil && slices.Contains(p.Forgotten, e.Call) {
		switch e.Kind {
		case sim.EffectStaged, sim.EffectPublished:
			p.IsStranded, p.IsTouched, p.TouchedAt = true, true, r.W.Now()
			p.IsUnheard = len(r.W.MountsAt(p.Path)) == 0
		case sim.EffectUnstaged, sim.EffectUnpublished:
			p.IsUndone, p.IsTouched, p.TouchedAt = true, true, r.W.Now()
		default:
		}
	}
	if p != nil && e.Kind == sim.EffectActed && r.Alive() && !Knows(r, p.Key) &&
		(slices.Contains(p.Forgotten, e.Call) || slices.Contains(p.Answered, e.Call)) {
		p.Littered = r.W.Life()
	}
	if p == nil || !slices.Contains(p.Untold, e.Call) {
		return
	}
	switch e.Kind {
	case sim.EffectMount, sim.EffectUnmount, sim.EffectStaged, sim.EffectUnstaged, sim.EffectPublished,
		sim.EffectUnpublished, sim.EffectActed:
	default:
		return
	}
	p.IsTouched, p.IsBetrayed, p.TouchedAt = true, true, r.W.Now()
	p.IsShown = p.IsShown || e.Kind == sim.EffectMount
	if e.Kind == sim.EffectMount && e.Path == p.Path && r.Root.Forgotten && !(r.Alive() && Knows(r, p.Key)) {
		p.Unclaimed = r.W.Life()
	}
	if e.Kind == sim.EffectMount && r.Alive() && e.Path == p.Path && len(r.W.MountsAt(p.Path)) > 0 {
		mustNotice(r, p)
	}
}

// EndsUnheard: what a forgotten call has brought without a mount came after the driver of a teardown was asked, so that
// may end without it; or that has ended, and is not repeated: no setup is known that may yet act, but for teardowns.
func EndsUnheard(p *world.Place, b *core.Belief) bool {
	isDown := b.State == core.Absent && b.SetUpOpen == 0 && !b.IsDoubtful && !b.IsWanted && !b.InFlight
	return p.IsUnheard && (b.IsGone || isDown || b.InFlight && b.Verb == core.TearDown)
}

// mustNotice is S23: what has come to stand where nothing was left, and nobody wants anything, is noticed, and held
// against its driver. That a teardown may still act is no excuse: it makes no mount.
func mustNotice(r *world.Run, p *world.Place) {
	b, ok := r.Core.Belief(p.Key)
	if isDown := b.State == core.Absent && !b.IsDoubtful && b.SetUpOpen == 0 && !b.InFlight && !b.HasChild; !ok ||
		!isDown || b.IsWanted {
		return
	}
	isAnothers := false // a call for another volume, sent or only intended, may have made it
	r.Core.Beliefs(func(o core.Belief) {
		q := r.Places[o.Key]
		isOther := q == nil && o.Path == p.Path || q != nil && q.Path == p.Path && q.Thing != p.Thing
		isInDoubt := o.IsDoubtful || o.State == core.Unknown && o.Fingerprint == ""
		isAnothers = isAnothers || isOther && (o.InFlight || o.SetUpOpen != 0 || isInDoubt)
	})
	if isAnothers {
		return
	}
	life, from := r.W.Life(), p.TouchedAt
	r.W.After(dealings.Noticing, "noticed "+string(p.Key), func() {
		if r.W.Life() != life || !r.Alive() || p.TouchedAt != from || p.SetUpUntil > r.W.Now() {
			return
		}
		r.Judges("S23")
		if !r.Core.ActsAfterReply(p.Driver) {
			r.Fail("S23", "acts after its answer", string(p.Key), "driver "+p.Driver+" has made a mount at "+p.Path+
				" after it had answered with an error, and the agent still trusts it")
		}
	})
}

// remembersActors is S23 over a restart.
func remembersActors(r *world.Run) {
	for _, d := range r.W.Drivers() {
		if !r.Untold.Durable[d.Name] {
			continue
		}
		r.Judges("S23")
		if !r.Core.ActsAfterReply(d.Name) {
			r.Fail("S23", "start", d.Name,
				"driver "+d.Name+" was seen to act after it had answered with an error, and the next run trusts "+
					"it again")
		}
	}
}

// IsUnseeable: what is left at a path came after an answer that ended its call, or of a call that a lost journal alone
// knew of, or no name was left that tells of it as the journal was lost; and nothing of it is seen there.
func IsUnseeable(r *world.Run, h *sim.Held) bool {
	if len(r.W.MountsAt(h.Path)) > 0 {
		return false
	}
	if p := r.ByPath[h.Path]; p != nil && p.IsBetrayed && p.Driver == h.Driver && p.Volume == h.Volume {
		return true
	}
	for p := r.ByPath[h.Path]; p != nil; p = p.Earlier {
		if p.Driver == h.Driver && p.Volume == h.Volume && p.IsBetrayed && (p.IsSpirited || !p.IsShown) {
			return true
		}
		if p.Driver == h.Driver && p.Volume == h.Volume && (p.IsStranded || r.Root.Forgotten && !p.IsTold) {
			_, isKnown := r.Core.Belief(p.Key)
			return !isKnown
		}
	}
	return false
}

// IsOverlaid: what such a driver has brought, or what somebody else has mounted there and looks like it, is at a path
// that by then belongs to another volume, on which containers may run: it goes once they have ended.
func IsOverlaid(r *world.Run, b *core.Belief) bool {
	p := r.Places[b.Key]
	return p != nil && (p.IsBetrayed || p.IsFramed) && slices.ContainsFunc(r.List,
		func(q *world.Place) bool { return q.Path == p.Path && q.Thing != p.Thing && r.MayRun(q) })
}

// Knows reports whether the agent has the rung.
func Knows(r *world.Run, key hal.Key) bool {
	_, is := r.Core.Belief(key)
	return is
}

// IsLitter: all that is below a directory is bare directories which only the next start removes: the target of a call
// that a lost journal alone knew of, answered or not, and that made it once this life looked there no more; or what
// this life found without a volume as it started, and could not remove.
func IsLitter(r *world.Run, dir string) bool {
	names := r.W.Entries(dir)
	if p := r.ByPath[dir]; p != nil || r.Root.Unpruned[dir] {
		isLeft := r.Root.Unpruned[dir] || p.Littered == r.W.Life()
		return isLeft && len(names) == 0 && len(r.W.MountsAt(dir)) == 0
	}
	if len(names) == 0 {
		// above the devices of a raw volume: without a journal nobody knows of them, and the next start prunes it
		return r.Root.Forgotten && !r.Root.IsSwept && slices.ContainsFunc(r.List,
			func(p *world.Place) bool { return isRaw(p) && path.Dir(p.Path) == dir })
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !IsLitter(r, path.Join(dir, name)) })
}

// CantPrune notes that a start can't remove a name in which there is no volume, or what is above it and as empty.
func CantPrune(r *world.Run, i sim.Injected) {
	at := i.Object
	if i.Site != "tree.remove/fault" || i.Key != "" || !world.IsOurs(at) {
		return
	}
	for _, is := r.W.Exists(at); !is && world.IsOurs(path.Dir(at)); _, is = r.W.Exists(at) {
		at = path.Dir(at)
	}
	r.Root.Unpruned[at] = true
}

// NamesLeft names a directory of a pod or a volume that is left, "" if none is but such as may be.
func NamesLeft(r *world.Run, mayBe func(string) bool) string {
	for _, name := range r.W.Entries(path.Join(lang.RootDir, "pods")) {
		if !mayBe(path.Join(lang.RootDir, "pods", name)) {
			return "the directory pods/" + name
		}
	}
	csi := path.Join(lang.RootDir, "plugins/kubernetes.io/csi")
	for _, driver := range r.W.Entries(csi) {
		for _, name := range r.W.Entries(path.Join(csi, driver)) {
			if !mayBe(path.Join(csi, driver, name)) {
				return "the directory " + path.Join(driver, name)
			}
		}
	}
	for _, name := range r.W.Entries(plugin.ImagesDir(lang.RootDir)) {
		if at := plugin.ImagePlace(lang.RootDir, name).Path; !mayBe(at) {
			return "the directory " + at
		}
	}
	return ""
}
