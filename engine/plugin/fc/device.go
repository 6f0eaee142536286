package fc

import (
	"fmt"
	"slices"
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

// findDisk has the kernel find the disk, and looks at it.
func findDisk(h *hal.Host, o core.Op) core.Result {
	p, err := paths(h, o, true)
	if err != nil {
		return op.NotDone(err.Error())
	}
	return p.SetUp(h, o)
}

// inspectDisk tells of the same disk by what the kernel found, and does not touch it.
func inspectDisk(h *hal.Host, o core.Op) core.Result {
	p, err := paths(h, o, false)
	if err != nil {
		return op.NotDone(err.Error())
	}
	return p.Inspect(h, o)
}

// removeDisk has the kernel forget the disk that the volume has had, once all is on it: a scan finds it again. Each
// other one stays, as the kernel finds disks unasked.
func removeDisk(h *hal.Host, o core.Op) core.Result {
	p, err := paths(h, o, false)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if p.WWID == "" && !p.Stays {
		return p.Unmap(h, o)
	}
	p.Disks = slices.DeleteFunc(p.Disks, func(d hal.SCSIDisk) bool { return d.WWID != p.WWID })
	return p.TearDown(h, o)
}

// paths are those that the kernel has; with isToScan, it is asked to look for the others.
func paths(h *hal.Host, o core.Op, isToScan bool) (p disk.Paths, err error) {
	is := whichHas(o.Params)
	p.Name, p.WWID = is.people(), core.FactOf(o.Facts, disk.FactDisk)
	if is.wwid != "" {
		return p, addNamed(h, o, is.wwid, &p)
	}
	all, err := h.FC.RemotePorts(op.Call(o))
	if err != nil {
		return p, err
	}
	known := 0
	for _, name := range is.ports {
		ways := waysTo(all, name)
		known += len(ways)
		if isToScan && len(ways) == 0 {
			p.Lost = append(p.Lost, notSeen(h, o, name))
		}
		for _, way := range ways {
			if err = look(h, o, way, isToScan, &p); err != nil {
				return p, err
			}
		}
	}
	p.IsMany = known > 1 || len(is.ports) > 1
	return p, nil
}

// waysTo are the ways to a port of a target: each port of the node for which the kernel has not given it up is one.
func waysTo(all []hal.FCRemotePort, name hal.WWPN) (ways []hal.FCRemotePort) {
	for _, port := range all {
		if port.Name == name && port.IsTarget && port.State != "Not Present" {
			ways = append(ways, port)
		}
	}
	return ways
}

// look adds the path that there is by one way, or why there is none. It fails if what the kernel has can't be read.
func look(h *hal.Host, o core.Op, way hal.FCRemotePort, isToScan bool, p *disk.Paths) error {
	at := way.At(uint64(whichHas(o.Params).lun))
	switch {
	case !isToScan:
		d, found, err := disk.At(h, o, at)
		if found {
			p.Disks = append(p.Disks, d)
		}
		return err
	case !way.IsUp():
		p.Lost = append(p.Lost, fmt.Sprintf("the port %s does not answer (it is %s); look at the fabric and the array",
			way.Name, way.State))
		return nil
	}
	d, found, err := disk.ScannedAt(h, o, at)
	switch {
	case err != nil:
		p.Lost, p.MayCome = append(p.Lost, fmt.Sprintf("the port %s: %s", way.Name, err)), true
	case found:
		p.Disks = append(p.Disks, d)
	default:
		p.Lost, p.MayCome = append(p.Lost, fmt.Sprintf("the port %s shows this node no such disk, or the kernel has not "+
			"found it yet; check what the array gives to this node", way.Name)), true
	}
	return nil
}

// notSeen says why there is no way to a port.
func notSeen(h *hal.Host, o core.Op, name hal.WWPN) string {
	own, err := h.FC.Hosts(op.Call(o))
	switch {
	case err != nil:
		return err.Error()
	case len(own) == 0:
		return fmt.Sprintf("this node has no Fibre Channel port, so nothing sees the port %s; add one, or have the pod run "+
			"on another node", name)
	}
	var names []string
	for _, p := range own {
		names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.State))
	}
	return fmt.Sprintf("no port of this node sees the port %s as a target: it has %s; check targetWWNs, the cables and "+
		"the zones of the fabric", name, strings.Join(names, ", "))
}

// addNamed adds the paths that the kernel has to the disk of a WWID. It is scanned for nowhere, so the kernel is not
// made to forget any.
func addNamed(h *hal.Host, o core.Op, wwid string, p *disk.Paths) (err error) {
	p.Disks, err = h.SCSI.Named(op.Call(o), wwid)
	p.IsMany, p.Stays = len(p.Disks) > 1, true
	if len(p.Disks) == 0 {
		p.Lost = append(p.Lost, "the kernel has no disk "+wwid+"; volnode scans for none that only a WWID names; "+
			"have the array give it to this node, and scan for it (scsi_host/hostN/scan), or name targetWWNs and a lun")
	}
	return err
}
