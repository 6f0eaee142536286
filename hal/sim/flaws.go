package sim

import (
	"cmp"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models what is wrong with the filesystem of a disk of the node, and how it is checked. If the power fails
// while it is mounted, it is not clean, and it may have errors. A disk may also damage it. Linux mounts an ext4 with
// errors as one without, and so does this; an xfs it does not mount.

// Flaw is what is wrong with a filesystem, that is not mounted or by the time it is not mounted any more.
type Flaw uint8

// The flaws.
const (
	// NoFlaw: it says that it is clean.
	NoFlaw Flaw = iota
	// Dirty: nobody has unmounted it. Its log is replayed as it is mounted next, but for an ext2, which has none.
	Dirty
	// Mendable: it has errors that a program mends unasked.
	Mendable
	// Grave: it has errors that a person must mend.
	Grave
)

func (f Flaw) String() string { return [...]string{"clean", "dirty", "mendable", "grave"}[f] }

var (
	// siteDamaged: the power fails while a filesystem is mounted.
	siteDamaged = newSite("disk.damaged")
	// siteWorn: a disk damages a filesystem.
	siteWorn = newSite("disk.worn")
)

var callCheck = newCallSite("blocks.check", hal.ClassHelper, true)

// checked are the filesystems that a program checks.
var checked = []string{"ext2", "ext3", "ext4"}

// noFsck is what a check says on a node without e2fsck(8).
const noFsck = "there is no /sbin/e2fsck; install e2fsprogs"

// RemoveFsck takes the program from the node that checks filesystems.
func (w *World) RemoveFsck() { w.lacksFsck = true }

// HasFsck reports whether the node has it.
func (w *World) HasFsck() bool { return !w.lacksFsck }

func (h hostBlocks) Check(c hal.Call, f hal.FilesystemCheck) (hal.Checked, error) {
	w := h.w
	k := h.enter(callCheck, f.Path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok || !slices.Contains(checked, f.FSType) {
		return hal.Checked{}, k.done(errno)
	}
	part := k.fault == FailPart
	k.dies = func(by actor) { _, _ = w.check(by, f, true) } // the program is killed
	var is hal.Checked
	errno = k.inKernel("check "+f.Path, func(by actor) (errno syscall.Errno) {
		is, errno = w.check(by, f, part)
		return errno
	})
	switch {
	case errno == 0 && (part || k.fault == FailFull):
		return hal.Checked{}, k.leave(syscall.EIO, hal.Unknown)
	case errno == syscall.EUCLEAN:
		return hal.Checked{}, k.leave(errno, hal.Unknown)
	case errno != 0:
		return hal.Checked{}, k.done(errno)
	}
	return is, k.done(0)
}

// check checks a filesystem. With part, it is cut short, and mends nothing to its end.
func (w *World) check(by actor, f hal.FilesystemCheck, part bool) (hal.Checked, syscall.Errno) {
	b, errno := w.reach(f.Path)
	if errno != 0 {
		return hal.Checked{}, errno
	}
	is := b.is()
	e := Effect{Kind: EffectChecked, Path: b.path, Volume: b.wwid(), Text: b.uuid, Outcome: hal.Done}
	switch {
	case w.isMounted(b), b.holds == HeldByDevice, w.mapWith(b) != nil:
		e.Outcome = hal.NotDone
		w.tell(by, e)
		return hal.Checked{}, syscall.EBUSY
	case is.Is() != f.Device, f.Says != "" && is.Says != f.Says, !slices.Contains(checked, b.holds), b.uuid != f.UUID:
		return hal.Checked{}, syscall.ENODEV
	case b.flaw != NoFlaw && w.lacksFsck:
		return hal.Checked{Unchecked: noFsck}, 0
	case b.flaw == Grave || part && b.flaw != NoFlaw:
		e.Outcome = hal.Unknown
		w.tell(by, e)
		if part {
			return hal.Checked{}, 0
		}
		return hal.Checked{}, syscall.EUCLEAN
	}
	mends := b.flaw != NoFlaw
	b.flaw = NoFlaw
	w.tell(by, e)
	return hal.Checked{IsMended: mends}, 0
}

// DamageBlockDevice has the filesystem on a disk come to a flaw, mounted or not. It reports whether there is one.
func (w *World) DamageBlockDevice(path string, how Flaw) bool {
	b := w.blockNamed(path)
	if b == nil || b.sb == nil {
		return false
	}
	w.event("disk.damaged", path+" "+how.String())
	b.flaw = max(b.flaw, how)
	return true
}

// DamageDisk is DamageBlockDevice with the words of package haltest.
func (w *World) DamageDisk(path, how string) {
	w.DamageBlockDevice(path, map[string]Flaw{"dirty": Dirty, "mendable": Mendable, "grave": Grave}[how])
}

// MendBlockDevice is a person who mends the filesystem on a disk. It reports whether nothing of it was mounted.
func (w *World) MendBlockDevice(path string) bool {
	b := w.blockNamed(path)
	if b == nil || w.isMounted(b) {
		return false
	}
	w.event("disk.mended", path)
	b.flaw = NoFlaw
	return true
}

// MendDisk is MendBlockDevice with the words of package haltest.
func (w *World) MendDisk(path string) { w.MendBlockDevice(path) }

// MountBlockDevice is a person who mounts the filesystem on a disk at a directory.
func (w *World) MountBlockDevice(path, at string) syscall.Errno {
	b := w.blockNamed(path)
	if b == nil {
		return syscall.ENOENT
	}
	return w.mounts.mountNew(actor{}, hal.NewMount{FSType: b.holds, Source: path, Target: at})
}

// FlawOf is what is wrong with the filesystem on a disk.
func (w *World) FlawOf(path string) Flaw {
	if b := w.blockNamed(path); b != nil {
		return b.flaw
	}
	return NoFlaw
}

// isChecked: a check says something of what the disk holds.
func (b *medium) isChecked() bool { return slices.Contains(checked, b.holds) }

// whyNotMount is why the kernel mounts no filesystem with such a flaw.
func (b *medium) whyNotMount() syscall.Errno {
	if !b.isChecked() && b.flaw >= Mendable {
		return syscall.EUCLEAN
	}
	return 0
}

// replays is the kernel that mounts a filesystem.
func (b *medium) replays() {
	if b.flaw == Dirty && b.holds != "ext2" {
		b.flaw = NoFlaw
	}
}

// wearsDisk draws whether the disk damages a filesystem that was just mounted.
func (w *World) wearsDisk(b *blockDevice, at string) {
	if !w.happens(DiskDamaged, siteWorn, at) {
		return
	}
	w.meddleIn(siteWorn, at, func() { w.damages(b, siteWorn) })
}

// damages has a filesystem get errors: rarely such as a person must mend.
func (w *World) damages(b *blockDevice, at *site) {
	how := Mendable
	if w.time(at, b.path+" how", 0, 2) == 2 {
		how = Grave
	}
	w.DamageBlockDevice(b.path, how)
}

// cutsDisks is what a loss of power makes of the filesystems that were mounted to be written to.
func (w *World) cutsDisks() {
	for _, all := range [...][]*blockDevice{w.blocks, w.scsiDisks, w.maps} {
		for _, b := range all {
			if !w.isMounted(b) || b.sb == nil || b.sb.readOnly {
				continue
			}
			b.flaw = cmp.Or(b.flaw, Dirty)
			if w.happens(DiskDamaged, siteDamaged, b.path) {
				w.damages(b, siteDamaged)
			}
		}
	}
}
