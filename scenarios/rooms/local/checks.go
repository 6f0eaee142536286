package local

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/local"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S36: the filesystem of a disk is checked before containers may write to it. A mount is judged by what is
// wrong with the filesystem then, and by whether the same operation has made it, or has checked it before and found
// nothing left: what an earlier look has shown counts for nothing. It is excused if the node has no program that
// checks, and if somebody else has the filesystem mounted. A check is judged by which filesystem it is of, and by
// whether the agent has that mounted.

// checker is who has made a check.
type checker struct {
	run uint32
	op  hal.OpID
}

// checks is S36 of a check.
func (h *run) checks(r *world.Run, e *sim.Effect) {
	r.Judges("S36")
	pv := strings.TrimPrefix(string(e.Key), string(local.KindMount)+"/")
	switch at, _ := r.W.DiskOn(plugin.LocalPlace(lang.RootDir, pv).Path); {
	case e.Outcome == hal.NotDone && at == e.Path:
		r.Fail("S36", "check", e.Path, "the agent checks the filesystem of "+e.Path+" while it has it mounted itself")
		return
	case e.Outcome == hal.NotDone: // somebody else has it mounted, and nothing was checked
		return
	}
	for _, had := range h.had { // one at most is the volume's
		if had.pv == pv && had.uuid != e.Text {
			r.Fail("S36", "check", e.Path, "the agent checks the filesystem "+e.Text+" of "+e.Path+" for "+pv+
				", whose filesystem is "+had.uuid)
			return
		}
	}
	if delete(h.passed, e.Text); e.Outcome == hal.Done {
		h.passed[e.Text] = checker{e.Run, e.Op}
	}
}

// mountsChecked is S36 of a filesystem that the agent has mounted for its pods.
func (h *run) mountsChecked(r *world.Run, e *sim.Effect) {
	disk, uuid := r.W.DiskOn(e.Path)
	isSame := func(m hal.Mount) bool { return m.Path != e.Path && m.Device == e.Mount.Device }
	if disk == "" || e.Actor != "agent" || e.Mount.ReadOnly || !r.W.HasFsck() ||
		slices.ContainsFunc(r.W.Mounts(), isSame) {
		return
	}
	r.Judges("S36")
	if flaw := r.W.FlawOf(disk); flaw != sim.NoFlaw && h.passed[uuid] != (checker{e.Run, e.Op}) {
		r.Fail("S36", "mount", e.Path, "the agent mounts the filesystem of "+disk+" at "+path.Base(e.Path)+
			", which is "+flaw.String()+", and has not checked it before")
	}
}

// needsMending says what a person must mend of the filesystem on a disk before it is mounted, "" for nothing.
func needsMending(r *world.Run, pv *corev1.PersistentVolume) string {
	at := pv.Spec.Local.Path
	flaw := r.W.FlawOf(at)
	isChecked := *pv.Spec.Local.FSType != "xfs"
	switch {
	case !isChecked && flaw >= sim.Mendable,
		isChecked && flaw == sim.Grave && r.W.HasFsck() && !slices.Contains(pv.Spec.MountOptions, "ro"):
		return at + " has errors"
	}
	return ""
}

// damages draws whether the filesystem of a disk is not clean at first, and whether people mend what they must.
func (h *run) damages(g world.Planner) {
	flaws := []sim.Flaw{sim.NoFlaw, sim.Dirty, sim.Mendable, sim.Grave}
	g.Run().W.DamageBlockDevice(usedDisk, flaws[g.Pick("workload.local-flaw", usedDisk, 0, 5, 1, 2, 1)])
	h.isMended = g.Pick("workload.local-mended", usedDisk, 0, 1, 2) == 1
}

// mendsDisks is people who mend the filesystems that no program mends.
func (h *run) mendsDisks(r *world.Run) {
	for _, at := range []string{blankDisk, usedDisk} {
		if h.isMended && r.W.FlawOf(at) == sim.Grave {
			r.W.MendBlockDevice(at) // or it is mounted, and they leave it
		}
	}
}
