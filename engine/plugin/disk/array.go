package disk

import (
	"fmt"
	"slices"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// This file is what the sources have in common whose disks an array has, and gives to the node under numbers (LUNs).

// At is what the kernel has at an address; false if that is nothing.
func At(h *hal.Host, o core.Op, at hal.SCSIAddress) (d hal.SCSIDisk, is bool, err error) {
	all, err := h.SCSI.Disks(op.Call(o), at.Host)
	if i := slices.IndexFunc(all, func(d hal.SCSIDisk) bool { return d.Address == at }); i >= 0 {
		return all[i], true, err
	}
	return d, false, err
}

// ScannedAt is [At], after the kernel was made to ask for that one disk if it does not have it.
func ScannedAt(h *hal.Host, o core.Op, at hal.SCSIAddress) (d hal.SCSIDisk, is bool, err error) {
	d, is, err = At(h, o, at)
	if err == nil && !is {
		if err = h.SCSI.Scan(op.Call(o), at); err == nil {
			d, is, err = At(h, o, at)
		}
	}
	return d, is, err
}

// LookAt is the end of a setup that has found a disk of the kernel: it says which one that is by now, and what is on
// it. name is what the volume asks for: "LUN 1 of iqn.2026-01.example:disks". What the kernel shows of a disk that the
// array has exchanged is of the former one: that is exchanged's to answer.
func LookAt(h *hal.Host, o core.Op, d hal.SCSIDisk, name string, exchanged func(says string) core.Result) core.Result {
	node := "/dev/" + d.Name
	b, err := h.Blocks.Probe(op.Call(o), node)
	who := fmt.Sprintf("%s (%s)", node, name)
	had := core.FactOf(o.Facts, FactDisk)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case b.Is() != d.Is():
		return op.NotDone(who + " is another disk by now; volnode looks again")
	case b.Says == "":
		return op.NotDone(who + " gives no WWID, so nothing tells it from another disk; volnode does not use it")
	case b.Says != d.WWID && len(b.Held) > 0:
		return op.NotDone(fmt.Sprintf("%s is the disk %s by now, and pods were given %s as a raw block volume; volnode "+
			"gives it to no other pod: give the LUN to that disk again", who, b.Says, d.WWID))
	case b.Says != d.WWID:
		return exchanged(b.Says)
	case had != "" && had != b.Says:
		r := op.NotDone(fmt.Sprintf("%s is the disk %s, and the volume has %s; volnode changes nothing on it: give the LUN "+
			"to that disk again", who, b.Says, had))
		r.Blocked = true
		return r
	}
	holds, why := Holds(o, b, b.Says)
	if why != "" {
		return op.NotDone(who + ": " + why)
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: Print(d),
		Facts: []core.Fact{
			{Name: FactDevice, Value: b.Is()},
			{Name: FactDisk, Value: b.Says},
			{Name: FactHolds, Value: holds},
			{Name: FactNode, Value: node},
			{Name: FactSays, Value: b.Says},
			{Name: FactName, Value: who},
		},
	}
}

// Print tells a disk from all others of a boot, by what the kernel found.
func Print(d hal.SCSIDisk) string { return d.Is() + " " + d.WWID }

// Exchanged has the kernel forget a disk in whose place the array has another one, which says what it is. Nothing is
// written to that. It is for [LookAt].
func Exchanged(h *hal.Host, o core.Op, d hal.SCSIDisk, name, says string) core.Result {
	err := h.SCSI.Remove(op.Call(o), d, false)
	if err != nil {
		r := op.Failed(err)
		r.Reason = fmt.Sprintf("%s is the disk %s by now, and the kernel takes it for %s: %s; unmount /dev/%s",
			name, says, d.WWID, err, d.Name)
		return r
	}
	r := op.Unknown(fmt.Sprintf("%s was the disk %s, and is %s by now; the kernel has forgotten the former "+
		"one, and volnode looks again", name, d.WWID, says))
	r.Unfinished = true
	return r
}

// Sees is the end of an inspection: it tells of the same disk by what the kernel found, and does not touch it.
func Sees(d hal.SCSIDisk, found bool, err error) core.Result {
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !found:
		return core.Result{Outcome: hal.Done}
	}
	return core.Result{Outcome: hal.Done, Fingerprint: Print(d)}
}

// Remove has the kernel forget a disk, once all is on it.
func Remove(h *hal.Host, o core.Op, d hal.SCSIDisk) core.Result {
	if err := h.SCSI.Remove(op.Call(o), d, true); err != nil {
		r := op.Failed(err)
		switch {
		case hal.Is(err, syscall.EBUSY):
			r.Reason = fmt.Sprintf("/dev/%s is in use: %s; unmount it; volnode tries again", d.Name, err)
		case hal.Is(err, syscall.EIO):
			r.Reason = fmt.Sprintf("what was written to /dev/%s may not be on the disk: %s; volnode tries again; look at the "+
				"network and the target", d.Name, err)
		}
		return r
	}
	return core.Result{Outcome: hal.Done}
}
