package sim

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

type hostTree struct{ *host }

var (
	callMkdir      = newCallSite("tree.mkdir", hal.ClassFile, true)
	callRemove     = newCallSite("tree.remove", hal.ClassFile, true)
	callRemoveTree = newCallSite("tree.remove-tree", hal.ClassFile, true)
	callRename     = newCallSite("tree.rename", hal.ClassFile, true)
	callList       = newCallSite("tree.list", hal.ClassFile, false)
	callStat       = newCallSite("tree.stat", hal.ClassFile, false)
)

func (h hostTree) Mkdir(c hal.Call, path string, mode uint32) error {
	w := h.w
	k := h.enter(callMkdir, path, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	dir, name, errno := w.beneath(path)
	switch {
	case errno != 0:
		return k.done(errno)
	case name == "" || dir.n.child(name) != nil:
		return k.done(syscall.EEXIST)
	}
	w.link(actor{call: &k}, dir, name, dir.n.sb.newNode(hal.TypeDirectory, mode&0o7777))
	return k.done(0)
}

func (h hostTree) Remove(c hal.Call, path string) error {
	w := h.w
	k := h.enter(callRemove, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	dir, name, errno := w.beneath(path)
	switch {
	case errno != 0:
	case name == "":
		errno = syscall.EBUSY
	default:
		errno = w.unlink(actor{call: &k}, dir, name)
	}
	return k.done(errno)
}

// wholeTree is more names than a tree has.
const wholeTree = 1 << 30

func (h hostTree) RemoveTree(c hal.Call, path string) error {
	w := h.w
	k := h.enter(callRemoveTree, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	dir, name, errno := w.beneath(path)
	switch {
	case errno == syscall.ENOENT:
		return k.done(0)
	case errno != 0:
		return k.done(errno)
	case name == "":
		return k.done(syscall.EBUSY)
	}
	if w.mounted(dir.m, dir.n.child(name)) {
		return k.done(syscall.EBUSY)
	}
	budget := wholeTree
	if k.crash == CrashAfter {
		budget = int(w.chooser.Between(k.subject.id(k.site.amount), 0, 16))
	}
	errno = w.removeTree(actor{call: &k}, dir, name, &budget)
	outcome := hal.Done
	if errno != 0 {
		outcome = hal.Unknown
	}
	if len(w.observe) > 0 {
		w.tell(actor{call: &k}, Effect{Kind: EffectRemovedTree, Path: path, Outcome: outcome})
	}
	return k.leave(errno, outcome)
}

func (h hostTree) Rename(c hal.Call, oldPath, newPath string) error {
	w := h.w
	k := h.enter(callRename, oldPath, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	from, name, errno := w.beneath(oldPath)
	if errno != 0 {
		return k.done(errno)
	}
	to, newName, errno := w.beneath(newPath)
	switch {
	case errno != 0:
	case name == "" || newName == "":
		errno = syscall.EBUSY
	default:
		errno = w.rename(actor{call: &k}, from, name, to, newName)
	}
	return k.done(errno)
}

func (h hostTree) List(c hal.Call, path string) ([]hal.Entry, error) {
	w := h.w
	k := h.enter(callList, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	at, errno := w.open(path)
	switch {
	case errno == syscall.ELOOP && w.isLink(path): // O_DIRECTORY looks at the type first
		return nil, k.done(syscall.ENOTDIR)
	case errno != 0:
		return nil, k.done(errno)
	case !at.n.isDir():
		return nil, k.done(syscall.ENOTDIR)
	}
	entries := make([]hal.Entry, len(at.n.kids))
	for i, kid := range at.n.kids {
		entries[i] = hal.Entry{Name: kid.name, Type: kid.kind}
	}
	return entries, k.done(0)
}

func (h hostTree) Stat(c hal.Call, path string) (hal.Info, error) {
	w := h.w
	k := h.enter(callStat, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return hal.Info{}, k.done(errno)
	}
	dir, name, errno := w.beneath(path)
	if errno != 0 {
		return hal.Info{}, k.done(errno)
	}
	n := dir.n
	info := hal.Info{MountPoint: name == "" && n == dir.m.root && dir.m.parent != nil}
	if name != "" {
		n = dir.n.child(name)
		if n == nil {
			return hal.Info{}, k.done(syscall.ENOENT)
		}
		if w.mounts.child(dir.m, n) != nil {
			return hal.Info{MountPoint: true}, k.done(0) // the rest could not be told without stepping onto the mount
		}
	}
	info.Type, info.Inode, info.Mode, info.UID = n.kind, n.inode, n.mode, n.uid
	if n.file != nil {
		info.Size = n.file.size
	}
	return info, k.done(0)
}
