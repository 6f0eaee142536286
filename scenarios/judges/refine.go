package judges

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file compares what the engine believes with the truth: a belief of Present or Absent is true, unless an
// operation is in flight on the rung, a call that was given up is within its bound, a helper of an earlier run lives,
// or somebody else has changed what is there.

// Begun compares all beliefs of a new start. What it does not know of, nobody does.
func Begun(r *world.Run) {
	remembersActors(r)
	dealings.RemembersServers(r)
	for _, p := range r.List {
		key := p.Key
		r.Judges("S15")
		p.IsOutdated, p.IsEarlier = p.IsOutdated || p.IsEarlier && p.IsHeld && !isWhole(r, p), false
		p.Checked, p.IsUnseen = world.Seen{}, r.Root.Forgotten && !isNamed(r, p)
		p.IsTold = p.IsTold || r.Root.Forgotten && (isNamed(r, p) || IsNamedAbove(r, p))
		if _, ok := r.Core.Belief(key); ok {
			Refine(r, key)
			continue
		}
		if r.Root.Forgotten && (isLeft(r, p) || !isNamed(r, p)) {
			// without a journal, and with a directory that can't be listed, the start can only tell of it, and look
			// again
			continue
		}
		if why := dealings.Remains(r, p); why != "" && !p.IsTouched {
			r.Fail("S15", "start", string(key), "the agent has started without a trace of "+string(key)+", and "+why)
		}
	}
}

// isRaw: the place is a raw block device's, of which no notice comes: if a call that only a lost journal knew of makes
// it, the next start finds it.
func isRaw(p *world.Place) bool {
	return strings.Contains(p.Path, "/volumeDevices/publish/")
}

// isNamed: a name on the node tells of the place. The power may have gone before its directory was durable, and what is
// written in it tells of the volume alone that was called last for that path.
func isNamed(r *world.Run, p *world.Place) bool {
	dir := path.Dir(p.Path)
	if devices, is := strings.CutSuffix(dir, "/volumeDevices/staging"); is { // those of all raw volumes are in one
		dir = path.Join(devices, "volumeDevices", path.Base(p.Path))
	}
	_, is := r.W.Exists(dir)
	return is && r.ByPath[p.Path] == p
}

// IsNamedAbove: the data file of a publish tells of the stage below it.
func IsNamedAbove(r *world.Run, p *world.Place) bool {
	return !p.IsPublish && slices.ContainsFunc(r.List, func(q *world.Place) bool {
		dir := path.Dir(q.Path)
		if isRaw(q) {
			dir = path.Join(path.Dir(path.Dir(dir)), path.Base(dir), "data")
		}
		data, err := csi.ParseVolData(r.W.ReadFile(dir + "/vol_data.json"))
		return q.IsPublish && err == nil && data.DriverName+"^"+data.VolumeHandle == p.Thing
	})
}

// isLeft: the start has told that it could not look at the place.
func isLeft(r *world.Run, p *world.Place) bool {
	for at := p.Path; len(at) > len(lang.RootDir); at = path.Dir(at) {
		if r.Root.Left[at] {
			return true
		}
	}
	return false
}

// lookingAgain is how long it may take until the agent looks again at what a start could not look at.
const lookingAgain = time.Minute + 5*time.Second

// KnowsAll is S15 once everything is as wanted: what a start could not look at was looked at since.
func KnowsAll(r *world.Run) bool {
	if r.Root.Forgotten && len(r.Root.Left) > 0 && !r.Until(r.W.Now().Add(lookingAgain)) {
		return false
	}
	for _, p := range r.List {
		_, known := r.Core.Belief(p.Key)
		isExcused := p.IsTouched || p.IsStranded || r.Root.Forgotten && (!isNamed(r, p) || isRaw(p))
		if why := dealings.Remains(r, p); !known && why != "" && !isExcused {
			r.Fail("S15", "never found", string(p.Key), "the agent knows nothing of "+string(p.Key)+", and "+why)
			return false
		}
	}
	return true
}

// Refine compares the belief of one rung with the truth.
func Refine(r *world.Run, key hal.Key) {
	if !r.Alive() {
		return
	}
	b, ok := r.Core.Belief(key)
	switch {
	case ok && world.RoomOf(b.Kind) != nil:
		RefineDirectory(r, key, &b)
		return
	case !ok && world.OwnPath(key) != "":
		ForgottenDirectory(r, key)
		return
	}
	p := r.Places[key]
	if p == nil {
		return
	}
	if owner := r.PodOf(p.Path); (!ok || b.IsGone) && (owner == nil || !owner.IsRunning) {
		p.MayBeUsed = false // it was believed to be up until the agent heard that its pod has ended
	}
	isUp := ok && b.State == core.Present
	p.IsFormer = p.IsFormer && !(isUp && b.IsWanted)
	if ok {
		p.Littered, p.Unclaimed = 0, 0
		isWish := b.IsGone || b.State == core.Absent // it wants what it knows nothing of
		p.IsTold = p.IsTold || !isWish
	}
	p.MayBeUsed, p.IsUnseen, p.IsStranded = p.MayBeUsed || isUp, p.IsUnseen && !isUp, p.IsStranded &&
		(!ok || EndsUnheard(p, &b))
	p.IsSaid = p.IsSaid && p.MayBeUsed
	p.IsOutdated = p.IsOutdated && !isUp
	if p.IsTouched {
		RefineTouched(r, p, &b)
		return
	}
	now := world.Seen{Known: ok, State: b.State, Fingerprint: b.Fingerprint, IsGone: !ok || b.IsGone}
	switch {
	case ok && (b.InFlight || b.HasChild):
		p.Checked = world.Seen{}
		return
	case now.IsGone:
		if p.Checked == now && !p.IsHeld || p.IsUnseen {
			return
		}
		r.Judges("S8")
		if why := dealings.Remains(r, p); why != "" {
			r.Fail("S8", "forgotten", string(key), "the engine has forgotten "+string(key)+", and "+why)
		}
	case b.State == core.Absent && b.SetUpOpen == 0 && !b.IsDoubtful:
		r.Judges("S14")
		if why := dealings.Stands(r, p); why != "" && !isUntraced(r, p) {
			r.Fail("S14", "believed Absent", string(key), "the engine believes "+string(key)+" to be down, and "+why)
		}
	case b.State == core.Present && p.Checked != now || b.State == core.Present && !p.IsHeld:
		r.Judges("S14")
		if why := differs(r, p, &b); why != "" {
			r.Fail("S14", "believed Present", string(key), "the engine believes "+string(key)+" to be up, and "+why)
		}
	}
	p.Checked = now
}

// isHidden reports whether somebody has mounted over a directory above a path.
func isHidden(r *world.Run, at string) bool {
	for dir := path.Dir(at); len(dir) > len(lang.RootDir); dir = path.Dir(dir) {
		if stack := r.W.MountsAt(dir); len(stack) > 0 && dealings.IsForeign(r, stack[len(stack)-1]) {
			return true
		}
	}
	return false
}

// differs says how the truth of a place differs from its being up.
func differs(r *world.Run, p *world.Place, b *core.Belief) string {
	switch {
	case !p.IsHeld && p.IsPublish:
		return "its driver does not have it published at " + p.Path
	case !p.IsHeld:
		return "its driver does not have it staged at " + p.Path
	case !strings.HasPrefix(b.Fingerprint, "mount "):
		return ""
	}
	stack := r.W.MountsAt(p.Path)
	switch {
	case len(stack) == 0 && isHidden(r, p.Path):
		return "" // what a mount above it hides may stand there
	case len(stack) == 0:
		return "nothing is mounted at " + p.Path
	}
	// That its filesystem has failed is no change of the mount table, and is not known before the agent looks (L14).
	if top := stack[len(stack)-1]; !top.Was(b.Fingerprint) {
		return "at " + p.Path + " stands " + top.Fingerprint() + ", not " + b.Fingerprint
	}
	return ""
}

// isUntraced: nothing can tell the agent of the rung: the journal was lost, no file on the node names the volume, and
// nothing is mounted at its path.
func isUntraced(r *world.Run, p *world.Place) bool {
	return r.Root.Forgotten && !p.IsTold && len(r.W.MountsAt(p.Path)) == 0
}

// RefineDirectory is refine for a volume whose place is the pod's own, as an emptyDir.
func RefineDirectory(r *world.Run, key hal.Key, b *core.Belief) {
	if b.State == core.Present {
		delete(r.Root.Unseen, b.Path)
	}
	if b.InFlight || b.HasChild || b.State == core.Unknown || b.Path == "" || b.State == core.Absent && !b.IsGone {
		return
	}
	if dealings.IsUpset(r, b.Path) {
		return
	}
	_, there := r.W.Exists(b.Path)
	switch {
	case b.State == core.Present && isHidden(r, b.Path): // what a mount above it hides may be there
	case b.State == core.Present && !there:
		r.Fail("S14", "believed Present", string(key),
			"the engine believes "+string(key)+" to be up, and there is no "+b.Path)
	case b.State == core.Present:
		if why := differsAt(r, b); why != "" {
			r.Fail("S14", "believed Present", string(key), "the engine believes "+string(key)+" to be up, and "+why)
		}
	case b.State == core.Absent && there:
		r.Fail("S14", "believed Absent", string(key),
			"the engine believes "+string(key)+" to be down, and there is "+b.Path)
	}
}

// differsAt says how what is at the own place of a rung differs from a volume that is up.
func differsAt(r *world.Run, b *core.Belief) string {
	m := world.RoomOf(b.Kind)
	if m == nil || m.Differs == nil {
		return ""
	}
	if b.Kind == m.RawKind {
		return world.RawDiffers(r.W, b.Path)
	}
	return m.Differs(r.W, b.Path, strings.HasPrefix(b.Fingerprint, "mount "))
}

// ForgottenDirectory is refine for a volume at a place of the pod's own that is taken to be gone for good.
func ForgottenDirectory(r *world.Run, key hal.Key) {
	if dir := world.OwnPath(key); dir != "" && !dealings.IsUpset(r, dir) {
		if _, there := r.W.Exists(dir); there {
			r.Fail("S8", "forgotten", string(key), string(key)+" is taken to be gone for good, and there is "+dir)
		}
	}
}
