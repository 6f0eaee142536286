package iscsi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// healthOf are the parameters of a pod's volume that say of which disk, and of which sessions, it is.
func (is *volume) healthOf() []core.Param {
	all := append(sameOf(is.record(is.portal), is.lun), pathsOf(len(is.portals) > 1, is.portals)...)
	for i := range all {
		if all[i].Name != paramPortals {
			all[i].OnChange = core.OnChangeKeep // the mount below is made again
		}
	}
	return all
}

// look is one look at what a volume that is up is on. It asks the kernel alone: nothing is sent to the target.
type look struct {
	h        *hal.Host
	c        hal.Call
	record   hal.ISCSIRecord // at one portal
	lun      uint64
	sessions []hal.ISCSISession
	maps     []hal.MultipathMap // of a disk with several paths
	isMany   bool
}

// trouble is what is wrong at one portal: what, and, of a volume that has no other one, what that means.
type trouble struct{ reason, what, means string }

// health says whether what containers write to a volume that is up gets to its disk.
func health(h *hal.Host, c hal.Call, made []core.Param) ([]hal.HealthEntry, error) {
	l := look{h: h, c: c, isMany: core.Value(made, paramMany) == plugin.Yes, record: hal.ISCSIRecord{
		Target: core.Value(made, paramTarget), Portal: core.Value(made, paramPortal),
		Interface: core.Value(made, paramInterface),
	}}
	number := core.Value(made, paramLUN)
	if number == "" {
		return nil, nil // a start has found it, and nobody has asked for it yet
	}
	var err error
	if l.lun, err = strconv.ParseUint(number, 10, 64); err != nil {
		return nil, err
	}
	if l.sessions, err = h.ISCSI.Sessions(c); err != nil {
		return nil, err
	}
	if l.isMany {
		return l.paths(strings.Split(core.Value(made, paramPortals), ","))
	}
	is, err := l.portal()
	if err != nil || is.reason == "" {
		return nil, err
	}
	return []hal.HealthEntry{{Status: "INACCESSIBLE", Reason: is.reason, Message: is.what + "; " + is.means}}, nil
}

// paths looks at each of several paths.
func (l look) paths(portals []string) (all []hal.HealthEntry, err error) {
	if l.maps, err = l.h.Multipath.Maps(l.c); err != nil {
		return nil, err
	}
	var lost []string
	for _, l.record.Portal = range portals {
		is, err := l.portal()
		if err != nil {
			return nil, err
		}
		if is.reason != "" {
			lost = append(lost, is.what)
		}
	}
	disk, why := fmt.Sprintf("LUN %d of %s", l.lun, l.record.Target), strings.Join(lost, "; ")
	switch {
	case len(lost) == 0:
		return nil, nil
	case len(lost) < len(portals):
		return []hal.HealthEntry{{Status: "DEGRADED", Reason: "PathLost", Message: fmt.Sprintf(
			"%s has %d of %d paths: %s", disk, len(portals)-len(lost), len(portals), why)}}, nil
	}
	return []hal.HealthEntry{{Status: "INACCESSIBLE", Reason: "NoPath", Message: fmt.Sprintf("no path to %s is left: %s; "+
		"what containers write waits or fails; look at the network and the target", disk, why)}}, nil
}

// portal looks at one: no reason if the disk can be used by it.
func (l look) portal() (is trouble, err error) {
	r := l.record
	s, isThere := hal.SessionOf(l.sessions, r)
	switch {
	case !isThere && l.isMany:
		return trouble{reason: "SessionGone", what: "there is no session at the portal " + r.Portal}, nil
	case !isThere:
		return trouble{
			"SessionGone", fmt.Sprintf("its session with %s at %s has ended", r.Target, r.Portal),
			"what containers write is lost; delete the pod: the next one gets a new session",
		}, nil
	case !s.IsUp():
		return trouble{
			"PortalSilent", fmt.Sprintf("the portal %s does not answer (session %d is %s), and iscsid goes on trying", s.Portal,
				s.ID, s.State),
			"what containers write waits for it, and fails after the replacement time-out of iscsid.conf; look at the network " +
				"and the target",
		}, nil
	}
	disks, err := l.h.SCSI.Disks(l.c, s.Host)
	if err != nil {
		return is, err
	}
	at := hal.SCSIAddress{Host: s.Host, LUN: l.lun}
	i := slices.IndexFunc(disks, func(d hal.SCSIDisk) bool { return d.Address == at })
	switch {
	case i < 0 && l.isMany:
		return trouble{reason: "DiskGone", what: "the kernel has lost its disk at the portal " + r.Portal}, nil
	case i < 0:
		return trouble{
			"DiskGone", fmt.Sprintf("the kernel has lost its disk (LUN %d of %s): somebody has removed it, or the target has",
				l.lun, r.Target),
			"what containers write is lost; delete the pod: the next one finds the disk again",
		}, nil
	case disks[i].State != "running":
		return trouble{
			"DiskFails", fmt.Sprintf("its disk /dev/%s (LUN %d of %s at %s) is %s", disks[i].Name, l.lun, r.Target, r.Portal,
				disks[i].State),
			"what containers write waits or fails; look at the kernel's log and the target",
		}, nil
	case l.isMany && !l.isUsed(disks[i]):
		return trouble{reason: "PathUnused", what: fmt.Sprintf("multipathd does not use /dev/%s, which is at the portal %s",
			disks[i].Name, r.Portal)}, nil
	}
	return is, nil
}

// isUsed: a map has the disk as a path, which is active.
func (l look) isUsed(d hal.SCSIDisk) bool {
	return slices.ContainsFunc(l.maps, func(m hal.MultipathMap) bool {
		return slices.ContainsFunc(m.Paths, func(p hal.MultipathPath) bool { return p.Device == d.Device && p.Active })
	})
}
