package fc

import (
	"fmt"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

// healthOf are the parameters of a pod's volume that say of which disk it is.
func (is *volume) healthOf() []core.Param {
	all := is.params()
	for i := range all {
		all[i].OnChange = core.OnChangeKeep // the mount below is made again
	}
	if len(is.ports) > 0 {
		all = append(all, is.waysParam())
	}
	return all
}

// health says whether what containers write to a volume that is up gets to its disk. Of a disk that only a WWID names
// nobody knows how many ways it has.
func health(h *hal.Host, c hal.Call, made []core.Param) ([]hal.HealthEntry, error) {
	is := whichHas(made)
	switch {
	case is.wwid != "":
		return ofNamed(h, c, is)
	case is.ports[0] == 0:
		return nil, nil // a start has found it, and nobody has asked for it yet
	}
	all, err := h.FC.RemotePorts(c)
	if err != nil {
		return nil, err
	}
	var ways []disk.Way
	for _, name := range is.ports {
		to := waysTo(all, name)
		if len(to) == 0 {
			to = []hal.FCRemotePort{{Name: name}}
		}
		for _, way := range to {
			ways = append(ways, disk.Way{
				At: way.At(uint64(is.lun)), By: "at the port " + name.String(), Trouble: troubleOf(way),
			})
		}
	}
	return disk.Health(h, c, is.people(), ways)
}

// troubleOf says what is wrong with one way to a port.
func troubleOf(way hal.FCRemotePort) disk.Trouble {
	switch {
	case way.State == "":
		return disk.Trouble{
			Reason: "PortGone", What: fmt.Sprintf("no port of this node sees the port %s any more", way.Name),
			Means: "what containers write is lost; look at the cables and the zones of the fabric, and delete the pod: the " +
				"next one finds the disk again",
		}
	case !way.IsUp():
		return disk.Trouble{
			Reason: "PortSilent", What: fmt.Sprintf("the port %s does not answer (it is %s)", way.Name, way.State),
			Means: "what containers write waits or fails; look at the fabric and the array",
		}
	}
	return disk.Trouble{}
}

// ofNamed is the health of a disk that only a WWID names.
func ofNamed(h *hal.Host, c hal.Call, is which) ([]hal.HealthEntry, error) {
	paths, err := h.SCSI.Named(c, is.wwid)
	if err != nil {
		return nil, err
	}
	var ways []disk.Way
	for _, d := range paths {
		ways = append(ways, disk.Way{At: d.Address, By: "at " + d.Address.String()})
	}
	if len(ways) == 0 {
		ways = append(ways, disk.Way{Trouble: disk.Trouble{
			Reason: "DiskGone", What: "the kernel has lost " + is.people() + ": somebody has removed it, or the array has",
			Means: "what containers write is lost; scan for it, and delete the pod: the next one finds the disk again",
		}})
	}
	return disk.Health(h, c, is.people(), ways)
}
