package engine_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/memory"
)

type costRig struct {
	loop *memory.Loop
	host *memory.Host
	m    *engine.VolumeManager
}

func newCostRig(drivers ...string) *costRig {
	r := &costRig{loop: memory.NewLoop()}
	r.host = memory.New(r.loop, "/var/lib/volnode", drivers...)
	r.m = engine.New(r.host.HAL(), engine.Config{NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true, JournalBytes: 256 << 20, Logging: func(e engine.Entry) {
		if e.Level > 0 {
			fmt.Println(e.Message, e.Fields)
		}
	}})
	r.m.Start()
	r.loop.Run()
	return r
}

func plainPod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p" + strconv.Itoa(i), UID: types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", VolumeMounts: []corev1.VolumeMount{{Name: "a", MountPath: "/a"}, {Name: "b", MountPath: "/b"}}}}, Volumes: []corev1.Volume{
			{Name: "a", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "b", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}},
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestProfileCost(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("COST_PODS"))
	if n == 0 {
		t.Skip()
	}
	r := newCostRig()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f, _ := os.Create("/tmp/h/cost.prof")
	_ = pprof.StartCPUProfile(f)
	c0 := cpu()
	for i := range n {
		r.m.PodAdded(plainPod(i))
	}
	r.loop.Run()
	c1 := cpu()
	if n < 10 {
		st, err := r.m.Status(t.Context())
		fmt.Printf("%+v %v\n", st, err)
	}
	runtime.ReadMemStats(&after)
	up := after.Mallocs - before.Mallocs
	for i := range n {
		r.m.PodRemoved(core.PodUID(plainPod(i).UID))
	}
	r.loop.Run()
	c2 := cpu()
	pprof.StopCPUProfile()
	runtime.ReadMemStats(&after)
	t.Logf("%d pods: up %v, %.1f µs/volume, %.1f allocs; down %v, %.1f µs/volume, %.1f allocs; calls/volume %.1f", n, c1-c0, float64((c1-c0).Microseconds())/float64(2*n), float64(up)/float64(2*n),
		c2-c1, float64((c2-c1).Microseconds())/float64(2*n), float64(after.Mallocs-before.Mallocs-up)/float64(2*n), float64(r.host.Calls())/float64(2*n))
	st, err := r.m.Status(t.Context())
	require.NoError(t, err)
	require.Empty(t, st.Pods)
}
