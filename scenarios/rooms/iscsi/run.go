package iscsi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/iscsi"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what arrays, networks and people do to iSCSI volumes, and what must be true of them.
//
// S2: the agent makes a filesystem only on the disk that the volume names, if nothing is on it, and never on another
// one that has got its number since.
//
// S28: a pod that is reported ready finds the disk that the volume had before: for as long as its PersistentVolume is
// there, or, of a volume of pods alone, as long as pods have it.
//
// S21: what it finds is mounted as it asks for.
//
// S1: the agent ends no session, and takes away no disk, that is not its own.
//
// L12: the status says which disk is not given to a pod.

// run is what a run notes of iSCSI volumes.
type run struct {
	world.PlainRun
	isHunted bool
	has      map[string]string // the disk that a volume has, by its name
	found    map[string]string // the one that the agent has found for it first, though it may never have used it
}

// begin makes the arrays, and draws what becomes of them.
func begin(g world.Planner) {
	w := g.Run().W
	if g.Pick("workload.iscsi-multipathd", "", 0, 3, 1) == 1 {
		w.SetMultipathd("greedy")
	}
	w.AddTarget(open, openAt+":3260")
	w.AddTarget(closed, closedAt+":3260")
	w.AddTarget(twin, leftAt+":3260", rightAt+":3260")
	w.AddSANDisk(blankDisk, "", "")
	w.AddSANDisk(usedDisk, "ext4", usedUUID)
	odd := []string{sim.Unrecognized, "LVM2_member", "xfs", sim.HeldByDevice}
	w.AddSANDisk(oddDisk, odd[g.Pick("workload.iscsi-odd", oddDisk, 0, 1, 1, 1, 1)], "")
	w.AddSANDisk(thirdDisk, "ext4", "66666666-1111-4222-8333-444455556666")
	w.AddSANDisk(ownDisk, "", "")
	w.AddSANDisk(rawDisk, []string{"", "xfs", sim.Unrecognized}[g.Pick("workload.iscsi-raw", rawDisk, 0, 1, 1, 1)], "")
	w.AddSANDisk(readDisk, "xfs", "")
	w.AddSANDisk(pathsDisk, []string{"", "ext4"}[g.Pick("workload.iscsi-paths", pathsDisk, 0, 1, 1)], "")
	w.AddSANDisk(rawPaths, "", "")
	w.AddSANDisk(spareDisk, []string{"", "ext4"}[g.Pick("workload.iscsi-spare", spareDisk, 0, 1, 1)], spareUUID)
	for _, m := range g.Run().Rooms {
		if h, is := m.(*run); is {
			h.isHunted = true
		}
	}
	restores(w, nil)
	for n := range 2 {
		for _, address := range []string{openAt, closedAt, leftAt, rightAt} {
			if g.Pick("workload.iscsi-portal", address, n, 3, 1) == 1 {
				g.At(g.Time("workload.iscsi-portal-time", address, n, cases.Chaos), address, func() {
					w.LosePortal(address+":3260",
						time.Second+g.Time("workload.iscsi-portal-away", address, n, cases.Chaos/cases.Slots))
				})
			}
		}
	}
	twinTime := g.Time("workload.iscsi-twin-time", twin, 0, cases.Chaos)
	switch g.Pick("workload.iscsi-twin", twin, 0, 6, 1, 1, 1, 1, 1) {
	case 1: // a person ends a session
		g.At(twinTime, twin, func() { w.LogOutAtByHand(twin, leftAt+":3260") })
	case 2: // or all
		g.At(twinTime, twin, func() { w.LogOutByHand(twin) })
	case 3: // the array gives the number to another disk
		g.At(twinTime, twin, func() { w.MapLUN(twin, 0, spareDisk) })
	case 4: // or takes it away
		g.At(twinTime, twin, func() { w.MapLUN(twin, 1, "") })
	case 5: // maps queue while there is no path
		w.SetQueueing(pathsDisk)
	}
	at := g.Time("workload.iscsi-time", open, 0, cases.Chaos)
	lun := []uint64{0, 1, rawLUN}[g.Pick("workload.iscsi-lun", open, 0, 2, 2, 1)]
	switch g.Pick("workload.iscsi-array", open, 0, 6, 2, 1, 1, 1, 1) {
	case 1: // the array gives the number to another disk
		g.At(at, open, func() { w.MapLUN(open, lun, spareDisk) })
	case 2: // or takes it away
		g.At(at, open, func() { w.MapLUN(open, lun, "") })
	case 3: // a person ends all sessions
		g.At(at, open, func() { w.LogOutByHand(open) })
	case 5: // another target has the disk, too; nothing takes one path from a map that another volume uses
		g.At(0, open, func() {
			if !w.IsGreedy() {
				w.MapLUN(closed, 0, w.LUNOf(open, lun))
			}
		})
	case 4: // or makes one
		g.At(at, open, func() { _ = w.LogInByHand(open, openAt+":3260") }) // or the portal is away
	}
}

// restores gives each number to the disk that its volume has, or is to have.
func restores(w *sim.World, found map[string]string) {
	for _, is := range disks {
		if wwid := cmp.Or(found[diskName(is.target, is.lun)], is.wwid); w.LUNOf(is.target, uint64(is.lun)) != wwid {
			w.MapLUN(is.target, uint64(is.lun), wwid)
		}
	}
}

// Mends is people who repair the array and the network.
func (h *run) Mends(r *world.Run) {
	if h.isHunted {
		restores(r.W, h.found)
		r.W.RestorePortals()
		r.W.ReleaseSANDisk(oddDisk)
		for _, wwid := range []string{blankDisk, usedDisk, oddDisk, ownDisk, thirdDisk, spareDisk, pathsDisk} {
			r.W.MendSANDisk(wwid)
		}
	}
}

// Waits: who asks a target that does not answer waits for it.
func (*run) Waits(r *world.Run, b *core.Belief) bool {
	return strings.HasPrefix(string(b.Kind), string(iscsi.Kind)) && b.InFlight && r.W.IsSANAway()
}

// isOurs reports whether a use is one of this room.
func isOurs(u world.Use) bool { return u.Room != nil && u.Room.Source.Name == "iscsi" }

// diskOf is the disk that an array has under the number that a volume names, "" if none.
func diskOf(r *world.Run, volume string) string {
	target, lun := split(volume)
	return r.W.LUNOf(target, lun)
}

func split(volume string) (target string, lun uint64) {
	target, number, _ := strings.Cut(strings.TrimPrefix(volume, "iscsi^"), " lun ")
	lun, _ = strconv.ParseUint(number, 10, 64)
	return target, lun
}

// Stepped forgets the disk of a volume whose PersistentVolume is gone, or that none has and no pod either.
func (h *run) Stepped(r *world.Run) {
	r.JudgesRaw("iscsi")
	for _, name := range slices.Sorted(maps.Keys(h.has)) {
		target, lun := split(name)
		isOf := func(v *corev1.PersistentVolume) bool {
			is := v.Spec.ISCSI
			return is != nil && is.IQN == target && uint64(is.Lun) == lun
		}
		if _, known := r.Core.Belief(iscsi.DeviceKey(target, int32(lun))); !known && r.Synced &&
			!r.Now.HasVolume(isOf) && !r.Heard.HasVolume(isOf) {
			delete(h.has, name)
			delete(h.found, name)
		}
	}
	for _, d := range disks {
		name := diskName(d.target, d.lun)
		if v, known := r.Core.Rung(iscsi.DeviceKey(d.target, d.lun)); known && h.found[name] == "" {
			h.found[name] = core.FactOf(v.Facts, disk.FactDisk)
		}
	}
}

// disks are the numbers of the targets, and the disks that they name at first.
var disks = []struct {
	target string
	lun    int32
	wwid   string
}{
	{open, 0, blankDisk},
	{open, 1, usedDisk},
	{open, 2, oddDisk},
	{open, 3, ownDisk},
	{closed, 0, thirdDisk},
	{twin, 0, pathsDisk},
	{twin, 1, rawPaths},
	{open, rawLUN, rawDisk},
	{closed, 1, readDisk},
}

// Sees is S2 and S1 of what the agent does.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	r.SeesRaw("iscsi", e)
	if e.Actor != "agent" {
		return
	}
	switch e.Kind {
	case sim.EffectFormatted:
		if e.Volume != "" && strings.HasPrefix(string(e.Key), string(iscsi.KindMount)+"/") {
			r.Judges("S2")
			h.takes(r, "format", volumeOf(e.Key), e.Volume)
			if e.Text != "" {
				r.Fail("S2", "format", e.Volume, "the agent makes a filesystem on the disk "+e.Volume+", which held "+e.Text)
			}
			if has, made := r.W.SANDiskSizes(e.Volume); has != made {
				r.Fail("S2", "format", e.Volume, fmt.Sprintf("the agent makes a filesystem of %d bytes on the disk %s of %d: the "+
					"kernel took it for another disk", made, e.Volume, has))
			}
		}
	case sim.EffectMount:
		if disk := r.W.SANDiskAt(e.Path); disk != "" && strings.HasPrefix(string(e.Key), string(iscsi.KindMount)+"/") {
			r.Judges("S2")
			h.takes(r, "mount", volumeOf(e.Key), disk)
		}
	case sim.EffectHeld:
		if volume := rawVolume(r, e.Text); volume != "" {
			r.Judges("S28")
			h.takes(r, "hold", volume, e.Volume)
		}
	case sim.EffectLoggedOut:
		r.Judges("S1")
		if !strings.HasPrefix(e.Text, hal.OwnInterface) {
			r.Fail("S1", "session", e.Volume, "the agent ends a session with "+e.Volume+" that somebody else has made")
		}
	default:
	}
}

// volumeOf is the volume of the rung of a mount.
func volumeOf(key hal.Key) string {
	entry := string(key)[strings.LastIndexByte(string(key), '/')+1:]
	_, of, _ := strings.Cut(entry, "-")
	return "iscsi^" + strings.Replace(of, "-lun-", " lun ", 1)
}

// rawVolume is the volume whose disk a hold keeps, "" if no pod has it.
func rawVolume(r *world.Run, hold string) string {
	for _, p := range r.Pods {
		for _, u := range p.Uses {
			if !isOurs(u) || !u.Raw {
				continue
			}
			target, lun := split(u.Disk)
			if string(disk.HoldKey(iscsi.KindHold, string(iscsi.DeviceKey(target, int32(lun))))) == hold {
				return u.Disk
			}
		}
	}
	return ""
}

// takes notes that the agent takes a disk for that of a volume, and judges it: it is the one that the volume has had,
// or, of a volume that had none, the one that the array has under its number.
func (h *run) takes(r *world.Run, what, volume, disk string) {
	had, known := h.has[volume]
	switch {
	case r.Root.Forgotten:
	case known && had != disk:
		r.Fail("S2", what, disk, "the agent takes the disk "+disk+" for the volume "+volume+", which has the disk "+had)
	case !known && diskOf(r, volume) != disk:
		r.Fail("S2", what, disk, "the agent takes the disk "+disk+" for the volume "+volume+", whose array has "+
			diskOf(r, volume)+" there")
	}
	if other := h.holder(volume, disk); other != "" && !r.Root.Forgotten {
		r.Fail("S2", what, disk, "the agent takes the disk "+disk+" for the volume "+volume+", and "+other+" has it")
	}
	h.has[volume] = disk
}

// holder is another volume that has a disk, "" if none.
func (h *run) holder(volume, disk string) string {
	for _, found := range [...]map[string]string{h.has, h.found} {
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if name != volume && found[name] == disk {
				return name
			}
		}
	}
	return ""
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
			r.Fail("S21", "iscsi", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+
				map[bool]string{true: " is writable", false: " is read-only"}[u.ReadOnly])
			return false
		}
		if had, is := h.has[u.Disk], r.W.SANDiskAt(u.Path); had != is {
			r.Fail("S28", "iscsi", p.Name, "pod "+p.Name+" is reported ready, and finds the disk "+is+" as "+u.Name+
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
	is, had := diskOf(r, u.Disk), cmp.Or(h.has[u.Disk], h.found[u.Disk])
	holds, _ := r.W.SANDiskHolds(is)
	switch {
	case is == "":
		return "there is no disk"
	case had != "" && had != is:
		return "it is another disk"
	case had == "" && h.holder(u.Disk, is) != "":
		return h.holder(u.Disk, is) + " has it"
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
	target, _ := split(u.Disk)
	if v.State != engine.Ready && strings.Contains(v.Why, target) {
		return true
	}
	r.Fail("L12", "iscsi", p.Name, "pod "+p.Name+" asks for the disk "+u.Name+", "+why+", and its status is "+
		string(v.State)+": "+v.Why)
	return false
}

// Corrects knows no edit that helps: the array has to give the number to another disk.
func (*run) Corrects(*world.Run, *world.Pod) bool { return false }
