package calm

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
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is L8: what a change costs does not grow with what has not changed. In calm, changes are made and what each
// costs is counted; then a crowd of pods comes, with volumes of their own and somebody who waits for the end of each,
// and others mount what is nobody's volume; and the same changes are counted again, in the same world. All that a
// change does is counted: calls of the host by kind, what they read and wrote, tasks, and what core looked at.

// A crowd is rare, and mostly small: a thousand pods cost as much as a thousand small worlds.
const (
	CrowdOneIn  = 900
	filesOneIn  = 100 // of the worlds whose agent reads manifests
	FewestPods  = 64
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

// CrowdOf draws the crowd of a world: how many come is drawn on its own for pods and for mounts.
func CrowdOf(c sim.Chooser, readsFiles bool) world.Crowd {
	oneIn := uint32(CrowdOneIn)
	if readsFiles {
		oneIn = filesOneIn
	}
	if c.Pick(sim.NewID("workload.crowd", "", 0), []uint32{oneIn - 1, 1}) == 0 {
		return world.Crowd{}
	}
	draw := func(of string, fewest int64) int {
		sizes := [...]int64{fewest, 200, 1000, 5000}
		size := c.Pick(sim.NewID("workload.crowd-most", of, 0), []uint32{90, 8, 1})
		return int(c.Between(sim.NewID("workload.crowd-size", of, 0), sizes[size], sizes[size+1]))
	}
	return world.Crowd{
		Pods: draw("pods", FewestPods), Mounts: draw("mounts", 0),
		IsPlain: c.Pick(sim.NewID("workload.crowd-kind", "", 0), []uint32{2, 1}) == 1,
	}
}

// Pods that come and go: a guest has a volume of a driver and a directory on disk, a passerby one in memory alone, a
// neighbour one on disk.
const guest, passerby, neighbour = -1, -2, -3

// crowdPod is a pod of the crowd, and what its containers use.
func crowdPod(i int, hasClaim bool) (*corev1.Pod, []world.Use) {
	name, uid := "crowd-"+strconv.Itoa(i), fmt.Sprintf("c%07d-0000-4000-8000-000000000000", i+2)
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: lang.DefaultNamespace, Name: name, UID: types.UID(uid),
			ResourceVersion: "1",
		},
		Spec: corev1.PodSpec{NodeName: lang.NodeName, Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	var uses []world.Use
	add := func(name string, src corev1.VolumeSource, u world.Use) {
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
			world.Use{Name: "data", Spec: pv, Path: world.PublishedAt(uid, pv), Driver: crowdDriver, Volume: name})
	}
	if !hasClaim || i == guest {
		src := &corev1.EmptyDirVolumeSource{}
		if i%2 == 0 {
			src.Medium = corev1.StorageMediumMemory
		}
		add("scratch", corev1.VolumeSource{EmptyDir: src},
			world.UseOf(uid, &corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: src}}, nil))
	}
	return p, uses
}

// crowdVolume is what the claim of a pod of the crowd, which is called like it, stands for.
func crowdVolume(name string) []any {
	pv := world.PersistentVolume(0, world.Version{})
	pv.Name, pv.Spec.ClaimRef.Name = "pv-"+name, name
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: crowdDriver, VolumeHandle: name}
	pv.Spec.NodeAffinity = nil
	claim := world.ClaimOf(0, 0)
	claim.Name, claim.Spec.VolumeName = name, pv.Name
	return []any{pv, claim}
}

// joins has a pod of the crowd come.
func joins(r *world.Run, i int) *world.Pod {
	hasClaim := i == guest || i >= 0 && i%eachCSI == 0 && !r.Crowd.IsPlain
	p, uses := crowdPod(i, hasClaim)
	if hasClaim && i >= 0 {
		r.W.AddVolume(crowdDriver, p.Name)
		r.Give(crowdVolume(p.Name)...)
	}
	dealings.Apply(r, p, uses)
	return r.ByUID[core.PodUID(p.UID)]
}

// judgesCost is L8.
func judgesCost(r *world.Run) bool {
	if r.Crowd.Pods == 0 || r.Broken != "" {
		return true
	}
	no := false
	r.W.AddDriver(sim.DriverSpec{Name: crowdDriver, Personality: sim.Personality{Staging: true, Checks: true}})
	r.Give(&storagev1.CSIDriver{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
		ObjectMeta: metav1.ObjectMeta{Name: crowdDriver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: &no},
	})
	r.W.AddVolume(crowdDriver, "crowd--1")
	r.Give(crowdVolume("crowd--1")...)
	if !comesToRest(r, "L2", "before a crowd", bound(r)) {
		return false
	}
	few, ok := costs(r)
	if !ok || !gathersCrowd(r) {
		return false
	}
	many, ok := costs(r)
	return ok && Grows(r, few, many)
}

// gathersCrowd has the crowd come, and waits until all is at rest.
func gathersCrowd(r *world.Run) bool {
	for i := range r.Crowd.Mounts {
		at := crowdMounts + "/" + strconv.Itoa(i)
		r.W.MakeDir(at)
		_ = r.W.MountForeign(at)
	}
	var pods []*world.Pod
	for i := range r.Crowd.Pods {
		pods = append(pods, joins(r, i))
	}
	if !comesToRest(r, "L2", "a crowd has come", bound(r)) {
		return false
	}
	m := r.M
	for _, p := range pods {
		r.W.Go(func() { _ = m.WaitForUnmount(r.W.Context(0), p.Uid) })
	}
	r.W.Go(func() { _ = m.WaitForNothing(r.W.Context(0)) })
	return r.Until(r.W.Now().Add(pastAll)) // who waits for nothing has all looked at, once
}

// ACost is what a change has cost, by what was counted.
type ACost map[string]uint64

// costs makes the changes one after the other, and counts.
func costs(r *world.Run) (map[string]ACost, bool) {
	of := map[string]ACost{}
	m, elsewhere := r.M, crowdMounts+"-elsewhere"
	r.W.MakeDir(elsewhere)
	var p *world.Pod
	comes := func() { p = joins(r, guest) }
	goes := func() { judges.Remove(r, p, time.Second) }
	counts(r, of, "a pod without a driver comes and goes", func() { p = joins(r, passerby) }, goes)
	counts(r, of, "a pod comes and goes", comes, goes)
	comes()
	if !r.Until(r.W.Now().Add(oneChange)) || !comesToRest(r, "L2", "a pod has come", bound(r)) {
		return nil, false
	}
	counts(r, of, "a pod is edited", func() {
		object := p.Object.DeepCopy()
		object.ResourceVersion += "0"
		object.Labels = map[string]string{"edited": object.ResourceVersion}
		dealings.Apply(r, object, p.Uses)
	})
	counts(r, of, "a volume is unmounted behind the agent's back", func() { _ = r.W.UnmountTop(p.Uses[0].Path) })
	counts(r, of, "somebody mounts and unmounts elsewhere", func() { _ = r.W.MountForeign(elsewhere) },
		func() { _ = r.W.UnmountTop(elsewhere) })
	counts(r, of, "a wait times out", func() {
		r.W.Go(func() { _ = m.WaitForUnmount(r.W.Context(impatience), p.Uid) })
	})
	counts(r, of, "the agent is asked about a pod and a volume", func() {
		r.W.Do(func() {
			_, _ = m.GetMountedVolumesForPod(r.W.Context(0), p.Uid)
			_, _ = m.VolumeIsAttached(r.W.Context(0), crowdDriver+"^"+p.Uses[0].Volume)
		})
	})
	goes()
	return of, r.Until(r.W.Now().Add(oneChange)) && comesToRest(r, "L4", "a pod has gone", bound(r))
}

// counts makes a change, step by step, and counts. What is done from time to time, whatever changes, such as reading
// all of the mount table, is no cost of it: of two times in a row, the lesser counts.
func counts(r *world.Run, of map[string]ACost, what string, steps ...func()) {
	for i := range 2 {
		before := Spent(r)
		for _, step := range steps {
			if step(); !r.Until(r.W.Now().Add(oneChange)) {
				return
			}
		}
		after := Spent(r)
		for is, n := range after {
			if is != TasksAtOnce {
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
	// TasksAtOnce counts the operations that were under way at one time, at most.
	TasksAtOnce = "tasks at once"
	rungsSeen   = "rungs that core looked at"
	logRead     = "bytes read of the log of deletions" // which is as long as what has gone, not as what stands
)

// Spent is all that was counted so far.
func Spent(r *world.Run) ACost {
	host, work := r.Meter.Counts(), r.Core.Work()
	all := ACost{
		"entries of the mount table": host.Mounts, "entries of directories": host.Names, "files read": host.Files,
		"bytes read": host.Read - host.ReadOf[dealings.DeletionsLog], logRead: host.ReadOf[dealings.DeletionsLog],
		"bytes written": host.Written, TasksAtOnce: host.Tasks, rungsSeen: work.Rungs,
		"places that core compared":   work.Places,
		"waiters that core looked at": work.Waiters, "steps of core": r.Core.Seq(),
	}
	for name, n := range host.Calls {
		all["calls of "+name] = n
	}
	return all
}

// Grows compares. A change may cost a little more: names are longer, and the journal may need another generation.
func Grows(r *world.Run, few, many map[string]ACost) bool {
	for _, change := range slices.Sorted(maps.Keys(few)) {
		for _, is := range slices.Sorted(maps.Keys(many[change])) {
			r.Judges("L8")
			slack := uint64(16)
			switch {
			case strings.HasPrefix(is, "bytes"):
				slack = 4 << 10
			case is == rungsSeen: // a look at a disk with several paths may fall into it; the least crowd is larger
				slack = 48
			}
			if is == logRead { // a deletion compares the log with what it should say
				slack += uint64(len(r.W.ReadFile(dealings.DeletionsLog)))
			}
			if a, b := few[change][is], many[change][is]; b > a+a/4+slack {
				r.Fail("L8", change, is, fmt.Sprintf("%s: %d %s beside %d more pods and %d more mounts, and %d "+
					"without them",
					change, b, is, r.Crowd.Pods, r.Crowd.Mounts, a))
				return false
			}
		}
	}
	return true
}
