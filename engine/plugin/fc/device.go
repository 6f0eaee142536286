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

// notPresent is the state of a port that the kernel has given up.
const notPresent = "Not Present"

// ways are the ways to a port of a target: each port of the node that sees it is one.
func ways(h *hal.Host, o core.Op, d which) ([]hal.FCRemotePort, error) {
	all, err := h.FC.RemotePorts(op.Call(o))
	return slices.DeleteFunc(all, func(p hal.FCRemotePort) bool {
		return p.Name != d.port || !p.IsTarget || p.State == notPresent
	}), err
}

// findDisk has the kernel find the disk, and looks at it. What the kernel shows of a disk that the array has exchanged
// is of the former one: it forgets that, if nobody uses it, and finds the other.
func findDisk(h *hal.Host, o core.Op) core.Result {
	is := whichHas(o)
	if is.wwid != "" {
		return findNamed(h, o, is)
	}
	all, err := ways(h, o, is)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case len(all) == 0:
		return notSeen(h, o, is)
	case len(all) > 1:
		return multipath(fmt.Sprintf("%d ports of this node see the port %s", len(all), is.port))
	case !all[0].IsUp():
		return op.NotDone(fmt.Sprintf("the port %s does not answer (it is %s); volnode looks again; look at the fabric and "+
			"the array", is.port, all[0].State))
	}
	d, found, err := disk.ScannedAt(h, o, all[0].At(uint64(is.lun)))
	switch {
	case err != nil:
		return op.Failed(err)
	case !found:
		return op.Unknown(fmt.Sprintf("the port %s shows this node no disk with LUN %d, or the kernel has not found it "+
			"yet; volnode looks again; check what the array gives to this node", is.port, is.lun))
	}
	return disk.LookAt(h, o, d, is.people(), func(says string) core.Result {
		return disk.Exchanged(h, o, d, is.people(), says)
	})
}

// notSeen is the end of a setup for a port that no port of the node sees.
func notSeen(h *hal.Host, o core.Op, is which) core.Result {
	own, err := h.FC.Hosts(op.Call(o))
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case len(own) == 0:
		return op.NotDone(fmt.Sprintf("this node has no Fibre Channel port, so nothing sees the port %s; add one, or have "+
			"the pod run on another node", is.port))
	}
	var names []string
	for _, p := range own {
		names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.State))
	}
	return op.NotDone(fmt.Sprintf("no port of this node sees the port %s as a target: it has %s; volnode looks again; "+
		"check targetWWNs, the cables and the zones of the fabric", is.port, strings.Join(names, ", ")))
}

// multipath refuses what has more than one way.
func multipath(why string) core.Result {
	r := op.NotDone(why + ": more than one way to a disk takes multipath, which volnode does not serve; leave it one " +
		"way, by the zones of the fabric or the access list of the array")
	r.Blocked = true
	return r
}

// findNamed looks at the disk of a WWID, if the kernel has it. It is scanned for nowhere, so the kernel is not made to
// forget what the array has exchanged.
func findNamed(h *hal.Host, o core.Op, is which) core.Result {
	all, err := h.SCSI.Named(op.Call(o), is.wwid)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case len(all) == 0:
		return op.NotDone(fmt.Sprintf("the kernel has no disk %s; volnode scans for none that only a WWID names, and looks "+
			"again; have the array give it to this node, and scan for it (scsi_host/hostN/scan), or name targetWWNs and a lun",
			is.wwid))
	case len(all) > 1:
		return multipath(fmt.Sprintf("the kernel has the disk %s at %s and at %s", is.wwid, all[0].Address, all[1].Address))
	}
	d := all[0]
	return disk.LookAt(h, o, d, is.people(), func(says string) core.Result {
		r := op.NotDone(fmt.Sprintf("/dev/%s is the disk %s by now, and the kernel takes it for %s; volnode does not use "+
			"it; have the kernel forget it (device/delete), and scan for it again", d.Name, says, is.wwid))
		r.Blocked = true
		return r
	})
}

// have are the disks that the kernel has where the rung's disk may be.
func have(h *hal.Host, o core.Op) ([]hal.SCSIDisk, error) {
	is := whichHas(o)
	if is.wwid != "" {
		return h.SCSI.Named(op.Call(o), is.wwid)
	}
	ports, err := ways(h, o, is)
	if err != nil {
		return nil, err
	}
	var all []hal.SCSIDisk
	for _, p := range ports {
		d, found, err := disk.At(h, o, p.At(uint64(is.lun)))
		switch {
		case err != nil:
			return nil, err
		case found:
			all = append(all, d)
		}
	}
	return all, nil
}

// find is the disk that was set up, else one that may be: the first.
func find(h *hal.Host, o core.Op) (d hal.SCSIDisk, found bool, err error) {
	all, err := have(h, o)
	if i := slices.IndexFunc(all, func(d hal.SCSIDisk) bool { return disk.Print(d) == o.Fingerprint }); i >= 0 {
		return all[i], true, err
	}
	if len(all) == 0 {
		return d, false, err
	}
	return all[0], true, err
}

// inspectDisk tells of the same disk by what the kernel found, and does not touch it.
func inspectDisk(h *hal.Host, o core.Op) core.Result { return disk.Sees(find(h, o)) }

// removeDisk has the kernel forget the disk that the volume has had, once all is on it: a scan finds it again. One that
// is known by its WWID alone stays, as nobody could scan for it; so does each other one, as the kernel finds disks
// unasked.
func removeDisk(h *hal.Host, o core.Op) core.Result {
	if whichHas(o).wwid != "" {
		return core.Result{Outcome: hal.Done}
	}
	d, found, err := find(h, o)
	had := core.FactOf(o.Facts, disk.FactDisk)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !found || d.WWID != had:
		return core.Result{Outcome: hal.Done}
	}
	return disk.Remove(h, o, d)
}
