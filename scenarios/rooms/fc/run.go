package fc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/fc"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what arrays, fabrics and people do to Fibre Channel volumes, and what must be true of them: S2, S21, S28
// and L12 as package iscsi has them.
//
// S1: the agent takes away no disk that its volumes have not had.

// run is what a run notes of Fibre Channel volumes.
type run struct {
	world.PlainRun
	isHunted bool
	has      map[string]string // the disk that a volume has, by its name
	found    map[string]string // the one that the agent has found for it first, though it may never have used it
	isNamed  map[string]bool   // disks of volumes that name a WWID
	ports    map[string][]string
	isLost   bool // a journal was lost, which alone says which disks are volnode's
}

// begin makes the array, and draws what becomes of it. The kernel meets its ports once they have disks.
func begin(g world.Planner) {
	w := g.Run().W
	w.AddSANDisk(blankDisk, "", "")
	w.AddSANDisk(usedDisk, "ext4", usedUUID)
	odd := []string{sim.Unrecognized, "LVM2_member", "xfs", sim.HeldByDevice}
	w.AddSANDisk(oddDisk, odd[g.Pick("workload.fc-odd", oddDisk, 0, 1, 1, 1, 1)], "")
	w.AddSANDisk(ownDisk, "", "")
	w.AddSANDisk(namedDisk, "", "")
	w.AddSANDisk(pathsDisk, []string{"", "ext4"}[g.Pick("workload.fc-paths", pathsDisk, 0, 1, 1)], "")
	w.AddSANDisk(rawDisk, []string{"", "xfs", sim.Unrecognized}[g.Pick("workload.fc-raw", rawDisk, 0, 1, 1, 1)], "")
	w.AddSANDisk(rawPaths, "", "")
	w.AddSANDisk(farDisk, "ext4", farUUID)
	w.AddSANDisk(spareDisk, []string{"", "ext4"}[g.Pick("workload.fc-spare", spareDisk, 0, 1, 1)], spareUUID)
	for _, m := range g.Run().Rooms {
		if h, is := m.(*run); is {
			h.isHunted = true
		}
	}
	if g.Pick("workload.fc-multipathd", "", 0, 3, 1) == 1 {
		w.SetMultipathd("greedy")
	}
	w.AddFCTarget(near)
	w.AddFCTarget(far)
	if g.Pick("workload.fc-early", "", 0, 1, 1) == 0 { // else each is found by a scan, or after a boot
		restores(w, nil)
	}
	w.AddFCHost(nodePort)
	if g.Pick("workload.fc-second", "", 0, 4, 1) == 1 { // each port of an array is seen twice
		w.AddFCHost(nodePort + 1)
	}
	restores(w, nil)
	if len(w.DisksNamed(namedDisk)) == 0 {
		w.ScanByHand(near, 4) // nobody else scans for it
	}
	for n := range 2 {
		for _, port := range []hal.WWPN{near, far} {
			if g.Pick("workload.fc-port", port.String(), n, 3, 1) == 1 {
				g.At(g.Time("workload.fc-port-time", port.String(), n, cases.Chaos), port.String(), func() {
					w.LoseFCTarget(port,
						time.Second+g.Time("workload.fc-port-away", port.String(), n, cases.Chaos/cases.Slots))
				})
			}
		}
	}
	at := g.Time("workload.fc-time", near.String(), 0, cases.Chaos)
	lun := []uint64{0, 1, 5, 6, 7}[g.Pick("workload.fc-lun", near.String(), 0, 2, 2, 1, 1, 1)]
	switch g.Pick("workload.fc-array", near.String(), 0, 6, 2, 1) {
	case 1: // the array gives the number to another disk
		g.At(at, near.String(), func() { w.MapLUN(near.String(), lun, spareDisk) })
	case 2: // or takes it away
		g.At(at, near.String(), func() { w.MapLUN(near.String(), lun, "") })
	}
}

// nodePort is the port of the node.
const nodePort hal.WWPN = 0x2100002400000001

func portName(port hal.WWPN, lun int32) string {
	return prefix + port.String() + " lun " + strconv.Itoa(int(lun))
}

// restores gives each number to the disk that its volume has, or is to have.
func restores(w *sim.World, found map[string]string) {
	for _, is := range disks {
		wwid := cmp.Or(found[portName(is.named, is.lun)], is.wwid)
		if w.LUNOf(is.port.String(), uint64(is.lun)) != wwid {
			w.MapLUN(is.port.String(), uint64(is.lun), wwid)
		}
	}
}

// Mends is people who repair the array and the fabric.
func (h *run) Mends(r *world.Run) {
	if !h.isHunted {
		return
	}
	restores(r.W, h.found)
	r.W.RestoreFCTargets()
	r.W.ReleaseSANDisk(oddDisk)
	r.W.MendSANDisk(spareDisk)
	for _, is := range disks {
		r.W.MendSANDisk(is.wwid)
	}
	if !r.W.IsFCAway(near) && len(r.W.DisksNamed(namedDisk)) == 0 {
		r.W.ScanByHand(near, 4)
	}
}

// Waits: who asks a port that does not answer waits for it.
func (*run) Waits(r *world.Run, b *core.Belief) bool {
	return (b.Kind == fc.Kind || b.Kind == fc.KindMount || b.Kind == fc.KindDevice) && b.InFlight && r.W.IsFabricAway()
}

// isOurs reports whether a use is one of this room.
func isOurs(u world.Use) bool { return u.Room != nil && u.Room.Source.Name == "fc" }

// shown are the disks that the ports of a volume have by now, each once.
func (h *run) shown(r *world.Run, volume string) (all []string) {
	name, number, isLUN := strings.Cut(strings.TrimPrefix(volume, prefix), " lun ")
	if !isLUN {
		return []string{name} // a WWID
	}
	lun, _ := strconv.ParseUint(number, 10, 64)
	for _, port := range h.ports[volume] {
		if is := r.W.LUNOf(port, lun); is != "" && !slices.Contains(all, is) {
			all = append(all, is)
		}
	}
	return all
}

// diskOf is the disk that a volume names by now, "" if the node is shown none.
func (h *run) diskOf(r *world.Run, volume string) string {
	switch all := h.shown(r, volume); len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return twoDisks
}

const twoDisks = "two disks"

// Stepped forgets the disk of a volume of pods alone that none has any more, and notes which disk a volume has found.
func (h *run) Stepped(r *world.Run) {
	r.JudgesRaw("fc")
	h.isLost = h.isLost || r.Root.Forgotten
	own := portName(near, 3)
	// Without a journal a start finds the mount, and no device.
	_, isMounted := r.Core.Belief(hal.Key(string(fc.KindMount) + "/" + near.String() + "-lun-3"))
	if _, known := r.Core.Belief(fc.DeviceKey(near, 3)); !known && !isMounted && r.Synced {
		delete(h.has, own)
		delete(h.found, own)
	}
	for _, d := range disks {
		name := portName(d.named, d.lun)
		if v, known := r.Core.Rung(fc.DeviceKey(d.named, d.lun)); known && h.found[name] == "" {
			h.found[name] = core.FactOf(v.Facts, disk.FactDisk)
		}
	}
}

// Told notes which ports a volume names, and which disks are known by their WWID.
func (h *run) Told(_ *world.Run, p *world.Pod, _ *corev1.Pod) {
	for _, u := range p.Uses {
		if !isOurs(u) {
			continue
		}
		h.ports[u.Disk] = u.Portals
		if name := strings.TrimPrefix(u.Disk, prefix); !strings.Contains(name, " lun ") {
			h.isNamed[name] = true
		}
	}
}

// isMount reports whether a call was for the mount of a disk.
func isMount(key hal.Key) bool { return strings.HasPrefix(string(key), string(fc.KindMount)+"/") }

// Sees is S2 and S1 of what the agent does.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	r.SeesRaw("fc", e)
	if e.Actor != "agent" {
		return
	}
	switch e.Kind {
	case sim.EffectFormatted:
		if e.Volume != "" && isMount(e.Key) {
			r.Judges("S2")
			h.takes(r, "format", volumeOf(e.Key), e.Volume)
			if e.Text != "" {
				r.Fail("S2", "format", e.Volume, "the agent makes a filesystem on the disk "+e.Volume+", which held "+e.Text)
			}
		}
	case sim.EffectMount:
		if disk := r.W.SANDiskAt(e.Path); disk != "" && isMount(e.Key) {
			r.Judges("S2")
			h.takes(r, "mount", volumeOf(e.Key), disk)
		}
	case sim.EffectHeld:
		if volume := rawVolume(r, e.Text); volume != "" {
			r.Judges("S28")
			h.takes(r, "hold", volume, e.Volume)
		}
	case sim.EffectDiskRemoved:
		if strings.HasPrefix(string(e.Key), string(fc.KindDevice)+"/") && e.Volume == namedDisk {
			r.Fail("S1", "disk", e.Volume, "the agent takes away the disk "+e.Volume+", for which nobody scans")
		}
	default:
	}
}

// volumeOf is the volume of the rung of a mount.
func volumeOf(key hal.Key) string {
	entry := strings.TrimPrefix(string(key), string(fc.KindMount)+"/")
	port, lun, isLUN := strings.Cut(entry, "-lun-")
	if !isLUN {
		return prefix + "naa." + entry[1:]
	}
	return prefix + port + " lun " + lun
}

// rawVolume is the volume whose disk a hold keeps, "" if no pod has it.
func rawVolume(r *world.Run, hold string) string {
	for _, p := range r.Pods {
		for _, u := range p.Uses {
			if isOurs(u) && u.Raw && string(disk.HoldKey(fc.KindHold, deviceKey(u.Disk))) == hold {
				return u.Disk
			}
		}
	}
	return ""
}

// deviceKey is that of a volume.
func deviceKey(volume string) string {
	is := strings.TrimPrefix(volume, prefix)
	if wwid, isNamed := strings.CutPrefix(is, "naa."); isNamed {
		is = "3" + wwid
	}
	return string(fc.KindDevice) + "/" + strings.Replace(is, " lun ", "-lun-", 1)
}

// takes notes that the agent takes a disk for that of a volume, and judges it: it is the one that the volume has had,
// or, of a volume that had none, the one that the array has under its number.
func (h *run) takes(r *world.Run, what, volume, disk string) {
	had, known := h.has[volume]
	switch {
	case r.Root.Forgotten:
	case known && had != disk:
		r.Fail("S2", what, disk, "the agent takes the disk "+disk+" for the volume "+volume+", which has the disk "+had)
	case !known && !slices.Contains(h.shown(r, volume), disk):
		r.Fail("S2", what, disk, "the agent takes the disk "+disk+" for the volume "+volume+", whose array has "+
			h.diskOf(r, volume)+" there")
	}
	h.has[volume] = disk
}

// LetsIn is S21 and S28 of a pod that is reported ready.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		stack := r.W.MountsAt(u.Path)
		if !isOurs(u) || len(stack) == 0 {
			continue // S21 says so
		}
		if u.Raw {
			if !r.LetsInRaw(p, u, h.has[u.Disk]) {
				return false
			}
			continue
		}
		r.Judges("S21")
		r.Judges("S28")
		if top := stack[len(stack)-1]; top.ReadOnly != u.ReadOnly {
			r.Fail("S21", "fc", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+
				map[bool]string{true: " is writable", false: " is read-only"}[u.ReadOnly])
			return false
		}
		if had, is := h.has[u.Disk], r.W.SANDiskAt(u.Path); had != is {
			r.Fail("S28", "fc", p.Name, "pod "+p.Name+" is reported ready, and finds the disk "+is+" as "+u.Name+
				", which has "+had)
			return false
		}
	}
	return true
}

// misfit says why a disk is not given to a pod, "" if it is.
func (h *run) misfit(r *world.Run, u world.Use) string {
	if !isOurs(u) {
		return ""
	}
	is, had := h.diskOf(r, u.Disk), cmp.Or(h.has[u.Disk], h.found[u.Disk])
	holds, _ := r.W.SANDiskHolds(is)
	isNamed := !strings.Contains(u.Disk, " lun ")
	switch {
	case isNamed && len(r.W.DisksNamed(is)) == 0:
		return "the kernel has none"
	case is == "":
		return "there is no disk"
	case is == twoDisks:
		return is
	case had != "" && had != is:
		return "it is another disk"
	case u.Raw && holds != sim.HeldByDevice:
	case holds != "" && holds != "ext4":
		return "it holds " + holds
	case r.W.SANFlawOf(is) == sim.Grave:
		return "it has errors"
	}
	return ""
}

// Refuses: the disk is not there, another one, or holds something else.
func (h *run) Refuses(r *world.Run, p *world.Pod) bool {
	return slices.ContainsFunc(p.Uses, func(u world.Use) bool { return h.misfit(r, u) != "" })
}

// Reports is L12 of a volume that is refused.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, v *engine.VolumeStatus) bool {
	why := h.misfit(r, u)
	if why == "" || len(r.W.MountsAt(u.Path)) > 0 {
		return true
	}
	r.Judges("L12")
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Disk, prefix), " lun ")
	if v.State != engine.Ready && strings.Contains(v.Why, name) {
		return true
	}
	r.Fail("L12", "fc", p.Name, "pod "+p.Name+" asks for the disk "+u.Name+", "+why+", and its status is "+
		string(v.State)+": "+v.Why)
	return false
}

// Stays: the kernel finds disks unasked, and multipathd may make their maps unasked, too, or once the pod has gone. Who
// has lost the journal, or knows a disk by its WWID alone, leaves them.
func (h *run) Stays(r *world.Run, wwid string) bool {
	isOfFabric := slices.ContainsFunc(r.W.DisksNamed(wwid), func(d hal.SCSIDisk) bool {
		return slices.ContainsFunc(r.W.FCPorts(), func(p hal.FCRemotePort) bool { return p.Host == d.Address.Host })
	})
	return isOfFabric && (h.isLost || r.W.IsGreedy() || r.W.WasLate(wwid) || h.isNamed[wwid])
}

// Corrects knows no edit that helps: the array has to give the number to another disk.
func (*run) Corrects(*world.Run, *world.Pod) bool { return false }
