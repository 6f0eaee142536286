package iscsi

import (
	"fmt"
	"strconv"

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

// findDisk has the kernel find the disk, and looks at it. What the kernel shows of a disk that the array has exchanged
// is of the former one: it forgets that, if nobody uses it, and finds the other.
func findDisk(h *hal.Host, o core.Op) core.Result {
	if isMany(o) {
		return findPaths(h, o)
	}
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
	d, is, err := disk.ScannedAt(h, o, at)
	switch {
	case err != nil:
		return op.Failed(err)
	case !is:
		return op.Unknown(fmt.Sprintf("the target %s shows this node no disk with LUN %d, or the kernel has not found it "+
			"yet; volnode looks again; check what the target gives to this initiator", s.Target, at.LUN))
	}
	name := fmt.Sprintf("LUN %d of %s", d.Address.LUN, recordOf(o).Target)
	return disk.LookAt(h, o, d, name, func(says string) core.Result { return disk.Exchanged(h, o, d, name, says) })
}

// inspectDisk tells of the same disk by what the kernel found, and does not touch it.
func inspectDisk(h *hal.Host, o core.Op) core.Result {
	if isMany(o) {
		return onPaths(h, o, disk.Paths.Inspect)
	}
	at, _, found, err := where(h, o)
	if err != nil || !found {
		return disk.Sees(hal.SCSIDisk{}, false, err)
	}
	return disk.Sees(disk.At(h, o, at))
}

// removeDisk has the kernel forget the disk, once all is on it.
func removeDisk(h *hal.Host, o core.Op) core.Result {
	if isMany(o) {
		return onPaths(h, o, disk.Paths.TearDown)
	}
	at, _, found, err := where(h, o)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if !found {
		return core.Result{Outcome: hal.Done} // a disk goes with its session
	}
	d, found, err := disk.At(h, o, at)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !found:
		return core.Result{Outcome: hal.Done}
	}
	return disk.Remove(h, o, d)
}
