package bench

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/hal/memory"
)

const driverName = "csi.example.com"

// manager is what is measured: the engine, or a peer.
type manager interface {
	PodAdded(*corev1.Pod)
	PodRemoved(core.PodUID)
	WaitForAttachAndMount(context.Context, core.PodUID) error
	WaitForUnmount(context.Context, core.PodUID) error
}

const engineRoot = "/var/lib/volnode" // in memory

func engineOn(h hal.Host, root string) *engine.VolumeManager {
	return engine.New(h, engine.Config{NodeName: "n1", RootDir: root, NoRuntime: true})
}

// startEngine starts an engine with the owner and the tasks that it has on Linux, on a host in memory.
func startEngine(b *testing.B) (m *engine.VolumeManager, stop func()) {
	b.Helper()
	root, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	host, err := linux.New(linux.Options{RootDir: root})
	must(b, err)
	m = engineOn(memory.New(host.HAL().Runtime, engineRoot, nil).HAL(), engineRoot)
	return m, run(b, host, m)
}

// run starts an engine with the owner of a host, and returns once it has read the node. What is up when it is stopped
// stays mounted.
func run(b *testing.B, host *linux.Host, m *engine.VolumeManager) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var owner sync.WaitGroup
	owner.Go(func() { host.Run(ctx) })
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	for {
		isSynced, err := m.ReconcilerStatesHasBeenSynced(ctx)
		must(b, err)
		if isSynced {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return func() {
		m.Stop()
		must(b, <-ended)
		host.Close()
		cancel()
		owner.Wait()
	}
}

// podsWith makes pods with volumes that the function names the sources of.
func podsWith(pods, volumes int, source func(pod, volume int) corev1.VolumeSource) (all []*corev1.Pod) {
	for i := range pods {
		name := strconv.Itoa(i)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
		c := corev1.Container{Name: "c", Image: "x"}
		for j := range volumes {
			volume := "volume-" + strconv.Itoa(j)
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source(i, j)})
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume})
		}
		p.Spec.Containers = []corev1.Container{c}
		all = append(all, p)
	}
	return all
}

// emptyDirs makes pods with emptyDirs, on the disk unless a medium is given.
func emptyDirs(pods, volumes int, medium ...corev1.StorageMedium) []*corev1.Pod {
	return podsWith(pods, volumes, func(int, int) corev1.VolumeSource {
		return corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: append(medium, "")[0]}}
	})
}

// claims makes pods with a CSI volume each, and the objects that they need.
func claims(pods int, attributes map[string]string) (all []*corev1.Pod, objects []any) {
	no, once := false, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	objects = append(objects, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driverName},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired:       &no,
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
		},
	})
	all = podsWith(pods, 1, func(pod, _ int) corev1.VolumeSource {
		name := strconv.Itoa(pod)
		csi := &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: name, VolumeAttributes: attributes}
		objects = append(objects, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: once, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: name},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: csi},
			},
		}, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: once},
		})
		source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		return corev1.VolumeSource{PersistentVolumeClaim: source}
	})
	return all, objects
}

// used is what something took.
type used struct {
	wall, cpu time.Duration
	failed    int // of the pods
}

// processorTime is the user and system time of the process and of the children that have ended.
func processorTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			panic(err) // possible only with a bad argument
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// take measures f, which returns how many pods failed.
func take(f func() int) used {
	runtime.GC()
	wall, cpu := time.Now(), processorTime()
	failed := f()
	return used{time.Since(wall), processorTime() - cpu, failed}
}

// storm brings all pods up at once, each with somebody who waits for it, and takes them down in the same way. A wait
// ends after bound.
func storm(m manager, pods []*corev1.Pod, bound time.Duration) (up, down used) {
	up = rise(m, pods, bound)
	if up.failed > 0 {
		time.Sleep(2 * time.Second) // without anybody who waits, the rest comes up
	}
	return up, fall(m, pods, bound)
}

func rise(m manager, pods []*corev1.Pod, bound time.Duration) used {
	return together(pods, bound, m.PodAdded, m.WaitForAttachAndMount)
}

func fall(m manager, pods []*corev1.Pod, bound time.Duration) used {
	return together(pods, bound, func(p *corev1.Pod) { m.PodRemoved(core.PodUID(p.UID)) }, m.WaitForUnmount)
}

func together(
	pods []*corev1.Pod, bound time.Duration, tell func(*corev1.Pod), wait func(context.Context, core.PodUID) error,
) used {
	return take(func() int {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		var waiters sync.WaitGroup
		var failed atomic.Int64
		for _, p := range pods {
			tell(p)
			waiters.Go(func() {
				if wait(ctx, core.PodUID(p.UID)) != nil {
					failed.Add(1)
				}
			})
		}
		waiters.Wait()
		return int(failed.Load())
	})
}

// latencies are the times from telling of a pod with one volume to its being ready, one pod after another, each after a
// pause.
func latencies(b *testing.B, m manager, pods []*corev1.Pod, pause func()) (all []time.Duration) {
	b.Helper()
	for _, p := range pods {
		pause()
		uid, begin := core.PodUID(p.UID), time.Now()
		m.PodAdded(p)
		must(b, m.WaitForAttachAndMount(context.Background(), uid))
		all = append(all, time.Since(begin))
		m.PodRemoved(uid)
	}
	return all
}

// allocations are those of a volume, up and down, and their bytes. There are no goroutines.
func allocations(b *testing.B, pods []*corev1.Pod, objects ...any) (number, bytes float64) {
	b.Helper()
	loop := memory.NewLoop()
	m := engineOn(memory.New(loop, engineRoot, objects, driverName).HAL(), engineRoot)
	m.Start()
	loop.Run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, p := range pods {
		m.PodAdded(p)
	}
	loop.Run()
	mustBeReady(b, m, pods)
	for _, p := range pods {
		m.PodRemoved(core.PodUID(p.UID))
	}
	loop.Run()
	runtime.ReadMemStats(&after)
	volumes := float64(len(pods) * len(pods[0].Spec.Volumes))
	return float64(after.Mallocs-before.Mallocs) / volumes, float64(after.TotalAlloc-before.TotalAlloc) / volumes
}

func mustBeReady(b *testing.B, m *engine.VolumeManager, pods []*corev1.Pod) {
	b.Helper()
	last := pods[len(pods)-1]
	mounted, err := m.GetMountedVolumesForPod(b.Context(), core.PodUID(last.UID))
	if err != nil || len(mounted) != len(last.Spec.Volumes) {
		b.Fatalf("pod %s: %d of its %d volumes are mounted (%v)", last.UID, len(mounted), len(last.Spec.Volumes), err)
	}
}

// severed is a runtime that can be taken away, so that nothing keeps the engine that ran on it in memory.
type severed struct{ hal.Runtime }

// unwatched lets nobody watch, so that nobody is held.
type unwatched struct{ hal.Watches }

func (unwatched) MountTable(func([]string))  {}
func (unwatched) Path(string, func()) func() { return func() {} }

func (unwatched) Directory(string, func()) (changed func() (names []string, isAny bool)) {
	return func() ([]string, bool) { return nil, true }
}

// heldBy is the live heap that the engine holds for a volume that is up, in bytes. It is how much the heap shrinks when
// only the engine becomes garbage; the host and the pods stay.
func heldBy(b *testing.B, pods []*corev1.Pod) float64 {
	b.Helper()
	loop := memory.NewLoop()
	runtimeOf := &severed{loop}
	host := memory.New(runtimeOf, engineRoot, nil)
	h := host.HAL()
	h.Watches = unwatched{h.Watches}
	m := engineOn(h, engineRoot)
	m.Start()
	loop.Run()
	for _, p := range pods {
		m.PodAdded(p)
	}
	loop.Run()
	mustBeReady(b, m, pods)
	with := heap()
	runtime.KeepAlive(m)
	m, loop, h, runtimeOf.Runtime = nil, nil, hal.Host{}, nil
	without := heap()
	runtime.KeepAlive(host)
	runtime.KeepAlive(pods)
	return float64(with-without) / float64(len(pods)*len(pods[0].Spec.Volumes))
}
