package iscsi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

// isMany: the disk has several paths.
func isMany(o core.Op) bool { return core.Value(o.Params, paramMany) == plugin.Yes }

// findPaths has the kernel find the disk by each session that is up, and multipathd make one device of what it finds. A
// session that is to be up, and that somebody has ended, is made again.
func findPaths(h *hal.Host, o core.Op) core.Result {
	p, ended, err := paths(h, o, true)
	if err != nil {
		return op.NotDone(err.Error())
	}
	r := p.SetUp(h, o)
	r.BelowUnknown = r.BelowUnknown || ended
	return r
}

// onPaths does something with what the kernel has of the paths.
func onPaths(h *hal.Host, o core.Op, do func(disk.Paths, *hal.Host, core.Op) core.Result) core.Result {
	p, _, err := paths(h, o, false)
	if err != nil {
		return op.NotDone(err.Error())
	}
	return do(p, h, o)
}

// paths are those that the kernel has; with isToScan, it is asked to look for the others. ended: a session is gone that
// core takes for up.
func paths(h *hal.Host, o core.Op, isToScan bool) (p disk.Paths, ended bool, err error) {
	sessions, err := h.ISCSI.Sessions(op.Call(o))
	if err != nil {
		return p, false, err
	}
	r := recordOf(o)
	lun, _ := strconv.ParseUint(core.Value(o.Params, paramLUN), 10, 64)
	p.Name, p.WWID = fmt.Sprintf("LUN %d of %s", lun, r.Target), core.FactOf(o.Facts, disk.FactDisk)
	for _, portal := range strings.Split(core.Value(o.Params, paramPortals), ",") {
		r.Portal = portal
		s, is := hal.SessionOf(sessions, r)
		at := hal.SCSIAddress{Host: s.Host, LUN: lun}
		switch {
		case !is:
			ended = ended || isBelow(o, sessionKey(r))
			p.Lost = append(p.Lost, "there is no session at the portal "+portal)
			continue
		case !s.IsUp() && isToScan:
			p.Lost = append(p.Lost, fmt.Sprintf("the portal %s does not answer (session %d is %s)", portal, s.ID, s.State))
			continue
		}
		find := disk.At
		if isToScan {
			find = disk.ScannedAt
		}
		d, is, err := find(h, o, at)
		switch {
		case err != nil && !isToScan:
			return p, false, err
		case err != nil:
			p.Lost = append(p.Lost, "the portal "+portal+": "+err.Error())
		case is:
			p.Disks = append(p.Disks, d)
		case isToScan:
			p.Lost = append(p.Lost, "the portal "+portal+" shows this node no such disk, or the kernel has not found it yet")
		}
	}
	return p, ended, nil
}

// isBelow: the rung is up, and the operation stands on it.
func isBelow(o core.Op, key hal.Key) bool {
	for _, f := range o.Below {
		if f.Key == key {
			return true
		}
	}
	return false
}
