package linux

import (
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// resolveBelow is how every path below an allowed directory is resolved: no link, no mount, no way out (openat2(2)).
const resolveBelow = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// withoutLinks is how paths are resolved that may lead through mounts.
const withoutLinks = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// access says what a call is going to do to a path, and with it where the path may lie.
type access int

const (
	reading access = iota // below the root directory or one of the others
	writing               // below the root directory
)

// openat2 repeats a call that was interrupted, as os.Open does: the Go runtime sends signals to its own threads.
func openat2(dir int, path string, flags int, mode uint32, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags) | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: resolve}
	for {
		fd, err := unix.Openat2(dir, path, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// home returns the allowed directory that path lies in and the rest of path, "." for the directory itself.
func (h *Host) home(path string, a access) (dir, rest string, err error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", "", because(syscall.EINVAL, "not an absolute path without dots or double slashes")
	}
	allowed := []string{h.options.RootDir}
	if a == reading {
		allowed = append(allowed, h.options.MoreDirs...)
	}
	for _, d := range allowed {
		if path == d {
			return d, ".", nil
		}
		below, ok := strings.CutPrefix(path, strings.TrimSuffix(d, "/")+"/")
		if ok && len(d) > len(dir) {
			dir, rest = d, below
		}
	}
	if dir == "" {
		return "", "", because(syscall.EXDEV, "lies outside the agent's directories")
	}
	return dir, rest, nil
}

// openHome opens the allowed directory itself. Its own path may lead through mounts, not through links. It is opened
// again for each call: a directory that was mounted over since is then the one that everybody else sees at this path,
// too.
func openHome(dir string) (int, error) {
	return openat2(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, 0, withoutLinks)
}

// open opens path below its allowed directory. A last component that is a link fails with ELOOP unless flags has O_PATH
// and O_NOFOLLOW.
func (h *Host) open(path string, a access, flags int, mode uint32) (int, error) {
	dir, rest, err := h.home(path, a)
	if err != nil {
		return -1, err
	}
	root, err := openHome(dir)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return openat2(root, rest, flags, mode, resolveBelow)
}

// openParent opens the directory that holds path's last component, to change that component. The allowed directory
// itself has no parent here: EBUSY, as for a mount point.
func (h *Host) openParent(path string) (fd int, name string, err error) {
	dir, rest, err := h.home(path, writing)
	if err != nil {
		return -1, "", err
	}
	if rest == "." {
		return -1, "", because(syscall.EBUSY, "is the agent's own directory")
	}
	root, err := openHome(dir)
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(root)
	fd, err = openat2(root, filepath.Dir(rest), unix.O_PATH|unix.O_DIRECTORY, 0, resolveBelow)
	return fd, filepath.Base(rest), err
}
