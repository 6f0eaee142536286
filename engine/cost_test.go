package engine_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/memory"
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
	m := engine.New(host.HAL(), engine.Config{NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true, JournalBytes: 64 << 20})
	m.Start()
	loop.Run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls := host.Calls()
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
	return cost{float64(after.Mallocs-before.Mallocs) / volumes, float64(host.Calls()-calls) / volumes}
}

func emptyDirs(pods int) (all []*corev1.Pod) {
	for i := range pods {
		p := pod(strconv.Itoa(i), "")
		empty := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: empty}}
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

// What a volume costs does not depend on how many there are: neither the memory that is taken for it, nor the calls.
func TestCostOfAVolumeIsConstant(t *testing.T) {
	few, many := emptyDirs(50), emptyDirs(2000)
	compare(t, "emptyDir", costOf(t, few), costOf(t, many), 105)
	fewClaims, fewObjects := claims(50)
	manyClaims, manyObjects := claims(2000)
	compare(t, "CSI", costOf(t, fewClaims, fewObjects...), costOf(t, manyClaims, manyObjects...), 200)
}

func compare(t *testing.T, what string, few, many cost, most float64) {
	t.Logf("%s: %.1f allocations and %.1f calls a volume of few, %.1f and %.1f of many", what, few.allocations, few.calls, many.allocations, many.calls)
	require.LessOrEqual(t, many.allocations, most, what)
	require.LessOrEqual(t, many.allocations, few.allocations*1.25, what)
	require.LessOrEqual(t, many.calls, few.calls*1.05, what)
}
