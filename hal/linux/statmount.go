package linux

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// Parts of struct statmount to ask for (linux/mount.h).
const (
	statmountSBBasic   = 0x1
	statmountMntBasic  = 0x2
	statmountPropagate = 0x4
	statmountMntRoot   = 0x8
	statmountMntPoint  = 0x10
	statmountFSType    = 0x20
	statmountOptions   = 0x80 // Linux 6.11
	statmountSubtype   = 0x100
	statmountSBSource  = 0x200 // Linux 6.13

	statmountAll = statmountSBBasic | statmountMntBasic | statmountPropagate | statmountMntRoot | statmountMntPoint |
		statmountFSType | statmountOptions | statmountSubtype | statmountSBSource

	listmountRoot = ^uint64(0) // LSMT_ROOT: every mount below the root of the caller
	msShared      = 1 << 20    // MS_SHARED in mnt_propagation
)

// mntIDReq is struct mnt_id_req, MNT_ID_REQ_SIZE_VER0.
type mntIDReq struct {
	size  uint32
	spare uint32
	id    uint64
	param uint64
}

// listmount returns the unique ids of all mounts, oldest first (listmount(2)).
func listmount() ([]uint64, error) {
	var ids []uint64
	page := make([]uint64, 512)
	req := mntIDReq{size: 24, id: listmountRoot}
	for {
		n, _, errno := unix.Syscall6(unix.SYS_LISTMOUNT,
			uintptr(unsafe.Pointer(&req)), uintptr(unsafe.Pointer(&page[0])), uintptr(len(page)), 0, 0, 0)
		if errno != 0 {
			return nil, errno
		}
		ids = append(ids, page[:n]...)
		if int(n) < len(page) {
			return ids, nil
		}
		req.param = page[n-1]
	}
}

// mountState is a mount as statmount(2) tells it.
type mountState struct {
	hal.Mount
	oldID uint64 // the id of /proc/self/mountinfo
	mask  uint64 // the fields that the kernel filled in
}

// The head of struct statmount and its fields; the strings come after it, each field holding its string's place.
const (
	statmountHead     = 512
	statmountMaxBytes = 1 << 20
)

// reader asks for mounts one after another. The zero reader is ready.
type reader struct {
	count *atomic.Uint64 // the calls, if not nil
	buf   []byte
	texts map[string]string // types, sources and roots, which many mounts share
}

// shared returns b as a string, the same one for the same text.
func (r *reader) shared(b []byte) string {
	if known, ok := r.texts[string(b)]; ok {
		return known
	}
	if r.texts == nil {
		r.texts = map[string]string{}
	}
	s := string(b)
	r.texts[s] = s
	return s
}

// statmount asks for all parts of mount id.
func (r *reader) statmount(id uint64) (mountState, error) {
	if err := r.ask(id, statmountAll); err != nil {
		return mountState{}, err
	}
	return r.decode()
}

// pointOf asks for the mount point of mount id; "" if it is outside of this process's root.
func (r *reader) pointOf(id uint64) (string, error) {
	if err := r.ask(id, statmountMntPoint); err != nil {
		return "", err
	}
	return string(r.text(statmountMntPoint, 108)), nil
}

// placeOf asks for the path of mount id, and what of its filesystem it shows.
func (r *reader) placeOf(id uint64) (m hal.Mount, err error) {
	if err = r.ask(id, statmountSBBasic|statmountMntRoot|statmountMntPoint); err != nil {
		return m, err
	}
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(r.buf[at:]) }
	m.Path, m.Root = string(r.text(statmountMntPoint, 108)), string(r.text(statmountMntRoot, 104))
	m.Device = hal.Device{Major: u32(16), Minor: u32(20)}
	return m, nil
}

// ask has the kernel fill the buffer with some parts of mount id.
func (r *reader) ask(id, parts uint64) error {
	if r.buf == nil {
		r.buf = make([]byte, 2048)
	}
	if r.count != nil {
		r.count.Add(1)
	}
	req := mntIDReq{size: 24, id: id, param: parts}
	for {
		_, _, errno := unix.Syscall6(unix.SYS_STATMOUNT,
			uintptr(unsafe.Pointer(&req)), uintptr(unsafe.Pointer(&r.buf[0])), uintptr(len(r.buf)), 0, 0, 0)
		switch {
		case errno == unix.EOVERFLOW && len(r.buf) < statmountMaxBytes:
			r.buf = make([]byte, 4*len(r.buf))
		case errno == unix.EINTR:
		case errno != 0:
			return errno
		default:
			return nil
		}
	}
}

// text is a string of the buffer, which the field at a place of the struct points to; nil if the kernel has not set
// that part.
func (r *reader) text(part uint64, at int) []byte {
	start := statmountHead + int(binary.NativeEndian.Uint32(r.buf[at:]))
	if binary.NativeEndian.Uint64(r.buf[8:])&part == 0 || start >= len(r.buf) {
		return nil
	}
	text, _, _ := bytes.Cut(r.buf[start:], []byte{0})
	return text
}

// decode reads the struct statmount in the buffer.
func (r *reader) decode() (mountState, error) {
	buf := r.buf
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(buf[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(buf[at:]) }
	mask, text := u64(8), r.text
	if size := int(u32(0)); size > len(buf) || size < statmountHead {
		return mountState{}, fmt.Errorf("statmount(2) answered %d bytes", size)
	}
	m := hal.Mount{
		ID: hal.MountID(u64(40)), Parent: hal.MountID(u64(48)),
		Path: string(text(statmountMntPoint, 108)), Root: r.shared(text(statmountMntRoot, 104)),
		Device: hal.Device{Major: u32(16), Minor: u32(20)},
		FSType: r.shared(text(statmountFSType, 36)), Source: r.shared(text(statmountSBSource, 124)),
		Shared: u64(72)&msShared != 0,
	}
	if sub := text(statmountSubtype, 120); len(sub) > 0 {
		m.FSType += "." + string(sub)
	}
	m.ReadOnly, m.Options = attrOptions(u64(64))
	old := uint64(u32(56))
	m.ReadOnlyFS = u32(32)&unix.MS_RDONLY != 0 || takesNoWrites(string(text(statmountOptions, 4))) ||
		hasStopped(m.FSType, m.Path, old)
	m.NoDevice = deviceIsGone(sysDevices, m.Device)
	return mountState{Mount: m.AsNode(), oldID: old, mask: mask}, nil
}

// flagAttrs are the mount flags and options known by name (mount_setattr(2)).
var flagAttrs = map[string]uint64{
	"nodev": unix.MOUNT_ATTR_NODEV, "nosuid": unix.MOUNT_ATTR_NOSUID, "noexec": unix.MOUNT_ATTR_NOEXEC,
	"ro":         unix.MOUNT_ATTR_RDONLY,
	"nodiratime": unix.MOUNT_ATTR_NODIRATIME, "nosymfollow": unix.MOUNT_ATTR_NOSYMFOLLOW,
	"noatime": unix.MOUNT_ATTR_NOATIME, "strictatime": unix.MOUNT_ATTR_STRICTATIME,
	"relatime": unix.MOUNT_ATTR_RELATIME,
}

// attrOptions turns MOUNT_ATTR_ bits into options as mountinfo shows them, sorted, without ro and rw.
func attrOptions(attr uint64) (readOnly bool, options []string) {
	for _, name := range []string{"nodev", "nodiratime", "noexec", "nosuid", "nosymfollow"} {
		if attr&flagAttrs[name] != 0 {
			options = append(options, name)
		}
	}
	switch attr & unix.MOUNT_ATTR__ATIME {
	case unix.MOUNT_ATTR_NOATIME:
		options = append(options, "noatime")
	case unix.MOUNT_ATTR_RELATIME:
		options = append(options, "relatime")
	}
	if attr&unix.MOUNT_ATTR_IDMAP != 0 {
		options = append(options, "idmapped")
	}
	slices.Sort(options)
	return attr&unix.MOUNT_ATTR_RDONLY != 0, options
}
