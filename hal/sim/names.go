package sim

import (
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
	case dir.m.isReadOnly():
		return syscall.EROFS
	case k == nil:
		return syscall.ENOENT
	case len(k.mounts) > 0:
		return syscall.EBUSY
	case len(k.kids) > 0 || k.bulk > 0:
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
	case from.m != to.m:
		return syscall.EXDEV
	case from.m.isReadOnly():
		return syscall.EROFS
	case k == nil:
		return syscall.ENOENT
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
	case there != nil && (len(there.kids) > 0 || there.bulk > 0):
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

func (n *node) attributes() attributes { return attributes{n.uid, n.gid, n.mode, n.project} }

func (n *node) become(is attributes) {
	n.uid, n.gid, n.mode, n.project = is.uid, is.gid, is.mode, is.project
}

// withMode is how a node is once it has another mode.
func (n *node) withMode(mode uint32) attributes {
	is := n.attributes()
	is.mode = mode
	return is
}

// ownedBy is how a node is once it is given to a user and a group; -1 leaves the one or the other.
func (n *node) ownedBy(uid, gid int) attributes {
	is := n.attributes()
	if uid >= 0 {
		is.uid = uint32(uid)
	}
	if gid >= 0 {
		is.gid = uint32(gid)
	}
	return is
}

// give changes whose a node at path is, and its mode.
func (w *World) give(by actor, n *node, path string, is attributes) {
	w.logChange(n, change{kind: changeAttributes, node: n, was: n.attributes(), is: is})
	n.become(is)
	w.tell(by, Effect{Kind: EffectGiven, Path: path, Outcome: hal.Done})
}

// removal is one step of a RemoveTree.
type removal struct {
	w    *World
	by   actor
	left int // names that may still be removed
	done int // names that were removed
	why  syscall.Errno
}

// remove removes what is at dir/name with all below it, and passes over what can't go. It reports whether nothing is
// left.
func (r *removal) remove(dir location, name string) bool {
	k := dir.n.child(name)
	switch {
	case k == nil:
		return true
	case len(k.mounts) > 0: // on this path or on another one to it
		r.pass(syscall.EBUSY)
		return false
	}
	isEmpty := true
	for i := 0; i < len(k.kids) && r.left > 0; {
		if !r.remove(location{dir.m, k}, k.kids[i].name) {
			isEmpty = false
			i++
		}
	}
	if k.bulk > 0 {
		n := min(k.bulk, r.left)
		k.bulk -= n
		r.left -= n
		r.done += n
	}
	if !isEmpty || r.left == 0 {
		return false
	}
	if errno := r.w.unlink(r.by, dir, name); errno != 0 {
		r.pass(errno)
		return false
	}
	r.left--
	r.done++
	return true
}

// pass notes the first reason for which a name is left.
func (r *removal) pass(errno syscall.Errno) {
	r.left--
	if r.why == 0 {
		r.why = errno
	}
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
	n.changed = w.sched.now
	n.file.write(offset, data, w.sched.now, grows, logged, &w.slabs)
}

func (w *World) resize(n *node, size int64) uint64 {
	old := n.file.size
	n.file.size, n.changed = size, w.sched.now
	return w.logChange(n, change{kind: changeSize, node: n, oldSize: old, newSize: size})
}

// empty truncates a file.
func (w *World) empty(n *node) {
	if n.file.size == 0 {
		return
	}
	old := n.file
	n.file, n.changed = &content{}, w.sched.now
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
