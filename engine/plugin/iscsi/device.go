package iscsi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

func deviceVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: findDisk, TearDown: removeDisk, Inspect: inspectDisk}
}

// findDisk has the kernel find the disk by each session that is up, and looks at it. A session that is to be up, and
// that somebody has ended, is made again.
func findDisk(h *hal.Host, o core.Op) core.Result {
	p, ended, err := paths(h, o, true)
	if err != nil {
		return op.NotDone(err.Error())
	}
	r := p.SetUp(h, o)
	r.BelowUnknown = r.BelowUnknown || ended
	return r
}

// inspectDisk tells of the same disk by what the kernel found, and does not touch it.
func inspectDisk(h *hal.Host, o core.Op) core.Result {
	p, _, err := paths(h, o, false)
	if err != nil {
		return op.NotDone(err.Error())
	}
	return p.Inspect(h, o)
}

// removeDisk has the kernel forget the disk, once all is on it. It goes with its sessions, too.
func removeDisk(h *hal.Host, o core.Op) core.Result {
	p, _, err := paths(h, o, false)
	if err != nil {
		return op.NotDone(err.Error())
	}
	return p.TearDown(h, o)
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
	p.IsMany = core.Value(o.Params, paramMany) == plugin.Yes
	for _, portal := range strings.Split(cmp.Or(core.Value(o.Params, paramPortals), r.Portal), ",") {
		r.Portal = portal
		s, is := hal.SessionOf(sessions, r)
		at := hal.SCSIAddress{Host: s.Host, LUN: lun}
		switch {
		case !is:
			ended = ended || slices.ContainsFunc(o.Below, func(f core.Foundation) bool { return f.Key == sessionKey(r) })
			p.Lost = append(p.Lost, "there is no session at the portal "+portal+" any more; volnode logs in again")
			continue
		case !s.IsUp():
			p.Lost = append(p.Lost, fmt.Sprintf("the portal %s does not answer (session %d is %s), and iscsid goes on trying",
				portal, s.ID, s.State))
			if isToScan {
				continue
			}
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
			p.Lost, p.MayCome = append(p.Lost, "the portal "+portal+": "+err.Error()), true
		case is:
			p.Disks = append(p.Disks, d)
		case s.IsUp():
			p.Lost = append(p.Lost, "the portal "+portal+" shows this node no such disk, or the kernel has not found it yet; "+
				"check what the target gives to this initiator")
			p.MayCome = isToScan
		}
	}
	return p, ended, nil
}
