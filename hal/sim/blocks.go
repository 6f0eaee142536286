package sim

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models disks of the node: what is on them stays over reboots and power cuts, and each boot may give a disk
// another number. A program that makes a filesystem and is cut short leaves what nobody knows: neither a filesystem nor
// a blank disk.

// medium is what a disk holds, wherever it is.
type medium struct {
	serial string      // of the disk, which keeps it where it goes; "" for none
	size   int64       // in bytes
	holds  string      // as hal.BlockDevice.Type; "" if it is blank
	uuid   string      // of what it holds
	sb     *superblock // if it holds a filesystem
	made   int64       // in bytes, what the disk had by the kernel as the filesystem was made
	begun  string      // the uuid of a filesystem of which a part was written
	flaw   Flaw        // of the filesystem
	// written is what containers have written last to a disk that they have raw.
	written string
}

// blockDevice is a disk at a path below /dev.
type blockDevice struct {
	*medium
	path     string
	device   hal.Device
	sequence uint64
	size     int64     // in bytes, as the kernel knows it
	scsi     *scsiDisk // of a disk that an array has; nil of one in the node
	multi    *pathMap  // of a map
}

const (
	blockMajor = 259
	blockSize  = 1 << 30
	// Unrecognized is something on a disk that nobody knows.
	Unrecognized = "unrecognized"
	// HeldByDevice is a disk that another device, dm-0, is made of.
	HeldByDevice = "held"
)

// filesystems are what can be on a disk and be mounted.
var filesystems = []string{"ext2", "ext3", "ext4", "xfs"}

// AddBlockDevice gives the node a disk, at a path below /dev, that holds a filesystem, something else (see
// [hal.BlockDevice]), [Unrecognized], or nothing: "".
func (w *World) AddBlockDevice(path, holds, uuid string) {
	w.blocks = append(w.blocks, &blockDevice{medium: &medium{size: blockSize}, path: path})
	b := w.blocks[len(w.blocks)-1]
	w.plugBlock(b, hal.Device{Major: blockMajor, Minor: uint32(len(w.blocks))})
	b.fill(holds, uuid)
}

// NameBlockDevice gives the disk at a path a serial number.
func (w *World) NameBlockDevice(path, serial string) {
	if b := w.blockNamed(path); b != nil {
		b.serial = serial
	}
}

// PutDisk is AddBlockDevice with the words of package haltest.
func (w *World) PutDisk(name, holds, uuid string) (path string) {
	path = "/dev/" + name
	switch holds {
	case "blank":
		holds = ""
	case "junk":
		holds = Unrecognized
	}
	w.AddBlockDevice(path, holds, uuid)
	return path
}

func (b *blockDevice) fill(holds, uuid string) { b.medium.fill(holds, uuid, b.device, b.path) }

// fill has a disk hold something else, as it is seen by a number and at a path.
func (b *medium) fill(holds, uuid string, device hal.Device, path string) {
	*b = medium{serial: b.serial, size: b.size, made: b.size, holds: holds, uuid: uuid}
	if slices.Contains(filesystems, holds) {
		b.sb = newSuperblock(device, holds, path)
		if holds != "xfs" {
			b.sb.root.attach(lostAndFound, b.sb.newNode(hal.TypeDirectory, 0o700))
		}
	}
}

func (b *medium) hash(h uint64) uint64 {
	h = fold(h ^ hashString(b.holds+" "+b.uuid+" "+b.begun+" "+b.serial+" "+b.written) ^ uint64(b.flaw))
	if b.sb != nil {
		h = fold(h ^ hashTree(b.sb.root, h))
	}
	return h
}

// plugBlock gives a disk its number, and its node.
func (w *World) plugBlock(b *blockDevice, device hal.Device) {
	w.sequences++
	b.device, b.sequence, b.size = device, w.sequences, b.medium.size
	if b.sb != nil {
		b.sb.dev = device
	}
	slash := strings.LastIndexByte(b.path, '/')
	dir := w.makeDirs(b.path[:slash])
	k := dir.n.child(b.path[slash+1:])
	if k == nil {
		k = dir.n.sb.newNode(hal.TypeBlockDevice, 0o660)
		dir.n.attach(b.path[slash+1:], k)
	}
	k.dev = device
}

// plugsBlocks is a boot: it finds the disks in another order.
func (w *World) plugsBlocks() {
	for i, b := range w.blocks {
		w.plugBlock(b, hal.Device{Major: blockMajor, Minor: uint32(1 + (i+int(w.boot.number))%len(w.blocks))})
	}
}

// SwapBlockDevices has two disks change their places, as a boot may find them in another order. It reports whether it
// could: nothing of them is mounted.
func (w *World) SwapBlockDevices(path, other string) bool {
	a, b := w.blockNamed(path), w.blockNamed(other)
	isUsed := func(b *blockDevice) bool { return w.isMounted(b) || len(w.heldAs(b)) > 0 || w.isOpen(b) }
	if a == nil || b == nil || isUsed(a) || isUsed(b) {
		return false
	}
	a.medium, b.medium = b.medium, a.medium
	for _, d := range []*blockDevice{a, b} {
		w.plugBlock(d, d.device)
		if d.sb != nil {
			d.sb.source = d.path
		}
	}
	w.event("disk.swapped", path+" "+other)
	return true
}

// WipeBlockDevice has somebody overwrite a disk. It reports whether nothing of it was mounted.
func (w *World) WipeBlockDevice(path, holds, uuid string) bool {
	b := w.blockNamed(path)
	if b == nil || w.isMounted(b) {
		return false
	}
	w.event("disk.overwritten", path)
	b.fill(holds, uuid)
	return true
}

// BlockDeviceHolds is what a disk holds, and the uuid of that.
func (w *World) BlockDeviceHolds(path string) (holds, uuid string) {
	if b := w.blockNamed(path); b != nil {
		return b.holds, b.uuid
	}
	return "no disk", ""
}

// DiskOn is the disk whose filesystem is mounted at a path, and the uuid of that; "" if none is.
func (w *World) DiskOn(path string) (disk, uuid string) {
	stack := w.mounts.stack(path)
	for _, b := range w.blocks {
		if b.sb != nil && len(stack) > 0 && stack[len(stack)-1].root.sb == b.sb {
			return b.path, b.uuid
		}
	}
	return "", ""
}

func (w *World) isMounted(b *blockDevice) bool {
	if c := b.conn(); c != nil {
		return w.mounts.has(c)
	}
	return slices.ContainsFunc(w.mounts.list, func(m *mount) bool { return b.sb != nil && m.root.sb == b.sb })
}

func (w *World) blockNamed(path string) *blockDevice {
	for _, all := range [...][]*blockDevice{w.blocks, w.scsiDisks, w.maps} {
		for _, b := range all {
			if b.path == path {
				return b
			}
		}
	}
	return nil
}

// blockAt is the disk that a path leads to.
func (w *World) blockAt(path string) (*blockDevice, syscall.Errno) {
	at, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return nil, errno
	case at.n.kind != hal.TypeBlockDevice:
		return nil, syscall.ENOTBLK
	}
	if b, through := w.numbered(at.n.dev); b != nil && through == nil {
		return b, 0
	}
	return nil, syscall.ENXIO
}

// reach is blockAt of who reads or writes the disk.
func (w *World) reach(path string) (*blockDevice, syscall.Errno) {
	b, errno := w.blockAt(path)
	if errno == 0 {
		errno = w.answers(b)
	}
	return b, errno
}

// answers is what becomes of who reads or writes a disk now.
func (w *World) answers(b *blockDevice) syscall.Errno {
	switch {
	case b.scsi != nil:
		return b.scsi.answers(w)
	case b.multi != nil:
		return b.multi.answers(w)
	}
	return 0
}

// conn is of all mounts of a disk of an array, nil for one of the node.
func (b *blockDevice) conn() *connection {
	switch {
	case b.scsi != nil:
		return b.scsi.conn
	case b.multi != nil:
		return b.multi.conn
	}
	return nil
}

func (b *blockDevice) is() hal.BlockDevice {
	is := hal.BlockDevice{
		Device: b.device, Sequence: b.sequence, Size: b.size, Disk: b.serial,
		Type: b.holds, UUID: b.uuid, IsFilesystem: b.sb != nil, IsBlank: b.holds == "",
	}
	if b.scsi != nil {
		is.Disk, is.Says = strconv.Quote(b.scsi.wwid), b.serial
	}
	if b.multi != nil {
		is.Disk, is.Says = strconv.Quote(b.mapUUID()), b.serial
	}
	switch b.holds {
	case Unrecognized:
		is.Type = ""
	case HeldByDevice:
		is.Type, is.IsBlank, is.Holders = "", true, []string{"dm-0"}
	}
	return is
}

type hostBlocks struct{ *host }

var (
	callProbeDevice = newCallSite("blocks.probe", hal.ClassHelper, false)
	callIdentify    = newCallSite("blocks.identify", hal.ClassSyscall, false)
	callFormat      = newCallSite("blocks.format", hal.ClassHelper, true)
)

func (h hostBlocks) Probe(c hal.Call, path string) (hal.BlockDevice, error) {
	k := h.enter(callProbeDevice, path, c, &h.w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return hal.BlockDevice{}, k.done(errno)
	}
	var is hal.BlockDevice
	errno = k.inKernel("probe "+path, func(actor) syscall.Errno {
		b, errno := h.w.reach(path)
		if errno == 0 {
			is = b.is()
			if m := h.w.mapWith(b); m != nil {
				is.Holders = []string{strings.TrimPrefix(m.path, "/dev/")}
			}
			is.Held = h.w.heldAs(b)
		}
		return errno
	})
	return is, k.done(errno)
}

// Identify asks the cache, as [hostPaths.Cached] does.
func (h hostBlocks) Identify(c hal.Call, path string) (hal.BlockDevice, error) {
	k := h.enter(callIdentify, path, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return hal.BlockDevice{}, k.done(errno)
	}
	if o := h.w.holderAt(path); o != nil {
		return hal.BlockDevice{Device: o.by, Sequence: o.nth}, k.done(0)
	}
	b, errno := h.w.blockAt(path)
	switch errno {
	case 0:
		return hal.BlockDevice{Device: b.is().Device, Sequence: b.sequence}, k.done(0)
	case hangs:
		errno = syscall.EAGAIN
	}
	return hal.BlockDevice{}, k.done(errno)
}

func (h hostBlocks) Format(c hal.Call, f hal.NewFilesystem) error {
	w := h.w
	k := h.enter(callFormat, f.Path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	k.dies = func(by actor) { _ = w.format(by, f, true) } // the program is killed
	errno = k.inKernel("format "+f.Path, func(by actor) syscall.Errno { return w.format(by, f, part) })
	if errno == 0 && (part || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// format makes a filesystem. With part, it is cut short.
func (w *World) format(by actor, f hal.NewFilesystem, part bool) syscall.Errno {
	b, errno := w.reach(f.Path)
	if errno != 0 {
		return errno
	}
	is := b.is()
	isBegun := f.MayHaveBegun && (is.Type == "" || is.IsFilesystem && is.UUID == f.UUID)
	switch {
	case !slices.Contains(filesystems, f.FSType):
		return syscall.EOPNOTSUPP
	case w.isMounted(b), b.holds == HeldByDevice, w.mapWith(b) != nil:
		return syscall.EBUSY
	case is.Is() != f.Device, f.Says != "" && is.Says != f.Says:
		return syscall.ENODEV
	case !is.IsBlank && !isBegun:
		return syscall.EEXIST
	}
	lost := b.lost(f.UUID)
	if part {
		b.fill(Unrecognized, "")
		b.begun = f.UUID
	} else {
		b.fill(f.FSType, f.UUID)
		b.made = b.size
	}
	w.tell(by, Effect{Kind: EffectFormatted, Path: b.path, Volume: b.wwid(), Text: lost})
	return 0
}

// wwid names a disk of an array, "" for one of the node.
func (b *blockDevice) wwid() string {
	if b.conn() == nil {
		return ""
	}
	return b.serial
}

// lostAndFound is the directory that mke2fs(8) makes.
const lostAndFound = "lost+found"

// isOfPods: it is not of who made the filesystem.
func isOfPods(n *node) bool { return n.name != lostAndFound }

// lost is what is on a disk that a filesystem with that uuid is made on, but for parts of that filesystem; "" for
// nothing.
func (b *medium) lost(uuid string) string {
	switch {
	case b.begun == uuid:
		return ""
	case b.sb != nil && b.uuid == uuid && !slices.ContainsFunc(b.sb.root.kids, isOfPods):
		return ""
	}
	return b.holds
}
