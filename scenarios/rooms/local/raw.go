package local

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	of "github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/local"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is disks that pods have as they are: see world/raw.go. A volume has the disk that its first pod was given,
// by its serial number, for as long as its PersistentVolume is there. It is excused if the journal was lost.

// oneDisk is like rawDisk, for one pod.
const oneDisk = rawDisk + "-one"

// addsRaw makes these disks, and draws what becomes of them.
func addsRaw(g world.Planner) {
	w := g.Run().W
	holds := []string{"", "xfs", sim.Unrecognized, "LVM2_member"}
	w.AddBlockDevice(rawDisk, holds[g.Pick("workload.local-raw", rawDisk, 0, 2, 1, 1, 1)], "")
	w.NameBlockDevice(rawDisk, "serial number 2")
	w.AddBlockDevice(oneDisk, holds[g.Pick("workload.local-raw", oneDisk, 0, 2, 1, 1, 1)], "")
	w.NameBlockDevice(oneDisk, "serial number 3")
	if g.Pick("workload.local-raw-swapped", rawDisk, 0, 3, 1) == 1 {
		at := g.Time("workload.local-raw-time", rawDisk, 0, cases.Chaos-swappedFor-time.Second)
		g.At(at, rawDisk, func() {
			if w.SwapBlockDevices(rawDisk, oneDisk) { // nothing holds them
				w.After(swappedFor, "two raw disks are in their places again", func() { putsRawBack(w) })
			}
		})
	}
}

// putsRawBack is a person who has the raw disks in their places again.
func putsRawBack(w *sim.World) {
	if w.DiskNamed(rawDisk) == "serial number 3" {
		w.SwapBlockDevices(rawDisk, oneDisk)
	}
}

// letsInRaw is S28 and S21 of a raw disk.
func (h *run) letsInRaw(r *world.Run, p *world.Pod, u world.Use) bool {
	is, _ := r.W.RawAt(u.Path)
	had, known := h.raw[u.Spec]
	if !known || r.Root.Forgotten {
		had, h.raw[u.Spec] = is, is
	}
	if o := rival(r, p, u); o != nil {
		r.Fail("S9", "local", p.Name, "pod "+p.Name+" is reported ready, and "+u.Name+
			", which is for one pod, is "+o.Name+"'s")
		return false
	}
	return r.LetsInRaw(p, u, had)
}

// findsRaw notes which disks the agent has found for raw volumes.
func (h *run) findsRaw(r *world.Run) {
	for _, pv := range [...]string{"local-raw", "local-raw-one"} {
		if v, known := r.Core.Rung(local.DeviceKey(pv)); known && h.found[pv] == "" {
			h.found[pv] = core.FactOf(v.Facts, of.FactDisk)
		}
	}
}

// rawMisfit is misfit of such a disk.
func (h *run) rawMisfit(r *world.Run, pv *corev1.PersistentVolume) string {
	at, had := pv.Spec.Local.Path, cmp.Or(h.raw[pv.Name], h.found[pv.Name])
	holds, _ := r.W.BlockDeviceHolds(at)
	switch is := r.W.DiskNamed(at); {
	case is == "":
		return "there is no " + at
	case had != "" && had != is:
		return at + " is another disk"
	case holds == sim.HeldByDevice:
		return at + " is a part of another device"
	}
	return ""
}
