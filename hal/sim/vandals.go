package sim

import (
	"slices"
	"syscall"
)

// This file is what people on the node do to directories that are not theirs.

// RemoveDir removes a directory with all in it, but for what is mounted there, as rm -rf does.
func (w *World) RemoveDir(path string) syscall.Errno {
	dir, name, errno := w.walk(path, walkParent)
	switch {
	case errno != 0:
		return errno
	case name == "":
		return syscall.EBUSY
	}
	w.event("vandal.remove", path)
	r := removal{w: w, left: 1 << 30}
	r.remove(dir, name)
	return r.why
}

// ReplaceDir moves a directory aside and makes an empty one in its place.
func (w *World) ReplaceDir(path, aside string) syscall.Errno {
	from, name, errno := w.walk(path, walkParent)
	if errno != 0 {
		return errno
	}
	to, newName, errno := w.walk(aside, walkParent)
	if errno != 0 {
		return errno
	}
	w.event("vandal.replace", path)
	if errno := w.rename(actor{}, from, name, to, newName); errno != 0 {
		return errno
	}
	w.link(actor{}, from, name, from.n.newChild(from.n.kind, 0o755))
	return 0
}

// Give gives what a path leads to, links followed, to a user and a group with a mode, as a container may do with what
// is its own.
func (w *World) Give(path string, uid, gid int, mode uint32) syscall.Errno {
	at, _, errno := w.look(path, walkAll)
	if errno != 0 {
		return errno
	}
	is := at.n.ownedBy(uid, gid)
	is.mode = mode
	w.give(actor{}, at.n, path, is)
	return 0
}

// denial is a directory that can't be listed, or a file that can't be read, though it is there.
type denial struct {
	path  string
	errno syscall.Errno
}

// Deny has each listing of a directory, or reading of a file, answered with errno, as on a disk with a bad block, or
// where somebody took a right away; 0 ends that.
func (w *World) Deny(path string, errno syscall.Errno) {
	w.event("vandal.deny", path)
	w.denied = slices.DeleteFunc(slices.Clone(w.denied), func(d denial) bool { return d.path == path })
	if errno != 0 {
		w.denied = append(w.denied, denial{path, errno})
	}
}

// Allow ends all denials.
func (w *World) Allow() { w.denied = nil }

// isDenied is why a directory can't be listed, or a file can't be read, 0 if it can.
func (w *World) isDenied(path string) syscall.Errno {
	for _, d := range w.denied {
		if d.path == path {
			return d.errno
		}
	}
	return 0
}

// BindForeign binds, as somebody on the node would: the mount is nobody's volume.
func (w *World) BindForeign(source, target string) syscall.Errno {
	errno := w.mounts.bind(actor{}, bindSpec(source, target, false), walkAll)
	if stack := w.mounts.stack(target); errno == 0 && len(stack) > 0 {
		stack[len(stack)-1].isForeign, w.hadForeign = true, true
	}
	return errno
}

// Mode is the mode of what is at a path, following mounts; false if nothing is.
func (w *World) Mode(path string) (uint32, bool) {
	at, _, errno := w.look(path, walkNoLastLink)
	if errno != 0 {
		return 0, false
	}
	return at.n.mode, true
}
