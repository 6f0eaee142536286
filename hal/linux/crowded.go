package linux

import (
	"encoding/binary"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// crowded copies from the mount that the root directory lies on, at a cost that doesn't grow with the mounts on it: for
// each copy, the kernel looks at all mounts on the mount that is copied from (has_locked_children of its
// fs/namespace.c). So it keeps a copy of that mount, detached and therefore without any mounts on it, and copies from
// there: Linux 6.15.
//
// A copy of the copy is what a copy of the mount would be, as long as the mount has the attributes and the propagation
// that it had when it was copied; else a new copy is kept. Mounts don't propagate to it.
//
// NB: the kept copy keeps the filesystem in use until the host is closed, even if it is unmounted before. And a mount
// that came later and that this process may not take away (mount_namespaces(7), locked mounts) is not in the way of a
// bind of the directory that holds it.
type crowded struct {
	rootDir string         // the agent's root directory
	read    *atomic.Uint64 // counts the mounts that are asked about

	mu     sync.Mutex
	copied int // the kept copy, -1 without
	of     mountShape
	path   string // where of is mounted
	unable bool   // this kernel doesn't copy from a detached mount
}

// mountShape is what the copy of a mount takes over from it.
type mountShape struct {
	id                                   hal.MountID
	attr, propagation, peerGroup, master uint64
}

// shapeOf asks for the shape of a mount (statmount(2), STATMOUNT_MNT_BASIC).
func shapeOf(id hal.MountID) (mountShape, error) {
	var buf [statmountHead]byte
	req := mntIDReq{size: 24, id: uint64(id), param: statmountMntBasic}
	_, _, errno := unix.Syscall6(unix.SYS_STATMOUNT,
		uintptr(unsafe.Pointer(&req)), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0, 0)
	if errno != 0 {
		return mountShape{}, errno
	}
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(buf[at:]) }
	return mountShape{id: id, attr: u64(64), propagation: u64(72), peerGroup: u64(80), master: u64(88)}, nil
}

// place is a file or directory and the mount it was found on.
type place struct {
	mount  hal.MountID
	root   bool // of the mount
	device hal.Device
	inode  uint64
}

func placeOf(fd int) (place, error) { return placeAt(fd, "") }

// placeAt returns the place at path, which is the place of fd itself if "".
func placeAt(fd int, path string) (place, error) {
	var st unix.Statx_t
	const flags = unix.AT_EMPTY_PATH | unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	if err := unix.Statx(fd, path, flags, unix.STATX_INO|unix.STATX_MNT_ID_UNIQUE, &st); err != nil {
		return place{}, err
	}
	if st.Mask&unix.STATX_MNT_ID_UNIQUE == 0 {
		return place{}, unix.ENOSYS
	}
	return place{
		mount: hal.MountID(st.Mnt_id), root: st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
		device: hal.Device{Major: st.Dev_major, Minor: st.Dev_minor}, inode: st.Ino,
	}, nil
}

// copyAt returns a detached copy of the mount of source, rooted at source, which was opened at path. false if it is
// none of crowded's business.
func (c *crowded) copyAt(source int, path string) (copied int, ok bool) {
	at, ok := c.open(source, path)
	if !ok {
		return -1, false
	}
	defer unix.Close(at)
	copied, err := openTree(at)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unable = c.unable || err == unix.EINVAL
		return -1, false
	}
	return copied, true
}

// open opens, on the kept copy, what source is on the mount.
func (c *crowded) open(source int, path string) (fd int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unable {
		return -1, false
	}
	want, err := placeOf(source)
	if err != nil || !c.keep(want.mount) {
		return -1, false
	}
	rest, below := strings.CutPrefix(path, strings.TrimSuffix(c.path, "/")+"/")
	if !below {
		return -1, false
	}
	if fd, err = openat2(c.copied, rest, unix.O_PATH, 0, resolveBelow); err != nil {
		return -1, false
	}
	if found, err := placeOf(fd); err != nil || found.device != want.device || found.inode != want.inode {
		_ = unix.Close(fd) // something was renamed or mounted meanwhile
		return -1, false
	}
	return fd, true
}

// keep makes sure that there is a true copy of a mount, if that is the one that the root directory lies on.
func (c *crowded) keep(id hal.MountID) bool {
	if id != c.of.id && id != c.rootMount() {
		return false
	}
	c.read.Add(1)
	now, err := shapeOf(id)
	if err != nil || now == c.of {
		return err == nil
	}
	c.drop()
	return c.copy(now)
}

// copy makes the copy of a mount and keeps it if it has taken that shape over.
func (c *crowded) copy(shape mountShape) bool {
	r := reader{count: c.read}
	state, err := r.statmount(uint64(shape.id))
	if err != nil {
		return false
	}
	top, err := openPoint(state.Path)
	if err != nil {
		return false
	}
	defer unix.Close(top)
	if p, err := placeOf(top); err != nil || p.mount != shape.id || !p.root {
		return false // another mount is on top of it
	}
	copied, err := openTree(top)
	if err != nil {
		c.unable = true // it has locked mounts
		return false
	}
	if after, err := shapeOf(shape.id); err != nil || after != shape {
		_ = unix.Close(copied)
		return false
	}
	c.copied, c.of, c.path = copied, shape, state.Path
	return true
}

// rootMount returns the mount that the root directory lies on, 0 if that is not known.
func (c *crowded) rootMount() hal.MountID {
	p, err := placeAt(unix.AT_FDCWD, c.rootDir)
	if err != nil {
		return 0
	}
	return p.mount
}

func (c *crowded) drop() {
	if c.copied >= 0 {
		_ = unix.Close(c.copied)
	}
	c.copied, c.of, c.path = -1, mountShape{}, ""
}

func (c *crowded) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
	c.unable = true
}

// openTree returns a detached copy of the mount of an open place, rooted there (open_tree(2)).
func openTree(fd int) (int, error) {
	return unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
}
