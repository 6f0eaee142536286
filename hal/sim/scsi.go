package sim

import (
	"cmp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models the SCSI disks that the kernel has. Each gets the lowest name that is free, and with it the number,
// so what was sdb a moment ago may be another disk. What the kernel learnt of a disk when it found it stays, whatever
// the array has under its number by now.

// way is what leads to the disks of a target: an iSCSI session, or a Fibre Channel port that the kernel knows.
type way struct {
	target *target
	at     hal.SCSIAddress // of its first disk
	server *share          // silent while what is asked of its disks waits
	state  string
	since  uint64 // counts the changes of its state
	gone   bool
}

// scsiDisk is what a disk of an array is to the kernel.
type scsiDisk struct {
	way     *way
	lun     uint64
	wwid    string      // as it said of itself when it was found
	conn    *connection // of all mounts of it
	isGone  bool        // from its target
	claimed bool        // somebody has it for himself alone
}

const (
	scsiMajor = 8
	perDisk   = 16 // numbers of a disk and its partitions
	// foundMost is how late a disk appears.
	foundMost = 10 * time.Second
)

// siteFound: a disk that the kernel has asked for appears late.
var siteFound = newSite("scsi.found")

type hostSCSI struct{ *host }

var (
	callDisks      = newCallSite("scsi.disks", hal.ClassSyscall, false)
	callNamed      = newCallSite("scsi.named", hal.ClassSyscall, false)
	callScan       = newCallSite("scsi.scan", hal.ClassHelper, true)
	callRemoveDisk = newCallSite("scsi.remove", hal.ClassHelper, true)
)

func (h hostSCSI) Disks(c hal.Call, host uint32) ([]hal.SCSIDisk, error) {
	k := h.enter(callDisks, hal.SCSIAddress{Host: host}.String(), c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	var all []hal.SCSIDisk
	for _, d := range h.w.disks() {
		if d.Address.Host == host {
			all = append(all, d)
		}
	}
	return all, k.done(0)
}

func (h hostSCSI) Named(c hal.Call, wwid string) ([]hal.SCSIDisk, error) {
	k := h.enter(callNamed, wwid, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	all := slices.DeleteFunc(h.w.disks(), func(d hal.SCSIDisk) bool { return d.WWID != wwid || wwid == "" })
	return all, k.done(0)
}

// disks are those of arrays that the kernel has, by their addresses.
func (w *World) disks() []hal.SCSIDisk {
	var all []hal.SCSIDisk
	for _, b := range w.scsiDisks {
		all = append(all, b.show())
	}
	slices.SortFunc(all, func(a, b hal.SCSIDisk) int {
		return cmp.Or(cmp.Compare(a.Address.Host, b.Address.Host), cmp.Compare(a.Address.Target, b.Address.Target),
			cmp.Compare(a.Address.LUN, b.Address.LUN))
	})
	return all
}

// show is what sysfs has of a disk.
func (b *blockDevice) show() hal.SCSIDisk {
	d := hal.SCSIDisk{
		Address: b.scsi.way.at,
		Name:    strings.TrimPrefix(b.path, "/dev/"), Device: b.device, Sequence: b.sequence, State: "running",
		WWID: b.scsi.wwid,
	}
	d.Address.LUN = b.scsi.lun
	switch b.scsi.way.state {
	case failed:
		d.State = "blocked"
	case free:
		d.State = "transport-offline"
	}
	return d
}

func (h hostSCSI) Scan(c hal.Call, a hal.SCSIAddress) error {
	w := h.w
	k := h.enter(callScan, a.String(), c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	errno = k.inKernel("scsi scan "+a.String(), func(by actor) syscall.Errno { return w.scan(by, a) })
	if errno == 0 && (k.fault == FailPart || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// scan has the kernel ask for one disk.
func (w *World) scan(by actor, a hal.SCSIAddress) syscall.Errno {
	first := a
	first.LUN = 0
	to, isHost := w.wayAt(first)
	switch {
	case !isHost:
		return syscall.ENODEV
	case to == nil:
		return 0 // nobody is there
	case to.state == failed && !to.target.isFC:
		w.hungAt = to.server
		return hangs
	case to.state != loggedIn:
		return 0 // nothing is found
	}
	w.findsSoon(by, to, a.LUN)
	if to.target.isFC {
		w.losesFCPort(to.target)
	}
	return 0
}

// wayAt is the way to the disks at an address; isHost says that the kernel has a host of that number.
func (w *World) wayAt(a hal.SCSIAddress) (to *way, isHost bool) {
	for _, s := range w.sessions {
		isHost = isHost || s.at.Host == a.Host
		if s.at == a {
			return &s.way, true
		}
	}
	for _, p := range w.fcPorts {
		if p.at == a {
			return &p.way, true
		}
	}
	return nil, isHost || slices.ContainsFunc(w.fcHosts, func(is hal.FCHost) bool { return is.Host == a.Host })
}

// findsSoon has the kernel find a disk, now or later.
func (w *World) findsSoon(by actor, to *way, lun uint64) {
	if !w.happens(DiskLate, siteFound, to.target.name) {
		w.finds(by, to, lun)
		return
	}
	since := to.since
	w.sched.at(w.sched.now.Add(w.time(siteFound, to.target.name+" appears", 0, foundMost)),
		siteFound.hash^hashString(to.target.name)^lun, nil, func() {
			if to.since == since || !to.target.isFC {
				w.finds(actor{}, to, lun)
			}
		})
}

// finds has the kernel find a disk, if it does not know it.
func (w *World) finds(by actor, to *way, lun uint64) {
	m := to.target.disk(lun)
	isKnown := slices.ContainsFunc(w.disksOf(to), func(b *blockDevice) bool { return b.scsi.lun == lun })
	if to.gone || to.state != loggedIn || m == nil || isKnown {
		return
	}
	n := uint32(1) // 0 is the disk of the node
	for w.keepsNumber(perDisk * n) {
		n++
	}
	b := &blockDevice{medium: m, path: "/dev/sd" + string(rune('a'+n)), size: m.size}
	b.scsi = &scsiDisk{way: to, lun: lun, wwid: m.serial}
	w.scsiDisks = append(w.scsiDisks, b)
	w.plugBlock(b, hal.Device{Major: scsiMajor, Minor: perDisk * n})
	b.scsi.conn = &connection{dev: b.device, isDisk: true, share: to.server}
	w.tell(by, Effect{Kind: EffectDiskFound, Path: b.path, Volume: m.serial, Text: to.target.name, Outcome: hal.Done})
	w.seesDisk(by, b)
}

// waits has what is asked of the disks of a way wait.
func (w *World) waits(to *way) {
	to.state = failed
	to.since++
	w.silence(to.server, 0)
	w.pathsChange()
}

// givesUp fails what is asked of the disks of a way, for now.
func (w *World) givesUp(to *way) {
	to.state = free
	to.since++
	for _, b := range w.disksOf(to) {
		b.scsi.breaks(AnswersErrors)
	}
	w.answer(to.server)
	w.pathsChange()
}

// isUpAgain has a way be up again.
func (w *World) isUpAgain(to *way) {
	if to.state != loggedIn {
		to.state = loggedIn
		to.since++
		w.answer(to.server)
		w.pathsChange()
	}
}

func (w *World) disksOf(to *way) []*blockDevice {
	var all []*blockDevice
	for _, b := range w.scsiDisks {
		if b.scsi.way == to {
			all = append(all, b)
		}
	}
	return all
}

// isUsed: somebody has the disk mounted, or holds it.
func (w *World) isUsed(b *blockDevice) bool {
	if b.multi != nil {
		return w.isMounted(b) || b.multi.claimed || len(w.heldAs(b)) > 0 || w.isOpen(b)
	}
	return w.isMounted(b) || b.scsi.claimed || b.holds == HeldByDevice || w.mapWith(b) != nil
}

// answers is what becomes of who reads or writes the disk now.
func (d *scsiDisk) answers(w *World) syscall.Errno {
	switch {
	case d.way.state == free: // the disk can't be opened
		return syscall.ENXIO
	case d.way.gone, d.isGone:
		return syscall.EIO
	case d.way.state == failed:
		w.hungAt = d.way.server
		return hangs
	}
	return 0
}

// reads has a disk read and write what its array has under its number by now, nil for nothing.
func (d *scsiDisk) reads(b *blockDevice, m *medium) {
	d.breaks(AnswersErrors)
	if d.isGone = m == nil; !d.isGone {
		b.medium = m
	}
}

// breaks has what is mounted fail. What is mounted later does not.
func (d *scsiDisk) breaks(how DiskFailure) {
	if d.conn.failed == NoDiskFailure {
		d.conn.fail(how)
	}
}

// mountedAs: a filesystem of the disk is mounted as fsType, and nothing of it was before.
func (b *blockDevice) mountedAs(w *World, fsType string) {
	of := b.conn()
	switch {
	case of == nil:
		return
	case w.mounts.has(of):
	case b.scsi != nil:
		of = &connection{dev: b.device, isDisk: true, share: b.scsi.way.server}
		b.scsi.conn = of
	default:
		of = &connection{dev: b.device, isDisk: true, share: b.multi.server}
		b.multi.conn = of
	}
	of.fsType = fsType
}

// unplug has the kernel forget a disk.
func (w *World) unplug(by actor, b *blockDevice) {
	b.scsi.breaks(LosesDevice)
	if at, _, errno := w.look(b.path, walkNoLastLink); errno == 0 && at.n.parent != nil {
		at.n.detach()
	}
	w.scsiDisks = slices.DeleteFunc(w.scsiDisks, func(other *blockDevice) bool { return other == b })
	w.losesPath(by, b)
	w.tell(by, Effect{Kind: EffectDiskRemoved, Path: b.path, Volume: b.scsi.wwid, Outcome: hal.Done})
}

func (h hostSCSI) Remove(c hal.Call, d hal.SCSIDisk, flush bool) error {
	w := h.w
	k := h.enter(callRemoveDisk, d.Address.String(), c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	errno = k.inKernel("scsi remove "+d.Address.String(), func(by actor) syscall.Errno {
		return w.removeDisk(by, d, flush, part)
	})
	if errno == 0 && (part || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// removeDisk has the kernel forget a disk that nobody uses. With part, it is flushed and no more.
func (w *World) removeDisk(by actor, d hal.SCSIDisk, flush, part bool) syscall.Errno {
	i := slices.IndexFunc(w.scsiDisks, func(b *blockDevice) bool { return b.show().Address == d.Address })
	if i < 0 {
		return 0
	}
	b := w.scsiDisks[i]
	switch {
	case b.show().Is() != d.Is():
		return syscall.ENODEV
	case w.isUsed(b):
		return syscall.EBUSY
	case flush && b.scsi.answers(w) == hangs:
		return hangs
	case flush && b.scsi.answers(w) != 0:
		return syscall.EIO
	}
	if !part {
		w.unplug(by, b)
	}
	return 0
}
