package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is L8: what a change costs does not grow with what has not changed. In calm, changes are made and what each
// costs is counted; then a crowd of pods comes, with volumes of their own and somebody who waits for the end of each,
// and others mount what is nobody's volume; and the same changes are counted again, in the same world. All that a
// change does is counted: calls of the host by kind, what they read and wrote, tasks, and what core looked at.

// crowd is how many come.
type crowd struct {
	pods, mounts int
	isPlain      bool // no pod of it has a volume of a driver
}

// A crowd is rare, and mostly small: a thousand pods cost as much as a thousand small worlds.
const (
	crowdOneIn  = 900
	filesOneIn  = 100 // of the worlds whose agent reads manifests
	fewestPods  = 64
	crowdDriver = "crowd.example"
	crowdMounts = "/srv/crowd"
	// eachCSI: one of so many pods has a volume of a driver, the others a directory; each of these on disk and in
	// memory in turns.
	eachCSI = 4
	// oneChange is how long a change may take, and what follows from it.
	oneChange = 10 * time.Second
	// pastAll is after how long what is done from time to time was done, or is due again.
	pastAll = 3 * time.Minute
)

// crowdOf draws the crowd of a world: how many come is drawn on its own for pods and for mounts.
func crowdOf(c sim.Chooser, readsFiles bool) crowd {
	oneIn := uint32(crowdOneIn)
	if readsFiles {
		oneIn = filesOneIn
	}
	if c.Pick(sim.NewID("workload.crowd", "", 0), []uint32{oneIn - 1, 1}) == 0 {
		return crowd{}
	}
	draw := func(of string, fewest int64) int {
		sizes := [...]int64{fewest, 200, 1000, 5000}
		size := c.Pick(sim.NewID("workload.crowd-most", of, 0), []uint32{90, 8, 1})
		return int(c.Between(sim.NewID("workload.crowd-size", of, 0), sizes[size], sizes[size+1]))
	}
	return crowd{
		draw("pods", fewestPods), draw("mounts", 0),
		c.Pick(sim.NewID("workload.crowd-kind", "", 0), []uint32{2, 1}) == 1,
	}
}

// Pods that come and go: a guest has a volume of a driver and a directory on disk, a passerby one in memory alone, a
// neighbour one on disk.
const guest, passerby, neighbour = -1, -2, -3

// crowdPod is a pod of the crowd, and what its containers use.
func crowdPod(i int, hasClaim bool) (*corev1.Pod, []use) {
	name, uid := "crowd-"+strconv.Itoa(i), fmt.Sprintf("c%07d-0000-4000-8000-000000000000", i+2)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lang.DefaultNamespace, Name: name, UID: types.UID(uid),
			ResourceVersion: "1",
		},
		Spec: corev1.PodSpec{NodeName: lang.NodeName, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	var uses []use
	add := func(name string, src corev1.VolumeSource, u use) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: src})
		c := &p.Spec.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
		uses = append(uses, u)
	}
	if hasClaim {
		pv := "pv-" + name
		add("data", corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: name,
		}},
			use{name: "data", spec: pv, path: publishedAt(uid, pv), driver: crowdDriver, volume: name})
	}
	if !hasClaim || i == guest {
		src := &corev1.EmptyDirVolumeSource{}
		if i%2 == 0 {
			src.Medium = corev1.StorageMediumMemory
		}
		add("scratch", corev1.VolumeSource{EmptyDir: src},
			use{name: "scratch", path: plugin.EmptyDirPlace(lang.RootDir, uid, "scratch").Path, memory: i%2 == 0})
	}
	return p, uses
}

// crowdVolume is what the claim of a pod of the crowd, which is called like it, stands for.
func crowdVolume(name string) []any {
	pv := persistentVolume(0, version{})
	pv.Name, pv.Spec.ClaimRef.Name = "pv-"+name, name
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: crowdDriver, VolumeHandle: name}
	claim := claimOf(0, 0)
	claim.Name, claim.Spec.VolumeName = name, pv.Name
	return []any{pv, claim}
}

// joins has a pod of the crowd come.
func (r *run) joins(i int) *pod {
	hasClaim := i == guest || i >= 0 && i%eachCSI == 0 && !r.crowd.isPlain
	p, uses := crowdPod(i, hasClaim)
	if hasClaim && i >= 0 {
		r.w.AddVolume(crowdDriver, p.Name)
		r.give(crowdVolume(p.Name)...)
	}
	r.apply(p, uses)
	return r.byUID[core.PodUID(p.UID)]
}

// judgesCost is L8.
func (r *run) judgesCost() bool {
	if r.crowd.pods == 0 || r.broken != "" {
		return true
	}
	no := false
	r.w.AddDriver(sim.DriverSpec{Name: crowdDriver, Personality: sim.Personality{Staging: true, Checks: true}})
	r.give(&storagev1.CSIDriver{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
		ObjectMeta: metav1.ObjectMeta{Name: crowdDriver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: &no},
	})
	r.w.AddVolume(crowdDriver, "crowd--1")
	r.give(crowdVolume("crowd--1")...)
	if !r.comesToRest("L2", "before a crowd", r.bound()) {
		return false
	}
	few, ok := r.costs()
	if !ok || !r.gathersCrowd() {
		return false
	}
	many, ok := r.costs()
	return ok && r.grows(few, many)
}

// gathersCrowd has the crowd come, and waits until all is at rest.
func (r *run) gathersCrowd() bool {
	for i := range r.crowd.mounts {
		at := crowdMounts + "/" + strconv.Itoa(i)
		r.w.MakeDir(at)
		_ = r.w.MountForeign(at)
	}
	var pods []*pod
	for i := range r.crowd.pods {
		pods = append(pods, r.joins(i))
	}
	if !r.comesToRest("L2", "a crowd has come", r.bound()) {
		return false
	}
	m := r.m
	for _, p := range pods {
		r.w.Go(func() { _ = m.WaitForUnmount(r.w.Context(0), p.uid) })
	}
	r.w.Go(func() { _ = m.WaitForNothing(r.w.Context(0)) })
	return r.until(r.w.Now().Add(pastAll)) // who waits for nothing has all looked at, once
}

// aCost is what a change has cost, by what was counted.
type aCost map[string]uint64

// costs makes the changes one after the other, and counts.
func (r *run) costs() (map[string]aCost, bool) {
	of := map[string]aCost{}
	m, elsewhere := r.m, crowdMounts+"-elsewhere"
	r.w.MakeDir(elsewhere)
	var p *pod
	comes := func() { p = r.joins(guest) }
	goes := func() { r.remove(p, time.Second) }
	r.counts(of, "a pod without a driver comes and goes", func() { p = r.joins(passerby) }, goes)
	r.counts(of, "a pod comes and goes", comes, goes)
	comes()
	if !r.until(r.w.Now().Add(oneChange)) || !r.comesToRest("L2", "a pod has come", r.bound()) {
		return nil, false
	}
	r.counts(of, "a pod is edited", func() {
		object := p.object.DeepCopy()
		object.ResourceVersion += "0"
		object.Labels = map[string]string{"edited": object.ResourceVersion}
		r.apply(object, p.uses)
	})
	r.counts(of, "a volume is unmounted behind the agent's back", func() { _ = r.w.UnmountTop(p.uses[0].path) })
	r.counts(of, "somebody mounts and unmounts elsewhere", func() { _ = r.w.MountForeign(elsewhere) },
		func() { _ = r.w.UnmountTop(elsewhere) })
	r.counts(of, "a wait times out", func() {
		r.w.Go(func() { _ = m.WaitForUnmount(r.w.Context(impatience), p.uid) })
	})
	r.counts(of, "the agent is asked about a pod and a volume", func() {
		r.w.Do(func() {
			_, _ = m.GetMountedVolumesForPod(r.w.Context(0), p.uid)
			_, _ = m.VolumeIsAttached(r.w.Context(0), crowdDriver+"^"+p.uses[0].volume)
		})
	})
	goes()
	return of, r.until(r.w.Now().Add(oneChange)) && r.comesToRest("L4", "a pod has gone", r.bound())
}

// counts makes a change, step by step, and counts. What is done from time to time, whatever changes, such as reading
// all of the mount table, is no cost of it: of two times in a row, the lesser counts.
func (r *run) counts(of map[string]aCost, what string, steps ...func()) {
	for i := range 2 {
		before := r.spent()
		for _, step := range steps {
			if step(); !r.until(r.w.Now().Add(oneChange)) {
				return
			}
		}
		after := r.spent()
		for is, n := range after {
			if is != tasksAtOnce {
				after[is] = n - before[is]
			}
			if i > 0 {
				after[is] = min(after[is], of[what][is])
			}
		}
		of[what] = after
	}
}

const (
	tasksAtOnce = "tasks at once"
	logRead     = "bytes read of the log of deletions" // which is as long as what has gone, not as what stands
)

// spent is all that was counted so far.
func (r *run) spent() aCost {
	host, work := r.meter.Counts(), r.core.Work()
	all := aCost{
		"entries of the mount table": host.Mounts, "entries of directories": host.Names, "files read": host.Files,
		"bytes read": host.Read - host.ReadOf[deletionsLog], logRead: host.ReadOf[deletionsLog],
		"bytes written": host.Written, tasksAtOnce: host.Tasks, "rungs that core looked at": work.Rungs,
		"places that core compared":   work.Places,
		"waiters that core looked at": work.Waiters, "steps of core": r.core.Seq(),
	}
	for name, n := range host.Calls {
		all["calls of "+name] = n
	}
	return all
}

// grows compares. A change may cost a little more: names are longer, and the journal may need another generation.
func (r *run) grows(few, many map[string]aCost) bool {
	for _, change := range slices.Sorted(maps.Keys(few)) {
		for _, is := range slices.Sorted(maps.Keys(many[change])) {
			r.judges("L8")
			slack := uint64(16)
			if strings.HasPrefix(is, "bytes") {
				slack = 4 << 10
			}
			if is == logRead { // a deletion compares the log with what it should say
				slack += uint64(len(r.w.ReadFile(deletionsLog)))
			}
			if a, b := few[change][is], many[change][is]; b > a+a/4+slack {
				r.fail("L8", change, is, fmt.Sprintf("%s: %d %s beside %d more pods and %d more mounts, and %d "+
					"without them",
					change, b, is, r.crowd.pods, r.crowd.mounts, a))
				return false
			}
		}
	}
	return true
}
