package iscsi

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

func deviceVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: findDisk, TearDown: removeDisk, Inspect: inspectDisk}
}

// where is the address of a rung's disk by now; false if there is no session that has it.
func where(h *hal.Host, o core.Op) (at hal.SCSIAddress, s hal.ISCSISession, is bool, err error) {
	s, is, err = find(h, o)
	lun, _ := strconv.ParseUint(core.Value(o.Params, paramLUN), 10, 64)
	return hal.SCSIAddress{Host: s.Host, LUN: lun}, s, is, err
}

// diskAt is what the kernel has at an address.
func diskAt(h *hal.Host, o core.Op, at hal.SCSIAddress) (d hal.SCSIDisk, is bool, err error) {
	all, err := h.SCSI.Disks(op.Call(o), at.Host)
	if i := slices.IndexFunc(all, func(d hal.SCSIDisk) bool { return d.Address == at }); i >= 0 {
		return all[i], true, err
	}
	return d, false, err
}

// findDisk has the kernel find the disk, and looks at it. What the kernel shows of a disk that the array has exchanged
// is of the former one: it forgets that, if nobody uses it, and finds the other.
func findDisk(h *hal.Host, o core.Op) core.Result {
	at, s, is, err := where(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !is:
		r := op.NotDone("there is no session with " + recordOf(o).Target + " any more; volnode logs in again")
		r.BelowUnknown = true
		return r
	case !s.IsUp():
		return op.NotDone(fmt.Sprintf("the portal %s does not answer (session %d is %s); iscsid goes on trying",
			s.Portal, s.ID, s.State))
	}
	d, is, err := diskAt(h, o, at)
	if err == nil && !is {
		if err = h.SCSI.Scan(op.Call(o), at); err == nil {
			d, is, err = diskAt(h, o, at)
		}
	}
	switch {
	case err != nil:
		return op.Failed(err)
	case !is:
		return op.Unknown(fmt.Sprintf("the target %s shows this node no disk with LUN %d, or the kernel has not found it "+
			"yet; volnode looks again; check what the target gives to this initiator", s.Target, at.LUN))
	}
	return lookAt(h, o, d)
}

// lookAt says what the disk is, and what is on it.
func lookAt(h *hal.Host, o core.Op, d hal.SCSIDisk) core.Result {
	node := "/dev/" + d.Name
	b, err := h.Blocks.Probe(op.Call(o), node)
	who := fmt.Sprintf("%s (LUN %d of %s)", node, d.Address.LUN, recordOf(o).Target)
	had := core.FactOf(o.Facts, disk.FactDisk)
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
		return exchanged(h, o, d, b.Says)
	case had != "" && had != b.Says:
		r := op.NotDone(fmt.Sprintf("%s is the disk %s, and the volume has %s; volnode changes nothing on it: give the LUN "+
			"to that disk again", who, b.Says, had))
		r.Blocked = true
		return r
	}
	holds, why := disk.Holds(o, b, b.Says)
	if why != "" {
		return op.NotDone(who + ": " + why)
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: is(d),
		Facts: []core.Fact{
			{Name: disk.FactDevice, Value: b.Is()},
			{Name: disk.FactDisk, Value: b.Says},
			{Name: disk.FactHolds, Value: holds},
			{Name: disk.FactNode, Value: node},
			{Name: disk.FactSays, Value: b.Says},
			{Name: disk.FactName, Value: who},
		},
	}
}

// is tells a disk from all others of a boot, by what the kernel found.
func is(d hal.SCSIDisk) string { return d.Is() + " " + d.WWID }

// exchanged has the kernel forget a disk in whose place the array has another one. Nothing is written to that.
func exchanged(h *hal.Host, o core.Op, d hal.SCSIDisk, says string) core.Result {
	err := h.SCSI.Remove(op.Call(o), d, false)
	if err != nil {
		r := op.Failed(err)
		r.Reason = fmt.Sprintf("LUN %d of %s is the disk %s by now, and the kernel takes it for %s: %s; unmount /dev/%s",
			d.Address.LUN, recordOf(o).Target, says, d.WWID, err, d.Name)
		return r
	}
	r := op.Unknown(fmt.Sprintf("LUN %d of %s was the disk %s, and is %s by now; the kernel has forgotten the former "+
		"one, and volnode looks again", d.Address.LUN, recordOf(o).Target, d.WWID, says))
	r.Unfinished = true
	return r
}

// inspectDisk tells of the same disk by what the kernel found, and does not touch it.
func inspectDisk(h *hal.Host, o core.Op) core.Result {
	at, _, found, err := where(h, o)
	if err != nil || !found {
		return sees(hal.SCSIDisk{}, false, err)
	}
	return sees(diskAt(h, o, at))
}

func sees(d hal.SCSIDisk, found bool, err error) core.Result {
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !found:
		return core.Result{Outcome: hal.Done}
	}
	return core.Result{Outcome: hal.Done, Fingerprint: is(d)}
}

// removeDisk has the kernel forget the disk, once all is on it.
func removeDisk(h *hal.Host, o core.Op) core.Result {
	at, _, found, err := where(h, o)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if !found {
		return core.Result{Outcome: hal.Done} // a disk goes with its session
	}
	d, found, err := diskAt(h, o, at)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !found:
		return core.Result{Outcome: hal.Done}
	}
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
