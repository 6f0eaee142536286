package sim

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models the SCSI disks that the kernel has. Each gets the lowest name that is free, and with it the number,
// so what was sdb a moment ago may be another disk. What the kernel learnt of a disk when it found it stays, whatever
// the array has under its number by now.

// scsiDisk is what a disk of an array is to the kernel.
type scsiDisk struct {
	session *session
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
	for _, b := range h.w.scsiDisks {
		if b.scsi.session.Host == host {
			all = append(all, b.show())
		}
	}
	slices.SortFunc(all, func(a, b hal.SCSIDisk) int { return int(a.Address.LUN) - int(b.Address.LUN) })
	return all, k.done(0)
}

// show is what sysfs has of a disk.
func (b *blockDevice) show() hal.SCSIDisk {
	d := hal.SCSIDisk{
		Address: hal.SCSIAddress{Host: b.scsi.session.Host, LUN: b.scsi.lun},
		Name:    strings.TrimPrefix(b.path, "/dev/"), Device: b.device, Sequence: b.sequence, State: "running",
		WWID: b.scsi.wwid,
	}
	switch b.scsi.session.State {
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

// scan has the kernel ask for one disk of a session.
func (w *World) scan(by actor, a hal.SCSIAddress) syscall.Errno {
	i := slices.IndexFunc(w.sessions, func(s *session) bool { return s.Host == a.Host })
	if i < 0 {
		return syscall.ENODEV
	}
	s := w.sessions[i]
	if s.State == failed {
		w.hungAt = s.server
		return hangs
	}
	if s.State != loggedIn || a.Channel != 0 || a.Target != 0 {
		return 0 // nothing is found
	}
	if !w.happens(DiskLate, siteFound, s.Target) {
		w.finds(by, s, a.LUN)
		return 0
	}
	w.sched.at(w.sched.now.Add(w.time(siteFound, s.Target+" appears", 0, foundMost)),
		siteFound.hash^hashString(s.Target)^a.LUN, nil, func() { w.finds(actor{}, s, a.LUN) })
	return 0
}

// finds has the kernel find a disk, if it does not know it.
func (w *World) finds(by actor, s *session, lun uint64) {
	m := s.target.disk(lun)
	isKnown := slices.ContainsFunc(w.disksOf(s), func(b *blockDevice) bool { return b.scsi.lun == lun })
	if s.gone || s.State != loggedIn || m == nil || isKnown {
		return
	}
	n := uint32(1) // 0 is the disk of the node
	for w.keepsNumber(perDisk * n) {
		n++
	}
	b := &blockDevice{medium: m, path: "/dev/sd" + string(rune('a'+n))}
	b.scsi = &scsiDisk{session: s, lun: lun, wwid: m.serial}
	w.scsiDisks = append(w.scsiDisks, b)
	w.plugBlock(b, hal.Device{Major: scsiMajor, Minor: perDisk * n})
	b.scsi.conn = &connection{dev: b.device, isDisk: true, share: s.server}
	w.tell(by, Effect{Kind: EffectDiskFound, Path: b.path, Volume: m.serial, Text: s.Target, Outcome: hal.Done})
}

func (w *World) disksOf(s *session) []*blockDevice {
	var all []*blockDevice
	for _, b := range w.scsiDisks {
		if b.scsi.session == s {
			all = append(all, b)
		}
	}
	return all
}

// isUsed: somebody has the disk mounted, or holds it.
func (w *World) isUsed(b *blockDevice) bool {
	return w.isMounted(b) || b.scsi.claimed || b.holds == HeldByDevice
}

// answers is what becomes of who reads or writes the disk now.
func (d *scsiDisk) answers(w *World) syscall.Errno {
	switch {
	case d.session.State == free: // the disk can't be opened
		return syscall.ENXIO
	case d.session.gone, d.isGone:
		return syscall.EIO
	case d.session.State == failed:
		w.hungAt = d.session.server
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

// isMounted: a filesystem of the disk is mounted as fsType, and nothing of it was before.
func (d *scsiDisk) isMounted(w *World, b *blockDevice, fsType string) {
	if !w.mounts.has(d.conn) {
		d.conn = &connection{dev: b.device, isDisk: true, share: d.session.server}
	}
	d.conn.fsType = fsType
}

// unplug has the kernel forget a disk.
func (w *World) unplug(by actor, b *blockDevice) {
	b.scsi.breaks(LosesDevice)
	if at, _, errno := w.look(b.path, walkNoLastLink); errno == 0 && at.n.parent != nil {
		at.n.detach()
	}
	w.scsiDisks = slices.DeleteFunc(w.scsiDisks, func(other *blockDevice) bool { return other == b })
	w.tell(by, Effect{Kind: EffectDiskRemoved, Path: b.path, Volume: b.serial, Outcome: hal.Done})
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
