package hal

import (
	"strconv"
	"strings"
)

// MountID is the unique id of a mount (statx(2) STATX_MNT_ID_UNIQUE): never used again in a boot. 0 is no mount.
type MountID uint64

// Device is a device number as mountinfo shows it.
type Device struct{ Major, Minor uint32 }

func (d Device) String() string {
	return string(d.append(make([]byte, 0, 16)))
}

func (d Device) append(b []byte) []byte {
	b = strconv.AppendUint(b, uint64(d.Major), 10)
	return strconv.AppendUint(append(b, ':'), uint64(d.Minor), 10)
}

// Mount is one line of the mount table (proc_pid_mountinfo(5), statmount(2)).
type Mount struct {
	ID       MountID
	Parent   MountID
	Path     string // mount point, absolute, octal escapes decoded
	Root     string // the path within the filesystem that forms the root of this mount
	Device   Device // of the superblock
	FSType   string
	Source   string
	ReadOnly bool     // of this mount, not of the superblock
	Options  []string // per-mount options, sorted: "nodev", "nosuid", …
	Shared   bool     // has a peer group: what is mounted here propagates

	// ReadOnlyFS: the superblock takes no writes. It was mounted so, or the kernel has turned it so after an error
	// (ext4(5), errors=remount-ro).
	ReadOnlyFS bool
	// NoDevice: the block device below the filesystem is gone from the node.
	NoDevice bool
}

// AsNode returns m, and if it is of the node of a device that the kernel has removed, says so: the kernel takes the
// name away, and a mount of it stays (devtmpfs).
func (m Mount) AsNode() Mount {
	if root, isGone := strings.CutSuffix(m.Root, "//deleted"); isGone && m.FSType == "devtmpfs" {
		m.Root, m.NoDevice = root, true
	}
	return m
}

// Fingerprint is what a mount is, in one comparable line: unique id, device, root, type, and whether its filesystem
// takes writes.
func (m Mount) Fingerprint() string {
	var b [96]byte
	return string(m.appendFingerprint(b[:0]))
}

// Is reports whether fingerprint is that of m.
func (m Mount) Is(fingerprint string) bool {
	var b [96]byte
	return string(m.appendFingerprint(b[:0])) == fingerprint
}

func (m Mount) appendFingerprint(b []byte) []byte {
	b = strconv.AppendUint(append(b, "mount "...), uint64(m.ID), 10)
	b = m.Device.append(append(b, " dev "...))
	b = append(append(b, " root "...), m.Root...)
	b = append(append(b, " type "...), m.FSType...)
	switch {
	case m.FSType == "tmpfs" || m.FSType == "hugetlbfs": // they have no device that could fail
	case m.NoDevice:
		b = append(b, noDevice...)
	case m.ReadOnlyFS:
		b = append(b, readOnlyFS...)
	}
	return b
}

// What a fingerprint ends with.
const (
	noDevice   = ", its device gone"
	readOnlyFS = ", filesystem read-only"
)

// HasFailed reports whether fingerprint is of the mount that before is of, and its filesystem has failed since: it has
// turned read-only, or its device is gone.
func HasFailed(fingerprint, before string) bool {
	return fingerprint != before && IsFailed(fingerprint) && sound(fingerprint) == sound(before)
}

// IsFailed reports whether fingerprint is of a mount whose filesystem takes no writes, be it that it never did.
func IsFailed(fingerprint string) bool { return fingerprint != sound(fingerprint) }

// Was reports whether fingerprint is that of m, in whatever state its filesystem was.
func (m Mount) Was(fingerprint string) bool {
	m.NoDevice, m.ReadOnlyFS = false, false
	return m.Is(sound(fingerprint))
}

// Shows reports whether fingerprint is of a mount that shows the same thing as m: the same root of the same device.
func (m Mount) Shows(fingerprint string) bool { return shown(m.Fingerprint()) == shown(fingerprint) }

// shown is the fingerprint of a mount without what tells it from others of the same thing.
func shown(fingerprint string) string {
	_, what, _ := strings.Cut(sound(fingerprint), " dev ")
	return what
}

// sound is the fingerprint of a mount without the state of its filesystem.
func sound(fingerprint string) string {
	return strings.TrimSuffix(strings.TrimSuffix(fingerprint, noDevice), readOnlyFS)
}

// BindSpec is one bind mount.
type BindSpec struct {
	Source, Target string
	// Flags are "nodev", "nosuid", "noexec" and "ro", besides those of the mount at Source. They are in effect before
	// the mount is visible (mount_setattr(2) on the detached copy); mount(2)'s MS_BIND|MS_RDONLY alone would be
	// writable.
	Flags []string
}

// NewMount is one mount of a new superblock.
type NewMount struct {
	FSType, Source, Target string
	Options                []Option // filesystem parameters, in order (fsconfig(2))
	Flags                  []string // "nodev", "nosuid", "noexec", "ro"
}

// Option is one filesystem parameter. A Value of "" is a flag.
type Option struct{ Key, Value string }

// Mounts is the mount table of the agent's namespace. Class syscall; mount and unmount of a superblock that can block
// run in a helper child.
//
// Mounting over a mount point stacks; the top mount hides the others. Unmounting takes the top one. A mount point in
// use answers EBUSY.
type Mounts interface {
	// Table returns the whole table as of one instant: a table that changed while it was read is read again. Order: as
	// the kernel lists it, parents before children, a stack bottom first.
	Table(Call) ([]Mount, error)
	// At returns the stack of mounts at path, bottom first; empty if path is no mount point. It neither follows links
	// nor touches what is below path. A mount that another one hides, on a directory above it, is in the table and at
	// no path.
	At(c Call, path string) ([]Mount, error)
	// Within returns the mounts of the table at path and below it, hidden ones included: what Table would have there,
	// at a cost that does not grow with the mounts elsewhere. In the order of their paths, a stack bottom first.
	// Nothing of path is looked up, so it need not exist.
	//
	// NB: a mount whose mount point somebody moves, by renaming a directory above it, may be listed at its old path
	// until Table is called. So what deletes must not rely on Within alone: Tree.RemoveTree never leads across a
	// mount.
	Within(c Call, path string) ([]Mount, error)
	// Mount makes a superblock and attaches it at Target, which must exist. ELOOP if Target is or leads through a link.
	// Of the types nfs and nfs4, Source is SERVER:PATH, and the program /sbin/mount.nfs of the node mounts it; that is
	// not told to wait for a server that is silent, and may wait all the same. ENOENT, with a text, if there is no such
	// program.
	Mount(c Call, m NewMount) error
	// Bind attaches a copy of the mount at Source, rooted at Source, at Target. Not recursive. ELOOP if either is or
	// leads through a link; EINVAL if one is a directory and the other is not, or if a flag is unknown.
	Bind(c Call, b BindSpec) error
	// Unmount detaches the top mount at path, if it is id; EINVAL if another mount or none is there. Never lazy.
	// NotDone on EBUSY.
	Unmount(c Call, path string, id MountID) error
}
