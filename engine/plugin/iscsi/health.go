package iscsi

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// healthOf are the parameters of a pod's volume that say of which disk, and of which session, it is.
func healthOf(r hal.ISCSIRecord, lun int32) []core.Param {
	all := slices.Clone(sameOf(r, lun))
	for i := range all {
		all[i].OnChange = core.OnChangeKeep // the mount below is made again
	}
	return all
}

// health says whether what containers write to a volume that is up gets to its disk. It asks the kernel alone: nothing
// is sent to the target.
func health(h *hal.Host, c hal.Call, made []core.Param) ([]hal.HealthEntry, error) {
	r := hal.ISCSIRecord{
		Target: core.Value(made, paramTarget), Portal: core.Value(made, paramPortal),
		Interface: core.Value(made, paramInterface),
	}
	number := core.Value(made, paramLUN)
	if number == "" {
		return nil, nil // a start has found it, and nobody has asked for it yet
	}
	lun, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return nil, err
	}
	sessions, err := h.ISCSI.Sessions(c)
	if err != nil {
		return nil, err
	}
	s, is := hal.SessionOf(sessions, r)
	switch {
	case !is:
		return wrong("SessionGone", "its session with %s at %s has ended; what containers write is lost; delete the pod: "+
			"the next one gets a new session", r.Target, r.Portal), nil
	case !s.IsUp():
		return wrong("PortalSilent", "the portal %s does not answer (session %d is %s), and iscsid goes on trying; what "+
			"containers write waits for it, and fails after the replacement time-out of iscsid.conf; look at the network "+
			"and the target", s.Portal, s.ID, s.State), nil
	}
	disks, err := h.SCSI.Disks(c, s.Host)
	if err != nil {
		return nil, err
	}
	at := hal.SCSIAddress{Host: s.Host, LUN: lun}
	i := slices.IndexFunc(disks, func(d hal.SCSIDisk) bool { return d.Address == at })
	switch {
	case i < 0:
		return wrong("DiskGone", "the kernel has lost its disk (LUN %d of %s): somebody has removed it, or the target has; "+
			"what containers write is lost; delete the pod: the next one finds the disk again", lun, r.Target), nil
	case disks[i].State != "running":
		return wrong("DiskFails", "its disk /dev/%s (LUN %d of %s) is %s; what containers write waits or fails; look at the "+
			"kernel's log and the target", disks[i].Name, lun, r.Target, disks[i].State), nil
	}
	return nil, nil
}

func wrong(reason, format string, args ...any) []hal.HealthEntry {
	return []hal.HealthEntry{{Status: "INACCESSIBLE", Reason: reason, Message: fmt.Sprintf(format, args...)}}
}
