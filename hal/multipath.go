package hal

import "slices"

// Multipath is the maps that the device mapper of the node makes of the paths to one disk, and multipathd(8), which has
// it make them.
type Multipath interface {
	// Maps lists the maps that the kernel has, whoever has had them made, by their numbers. It asks the kernel's memory
	// alone, and waits for no path: of class syscall. A node without a device mapper has none.
	Maps(c Call) ([]MultipathMap, error)
	// Assemble has multipathd make the map of one disk of these paths to it, or take them into the one that is there. It
	// names the disk to multipathd, which goes by such names if it is to make maps of known disks alone
	// (multipath.conf(5), find_multipaths). No error: the kernel has the map, with all of these paths. Of class helper.
	//
	// ENXIO, with a text: the node has no multipath-tools, or multipathd does not run, or the kernel lacks a part of it.
	// EINVAL, NotDone: these are not paths to one disk, by their WWIDs. ENODEV, NotDone: another disk is at an address by
	// now, or answers there. EIO, NotDone: a path does not answer. EPERM, NotDone: the configuration of multipathd leaves
	// the disk out. ESTALE, NotDone: a path is a part of the map of another disk. EBUSY, NotDone: somebody has mounted a
	// path, or holds it for himself alone, and Detail says who. EAGAIN, NotDone: multipathd knows the disk by now, and the
	// map is not there yet, or lacks a path; it may come at any time. EIO, Unknown: multipathd says that it has failed, as
	// it does while any disk of the node that is a path to this one can't be opened: its State is "transport-offline" or
	// "offline". It helps to remove that one ([SCSI.Remove]).
	Assemble(c Call, disks []SCSIDisk) error
	// Remove has the kernel forget a map that nobody has open, after all that was written to it is on the disk; without
	// flush, at once. It takes along what kpartx(8) has made of its partitions, and the name of the disk that multipathd
	// has kept (multipath(8), -w). It succeeds if the map is gone already. The disks that were its paths stay, and
	// multipathd may make another map of them at any time: look at Maps again. EBUSY, NotDone: somebody has it open, and
	// Detail says who. ENODEV, NotDone: another map has the UUID by now. EIO, NotDone: what was written can't be flushed,
	// as no path is active, or as a write fails; the map stays. Of class helper: a map that queues, and loses its last
	// path meanwhile, keeps the flush waiting until a path is back, or until FailQueued.
	Remove(c Call, m MultipathMap, flush bool) error
	// Resize has the kernel ask the disk for its size, by each path that is active, and multipathd give the map that size
	// if the disk has grown. A path that has failed is not asked, and keeps the map as it is. ENODEV, NotDone: the map is
	// gone, or another one has its UUID by now. EINVAL, NotDone: the disk is smaller than the map. EIO, NotDone: no path
	// is active. EAGAIN, NotDone: the paths do not agree yet. ENXIO as of Assemble. Of class helper.
	Resize(c Call, m MultipathMap) error
	// FailQueued has a map fail what waits for a path, and what is asked of it from then on while no path is active. What
	// was written and is not on the disk is lost, for all who use it. multipathd leaves it so until it is started again.
	// It succeeds if the map is gone. ENODEV, NotDone, as of Remove. Of class helper.
	FailQueued(c Call, m MultipathMap) error
}

// MultipathMap is a map that the kernel has. What it is does not depend on its paths, which come and go.
type MultipathMap struct {
	UUID string // the device mapper's: "mpath-36001405…"
	// WWID is that of the disk, in the words of [SCSIDisk]: as UUID has it, or else as all of its paths have it; "" if
	// neither is so.
	WWID     string
	Name     string // below /dev/mapper; people may choose it
	Node     string // below /dev: "dm-0"; another device may get it
	Device   Device
	Sequence uint64 // see [BlockDevice]
	Size     int64  // in bytes
	Paths    []MultipathPath
	Opens    int // by mounts, by devices that are made of it and by processes
	// Queues: while no path is active, what is asked of the map waits. Else it fails.
	Queues bool
	// IsSuspended: what is asked of the map waits, whatever its paths are.
	IsSuspended bool
}

// MultipathPath is one disk of a map, as the map has it: by its number.
type MultipathPath struct {
	Device Device
	Name   string // below /dev: "sda"; "" if the kernel has forgotten the disk
	Active bool   // the map uses it, or would; else it has failed
}

// Is names the map as [BlockDevice.Is] does.
func (m MultipathMap) Is() string { return BlockDevice{Device: m.Device, Sequence: m.Sequence}.Is() }

// IsUp reports whether a path is active.
func (m MultipathMap) IsUp() bool {
	return slices.ContainsFunc(m.Paths, func(p MultipathPath) bool { return p.Active })
}

// HasPath reports whether the map has a disk as a path. One that the kernel has forgotten may have had its number.
func (m MultipathMap) HasPath(d SCSIDisk) bool {
	return slices.ContainsFunc(m.Paths, func(p MultipathPath) bool { return p.Name != "" && p.Device == d.Device })
}

// WWIDOf is the WWID of the first disk, "" if there is none.
func WWIDOf(disks []SCSIDisk) string {
	if len(disks) == 0 {
		return ""
	}
	return disks[0].WWID
}
