package iscsi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/disk"
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

// health says whether what containers write to a volume that is up gets to its disk.
func health(h *hal.Host, c hal.Call, made []core.Param) ([]hal.HealthEntry, error) {
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
	r := hal.ISCSIRecord{Target: core.Value(made, paramTarget), Interface: core.Value(made, paramInterface)}
	var ways []disk.Way
	for _, r.Portal = range strings.Split(core.Value(made, paramPortals), ",") {
		s, is := hal.SessionOf(sessions, r)
		ways = append(ways, disk.Way{
			At: hal.SCSIAddress{Host: s.Host, LUN: lun}, By: "at the portal " + r.Portal, Trouble: session(r, s, is),
		})
	}
	return disk.Health(h, c, fmt.Sprintf("LUN %d of %s", lun, r.Target), ways)
}

// session says what is wrong with that at one portal.
func session(r hal.ISCSIRecord, s hal.ISCSISession, is bool) disk.Trouble {
	switch {
	case !is:
		return disk.Trouble{
			Reason: "SessionGone",
			What:   fmt.Sprintf("there is no session with %s at the portal %s any more", r.Target, r.Portal),
			Means:  "what containers write is lost; delete the pod: the next one gets a new session",
		}
	case !s.IsUp():
		return disk.Trouble{
			Reason: "PortalSilent", What: fmt.Sprintf("the portal %s does not answer (session %d is %s), and iscsid goes on "+
				"trying", s.Portal, s.ID, s.State),
			Means: "what containers write waits for it, and fails after the replacement time-out of iscsid.conf; look at the " +
				"network and the target",
		}
	}
	return disk.Trouble{}
}
