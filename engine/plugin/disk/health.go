package disk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// Way is one way to a disk of an array, as its source has found it.
type Way struct {
	At      hal.SCSIAddress
	By      string  // for people: "at the portal 10.0.0.1:3260"
	Trouble Trouble // with what leads to the disk; the zero one is none
}

// Trouble is what is wrong.
type Trouble struct {
	Reason string // in CamelCase, as events have it
	What   string // for people
	Means  string // of a volume that has no other way
}

// Health says whether what containers write to a volume that is up gets to its disk, by the ways to that. It asks the
// kernel alone: nothing is sent to the array.
func Health(h *hal.Host, c hal.Call, name string, ways []Way) (all []hal.HealthEntry, err error) {
	var maps []hal.MultipathMap
	if len(ways) > 1 {
		if maps, err = h.Multipath.Maps(c); err != nil {
			return nil, err
		}
	}
	var lost []string
	for i := range ways {
		is := &ways[i]
		if is.Trouble.Reason == "" {
			if is.Trouble, err = is.disk(h, c, name, maps); err != nil {
				return nil, err
			}
		}
		if is.Trouble.Reason != "" {
			lost = append(lost, is.Trouble.What)
		}
	}
	why := strings.Join(lost, "; ")
	switch {
	case len(lost) == 0:
		return nil, nil
	case len(ways) == 1:
		is := ways[0].Trouble
		return []hal.HealthEntry{{Status: "INACCESSIBLE", Reason: is.Reason, Message: why + "; " + is.Means}}, nil
	case len(lost) < len(ways):
		return []hal.HealthEntry{{Status: "DEGRADED", Reason: "PathLost", Message: fmt.Sprintf(
			"%s has %d of %d paths: %s", name, len(ways)-len(lost), len(ways), why)}}, nil
	}
	return []hal.HealthEntry{{Status: "INACCESSIBLE", Reason: "NoPath", Message: fmt.Sprintf("no path to %s is left: %s; "+
		"what containers write waits or fails; look at the network and the array", name, why)}}, nil
}

// disk says what is wrong with the disk that the kernel has there: it is gone, it does not run, or the map of it does
// not use it.
func (is *Way) disk(h *hal.Host, c hal.Call, name string, maps []hal.MultipathMap) (Trouble, error) {
	disks, err := h.SCSI.Disks(c, is.At.Host)
	if err != nil {
		return Trouble{}, err
	}
	i := slices.IndexFunc(disks, func(d hal.SCSIDisk) bool { return d.Address == is.At })
	switch {
	case i < 0:
		return Trouble{
			"DiskGone", fmt.Sprintf("the kernel has lost its disk (%s %s): somebody has removed it, or the array has", name,
				is.By), "what containers write is lost; delete the pod: the next one finds the disk again",
		}, nil
	case disks[i].State != "running":
		return Trouble{
			"DiskFails", fmt.Sprintf("its disk /dev/%s (%s %s) is %s", disks[i].Name, name, is.By, disks[i].State),
			"what containers write waits or fails; look at the kernel's log and the array",
		}, nil
	case isUnused(disks[i], maps):
		return Trouble{Reason: "PathUnused", What: fmt.Sprintf("multipathd does not use /dev/%s, which is %s", disks[i].Name,
			is.By)}, nil
	}
	return Trouble{}, nil
}

// isUnused: there is a map of the disk, and the path is no active one of it.
func isUnused(d hal.SCSIDisk, maps []hal.MultipathMap) bool {
	i := slices.IndexFunc(maps, func(m hal.MultipathMap) bool { return m.WWID == d.WWID })
	return i >= 0 && !slices.ContainsFunc(maps[i].Paths, func(p hal.MultipathPath) bool {
		return p.Device == d.Device && p.Active
	})
}
