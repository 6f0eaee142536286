package dealings

import (
	"path"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Noticing is how long it may take until the agent has heard of a change of the mount table: a notice that is late, an
// owner that runs late, a table that can't be read at first.
const Noticing = 5 * time.Minute

// rejects is a person who finds another's data where a pod has its volume: a driver has taken it for the volume, and
// the agent can't tell. It is unmounted by hand.
func rejects(r *world.Run, p *world.Place) {
	r.W.After(time.Minute, "a person rejects "+p.Path, func() {
		if p.IsMixedUp && len(r.W.MountsAt(p.Path)) > 0 && !r.W.Shows(p.Driver, p.Volume, p.Path) {
			_ = r.W.UnmountTop(p.Path) // somebody else keeps it busy
		}
	})
}

// IsDisturbed reports whether somebody has changed what is at a path, and the agent need not know it yet.
func IsDisturbed(r *world.Run, path string) bool {
	p := r.ByPath[path]
	if p == nil || !p.IsTouched {
		return IsUpset(r, path)
	}
	stack := r.W.MountsAt(path)
	return r.W.Now().Sub(p.TouchedAt) < Noticing || len(stack) > 0 && IsForeign(r, stack[len(stack)-1])
}

// IsForeign reports whether somebody else has made the mount.
func IsForeign(r *world.Run, m hal.Mount) bool {
	_, is := r.Foreign[m.ID]
	return is
}

// Hider is the mount of somebody else that hides the place of a volume; the zero Mount if none does. What stands on a
// driver's path itself is judged by what shows there.
func Hider(r *world.Run, u world.Use) hal.Mount {
	if u.Exempt || !world.Below(u.Path, lang.RootDir) {
		return hal.Mount{}
	}
	at := u.Path
	if u.Driver != "" {
		at = path.Dir(at)
	}
	for ; len(at) > len(lang.RootDir); at = path.Dir(at) {
		if stack := r.W.MountsAt(at); len(stack) > 0 && IsForeign(r, stack[len(stack)-1]) {
			return stack[len(stack)-1]
		}
	}
	return hal.Mount{}
}

// MustKnow: the agent knows of a mount that hides a volume of p, or has had the time to hear of it.
func MustKnow(r *world.Run, p *world.Pod, u world.Use, m hal.Mount) bool {
	isKnown := false
	r.Core.Beliefs(func(b core.Belief) {
		_, is := r.Core.CoverOf(b.Key)
		isKnown = isKnown || is && b.Pod == p.Uid && b.Path == u.Path
	})
	return isKnown || r.W.Now().Sub(r.Foreign[m.ID].Since) > Noticing
}

const (
	Quiet = 10 * time.Minute // of calm in which nothing may be done
	// LongestHang is how long a helper may sit in the kernel (hal/sim), longestStart how long a node may take to boot
	// and an agent to start.
	LongestHang  = 20 * time.Minute
	LongestStart = 15 * time.Minute              // of an agent, until it has read its node
	MaxBackoff   = 2*time.Minute + 2*time.Second // the engine's
	// Slowest is how long a call may take that was slow when calm came: a record that is being written, and who waits
	// for it.
	Slowest = 30 * time.Second
	// Hasty is the bound of a restart of a healthy agent: no call is to be made.
	Hasty = 10 * time.Minute
)

// IsUpset reports whether the agent need not know yet what is at the place of an emptyDir, or can't.
func IsUpset(r *world.Run, at string) bool {
	if life, is := r.Harmed[at]; is && life == r.W.Life() {
		return true
	}
	since, known := r.Disturbed[at]
	if !known {
		return false
	}
	return r.W.Now().Sub(since) < Noticing || len(r.W.MountsAt(path.Dir(at))) > 0 || len(r.W.MountsAt(at)) > 1
}
