package hal

import "strconv"

// Blocks is the block devices of the node. Of class helper: a device may answer after minutes, or never.
type Blocks interface {
	// Probe says what the block device that path leads to is, and what is on it. It changes nothing. ENOENT; ENOTBLK if
	// path leads to something else.
	Probe(c Call, path string) (BlockDevice, error)
	// Identify says which block device path leads to, as [BlockDevice.Is] does, and nothing of what is on it. It asks
	// the kernel's memory alone, and waits for no device and no filesystem: of class syscall. ENOENT; ENOTBLK; ENXIO if
	// the node has lost the device; EAGAIN if the kernel does not have all of the path in its cache.
	Identify(c Call, path string) (BlockDevice, error)
	// Format makes a filesystem on a block device. It looks at the device once more before, and makes none if that
	// holds anything: EEXIST. ENODEV if path leads to another device by now; EBUSY if somebody uses it; EROFS; ENOENT,
	// with a text, if the node has no program that makes such a filesystem.
	Format(c Call, f NewFilesystem) error
	// Check has what is wrong with a filesystem mended that nobody has mounted, as far as its program does so unasked
	// (e2fsck(8), -p). A filesystem that says of itself that it is clean is left alone: no program runs. One whose log
	// is replayed as it is mounted, and that has no such program ("xfs"), is not looked at. EUCLEAN, with a text, if a
	// person must mend it; a part may be mended by then. ENODEV if path leads to another device by now, or if that
	// holds another filesystem; EBUSY if somebody uses it; EROFS if it needs a check and the device is read-only.
	Check(c Call, f FilesystemCheck) (Checked, error)
	// Hold has the kernel keep a block device open until [Blocks.Release], whatever becomes of the agent: so no other
	// device gets its number or its name, not even once the node has lost it. It does so by a device that reads it, and
	// that nobody can write to: see [HeldDevice]. It succeeds if it holds that one already. EBUSY, NotDone: somebody has
	// mounted it, or has it for himself alone, and Detail says who; EEXIST, NotDone: the name holds another one. ENODEV
	// if path leads to another device by now.
	Hold(c Call, d DeviceHold) error
	// Holds lists what the agent has held, by name. It asks the kernel's memory alone: of class syscall.
	Holds(c Call) ([]HeldDevice, error)
	// Release lets go of a device. It succeeds if it is not held any more. EBUSY, NotDone: a process has it open, or the
	// device that reads it, and Detail says which; while it is held, nobody loses it. ESTALE, NotDone: another one is
	// held by that name.
	Release(c Call, d HeldDevice) error
}

// BlockDevice is a block device of the node.
type BlockDevice struct {
	Device   Device // its number; another disk may get it
	Sequence uint64 // never twice in one boot (Linux 5.15, diskseq); 0 if the kernel does not tell
	Size     int64  // in bytes
	// Disk names the disk in every boot: by its WWID, or by the serial number that it says of itself, and, of a
	// partition, by where that begins. "" if it has neither, as a loop device; the kernel does not prove that two disks
	// have two.
	Disk string
	// Says is the WWID that a SCSI disk answers with as it is asked now (SPC, vital product data page 83h), in the
	// kernel's words: "naa.6001405…"; for a map of paths, one of these answers. "" if it is neither, or gives none. It
	// differs from that of [SCSIDisk] where a target has put another disk in its place, of which the kernel hears
	// nothing.
	Says     string
	ReadOnly bool
	// Type is what its content is, in the words of blkid(8): "ext4", "xfs", "LVM2_member", "crypto_LUKS"; "gpt" and
	// "dos" for a table of partitions; "ambivalent" if it may be several; "" if nothing is known of it.
	Type         string
	IsFilesystem bool   // Type is of one
	UUID         string // of the filesystem, or of what else is there; "" if it has none
	// IsBlank: nothing is known of it, and its first and its last MiB are zeros. That is the proof that nobody has
	// stored anything on it.
	IsBlank bool
	Holders []string // the devices that are made of it: "dm-0"
	Held    []string // the names by which the agent holds it: see [Blocks.Hold]
}

// Is names the device among all that the node has had in this boot.
func (b BlockDevice) Is() string {
	return b.Device.String() + " sequence " + strconv.FormatUint(b.Sequence, 10)
}

// NewFilesystem is one filesystem to be made.
type NewFilesystem struct {
	Path   string
	Device string // that Path leads to: see [BlockDevice.Is]
	Says   string // the WWID that the device answers with: see [BlockDevice]; "" for any
	FSType string // "ext2", "ext3", "ext4" or "xfs"
	UUID   string // of the filesystem, in lower case
	// MayHaveBegun: an earlier Format, with the same UUID, of the same disk, which was blank before, may have left a
	// part of a filesystem. So what the device holds is no reason not to format it, if it is that filesystem or if
	// nothing is known of it. That it is the same disk is for the caller to prove.
	MayHaveBegun bool
}

// FilesystemCheck is one filesystem to be checked.
type FilesystemCheck struct {
	Path   string
	Device string // that Path leads to: see [BlockDevice.Is]
	Says   string // the WWID that the device answers with: see [BlockDevice]; "" for any
	FSType string // "ext2", "ext3", "ext4" or "xfs"
	UUID   string // of the filesystem, in lower case
}

// Checked is how a filesystem is after a check. The zero value: it is clean, as it was, or it mends itself.
type Checked struct {
	IsMended bool // it was not clean, and is by now
	// Unchecked is why a filesystem that is not clean was not checked: the node has no program for it, or that can't do
	// its work.
	Unchecked string
}
