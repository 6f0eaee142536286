package scenarios

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file compares what the engine believes with the truth: a belief of Present or Absent is true, unless an
// operation is in flight on the rung, a call that was given up is within its bound, a helper of an earlier run lives,
// or somebody else has changed what is there.

// seen is the belief that was compared last.
type seen struct {
	known       bool
	state       core.State
	fingerprint string
	isGone      bool
}

// stepped is called after each step of core.
func (r *run) stepped(c *core.Core) {
	if r.canary != nil {
		r.canary(r)
	}
	first := r.core == nil
	r.core = c
	if r.cover != nil {
		r.covered(c, first)
	}
	if first {
		r.isBegun, r.registrars.begun = true, r.w.Now()
		r.begun()
		return
	}
	for _, key := range c.Decided() {
		r.decisions++
		r.refine(key)
	}
	r.seesMisfits()
}

// begun compares all beliefs of a new start. What it does not know of, nobody does.
func (r *run) begun() {
	r.remembersActors()
	r.remembersServers()
	for _, p := range r.list {
		key := p.key
		r.judges("S15")
		p.isOutdated, p.isEarlier = p.isOutdated || p.isEarlier && p.isHeld && !r.isWhole(p), false
		p.checked, p.isUnseen = seen{}, r.root.forgotten && !r.isNamed(p)
		p.isTold = p.isTold || r.root.forgotten && (r.isNamed(p) || r.isNamedAbove(p))
		if _, ok := r.core.Belief(key); ok {
			r.refine(key)
			continue
		}
		if r.root.forgotten && (r.isLeft(p) || !r.isNamed(p)) {
			// without a journal, and with a directory that can't be listed, the start can only tell of it, and look
			// again
			continue
		}
		if why := r.remains(p); why != "" && !p.isTouched {
			r.fail("S15", "start", string(key), "the agent has started without a trace of "+string(key)+", and "+why)
		}
	}
}

// isRaw: the place is a raw block device's, of which no notice comes: if a call that only a lost journal knew of makes
// it, the next start finds it.
func (r *run) isRaw(p *place) bool { return strings.Contains(p.path, "/volumeDevices/publish/") }

// isNamed: a name on the node tells of the place. The power may have gone before its directory was durable, and what is
// written in it tells of the volume alone that was called last for that path.
func (r *run) isNamed(p *place) bool {
	_, is := r.w.Exists(path.Dir(p.path))
	return is && r.byPath[p.path] == p
}

// isNamedAbove: the data file of a publish tells of the stage below it.
func (r *run) isNamedAbove(p *place) bool {
	return !p.isPublish && slices.ContainsFunc(r.list, func(q *place) bool {
		dir := path.Dir(q.path)
		if r.isRaw(q) {
			dir = path.Join(path.Dir(path.Dir(dir)), path.Base(dir), "data")
		}
		data, err := csi.ParseVolData(r.w.ReadFile(dir + "/vol_data.json"))
		return q.isPublish && err == nil && data.DriverName+"^"+data.VolumeHandle == p.thing
	})
}

// isLeft: the start has told that it could not look at the place.
func (r *run) isLeft(p *place) bool {
	for at := p.path; len(at) > len(lang.RootDir); at = path.Dir(at) {
		if r.root.left[at] {
			return true
		}
	}
	return false
}

// lookingAgain is how long it may take until the agent looks again at what a start could not look at.
const lookingAgain = time.Minute + 5*time.Second

// knowsAll is S15 once everything is as wanted: what a start could not look at was looked at since.
func (r *run) knowsAll() bool {
	if r.root.forgotten && len(r.root.left) > 0 && !r.until(r.w.Now().Add(lookingAgain)) {
		return false
	}
	for _, p := range r.list {
		_, known := r.core.Belief(p.key)
		isExcused := p.isTouched || p.isStranded || r.root.forgotten && (!r.isNamed(p) || r.isRaw(p))
		if why := r.remains(p); !known && why != "" && !isExcused {
			r.fail("S15", "never found", string(p.key), "nothing is known of "+string(p.key)+", and "+why)
			return false
		}
	}
	return true
}

// refine compares the belief of one rung with the truth.
func (r *run) refine(key hal.Key) {
	if !r.alive() {
		return
	}
	b, ok := r.core.Belief(key)
	switch {
	case ok && b.Kind == emptydir.Kind:
		r.refineDirectory(key, &b)
		return
	case !ok && strings.HasPrefix(string(key), string(emptydir.Kind)+"/"):
		r.forgottenDirectory(key)
		return
	}
	p := r.places[key]
	if p == nil {
		return
	}
	if owner := r.podOf(p.path); (!ok || b.IsGone) && (owner == nil || !owner.isRunning) {
		p.mayBeUsed = false // it was believed to be up until the agent heard that its pod has ended
	}
	isUp := ok && b.State == core.Present
	p.isFormer = p.isFormer && !(isUp && b.IsWanted)
	if ok {
		p.littered, p.unclaimed = 0, 0
		isWish := b.IsGone || b.State == core.Absent && b.InFlight && b.Verb == core.Inspect
		p.isTold = p.isTold || !isWish
	}
	p.mayBeUsed, p.isUnseen, p.isStranded = p.mayBeUsed || isUp, p.isUnseen && !isUp, p.isStranded && (!ok || p.endsUnheard(&b))
	p.isSaid = p.isSaid && p.mayBeUsed
	p.isOutdated = p.isOutdated && !isUp
	if p.isTouched {
		r.refineTouched(p, &b)
		return
	}
	now := seen{known: ok, state: b.State, fingerprint: b.Fingerprint, isGone: !ok || b.IsGone}
	switch {
	case ok && (b.InFlight || b.HasChild):
		p.checked = seen{}
		return
	case now.isGone:
		if p.checked == now && !p.isHeld || p.isUnseen {
			return
		}
		r.judges("S8")
		if why := r.remains(p); why != "" {
			r.fail("S8", "forgotten", string(key), string(key)+" is taken to be gone for good, and "+why)
		}
	case b.State == core.Absent && b.SetUpOpen == 0 && !b.IsDoubtful:
		r.judges("S14")
		if why := r.stands(p); why != "" {
			r.fail("S14", "believed Absent", string(key), string(key)+" is believed to be down, and "+why)
		}
	case b.State == core.Present && p.checked != now || b.State == core.Present && !p.isHeld:
		r.judges("S14")
		if why := r.differs(p, &b); why != "" {
			r.fail("S14", "believed Present", string(key), string(key)+" is believed to be up, and "+why)
		}
	}
	p.checked = now
}

// stands says what there is of a place, "" for nothing. What somebody else has mounted there is nothing of it.
func (r *run) stands(p *place) string {
	switch {
	case p.isHeld && p.isPublish:
		return "its driver has it published at " + p.path
	case p.isHeld:
		return "its driver has it staged at " + p.path
	}
	if r.shown(p) != nil {
		return "" // what is mounted there is of another rung, that came before or later
	}
	for _, m := range slices.Backward(r.w.MountsAt(p.path)) {
		if !r.isForeign(m) {
			return "at " + p.path + " stands " + m.Fingerprint()
		}
	}
	return ""
}

// remains says what there is, or may still come, of a place.
func (r *run) remains(p *place) string {
	if why := r.stands(p); why != "" {
		return why
	}
	if len(p.calls) > 0 {
		return "a " + p.calls[0].method + " of it may still act"
	}
	return ""
}

// isHidden reports whether somebody has mounted over a directory above a path.
func (r *run) isHidden(at string) bool {
	for dir := path.Dir(at); len(dir) > len(lang.RootDir); dir = path.Dir(dir) {
		if stack := r.w.MountsAt(dir); len(stack) > 0 && r.isForeign(stack[len(stack)-1]) {
			return true
		}
	}
	return false
}

// differs says how the truth of a place differs from its being up.
func (r *run) differs(p *place, b *core.Belief) string {
	switch {
	case !p.isHeld && p.isPublish:
		return "its driver does not have it published at " + p.path
	case !p.isHeld:
		return "its driver does not have it staged at " + p.path
	case !strings.HasPrefix(b.Fingerprint, "mount "):
		return ""
	}
	stack := r.w.MountsAt(p.path)
	switch {
	case len(stack) == 0 && r.isHidden(p.path):
		return "" // what a mount above it hides may stand there
	case len(stack) == 0:
		return "nothing is mounted at " + p.path
	}
	// That its filesystem has failed is no change of the mount table, and is not known before the agent looks (L14).
	if top := stack[len(stack)-1]; !top.Was(b.Fingerprint) {
		return "at " + p.path + " stands " + top.Fingerprint() + ", not " + b.Fingerprint
	}
	return ""
}

// refineDirectory is refine for an emptyDir.
func (r *run) refineDirectory(key hal.Key, b *core.Belief) {
	if b.State == core.Present {
		delete(r.root.unseen, b.Path)
	}
	if b.InFlight || b.HasChild || b.State == core.Unknown || b.Path == "" || b.State == core.Absent && !b.IsGone {
		return
	}
	if r.isUpset(b.Path) {
		return
	}
	_, there := r.w.Exists(b.Path)
	switch {
	case b.State == core.Present && r.isHidden(b.Path): // what a mount above it hides may be there
	case b.State == core.Present && !there:
		r.fail("S14", "believed Present", string(key), string(key)+" is believed to be up, and there is no "+b.Path)
	case b.State == core.Present && strings.HasPrefix(b.Fingerprint, "mount ") && len(r.w.MountsAt(b.Path)) == 0:
		r.fail("S14", "believed Present", string(key),
			string(key)+" is believed to be up, and nothing is mounted at "+b.Path)
	case b.State == core.Absent && there:
		r.fail("S14", "believed Absent", string(key), string(key)+" is believed to be down, and there is "+b.Path)
	}
}

// forgottenDirectory is refine for an emptyDir that is taken to be gone for good.
func (r *run) forgottenDirectory(key hal.Key) {
	uid, volume, _ := strings.Cut(strings.TrimPrefix(string(key), string(emptydir.Kind)+"/"), "/")
	if dir := plugin.EmptyDirPlace(lang.RootDir, uid, volume).Path; dir != "" && !r.isUpset(dir) {
		if _, there := r.w.Exists(dir); there {
			r.fail("S8", "forgotten", string(key), string(key)+" is taken to be gone for good, and there is "+dir)
		}
	}
}
