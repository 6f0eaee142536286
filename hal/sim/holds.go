package sim

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models what keeps a block device open: a device of its own that reads it, and what containers have of raw
// block volumes. A container has a number: its runtime makes a node of that number, and each open finds what has the
// number by then. What is open stays what it was.

// holder keeps a block device open.
type holder struct {
	name string
	of   *blockDevice
	by   hal.Device
	nth  uint64 // see blockDevice.sequence
	path string
}

const loopMajor = 7

// Raw is what a container has of a raw block volume.
type Raw struct {
	w       *World
	boot    *boot
	number  hal.Device
	of      *blockDevice // what it has open
	through *holder      // by which it has that; nil if it has it itself
}

var (
	callHold    = newCallSite("blocks.hold", hal.ClassHelper, true)
	callHolds   = newCallSite("blocks.holds", hal.ClassSyscall, false)
	callRelease = newCallSite("blocks.release", hal.ClassHelper, true)
)

func (h hostBlocks) Hold(c hal.Call, d hal.DeviceHold) error {
	w := h.w
	k := h.enter(callHold, d.Path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	k.dies = func(by actor) { _ = w.hold(by, d) }
	errno = k.inKernel("hold "+d.Path, func(by actor) syscall.Errno { return w.hold(by, d) })
	if errno == 0 && (k.fault == FailPart || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

func (w *World) hold(by actor, d hal.DeviceHold) syscall.Errno {
	b, errno := w.reach(d.Path)
	if errno != 0 {
		return errno
	}
	i := slices.IndexFunc(w.holds, func(o *holder) bool { return o.name == d.Name })
	is := b.is()
	switch {
	case is.Is() != d.Device, d.Says != "" && is.Says != d.Says:
		return syscall.ENODEV
	case i >= 0 && w.holds[i].of != b:
		return syscall.EEXIST
	case i >= 0:
		return 0
	case w.isMounted(b), b.holds == HeldByDevice, w.mapWith(b) != nil, b.isClaimed():
		return syscall.EBUSY
	}
	n := uint32(0)
	for slices.ContainsFunc(w.holds, func(o *holder) bool { return o.by.Minor == n }) {
		n++
	}
	w.sequences++
	made := &holder{d.Name, b, hal.Device{Major: loopMajor, Minor: n}, w.sequences, fmt.Sprintf("/dev/loop%d", n)}
	w.holds = append(w.holds, made)
	dir := w.makeDirs("/dev")
	node := dir.n.child(made.path[len("/dev/"):])
	if node == nil {
		node = dir.n.sb.newNode(hal.TypeBlockDevice, 0o660)
		dir.n.attach(made.path[len("/dev/"):], node)
	}
	node.dev = made.by
	w.tell(by, Effect{Kind: EffectHeld, Path: b.path, Volume: b.name(), Text: d.Name, Outcome: hal.Done})
	return 0
}

func (w *World) showHold(o *holder) hal.HeldDevice {
	return hal.HeldDevice{
		IsGone: !w.has(o.of),
		Name:   o.name, Device: o.of.is().Is(), Path: o.path, By: hal.BlockDevice{Device: o.by, Sequence: o.nth}.Is(),
	}
}

func (h hostBlocks) Holds(c hal.Call) ([]hal.HeldDevice, error) {
	k := h.enter(callHolds, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	return h.w.HeldDevices(), k.done(0)
}

// HeldDevices are the devices that agents have held, by name.
func (w *World) HeldDevices() []hal.HeldDevice {
	var all []hal.HeldDevice
	for _, o := range w.holds {
		all = append(all, w.showHold(o))
	}
	slices.SortFunc(all, func(a, b hal.HeldDevice) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// heldAs are the names by which a disk is held.
func (w *World) heldAs(b *blockDevice) (names []string) {
	for _, o := range w.holds {
		if o.of == b {
			names = append(names, o.name)
		}
	}
	return names
}

func (h hostBlocks) Release(c hal.Call, d hal.HeldDevice) error {
	w := h.w
	k := h.enter(callRelease, d.Device, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	k.dies = func(by actor) { _ = w.release(by, d) }
	errno = k.inKernel("release "+d.Device, func(by actor) syscall.Errno { return w.release(by, d) })
	if errno == 0 && (k.fault == FailPart || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

func (w *World) release(by actor, d hal.HeldDevice) syscall.Errno {
	i := slices.IndexFunc(w.holds, func(o *holder) bool { return o.name == d.Name })
	switch {
	case i < 0:
		return 0
	case !w.showHold(w.holds[i]).IsSame(d):
		return syscall.ESTALE
	case w.isOpen(w.holds[i].of):
		return syscall.EBUSY
	}
	w.letGo(by, w.holds[i])
	return 0
}

// has: the node has the device.
func (w *World) has(b *blockDevice) bool {
	return slices.Contains(w.blocks, b) || slices.Contains(w.scsiDisks, b) || slices.Contains(w.maps, b)
}

// isClaimed: somebody has the device of an array for himself alone.
func (b *blockDevice) isClaimed() bool {
	return b.scsi != nil && b.scsi.claimed || b.multi != nil && b.multi.claimed
}

// isOpen: a process has the device open.
func (w *World) isOpen(b *blockDevice) bool {
	return slices.ContainsFunc(w.raws, func(r *Raw) bool { return r.of == b })
}

func (w *World) letGo(by actor, o *holder) {
	w.holds = slices.DeleteFunc(w.holds, func(other *holder) bool { return other == o })
	w.tell(by, Effect{Kind: EffectLetGo, Path: o.of.path, Volume: o.of.name(), Text: o.name, Outcome: hal.Done})
}

// ReleaseByHand is a person who lets go of what an agent holds of a disk: losetup(8), --detach. It reports whether
// there was something.
func (w *World) ReleaseByHand(disk string) bool {
	i := slices.IndexFunc(w.holds, func(o *holder) bool { return o.of.name() == disk })
	if i >= 0 {
		w.letGo(actor{}, w.holds[i])
	}
	return i >= 0
}

// keepsNumber: nobody else gets the number of a SCSI disk, nor its name.
func (w *World) keepsNumber(minor uint32) bool {
	is := func(b *blockDevice) bool { return b.device.Major == scsiMajor && b.device.Minor == minor }
	return slices.ContainsFunc(w.scsiDisks, is) ||
		slices.ContainsFunc(w.holds, func(o *holder) bool { return is(o.of) }) ||
		slices.ContainsFunc(w.raws, func(r *Raw) bool { return is(r.of) })
}

// bootsHolds is the end of a boot: nothing is held, nor open.
func (w *World) bootsHolds() { w.holds, w.raws = nil, nil }

// name names a disk for as long as it is one: its WWID or its serial number, else its path.
func (b *blockDevice) name() string {
	switch {
	case b.scsi != nil:
		return b.scsi.wwid
	case b.multi != nil:
		return b.multi.wwid
	case b.serial != "":
		return b.serial
	}
	return b.path
}

// IsHeld reports whether something keeps the number of a disk.
func (w *World) IsHeld(disk string) bool {
	return slices.ContainsFunc(w.holds, func(o *holder) bool { return o.of.name() == disk })
}

// DiskNamed is what a disk at a path is called for as long as it is one; "" if there is none.
func (w *World) DiskNamed(path string) string {
	if b, errno := w.blockAt(path); errno == 0 {
		return b.name()
	}
	return ""
}

// RawAt is the disk that the raw device at a path leads to, "" if it leads to none, and whether nobody can write to it.
func (w *World) RawAt(path string) (disk string, isReadOnly bool) {
	at, _, errno := w.walk(path, walkAll)
	if errno != 0 || at.n.kind != hal.TypeBlockDevice {
		return "", false
	}
	b, through := w.numbered(at.n.dev)
	if b == nil {
		return "", false
	}
	return b.name(), through != nil
}

// numbered is what has a number now.
func (w *World) numbered(d hal.Device) (b *blockDevice, through *holder) {
	for _, all := range [...][]*blockDevice{w.blocks, w.scsiDisks, w.maps} {
		for _, b := range all {
			if b.device == d {
				return b, nil
			}
		}
	}
	if i := slices.IndexFunc(w.holds, func(o *holder) bool { return o.by == d }); i >= 0 {
		return w.holds[i].of, w.holds[i]
	}
	return nil, nil
}

// holderAt is the holder that a path leads to, nil if it leads to something else.
func (w *World) holderAt(path string) *holder {
	at, _, errno := w.walk(path, walkAll)
	if errno != 0 || at.n.kind != hal.TypeBlockDevice {
		return nil
	}
	_, through := w.numbered(at.n.dev)
	return through
}

// OpenRaw is a container that starts now, and opens the raw device at path.
func (w *World) OpenRaw(path string) (*Raw, syscall.Errno) {
	at, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return nil, errno
	case at.n.kind != hal.TypeBlockDevice:
		return nil, syscall.ENOTBLK
	}
	r := &Raw{w: w, boot: w.boot, number: at.n.dev}
	if r.of, r.through = w.numbered(r.number); r.of == nil {
		return nil, syscall.ENXIO
	}
	w.raws = append(w.raws, r)
	return r, 0
}

// Close ends the container.
func (r *Raw) Close() {
	r.w.raws = slices.DeleteFunc(r.w.raws, func(other *Raw) bool { return other == r })
}

// Opens is the disk that who opens the number now gets, ENXIO if there is none.
func (r *Raw) Opens() (disk string, errno syscall.Errno) {
	b, _ := r.w.numbered(r.number)
	if b == nil || r.boot != r.w.boot {
		return "", syscall.ENXIO
	}
	return b.name(), 0
}

// Reads is what a read of what is open tells: the disk that answers, EIO once the node has lost it. An array may have
// another one answer.
func (r *Raw) Reads() (disk string, errno syscall.Errno) {
	if r.boot != r.w.boot || !r.w.has(r.of) {
		return "", syscall.EIO
	}
	if errno := r.w.answers(r.of); errno != 0 {
		return "", errno
	}
	if r.of.conn() != nil || r.of.serial != "" {
		return r.of.serial, 0
	}
	return r.of.path, 0
}

// Writes is a write to what is open: EROFS if it is read-only. The disk keeps what was written.
func (r *Raw) Writes(text string) syscall.Errno {
	_, errno := r.Reads()
	switch {
	case errno != 0:
		return errno
	case r.through != nil:
		return syscall.EROFS
	}
	r.of.written = text
	if r.of.holds == "" {
		r.of.holds = Unrecognized
	}
	return 0
}

// Written is what was written last to the disk that is open.
func (r *Raw) Written() string { return r.of.written }

// IsReadOnly: nobody can write to it.
func (r *Raw) IsReadOnly() bool { return r.through != nil }
