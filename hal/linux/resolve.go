package linux

import (
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
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

// openBase opens the directory that a path is looked up from, to read what is there: its allowed directory, or the
// root of the mount that the call goes into. rest is what is left of the path, "." for the directory itself.
func (h *Host) openBase(path string, a access, in hal.Inside) (fd int, rest string, err error) {
	dir, rest, err := h.home(path, a)
	if err != nil {
		return -1, "", err
	}
	root, err := openHome(dir)
	if err != nil || in.ID == 0 {
		return root, rest, err
	}
	inside, isInside := strings.CutPrefix(path+"/", in.Path+"/")
	point, isOurs := strings.CutPrefix(in.Path, strings.TrimSuffix(dir, "/")+"/")
	if !isInside || !isOurs {
		return root, rest, nil
	}
	defer unix.Close(root)
	if fd, err = openat2(root, point, unix.O_PATH|unix.O_DIRECTORY, 0, resolveBelow&^unix.RESOLVE_NO_XDEV); err != nil {
		return -1, "", err
	}
	var st unix.Statx_t
	const flags = unix.AT_EMPTY_PATH | unix.AT_STATX_DONT_SYNC
	err = unix.Statx(fd, "", flags, h.mounts.index.idsAre(), &st)
	isRoot := st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
	if err == nil && (hal.MountID(st.Mnt_id) != in.ID || !isRoot) {
		err = because(syscall.ESTALE, "another mount, or none, is at "+in.Path)
	}
	if err != nil {
		unix.Close(fd)
		return -1, "", err
	}
	return fd, filepath.Clean(inside), nil
}

// open opens path below its allowed directory, or inside a mount. A last component that is a link fails with ELOOP
// unless flags has O_PATH and O_NOFOLLOW.
func (h *Host) open(path string, a access, in hal.Inside, flags int, mode uint32) (int, error) {
	root, rest, err := h.openBase(path, a, in)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return openat2(root, rest, flags, mode, resolveBelow)
}

// openParent opens the directory that holds path's last component, to change that component. The allowed directory
// itself has no parent here: EBUSY, as for a mount point.
func (h *Host) openParent(path string, in hal.Inside) (fd int, name string, err error) {
	if path == in.Path { // a name on the filesystem below
		in = hal.Inside{}
	}
	root, rest, err := h.openBase(path, writing, in)
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(root)
	if rest == "." {
		return -1, "", because(syscall.EBUSY, "is the agent's own directory")
	}
	fd, err = openat2(root, filepath.Dir(rest), unix.O_PATH|unix.O_DIRECTORY, 0, resolveBelow)
	return fd, filepath.Base(rest), err
}
