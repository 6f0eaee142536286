package sim

import (
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file is the changes of names and contents, as the kernel makes them, with their notes for the power cut.

func (w *World) logChange(n *node, c change) uint64 {
	if n.sb.pages == nil {
		return 0
	}
	return n.sb.pages.log(w.sched.now, c)
}

// persist notes a new name that somebody else than the agent made, and syncs it.
func (w *World) persist(dir *node, name string, k *node) {
	if dir.sb.pages != nil {
		w.logChange(dir, change{kind: changeLink, node: k, dir: dir, name: name})
		dir.sb.pages.sync(dir)
	}
}

// link makes a new node at dir/name. The name is free.
func (w *World) link(by actor, dir location, name string, k *node) {
	dir.n.attach(name, k)
	w.logChange(dir.n, change{kind: changeLink, node: k, dir: dir.n, name: name})
	w.nameChanged(dir, name, k, true)
	if len(w.observe) > 0 {
		w.tell(by, Effect{Kind: EffectMade, Path: w.pathTo(dir, name), Outcome: hal.Done})
	}
}

// unlink removes what is at dir/name: as rmdir(2) for directories, unlink(2) for others.
func (w *World) unlink(by actor, dir location, name string) syscall.Errno {
	k := dir.n.child(name)
	switch {
	case k == nil:
		return syscall.ENOENT
	case len(k.mounts) > 0:
		return syscall.EBUSY
	case len(k.kids) > 0:
		return syscall.ENOTEMPTY
	}
	k.detach()
	w.logChange(dir.n, change{kind: changeUnlink, node: k, dir: dir.n, name: name})
	w.nameChanged(dir, name, k, false)
	if len(w.observe) > 0 {
		w.tell(by, Effect{Kind: EffectRemoved, Path: w.pathTo(dir, name), Outcome: hal.Done})
	}
	return 0
}

// rename is rename(2).
func (w *World) rename(by actor, from location, name string, to location, newName string) syscall.Errno {
	k, there := from.n.child(name), to.n.child(newName)
	switch {
	case k == nil:
		return syscall.ENOENT
	case from.m != to.m:
		return syscall.EXDEV
	case to.n.inside(k):
		return syscall.EINVAL
	case there != nil && from.n.inside(there) && there != k:
		return syscall.ENOTEMPTY
	case there == k:
		return 0
	}
	if there != nil {
		switch {
		case k.isDir() && !there.isDir():
			return syscall.ENOTDIR
		case !k.isDir() && there.isDir():
			return syscall.EISDIR
		}
	}
	switch {
	case len(k.mounts) > 0 || there != nil && len(there.mounts) > 0:
		return syscall.EBUSY
	case there != nil && len(there.kids) > 0:
		return syscall.ENOTEMPTY
	}
	if there != nil {
		there.detach()
	}
	k.detach()
	to.n.attach(newName, k)
	w.logChange(to.n, change{
		kind: changeRename, node: k, dir: from.n, name: name, newDir: to.n, newName: newName, replaced: there,
	})
	if k.isDir() {
		w.mounts.moved()
	}
	w.nameChanged(from, name, k, false)
	w.nameChanged(to, newName, k, true)
	if len(w.observe) > 0 {
		w.tell(by, Effect{
			Kind: EffectRenamed, Path: w.pathTo(from, name), NewPath: w.pathTo(to, newName), Outcome: hal.Done,
		})
	}
	return 0
}

// mounted says whether a mount stands on a node or below it, as seen in m.
func (w *World) mounted(m *mount, n *node) bool {
	if n == nil {
		return false
	}
	return w.mounts.child(m, n) != nil || slices.ContainsFunc(n.kids, func(k *node) bool { return w.mounted(m, k) })
}

// removeTree removes what is at dir/name with all below it, at most budget names. It stops at the first mount.
func (w *World) removeTree(by actor, dir location, name string, budget *int) syscall.Errno {
	k := dir.n.child(name)
	if k == nil {
		return 0
	}
	if w.mounts.child(dir.m, k) != nil {
		return syscall.EBUSY
	}
	for len(k.kids) > 0 {
		if errno := w.removeTree(by, location{dir.m, k}, k.kids[0].name, budget); errno != 0 {
			return errno
		}
	}
	if *budget == 0 {
		return syscall.EINTR
	}
	*budget--
	return w.unlink(by, dir, name)
}

// put writes data to a file, growing it as needed.
func (w *World) put(n *node, offset int64, data []byte) {
	grows := uint64(0)
	if end := offset + int64(len(data)); end > n.file.size {
		grows = w.resize(n, end)
	}
	logged := n.sb.pages != nil
	if logged {
		n.sb.pages.soil(n)
		if len(n.file.undo) > 0 && w.sched.now.Sub(n.file.undo[len(n.file.undo)-1].at) > writeback {
			n.file.durable()
		}
	}
	n.file.write(offset, data, w.sched.now, grows, logged, &w.slabs)
}

func (w *World) resize(n *node, size int64) uint64 {
	old := n.file.size
	n.file.size = size
	return w.logChange(n, change{kind: changeSize, node: n, oldSize: old, newSize: size})
}

// empty truncates a file.
func (w *World) empty(n *node) {
	if n.file.size == 0 {
		return
	}
	old := n.file
	n.file = &content{}
	w.logChange(n, change{kind: changeContent, node: n, old: old, new: n.file})
}

// pathTo is the path of a name from the namespace's root.
func (w *World) pathTo(dir location, name string) string {
	p := w.mounts.spell(dir)
	if name != "" && len(p) > 1 {
		p = append(p, '/')
	}
	return string(append(p, name...))
}
