package emptydir

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is a part of S29: an emptyDir is of root, and of the group of its pod, as long as the pod has not made it
// another's; then it stays as the pod has it.

// run is what a run notes of emptyDirs.
type run struct {
	world.PlainRun
	made []made
}

// made is a directory, or the root of a filesystem, that the agent has made for a pod.
type made struct {
	path  string
	at    hal.Info
	held  bool // it was made in a life that holds limits
	taken bool // its containers have given it to somebody
	to    hal.Info
}

func isOne(a, b hal.Info) bool { return a.Inode == b.Inode && a.Born == b.Born && a.Device == b.Device }

// of is what the agent has made that is at a path now, nil if it is nothing.
func (h *run) of(w *sim.World, path string) *made {
	at, ok := w.Found(path)
	i := slices.IndexFunc(h.made, func(m made) bool { return ok && m.path == path && isOne(m.at, at) })
	if i < 0 {
		return nil
	}
	return &h.made[i]
}

// Sees judges that what a pod has made its own stays so.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	if e.Kind == sim.EffectLimited {
		limited(r, e)
		return
	}
	if e.Kind != sim.EffectMade && e.Kind != sim.EffectMount && e.Kind != sim.EffectGiven {
		return
	}
	m, isWithin := world.DirectoryAt(e.Path)
	if m == nil || isWithin || m.Source.Name != "emptyDir" {
		return
	}
	switch is := h.of(r.W, e.Path); {
	case e.Kind == sim.EffectGiven && is == nil:
	case e.Kind == sim.EffectGiven && e.Actor != "agent":
		is.taken = true
		is.to, _ = r.W.Found(e.Path)
	case e.Kind == sim.EffectGiven:
		r.Judges("S29")
		if is.taken {
			r.Fail("S29", "given", e.Path, e.Path+" is given to another group than its pod has given it to")
		}
	case e.Actor == "agent":
		h.made = slices.DeleteFunc(h.made, func(m made) bool { return m.path == e.Path })
		if at, ok := r.W.Found(e.Path); ok {
			h.made = append(h.made, made{path: e.Path, at: at, held: r.HoldsLimits})
		}
	}
}

// LetsIn judges whose the emptyDirs of a pod are that is reported ready, and has its containers take them.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		if !h.isLimited(r, p, u) || !h.isInMemory(r, p, u) {
			return false
		}
	}
	for _, u := range p.Uses {
		is := h.of(r.W, u.Path)
		if u.Room == nil || u.Room.Source.Name != "emptyDir" || is == nil || is.taken {
			continue
		}
		r.Judges("S29")
		at, _ := r.W.Found(u.Path)
		if !slices.ContainsFunc(p.Groups, func(group string) bool {
			gid, _ := strconv.Atoi(group)
			// The agent may have died as it gave the directory, before the group was edited away.
			wasBegun := group == "" && len(p.Groups) > 1 && at.Mode == world.ModeOf(u.Room.Mode, "0")
			return at.UID == 0 && at.GID == uint32(gid) && (at.Mode == world.ModeOf(u.Room.Mode, group) || wasBegun)
		}) {
			r.Fail("S29", "told ready", p.Name, fmt.Sprintf("pod %s is reported ready, and volume %s has the owner %d, the "+
				"group %d and the mode %04o; its group is to be one of %q", p.Name, u.Name, at.UID, at.GID, at.Mode, p.Groups))
			return false
		}
		if p.Takes {
			_ = r.W.Give(u.Path, 999, 999, 0o2700)
		}
	}
	return true
}

// Born: a power cut may have lost that containers took a directory, or a part of it. So it is the agent's again.
func (h *run) Born(r *world.Run) {
	for i := range h.made {
		m := &h.made[i]
		m.held = m.held && r.HoldsLimits
		at, ok := r.W.Found(m.path)
		m.taken = m.taken && !(ok && isOne(m.at, at) && (at.UID != m.to.UID || at.GID != m.to.GID))
	}
}
