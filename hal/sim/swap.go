package sim

import "syscall"

// This file is people who put one directory in the place of another. What they do is durable.

// Exchange has two directories of one filesystem change their places in one step (renameat2(2), RENAME_EXCHANGE).
func (w *World) Exchange(a, b string) syscall.Errno {
	from, name, errno := w.walk(a, walkParent)
	if errno != 0 {
		return errno
	}
	to, newName, errno := w.walk(b, walkParent)
	if errno != 0 {
		return errno
	}
	k, there := from.n.child(name), to.n.child(newName)
	switch {
	case k == nil || there == nil:
		return syscall.ENOENT
	case from.m != to.m:
		return syscall.EXDEV
	case len(k.mounts) > 0 || len(there.mounts) > 0:
		return syscall.EBUSY
	case to.n.inside(k) || from.n.inside(there):
		return syscall.EINVAL
	}
	w.event("vandal.exchange", a)
	k.detach()
	there.detach()
	from.n.attach(name, there)
	to.n.attach(newName, k)
	w.persist(from.n, name, there)
	w.persist(to.n, newName, k)
	w.mounts.moved()
	k.isUnread, there.isUnread = true, true
	w.replaced(from, name, k)
	w.replaced(to, newName, there)
	return 0
}

// IsUnread reports whether a directory came into the place of another and the agent has not listed it since.
func (w *World) IsUnread(path string) bool {
	at, _, errno := w.look(path, walkNoLastLink)
	return errno == 0 && at.n.isUnread
}

// Move renames a directory, as mv does. Nothing has the new name.
func (w *World) Move(from, to string) syscall.Errno {
	at, name, errno := w.walk(from, walkParent)
	if errno != 0 {
		return errno
	}
	target, newName, errno := w.walk(to, walkParent)
	if errno != 0 {
		return errno
	}
	w.event("vandal.move", from)
	if errno := w.rename(actor{}, at, name, target, newName); errno != 0 {
		return errno
	}
	w.persist(target.n, newName, target.n.child(newName))
	w.contentChanged(from + "/")
	w.contentChanged(to + "/")
	return 0
}

// Remake removes a directory with all in it, and makes it again at the same instant: another directory, whose inode has
// the same number.
func (w *World) Remake(path string) syscall.Errno {
	at, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return errno
	case !at.n.isDir():
		return syscall.ENOTDIR
	}
	former := at.n
	for len(former.kids) > 0 {
		if errno := w.removeOne(actor{}, path+"/"+former.kids[0].name); errno != 0 {
			return errno
		}
	}
	if errno := w.removeOne(actor{}, path); errno != 0 {
		return errno
	}
	w.makeDirs(path).n.inode = former.inode
	return 0
}

// replaced tells the watches that another directory is at dir/name, where k was.
func (w *World) replaced(dir location, name string, k *node) {
	w.nameChanged(dir, name, k, false)
	w.nameChanged(dir, name, dir.n.child(name), true)
	w.contentChanged(w.pathTo(dir, name) + "/")
}
