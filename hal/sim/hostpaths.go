package sim

import (
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

type hostPaths struct{ *host }

var (
	callType = newCallSite("hostpaths.type", hal.ClassHelper, false)
	callMake = newCallSite("hostpaths.make", hal.ClassHelper, true)
)

func (h hostPaths) Type(c hal.Call, path string) (hal.FileType, error) {
	w := h.w
	k := h.enter(callType, path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return hal.TypeOther, k.done(errno)
	}
	kind := hal.TypeOther
	errno = k.inKernel("stat "+path, func(actor) syscall.Errno {
		at, _, errno := w.walk(path, walkAll)
		if errno == 0 {
			kind = at.n.kind
		}
		return errno
	})
	return kind, k.done(errno)
}

func (h hostPaths) Make(c hal.Call, path string, t hal.FileType) error {
	w := h.w
	k := h.enter(callMake, path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	errno = k.inKernel("mkdir "+path, func(by actor) syscall.Errno { return w.makePath(by, path, t, part) })
	if part || k.fault == FailFull {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// makePath makes a directory with its parents, or an empty file. With part, the last name is left out.
func (w *World) makePath(by actor, path string, t hal.FileType, part bool) syscall.Errno {
	if t != hal.TypeDirectory && t != hal.TypeFile {
		return syscall.EINVAL
	}
	if _, _, errno := w.walk(path, walkAll); errno != syscall.ENOENT {
		if errno == 0 {
			return syscall.EEXIST
		}
		return errno
	}
	if t == hal.TypeDirectory {
		for i := 1; i < len(path); i++ {
			if path[i] != '/' || path[i-1] == '/' {
				continue
			}
			if errno := w.makeOne(by, path[:i], hal.TypeDirectory, 0o755); errno != 0 && errno != syscall.EEXIST {
				return errno
			}
		}
	}
	if part {
		return 0
	}
	mode := uint32(0o755)
	if t == hal.TypeFile {
		mode = 0o644
	}
	return w.makeOne(by, strings.TrimRight(path, "/"), t, mode)
}

// makeOne makes one name, as a process of the host does.
func (w *World) makeOne(by actor, path string, t hal.FileType, mode uint32) syscall.Errno {
	dir, name, errno := w.walk(path, walkParent)
	switch {
	case errno != 0:
		return errno
	case name == "" || dir.n.child(name) != nil:
		return syscall.EEXIST
	case dir.n.gone:
		return syscall.ENOENT
	case dir.m.readOnly:
		return syscall.EROFS
	case len(name) > nameMax:
		return syscall.ENAMETOOLONG
	}
	w.link(by, dir, name, dir.n.sb.newNode(t, mode))
	return 0
}

// removeOne removes one name, as a process of the host does.
func (w *World) removeOne(by actor, path string) syscall.Errno {
	dir, name, errno := w.walk(path, walkParent)
	if errno != 0 {
		return errno
	}
	if name == "" {
		return syscall.EBUSY
	}
	return w.unlink(by, dir, name)
}
