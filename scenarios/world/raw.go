package world

import (
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is what containers have of raw block volumes of disks. A container has a number, and opens what that leads
// to as often as it likes; it keeps one handle open besides.
//
// S28: something keeps the number. What that leads to is the disk that the volume had when the containers started, or
// nothing, for as long as they run; and the handle reads that disk, or fails, unless an array has exchanged it below
// the node.
//
// S21: a volume that is read-only for a pod takes none of its writes.
//
// S10: what was written to the disk is on it.
//
// S5: the agent does not let go of a disk, nor have the kernel forget one, that containers have.
//
// S2: it makes no filesystem there, and checks none.

// RawUse is a raw device that containers have.
type RawUse struct {
	Pod  *Pod
	Use  Use
	Raw  *sim.Raw
	Disk string // that it was when they started
}

// StartsRaw has the containers of p open their raw devices of disks, and write to them.
func (r *Run) StartsRaw(p *Pod) {
	r.Raw = slices.DeleteFunc(r.Raw, func(is *RawUse) bool { return is.Pod == p || !is.Pod.IsRunning })
	for _, u := range p.Uses {
		if !u.Raw || u.Driver != "" || u.Exempt {
			continue
		}
		raw, errno := r.W.OpenRaw(u.Path)
		if errno != 0 {
			r.Fail("S21", "raw", p.Name, "containers of "+p.Name+" can't open the raw device "+u.Name+": "+errno.Error())
			return
		}
		disk, _ := raw.Opens()
		is := &RawUse{p, u, raw, disk}
		r.Raw = append(r.Raw, is)
		p.Release = append(p.Release, raw.Close)
		r.writesRaw(is)
	}
}

// writesRaw has containers write to a raw device, and read it first.
func (r *Run) writesRaw(is *RawUse) {
	now, errno := is.Raw.Reads()
	if errno != 0 || now != is.Disk {
		return // its target is silent, or an array has exchanged it
	}
	if had, known := r.RawHas[is.Disk]; known {
		r.Judges("S10")
		if is.Raw.Written() != had {
			r.Fail("S10", "raw", is.Pod.Name, "containers of "+is.Pod.Name+" find "+is.Raw.Written()+" on the disk "+is.Disk+
				", on which containers have written "+had)
			return
		}
	}
	r.Judges("S21")
	switch errno := is.Raw.Writes("blocks of " + is.Pod.Name); {
	case errno == 0 && is.Use.ReadOnly:
		r.Fail("S21", "raw", is.Pod.Name, "containers of "+is.Pod.Name+" can write to "+is.Use.Name+
			", which is read-only for them")
	case errno == 0:
		r.RawHas[is.Disk] = "blocks of " + is.Pod.Name
	case errno == syscall.EROFS && !is.Use.ReadOnly:
		r.Fail("S21", "raw", is.Pod.Name, "containers of "+is.Pod.Name+" can't write to "+is.Use.Name)
	}
}

// LetsInRaw is S21 and S28 of a raw device that a pod is to be given, whose volume has a disk; false if its containers
// must not start.
func (r *Run) LetsInRaw(p *Pod, u Use, disk string) bool {
	r.Judges("S21")
	r.Judges("S28")
	is, isReadOnly := r.W.RawAt(u.Path)
	switch {
	case is != disk:
		r.Fail("S28", "raw", p.Name, "pod "+p.Name+" is reported ready, and finds the disk "+is+" as "+u.Name+
			", which has "+disk)
	case isReadOnly != u.ReadOnly:
		r.Fail("S21", "raw", p.Name, "pod "+p.Name+" is reported ready, and the raw device "+u.Name+
			map[bool]string{true: " is writable", false: " is read-only"}[u.ReadOnly])
	default:
		return true
	}
	return false
}

// JudgesRaw is S28 of the raw devices of a source, after each step.
func (r *Run) JudgesRaw(source string) {
	for _, is := range r.Raw {
		if is.Use.Room.Source.Name != source || !is.Pod.IsRunning {
			continue
		}
		if r.Loosed[is.Disk] == r.W.BootID() || r.W.Off() {
			continue
		}
		r.Judges("S28")
		if !r.W.IsHeld(is.Disk) {
			r.Fail("S28", "raw", is.Pod.Name, "containers of "+is.Pod.Name+" have the disk "+is.Disk+" as "+is.Use.Name+
				", and nothing keeps its number from the next disk")
			return
		}
		if now, errno := is.Raw.Opens(); errno == 0 && now != is.Disk {
			r.Fail("S28", "raw", is.Pod.Name, "the raw device "+is.Use.Name+" of "+is.Pod.Name+" leads to the disk "+now+
				" by now, and its containers were given "+is.Disk)
			return
		}
	}
}

// SeesRaw is S5 and S2 of what becomes of a disk that containers have raw.
func (r *Run) SeesRaw(source string, e *sim.Effect) {
	isOf := func(is *RawUse) bool {
		isSame := is.Disk == e.Volume || e.Volume == "" && is.Disk == r.W.DiskNamed(e.Path)
		return is.Use.Room.Source.Name == source && is.Pod.IsRunning && isSame
	}
	if e.Kind == sim.EffectLetGo && e.Actor != "agent" { // a person has: what a number leads to is anybody's
		r.Loosed[e.Volume] = r.W.BootID()
		return
	}
	i := slices.IndexFunc(r.Raw, isOf)
	if i < 0 || e.Actor != "agent" {
		return
	}
	is := r.Raw[i]
	switch e.Kind {
	case sim.EffectLetGo, sim.EffectDiskRemoved:
		r.Judges("S5")
		if !r.Root.Forgotten {
			r.Fail("S5", "raw", is.Pod.Name, "the agent lets go of the disk "+is.Disk+", which containers of "+is.Pod.Name+
				" have as "+is.Use.Name)
		}
	case sim.EffectFormatted, sim.EffectChecked:
		r.Judges("S2")
		r.Fail("S2", "raw", is.Pod.Name, "the agent touches what is on the disk "+is.Disk+", which containers of "+
			is.Pod.Name+" have as "+is.Use.Name)
	default:
	}
}

// RawDiffers says how what is at a path differs from a raw device that is up, "" if it does not.
func RawDiffers(w *sim.World, at string) string {
	kind, _ := w.Exists(at)
	if len(w.MountsAt(at)) == 0 || kind != hal.TypeBlockDevice {
		return "no block device is mounted at " + at
	}
	return ""
}

// IsRawOfDisk reports whether a rung is the raw device that a pod has of a disk.
func IsRawOfDisk(key hal.Key) bool {
	kind, _, _ := strings.Cut(string(key), "/")
	return slices.ContainsFunc(Rooms, func(m *Room) bool { return m.RawKind != "" && string(m.RawKind) == kind })
}
