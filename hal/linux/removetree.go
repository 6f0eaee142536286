package linux

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// maxDepth bounds the open directories of one walk. A deeper tree fails with ELOOP, with the rest left.
const maxDepth = 200

// RemoveTree first walks the whole tree and touches nothing if a mount stands in it; the removal itself cannot cross a mount that comes
// later, since every step down is an openat2(2) with RESOLVE_NO_XDEV.
func (t *tree) RemoveTree(c hal.Call, path string) error {
	return t.host.within(c, hal.ClassFile, "remove tree", path, func() error {
		parent, name, err := t.host.openParent(path, writing)
		if err == unix.ENOENT {
			return nil
		}
		if err != nil {
			return failure(hal.ClassFile, "remove tree", path, err)
		}
		defer unix.Close(parent)
		look := walk{at: func(int, string) error { return nil }}
		if err := look.visit(parent, name, path, 0); err != nil {
			return failure(hal.ClassFile, "remove tree", path, err)
		}
		remove := walk{at: removeAt}
		if err := remove.visit(parent, name, path, 0); err != nil {
			return partial("remove tree", path, err)
		}
		return nil
	})
}

// walk visits a tree by directory handles, children before their directory, and stops at the first mount point with EBUSY.
type walk struct {
	at func(parent int, name string) error
}

func (w walk) visit(parent int, name, path string, depth int) error {
	if depth > maxDepth {
		return because(syscall.ELOOP, path+" lies too deep")
	}
	info, err := statAt(parent, name)
	switch {
	case err == unix.EXDEV:
		return because(syscall.EBUSY, "a mount stands on "+path)
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return err
	}
	if info.Type == hal.TypeDirectory {
		if err := w.below(parent, name, path, depth); err != nil {
			return err
		}
	}
	if err := w.at(parent, name); err != unix.ENOENT {
		return err
	}
	return nil
}

func (w walk) below(parent int, name, path string, depth int) error {
	fd, err := openat2(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolveBelow)
	if err == unix.EXDEV {
		return because(syscall.EBUSY, "a mount stands on "+path)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	entries, err := readDir(fd)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.visit(fd, e.Name, path+"/"+e.Name, depth+1); err != nil {
			return err
		}
	}
	return nil
}
