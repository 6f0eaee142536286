package local

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/local"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what people do to the directories of local volumes, and what must be true of them.
//
// S21: a pod that is reported ready finds a directory mounted, read-only if that was asked.
//
// S28: it is the directory that the volume's path led to when the pod was reported ready first, for as long as the pod
// stays, through reboots after which the disk is not mounted yet and people who put another directory in its place. It
// is excused if the journal was lost.
//
// S9: a volume that is for one pod is not another's, whose containers run.
//
// S2: the agent makes a filesystem on a disk only if nothing is on it, but for a part of one that it has begun.
//
// S36: see checks.go.
//
// S1: the agent removes no name in it. L12: the status says why a directory is not given to a pod.

// belowPod is between the directory of a pod and its local volumes.
var belowPod = "/volumes/" + plugin.DirectoryOf(plugin.Local) + "/"

// run is what a run notes of local volumes.
type run struct {
	world.PlainRun
	isHunted bool // its pods may have those of a hunt
	given    map[string]given
	bound    map[string]hal.HostFile // by path: what the agent has bound there last, and believed to be the volume
	tried    map[string]hal.HostFile // by path: what a mount has shown there since
	raw      map[string]string       // by PersistentVolume: the disk that its pods have as it is
	found    map[string]string       // the one that the agent found for it first, though no pod may have been given it
	had      map[string]disk         // by path: what is on disks that volumes have, as long as pods have these
	swaps    string                  // the disk that is in the place of blankDisk one day; "" for none, or once it was
	swapped  string                  // the one that is in its place now
	booted   bool                    // it is so after a boot
	passed   map[string]checker      // by uuid: who has checked a filesystem last, and found nothing left
	isMended bool                    // people mend filesystems
}

// disk is what a volume has.
type disk struct {
	uuid string // of its filesystem
	pv   string // "" as long as it was never mounted
}

// given is the directory that a pod was given first.
type given struct {
	stops uint64 // of the pod, by then
	is    hal.HostFile
}

// usedUUID is that of the filesystem of usedDisk.
const usedUUID = "77777777-1111-4222-8333-444455556666"

// begin makes the directories and the disks, and draws what people do to them.
func begin(g world.Planner) {
	if !g.Persists() {
		return
	}
	w := g.Run().W
	w.MakeDir(plainDir + "/one")
	w.MakeDir(linkedDir)
	w.MakeDir(mountDir)
	w.MountShare(exportDir)
	turnsLink(w, linkedDir)
	mountsDisk(w)
	w.MakeDir(deepDir)
	for _, dir := range []string{plainDir, plainDir + "/one", linkedDir, exportDir, deepDir} {
		w.WriteFile(dir+"/"+kept, []byte("data"))
	}
	w.AddBlockDevice(blankDisk, "", "")
	if g.Pick("workload.local-nameless", blankDisk, 0, 2, 1) == 0 {
		w.NameBlockDevice(blankDisk, "serial number 1")
	}
	w.AddBlockDevice(usedDisk, "ext4", usedUUID)
	addsRaw(g)
	for _, m := range g.Run().Rooms {
		if h, is := m.(*run); is {
			h.isHunted = true
			h.damages(g)
		}
	}
	odd := g.Pick("workload.local-odd", oddDisk, 0, 3, 1, 1, 1, 1)
	if odd == 4 { // it is a directory
		w.MakeDir(oddDisk)
	} else {
		w.AddBlockDevice(oddDisk, []string{sim.Unrecognized, "LVM2_member", "xfs", sim.HeldByDevice}[odd], "")
	}
	swaps := g.Pick("workload.local-swapped", blankDisk, 0, 3, 1, 1, 1)
	for _, m := range g.Run().Rooms {
		h, is := m.(*run)
		switch {
		case !is, swaps == 0:
		case swaps == 1:
			h.swaps, h.booted = usedDisk, true
		case odd != 0: // the agent may take it for the volume's
		default:
			h.swaps, h.booted = oddDisk, swaps == 2
			if swaps == 3 {
				g.At(g.Time("workload.local-swap-time", blankDisk, 0, cases.Chaos), blankDisk, func() { h.swapsDisks(g.Run()) })
			}
		}
	}
	for n := range 2 {
		if g.Pick("workload.local-silent", exportDir, n, 2, 1) == 1 {
			g.At(g.Time("workload.local-silent-time", exportDir, n, cases.Chaos), exportDir, func() {
				w.SilenceShare(exportDir,
					time.Second+g.Time("workload.local-silent-for", exportDir, n, cases.Chaos/cases.Slots))
			})
		}
	}
	switch g.Pick("workload.local-away", plainDir, 0, 6, 1, 1) {
	case 1: // the disk is unmounted, which takes no directory from a pod that has it
		g.At(g.Time("workload.local-away-time", mountDir, 0, cases.Chaos), mountDir, func() { _ = w.UnmountTop(mountDir) })
	case 2: // somebody turns the link
		g.At(g.Time("workload.local-away-time", linkDir, 0, cases.Chaos), linkDir, func() { turnsLink(w, plainDir) })
	}
}

// turnsLink is somebody who has the link lead to a directory, for good.
func turnsLink(w *sim.World, to string) {
	_ = w.RemoveFile(linkDir) // there may be none
	_ = w.Symlink(to, linkDir)
	w.SyncDirectory(path.Dir(linkDir))
}

// mountsDisk is the host that mounts the disk at its directory, unless it is mounted.
func mountsDisk(w *sim.World) {
	if len(w.MountsAt(exportDir)) == 0 {
		w.MountShare(exportDir)
	}
	if len(w.MountsAt(mountDir)) == 0 {
		_ = w.BindMount(exportDir, mountDir, false)
	}
}

// Mends is people who mount the disk and turn the link back.
func (h *run) Mends(r *world.Run) {
	if !h.isHunted {
		return
	}
	mountsDisk(r.W)
	putsRawBack(r.W)
	h.swapsBack(r)
	h.clearsDisk(r)
	h.mendsDisks(r)
	if to, _ := r.W.Find(linkDir); to.Path != linkedDir {
		turnsLink(r.W, linkedDir)
	}
}

// mountedAfter is how long after a boot the disk is mounted.
const mountedAfter = 3 * time.Second

// Born is the host that mounts the disk after a boot, later than it starts the agent.
func (h *run) Born(r *world.Run) {
	if h.booted {
		h.swapsDisks(r)
	}
	if h.isHunted && len(r.W.MountsAt(exportDir)) == 0 {
		r.W.After(mountedAfter, "the host mounts a disk", func() { mountsDisk(r.W) })
	}
}

// swapsDisks is somebody, or a boot, who has two disks in each other's places for a while. Of two that pods have, each
// is known: if the journal was lost, nothing on the node says any more which was whose.
func (h *run) swapsDisks(r *world.Run) {
	isKnown := !r.Root.Forgotten && h.had[blankDisk].pv != "" && h.had[usedDisk].pv != ""
	if h.swaps == "" || h.swaps == usedDisk && !isKnown || !r.W.SwapBlockDevices(blankDisk, h.swaps) {
		return
	}
	h.swaps, h.swapped = "", h.swaps
	r.W.After(swappedFor, "two disks are in their places again", func() { h.swapsBack(r) })
}

func (h *run) swapsBack(r *world.Run) {
	if h.swapped == "" || !r.W.SwapBlockDevices(blankDisk, h.swapped) {
		return
	}
	if h.swapped == oddDisk {
		// Which disk is a volume's that came first while they were swapped nobody can say.
		maps.DeleteFunc(r.Shows, func(_ any, id string) bool {
			return id == "disk local.device^local-odd" || id == "disk local.device^local-blank"
		})
	}
	h.swapped = ""
}

// clearsDisk is a person who clears a disk with unknown content, as the status asks.
func (h *run) clearsDisk(r *world.Run) {
	if holds, _ := r.W.BlockDeviceHolds(blankDisk); h.swapped == "" && holds == sim.Unrecognized {
		r.W.WipeBlockDevice(blankDisk, "", "")
	}
}

const swappedFor = 2 * time.Minute

// Waits: who looks for a directory of a silent server waits for it.
func (*run) Waits(r *world.Run, b *core.Belief) bool {
	return b.Kind == local.Kind && b.InFlight && r.W.IsShareSilent(exportDir)
}

// isLocal reports whether a use is one of this room.
func isLocal(u world.Use) bool { return u.Room != nil && u.Room.Source.Name == "local" }

// volumeOf is the PersistentVolume of a local volume, nil if the use is of no such volume, or if that is gone.
func volumeOf(r *world.Run, p *world.Pod, u world.Use) *corev1.PersistentVolume {
	at := slices.IndexFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == u.Name })
	if !isLocal(u) || at < 0 {
		return nil
	}
	_, pv := r.Now.Claimed(p.Object, &p.Object.Spec.Volumes[at])
	if pv == nil || pv.Spec.Local == nil {
		return nil
	}
	return pv
}

// lacks is the mount option of a volume that its mount does not have, "" if it has all.
func lacks(r *world.Run, p *world.Pod, u world.Use, m hal.Mount) string {
	pv := volumeOf(r, p, u)
	if pv == nil {
		return ""
	}
	for _, option := range pv.Spec.MountOptions {
		if strings.HasPrefix(option, "no") && !slices.Contains(m.Options, option) {
			return option
		}
	}
	return ""
}

// rival is another pod whose containers run and that has a volume which is for one pod, nil if there is none.
func rival(r *world.Run, p *world.Pod, u world.Use) *world.Pod {
	if !r.Exclusive[u.Thing()] {
		return nil
	}
	at := slices.IndexFunc(r.Pods, func(o *world.Pod) bool {
		has := func(v world.Use) bool { return isLocal(v) && v.Spec == u.Spec && len(r.W.MountsAt(v.Path)) > 0 }
		return o != p && o.IsRunning && slices.ContainsFunc(o.Given, has)
	})
	if at < 0 {
		return nil
	}
	return r.Pods[at]
}

// LetsIn is S28, S21 and S9 of a pod that is reported ready.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		if !isLocal(u) {
			continue
		}
		stack := r.W.MountsAt(u.Path)
		if len(stack) == 0 {
			continue // S21 says so
		}
		if u.Raw {
			if !h.letsInRaw(r, p, u) {
				return false
			}
			continue
		}
		r.Judges("S21")
		if top := stack[len(stack)-1]; top.ReadOnly != u.ReadOnly {
			r.Fail("S21", "local", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+
				map[bool]string{true: " is writable", false: " is read-only"}[u.ReadOnly])
			return false
		}
		if option := lacks(r, p, u, stack[len(stack)-1]); option != "" {
			r.Fail("S21", "local", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+" is not "+option)
			return false
		}
		if o := rival(r, p, u); o != nil {
			r.Fail("S9", "local", p.Name, "pod "+p.Name+" is reported ready, and "+u.Name+", which is for one pod, is "+
				o.Name+"'s")
			return false
		}
		is, errno := r.W.Find(u.Path)
		if errno != 0 {
			continue // its server is silent
		}
		if u.Disk != "" { // another boot may give it another number
			_, uuid := r.W.DiskOn(u.Path)
			is = hal.HostFile{Root: "the filesystem " + uuid}
		}
		key := string(p.Uid) + "/" + u.Spec
		was, isKnown := h.given[key]
		if !isKnown || was.stops != p.Stops || r.Root.Forgotten {
			h.given[key] = given{p.Stops, is}
			continue
		}
		r.Judges("S28")
		if was.is.Inode != is.Inode || was.is.Born != is.Born || u.Disk != "" && was.is.Root != is.Root {
			r.Fail("S28", "local", p.Name, "pod "+p.Name+" is reported ready, and finds "+is.Root+" as "+u.Name+
				", where it has found "+was.is.Root)
			return false
		}
	}
	return true
}

// misfit says why the directory that a volume's path leads to is not given to a pod: it is missing, or another one than
// the agent has bound. "" if it is given, or if nobody can tell.
func (h *run) misfit(r *world.Run, p *world.Pod, u world.Use) string {
	pv := volumeOf(r, p, u)
	if pv == nil {
		return ""
	}
	source := pv.Spec.Local.Path
	if u.Raw {
		return h.rawMisfit(r, pv)
	}
	if u.Disk != "" {
		return h.diskMisfit(r, pv)
	}
	is, errno := r.W.Find(source)
	was, isBound := h.bound[u.Path]
	switch {
	case errno != 0:
		return ""
	case !is.Exists:
		return "there is no " + source
	case isBound && (is.Inode != was.Inode || is.Born != was.Born):
		return source + " is another directory"
	}
	return ""
}

// diskMisfit is misfit of a disk with a filesystem of its own.
func (h *run) diskMisfit(r *world.Run, pv *corev1.PersistentVolume) string {
	at := pv.Spec.Local.Path
	had := h.had[at].uuid
	_, there := r.W.Exists(at)
	holds, uuid := r.W.BlockDeviceHolds(at)
	switch {
	case !there:
		return "there is no " + at
	case holds != "" && holds != sim.Unrecognized && holds != *pv.Spec.Local.FSType:
		return at + " holds " + holds
	case had != "" && uuid != had:
		return at + " is another disk, or was cleared"
	case holds == sim.Unrecognized: // or a part of a filesystem whose pod has gone: a person clears it
		return at + " is not blank"
	}
	return needsMending(r, pv)
}

// Refuses: the directory is missing or another one. A pod that has the former one keeps it until its next setup.
func (h *run) Refuses(r *world.Run, p *world.Pod) bool {
	return slices.ContainsFunc(p.Uses, func(u world.Use) bool { return h.misfit(r, p, u) != "" })
}

// Reports is L12 of a volume that is refused.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, v *engine.VolumeStatus) bool {
	why := h.misfit(r, p, u)
	if why == "" || len(r.W.MountsAt(u.Path)) > 0 {
		return true
	}
	r.Judges("L12")
	if source := strings.Fields(why); v.State != engine.Ready && slices.ContainsFunc(source,
		func(word string) bool { return strings.HasPrefix(word, "/") && strings.Contains(v.Why, word) }) {
		return true
	}
	r.Fail("L12", "local", p.Name, "pod "+p.Name+" asks for the local volume "+u.Name+", "+why+", and its status is "+
		string(v.State)+": "+v.Why)
	return false
}

// Stepped takes in what the agent believes of what it has bound.
func (h *run) Stepped(r *world.Run) {
	r.JudgesRaw("local")
	h.findsRaw(r)
	for at, had := range h.had { // the order does not matter
		if _, known := r.Core.Belief(local.DeviceKey(had.pv)); had.pv != "" && !known && r.Synced {
			delete(h.had, at)
		}
	}
	for path, is := range h.tried { // the order does not matter
		pod, volume, _ := strings.Cut(strings.TrimPrefix(path, lang.RootDir+"/pods/"), belowPod)
		if b, known := r.Core.Belief(local.Key(pod, volume)); known && b.State == core.Present {
			h.bound[path] = is
			delete(h.tried, path)
		}
	}
}

// mounts notes what a volume has once its disk is mounted. What is mounted by mistake later is not it.
func (h *run) mounts(r *world.Run, at string) {
	on, uuid := r.W.DiskOn(at)
	if had := h.had[on]; on != "" && (had.uuid == "" || had.uuid == uuid) {
		h.had[on] = disk{uuid, path.Base(at)}
	}
}

// Sees is S1 of names in the directories.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	r.SeesRaw("local", e)
	if e.Kind == sim.EffectHeld || e.Kind == sim.EffectLetGo {
		return
	}
	if e.Volume != "" {
		return // it is no disk of the node
	}
	if e.Kind == sim.EffectFormatted {
		r.Judges("S2")
		if holds, uuid := r.W.BlockDeviceHolds(e.Path); holds != sim.Unrecognized {
			h.had[e.Path] = disk{uuid: uuid}
			h.passed[uuid] = checker{e.Run, e.Op} // it is new
		}
		if e.Text != "" {
			r.Fail("S2", "format", e.Path, "the agent makes a filesystem on "+e.Path+", which held "+e.Text)
		}
		return
	}
	if e.Kind == sim.EffectChecked {
		h.checks(r, e)
		return
	}
	_, below, isPlace := strings.Cut(e.Path, belowPod)
	switch e.Kind {
	case sim.EffectRemoved, sim.EffectRemovedTree, sim.EffectRenamed:
	case sim.EffectMount:
		if is, errno := r.W.Find(e.Path); isPlace && errno == 0 {
			h.tried[e.Path] = is
		}
		if path.Dir(e.Path) == plugin.LocalMountsDir(lang.RootDir) {
			h.mountsChecked(r, e)
			h.mounts(r, e.Path)
		}
		return
	default:
		return
	}
	if e.Actor != "agent" {
		return
	}
	isWithin := slices.ContainsFunc([]string{"/disks", "/data", exportDir}, func(dir string) bool {
		return world.Below(e.Path, dir)
	})
	if isWithin || isPlace && strings.HasPrefix(e.Path, lang.RootDir) && strings.Contains(below, "/") {
		r.Fail("S1", "local", e.Path, "the agent removes "+e.Path+", which lies in the directory of a local volume")
	}
}
