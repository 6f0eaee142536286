package sim

import (
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is filesystems on the devices of volumes, and how they fail. A device that is detached is dead: the
// filesystem on it answers EIO, for good, also when the volume is attached again, by the same device number or another
// one. Its mounts stay in the table and can be unmounted; a driver that only looks whether something is mounted takes
// them for the volume. A filesystem may also turn read-only by itself (ext4(5), errors=remount-ro). The kernel tells
// nobody of either: no notice of the mount table comes (mount_namespaces(7)).

// DiskFailure is how the filesystem of a volume fails.
type DiskFailure uint8

// The failures. What is seen of them is seen in the mount table alone.
const (
	NoDiskFailure DiskFailure = iota
	// TurnsReadOnly: it can be read, and answers EROFS to writes.
	TurnsReadOnly
	// LosesDevice: it answers EIO, and the device is gone from the node.
	LosesDevice
	// AnswersErrors: it answers EIO, which nobody can see; with the first write it turns read-only.
	AnswersErrors

	numDiskFailures
)

var (
	siteFailing = newSite("volume.disk")
	siteNumber  = newSite("volume.device-number")
)

// diskOf returns the filesystem of a volume's device as it is mounted now. One that has failed is mounted again as it
// is, until nothing of it is mounted any more: then the next mount makes another one. ENXIO while the volume is not
// attached.
func (d *driver) diskOf(v *volume) (*connection, syscall.Errno) {
	switch {
	case d.is.Attach && !v.attached && !v.inline:
		return nil, syscall.ENXIO
	case v.disk != nil && v.disk.failed != NoDiskFailure && !d.w.mounts.has(v.disk):
		v.disk = nil
	}
	if v.disk == nil {
		root := d.w.rootOf(v).sb
		v.disk = &connection{dev: root.dev, fsType: root.fsType, volume: v, isDisk: true}
		if v.sb != nil {
			v.disk.dev.Minor += v.renumbered
		}
	}
	return v.disk, 0
}

// has reports whether a mount of a filesystem is in the table.
func (t *mountTable) has(c *connection) bool {
	for _, m := range t.list {
		if m.conn == c {
			return true
		}
	}
	return false
}

// fail has a filesystem fail.
func (c *connection) fail(how DiskFailure) {
	c.failed = how
	switch how {
	case LosesDevice, AnswersErrors:
		c.broken = syscall.EIO
	default:
	}
}

// isReadOnly says whether the superblock takes no writes; hasDevice, whether its device is there.
func (c *connection) isReadOnly() bool { return c.failed == TurnsReadOnly }
func (c *connection) hasDevice() bool  { return c.failed != LosesDevice }

// wrote: somebody has tried to write to a filesystem that answers EIO.
func (c *connection) wrote() {
	if c.failed == AnswersErrors {
		c.failed = TurnsReadOnly // and it answers EIO still
	}
}

// detaches kills the device of a volume that is detached, in a way that is drawn, and draws by which number it comes
// back.
func (w *World) detaches(driver string, v *volume) {
	name := driver + "^" + v.handle
	if v.disk != nil && v.disk.failed != AnswersErrors {
		v.disk.fail(LosesDevice + DiskFailure(w.time(siteFailing, name, 0, 1)))
		w.tell(actor{}, Effect{Kind: EffectDiskFailed, Driver: driver, Volume: v.handle, Outcome: hal.Done})
	}
	v.disk = nil
	v.renumbered = 4096 * uint32(w.time(siteNumber, name, 0, 1))
}

// FailDisk has the filesystem of a volume that is mounted fail. It reports whether it is one that can.
func (w *World) FailDisk(driver, handle string, how DiskFailure) bool {
	v := w.mustDriver(driver).volume(handle)
	if v == nil || v.disk == nil || v.disk.failed != NoDiskFailure {
		return false
	}
	w.event("volume.disk-fails", driver+"^"+handle)
	v.disk.fail(how)
	w.tell(actor{}, Effect{Kind: EffectDiskFailed, Driver: driver, Volume: handle, Outcome: hal.Done})
	return true
}

// DiskFailed says how the filesystem of a volume, as it is mounted at a path, has failed.
func (w *World) DiskFailed(path string) DiskFailure {
	stack := w.mounts.stack(path)
	if len(stack) == 0 || stack[len(stack)-1].conn == nil {
		return NoDiskFailure
	}
	return stack[len(stack)-1].conn.failed
}

// moment is how long what a driver loses is mounted.
const moment = 100 * time.Millisecond

// ruins is what a driver that Spoils or Loses does to what it has just published.
func (d *driver) ruins(v *volume, target string) {
	switch w := d.w; d.broken {
	case Spoils:
		w.FailDisk(d.name, v.handle, TurnsReadOnly)
	case Loses:
		w.After(moment, "the mount is lost", func() {
			if d.broken == Loses && w.shows(v, target) != nil {
				_ = w.UnmountTop(target) // somebody may keep it busy
			}
		})
	default:
	}
}

// wears draws whether the filesystem of a volume that was just mounted fails.
func (w *World) wears(d *driver, v *volume, path string) {
	if v.disk == nil || !w.happens(DiskFails, siteFailing, path) {
		return
	}
	w.meddleIn(siteFailing, path, func() {
		how := TurnsReadOnly + DiskFailure(w.time(siteFailing, path+" how", 0,
			time.Duration(numDiskFailures-TurnsReadOnly-1)))
		w.FailDisk(d.name, v.handle, how)
	})
}

// unplugs ends the filesystems of all devices: nothing is mounted after a boot.
func (w *World) unplugs() {
	for _, b := range w.backends {
		for _, v := range b.volumes {
			v.disk = nil
		}
	}
}
