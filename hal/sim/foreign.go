package sim

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is the actors on the node that are neither the agent nor a driver: an admin, another agent, a process that
// keeps a file open. They may do to a mount what any process with the rights may do: mount over it, unmount it, keep it
// busy. What they mount is never the agent's to unmount.

var (
	siteVanish   = newSite("foreign.unmount")
	siteCover    = newSite("foreign.mount")
	siteUncover  = newSite("foreign.mount-goes")
	siteHolder   = newSite("foreign.hold")
	siteAtBoot   = newSite("foreign.mount-at-boot")
	siteSweeping = newSite("foreign.sweep")
)

const (
	meddleMost = 15 * time.Minute // after a mount was made, until somebody meddles with it
	holderMost = 10 * time.Minute // how long a process keeps a mount busy
	sweepEach  = time.Minute      // how often an admin who cleans up looks
)

// MountForeign mounts a filesystem that is no volume's over path, as somebody on the node would.
func (w *World) MountForeign(path string) syscall.Errno {
	return w.mountForeign(path, func() *mount {
		return w.mounts.newMount(newSuperblock(w.fs.anonymous(), "tmpfs", "foreign").root)
	})
}

// MountForeignExport does it with what a server exports.
func (w *World) MountForeignExport(source, path string) syscall.Errno {
	s := w.shareNamed(source)
	if s == nil {
		return syscall.EACCES
	}
	return w.mountForeign(path, func() *mount {
		m := w.mounts.newMount(s.root)
		m.conn = w.export(s, nil)
		return m
	})
}

func (w *World) mountForeign(path string, makes func() *mount) syscall.Errno {
	at, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return errno
	case !at.n.isDir():
		return syscall.ENOTDIR
	case at.n.gone:
		return syscall.ENOENT
	}
	m := makes()
	m.isForeign, w.hadForeign = true, true
	w.event("foreign.mount", path)
	w.mounts.place(actor{}, at, m)
	return 0
}

// meddle draws what becomes of a mount that a driver has just made for a request: somebody may unmount it, mount over
// it, or keep it busy.
//
// A driver that does not look before it binds would pass on what others did to the staging path, and no agent could
// tell: there, nobody meddles. Raw block volumes are left alone too: what is at their paths are device files. What
// a driver leaves mounted could not be told from another's.
func (d *driver) meddle(v *volume, path string, isStage bool) {
	w := d.w
	w.troubles(d, v, path)
	w.wears(d, v, path)
	if w.happens(HeldOpen, siteHolder, path) {
		w.holdFor(path)
	}
	if isStage && !d.is.Checks || d.is.Leaves {
		return
	}
	if w.happens(ForeignUnmount, siteVanish, path) {
		w.meddleIn(siteVanish, path, func() {
			w.event("foreign.unmount", path)
			_ = w.mounts.unmount(actor{}, path, 0) // EBUSY is what an admin may get
		})
	}
	if w.happens(ForeignMount, siteCover, path) {
		w.meddleIn(siteCover, path, func() {
			// While a call may still bring the volume up, nobody could tell another's mount from what that call makes.
			if w.sched.now > v.setUpUntil && w.MountForeign(path) == 0 {
				w.uncoverIn(path, w.time(siteUncover, path, time.Second, meddleMost))
			}
		})
	}
}

// meddleIn plans f: unless the path has changed by then, or a call that is about it is under way.
func (w *World) meddleIn(at *site, path string, f func()) {
	stack := w.mounts.stack(path)
	if len(stack) == 0 {
		return
	}
	top, boot := stack[len(stack)-1], w.boot
	w.sched.at(w.sched.now.Add(w.time(at, path, time.Second, meddleMost)), at.hash^hashString(path), nil, func() {
		now := w.mounts.stack(path)
		isBusy := slices.ContainsFunc(w.rpcs, func(r *rpc) bool {
			return r.effects && (r.target == path || r.target == "" && r.staging == path)
		})
		if w.boot == boot && !w.off && !w.calm && !isBusy && len(now) > 0 && now[len(now)-1] == top {
			f()
		}
	})
}

// uncoverIn takes a foreign mount away again, if nothing was mounted over it by then.
func (w *World) uncoverIn(path string, d time.Duration) {
	boot := w.boot
	w.sched.at(w.sched.now.Add(d), siteUncover.hash^hashString(path), nil, func() {
		if w.boot == boot && !w.off {
			w.uncover(path)
		}
	})
}

// uncover unmounts what stands on top of a path and is no volume's, as often as there is something.
func (w *World) uncover(path string) {
	for {
		stack := w.mounts.stack(path)
		if len(stack) == 0 || !stack[len(stack)-1].isForeign || stack[len(stack)-1].busy() {
			return
		}
		w.event("foreign.unmount", path)
		_ = w.mounts.unmount(actor{}, path, 0) // it was looked at just now
	}
}

// holdFor keeps what is mounted at a path busy for a drawn time: a process has a file open, or its working directory
// there.
func (w *World) holdFor(path string) {
	stack := w.mounts.stack(path)
	if len(stack) == 0 {
		return
	}
	m := stack[len(stack)-1]
	m.holders++
	w.event("foreign.hold", path)
	w.sched.at(w.sched.now.Add(w.time(siteHolder, path, time.Second, holderMost)), siteHolder.hash^hashString(path),
		nil, func() {
			m.holders--
			w.tell(actor{}, Effect{Kind: EffectFreed, Path: path, Outcome: hal.Done})
		})
}

// IsHeldOpen says whether a process keeps what is mounted at a path busy, as [HeldOpen] has it.
func (w *World) IsHeldOpen(path string) bool {
	stack := w.mounts.stack(path)
	return len(stack) > 0 && stack[len(stack)-1].holders > 0
}

// coverAtBoot draws for each path that a volume was held at in the last boot whether somebody mounts over it before the
// agent starts.
func (w *World) coverAtBoot(paths []string) {
	for _, path := range paths {
		if w.happens(ForeignMount, siteAtBoot, path) && w.MountForeign(path) == 0 {
			w.uncoverIn(path, w.time(siteUncover, path, time.Second, meddleMost))
		}
	}
}

// heldPaths is where drivers hold volumes, each path once, that leave nothing mounted.
func (w *World) heldPaths() []string {
	var all []string
	for _, list := range [...][]Held{w.Staged(), w.Published()} {
		for _, h := range list {
			if d := w.driver(h.Driver); d != nil && !d.is.Leaves && !slices.Contains(all, h.Path) {
				all = append(all, h.Path)
			}
		}
	}
	return all
}

// SweepForeign has an admin clean up below dir from now on: what stands on top of a stack and is no volume's is
// unmounted, at once and each minute. In a world where nobody has mounted anything of that kind, nothing happens.
func (w *World) SweepForeign(dir string) {
	if !w.hadForeign {
		return
	}
	for i := len(w.mounts.list) - 1; i >= 0; i-- {
		if i < len(w.mounts.list) && w.mounts.list[i].isForeign &&
			(w.mounts.list[i].path == dir || strings.HasPrefix(w.mounts.list[i].path, dir+"/")) {
			w.clearOf(w.mounts.list[i])
			w.uncover(w.mounts.list[i].path)
		}
	}
	w.sched.at(w.sched.now.Add(sweepEach), siteSweeping.hash, nil, func() { w.SweepForeign(dir) })
}

// clearOf unmounts what was mounted below a foreign mount, as a driver does that makes its mount in a directory of the
// path that it is given: umount -R. What covers it is left alone.
func (w *World) clearOf(m *mount) {
	for _, child := range slices.Clone(m.children) {
		if child.path != m.path && !child.isForeign && !child.busy() {
			w.event("foreign.unmount", child.path)
			_ = w.mounts.unmount(actor{}, child.path, child.id) // it was looked at just now
		}
	}
}

// IsForeign says whether a mount is nobody's volume: made by somebody on the node, or by a driver that bound what was
// not its own.
func (w *World) IsForeign(id hal.MountID) bool {
	i, found := slices.BinarySearchFunc(w.mounts.list, id,
		func(m *mount, id hal.MountID) int { return int(m.id) - int(id) })
	return found && w.mounts.list[i].isForeign
}
