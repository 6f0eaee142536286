package engine_test

import (
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/memory"
	"github.com/volnode/volnode/hal/wrap"
)

// cost is what one volume costs, up and down, on a host on which every call succeeds at once.
type cost struct {
	allocations float64
	calls       float64 // of the HAL
}

// costOf brings pods up, all at once, and takes them down.
func costOf(t *testing.T, pods []*corev1.Pod, objects ...any) cost {
	loop := memory.NewLoop()
	host := memory.New(loop, "/var/lib/volnode", objects, driverName)
	m := engine.New(host.HAL(), engine.Config{
		NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true,
		JournalBytes: 64 << 20,
	})
	m.Start()
	loop.Run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	counts := host.Counts()
	for _, p := range pods {
		m.PodAdded(p)
	}
	loop.Run()
	mounted, err := m.GetMountedVolumesForPod(t.Context(), core.PodUID(pods[len(pods)-1].UID))
	require.NoError(t, err)
	require.Len(t, mounted, len(pods[0].Spec.Volumes))
	for _, p := range pods {
		m.PodRemoved(core.PodUID(p.UID))
	}
	loop.Run()
	runtime.ReadMemStats(&after)
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Empty(t, status.Pods)
	require.Empty(t, status.Rungs)
	volumes := float64(len(pods) * len(pods[0].Spec.Volumes))
	return cost{float64(after.Mallocs-before.Mallocs) / volumes, float64(host.Counts().Calls-counts.Calls) / volumes}
}

func emptyDirs(pods int) (all []*corev1.Pod) {
	for i := range pods {
		p := pod(strconv.Itoa(i), "")
		empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: empty}}
		p.Spec.Containers[0].VolumeMounts = p.Spec.Containers[0].VolumeMounts[:1]
		all = append(all, p)
	}
	return all
}

func claims(pods int) (all []*corev1.Pod, objects []any) {
	objects = []any{csiDriver()}
	for i := range pods {
		name := strconv.Itoa(i)
		objects = append(objects, volume("pv-"+name, name), claim(name, "pv-"+name))
		all = append(all, pod(name, name))
	}
	return all, objects
}

// alone leaves pods their first volume.
func alone(pods []*corev1.Pod) []*corev1.Pod {
	for _, p := range pods {
		p.Spec.Volumes, p.Spec.Containers[0].VolumeMounts = p.Spec.Volumes[:1], p.Spec.Containers[0].VolumeMounts[:1]
	}
	return pods
}

// What a volume costs does not depend on how many there are: neither the memory that is taken for it, nor the calls.
// A build that looks for races takes a little more.
func TestCostOfAVolumeIsConstant(t *testing.T) {
	few, many := emptyDirs(50), emptyDirs(2000)
	compare(t, "emptyDir", costOf(t, few), costOf(t, many), 23)
	fewClaims, fewObjects := claims(50)
	manyClaims, manyObjects := claims(2000)
	compare(t, "CSI and emptyDir", costOf(t, fewClaims, fewObjects...), costOf(t, manyClaims, manyObjects...), 48)
	compare(t, "CSI", costOf(t, alone(fewClaims), fewObjects...), costOf(t, alone(manyClaims), manyObjects...), 66)
}

func compare(t *testing.T, what string, few, many cost, most float64) {
	t.Logf("%s: %.1f allocations and %.1f calls a volume of few, %.1f and %.1f of many", what, few.allocations,
		few.calls, many.allocations, many.calls)
	require.LessOrEqual(t, many.allocations, most, what)
	require.LessOrEqual(t, many.allocations, few.allocations*1.25, what)
	require.LessOrEqual(t, many.calls, few.calls*1.05, what)
}

// standing is an engine with pods that are up, and mounts of others beside them.
type standing struct {
	t    *testing.T
	loop *memory.Loop
	host *memory.Host
	m    *engine.VolumeManager
	next *corev1.Pod // is to come

	meter *wrap.Meter // nil if only allocations are counted
	work  core.Work
}

func standingOf(t *testing.T, pods, foreign int, isMetered bool) *standing {
	all, objects := claims(pods + 1)
	s := &standing{t: t, loop: memory.NewLoop(), next: all[pods]}
	s.host = memory.New(s.loop, "/var/lib/volnode", objects, driverName)
	for i := range foreign {
		s.host.MountForeign("/mnt/" + strconv.Itoa(i))
	}
	h := s.host.HAL()
	if isMetered {
		h, s.meter = wrap.Metered(h)
	}
	s.m = engine.New(h, engine.Config{
		NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true, JournalBytes: 64 << 20,
		Stepped: func(c *core.Core) { s.work = c.Work() },
	})
	s.m.Start()
	for _, p := range all[:pods] {
		s.m.PodAdded(p)
	}
	s.loop.Run()
	return s
}

// changes are what may happen to one pod, or to the node, beside pods that stand.
var changes = map[string]func(s *standing){
	"a pod comes and goes": func(s *standing) {
		s.m.PodAdded(s.next)
		require.NoError(s.t, s.m.WaitForAttachAndMount(s.t.Context(), core.PodUID(s.next.UID)))
		s.m.PodRemoved(core.PodUID(s.next.UID))
		require.NoError(s.t, s.m.WaitForUnmount(s.t.Context(), core.PodUID(s.next.UID)))
	},
	"a wait times out": func(s *standing) {
		require.Error(s.t, s.m.WaitForAttachAndMount(s.t.Context(), "nobody"))
	},
	"a pod's volumes are asked for": func(s *standing) {
		volumes, err := s.m.GetMountedVolumesForPod(s.t.Context(), "uid-1")
		require.NoError(s.t, err)
		require.Len(s.t, volumes, 2)
	},
	"a volume is asked for": func(s *standing) {
		is, err := s.m.VolumeIsAttached(s.t.Context(), driverName+"^1")
		require.NoError(s.t, err)
		require.True(s.t, is)
	},
	"somebody mounts elsewhere": func(s *standing) {
		s.host.MountForeign("/elsewhere")
		s.loop.Run()
	},
}

// counts is what was counted so far.
func (s *standing) counts() map[string]uint64 {
	of := s.meter.Counts()
	return map[string]uint64{
		"calls": of.Sum(), "entries of the mount table": of.Mounts, "entries of directories": of.Names,
		"files read": of.Files, "bytes read": of.Read,
		"bytes written": of.Written, "rungs": s.work.Rungs, "places": s.work.Places, "waiters": s.work.Waiters,
	}
}

// What a change costs does not depend on how many pods stand, nor on how many mounts others have.
func TestCostOfAChangeIsConstant(t *testing.T) {
	const runs = 50
	allocations, counted := map[int]map[string]float64{}, map[int]map[string]float64{}
	for _, pods := range []int{20, 1000} {
		allocations[pods], counted[pods] = map[string]float64{}, map[string]float64{}
		bare, metered := standingOf(t, pods, pods, false), standingOf(t, pods, pods, true)
		for _, name := range slices.Sorted(maps.Keys(changes)) {
			changes[name](bare)
			allocations[pods][name] = testing.AllocsPerRun(runs, func() { changes[name](bare) })
			changes[name](metered)
			before := metered.counts()
			for range runs {
				changes[name](metered)
			}
			for is, n := range metered.counts() {
				counted[pods][name+": "+is] = float64(n-before[is]) / runs
			}
		}
	}
	for name, few := range allocations[20] {
		assert.LessOrEqual(t, allocations[1000][name], few*1.1+2, "%s: allocations", name)
	}
	for name, few := range counted[20] {
		assert.LessOrEqual(t, counted[1000][name], few*1.1+0.5, name)
	}
}

// away is a runtime that can be taken away, so that nothing keeps the engine that ran on it in memory.
type away struct{ hal.Runtime }

// unwatched lets nobody watch, so that nobody is held.
type unwatched struct{ hal.Watches }

func (unwatched) MountTable(func([]string))  {}
func (unwatched) Path(string, func()) func() { return func() {} }

func (unwatched) Directory(string, func()) (changed func() (names []string, isAny bool)) {
	return func() ([]string, bool) { return nil, true }
}

// What the engine holds for each of a pod's two emptyDirs that are up, over what it holds without a pod.
func TestAVolumeThatIsUpHoldsLittle(t *testing.T) {
	pods := emptyDirs(5000)
	for _, p := range pods {
		spec := &p.Spec
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "more", VolumeSource: spec.Volumes[0].VolumeSource})
		spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: "more", MountPath: "/more"})
	}
	held := (heldFor(t, pods) - heldFor(t, nil)) / float64(2*len(pods))
	t.Logf("%.1f bytes", held)
	require.LessOrEqual(t, held, 1499.0)
}

// heldFor is how much the heap shrinks when only an engine that has pods with two volumes each becomes garbage.
func heldFor(t *testing.T, pods []*corev1.Pod) float64 {
	t.Helper()
	loop := memory.NewLoop()
	runs := &away{loop}
	host := memory.New(runs, "/var/lib/volnode", nil)
	h := host.HAL()
	h.Watches = unwatched{h.Watches}
	m := engine.New(h, engine.Config{NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true})
	m.Start()
	for _, p := range pods {
		m.PodAdded(p)
	}
	loop.Run()
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, status.Rungs, 2*len(pods))
	status = engine.Status{}
	live := func() float64 {
		var is runtime.MemStats
		runtime.GC()
		runtime.GC() // what lies in pools
		runtime.ReadMemStats(&is)
		return float64(is.HeapAlloc)
	}
	with := live()
	runtime.KeepAlive(m)
	m, loop, h, runs.Runtime = nil, nil, hal.Host{}, nil
	held := with - live()
	runtime.KeepAlive(host)
	runtime.KeepAlive(pods)
	return held
}
