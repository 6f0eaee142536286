package op

import (
	"path"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// ParentMode is the mode of directories above a volume, the kubelet's.
const ParentMode = 0o750

// Mkdirs makes the directory dir with mode, and what is missing above it with [ParentMode]. The nearest directory that
// exists is tried first, so the root directory itself is never made again unless it is missing.
func Mkdirs(h *hal.Host, c hal.Call, dir string, mode uint32) error {
	missing := make([]string, 0, 8)
	modeOf := func(at string) uint32 {
		if at == dir {
			return mode
		}
		return ParentMode
	}
	for at := dir; ; at = path.Dir(at) {
		err := h.Tree.Mkdir(c, at, modeOf(at))
		if err == nil {
			break
		}
		if hal.Is(err, syscall.EEXIST) {
			if err := isDirectory(h, c, at); err != nil {
				return err
			}
			break
		}
		if !hal.Is(err, syscall.ENOENT) || at == path.Dir(at) {
			return err
		}
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := h.Tree.Mkdir(c, missing[i], modeOf(missing[i])); err != nil && !hal.Is(err, syscall.EEXIST) {
			return err
		}
	}
	return nil
}

// isDirectory fails with ENOTDIR if a name that is taken is not a directory's. Of a mount point nothing is asked.
func isDirectory(h *hal.Host, c hal.Call, dir string) error {
	info, err := h.Tree.Stat(c, dir)
	if err != nil {
		return err
	}
	if info.MountPoint || info.Type == hal.TypeDirectory {
		return nil
	}
	return &hal.Error{
		Op: "mkdir", Object: dir, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: syscall.ENOTDIR,
		Detail: "a " + info.Type.String() + " is there",
	}
}

// WriteFile replaces the content of file such that after any interruption, power loss included, either the old or the
// new content is there. The directory exists. A file left by an earlier attempt is overwritten.
func WriteFile(h *hal.Host, c hal.Call, file string, data []byte, mode uint32) error {
	dir, name := path.Split(file)
	next := dir + "." + name + ".new"
	if err := h.Files.Write(c, next, data, mode); err != nil {
		return err
	}
	if err := h.Files.Sync(c, next); err != nil {
		return err
	}
	if err := h.Tree.Rename(c, next, file); err != nil {
		return err
	}
	return h.Files.Sync(c, path.Clean(dir))
}

// Remove removes one name; that it is not there is success.
func Remove(h *hal.Host, c hal.Call, name string) error {
	if err := h.Tree.Remove(c, name); err != nil && !hal.Is(err, syscall.ENOENT) {
		return err
	}
	return nil
}

// RemoveDirectory removes an empty directory, and nothing else that somebody has put in its place.
func RemoveDirectory(h *hal.Host, c hal.Call, name string, seen Seen) error {
	if seen.Type != hal.TypeDirectory {
		return &hal.Error{
			Op: "rmdir", Object: name, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: syscall.ENOTDIR,
			Detail: "a " + seen.Type.String() + " is there; move it away",
		}
	}
	return Remove(h, c, name)
}

// RemoveFile removes a file that [WriteFile] writes, and what an interrupted WriteFile left beside it.
func RemoveFile(h *hal.Host, c hal.Call, file string) error {
	dir, name := path.Split(file)
	if err := Remove(h, c, dir+"."+name+".new"); err != nil {
		return err
	}
	return Remove(h, c, file)
}

func isBelow(at, dir string) bool {
	rest, is := strings.CutPrefix(at, dir)
	return is && strings.HasPrefix(rest, "/")
}

// Prune removes dir and then its parents as long as they are empty, up to stop, which stays. A directory that something
// else lives in is the end of it, not an error: it is the one that Prune returns. What stays is made durable: no name
// that is gone comes back with the power.
func Prune(h *hal.Host, c hal.Call, dir, stop string) (stays string, err error) {
	at, stop := dir, path.Clean(stop)
	for ; isBelow(at, stop); at = path.Dir(at) {
		err := Remove(h, c, at)
		if hal.Is(err, syscall.ENOTEMPTY) || hal.Is(err, syscall.EEXIST) || hal.Is(err, syscall.EBUSY) {
			break
		}
		if err != nil {
			return at, err
		}
	}
	switch err := h.Files.Sync(c, at); {
	case err == nil, hal.Is(err, syscall.ENOENT), hal.Is(err, syscall.EXDEV), hal.Is(err, syscall.EISDIR),
		hal.Is(err, syscall.ENOTDIR):
		return at, nil // it has gone, or a mount depends on it: then nothing was removed from it
	default:
		return at, err
	}
}
