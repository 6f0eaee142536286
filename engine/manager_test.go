package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const driverName = "csi.example.com"

// bench is a benign world with one driver and the engine in it.
type bench struct {
	t   *testing.T
	w   *sim.World
	m   *engine.VolumeManager
	log []string
	cfg engine.Config
}

func newBench(t *testing.T, p sim.Personality) *bench {
	b := &bench{t: t, w: sim.New(sim.Config{Keep: true})}
	t.Cleanup(b.w.Close)
	b.cfg = engine.Config{NodeName: "n1", RootDir: "/var/lib/volnode", NoRuntime: true, Happening: func(e engine.Event) {
		l := e.Line()
		b.log = append(b.log, l.Message+" "+strings.Join(l.Fields, " "))
	}}
	b.w.SetAgent(func(h hal.Host) {
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.AddDriver(sim.DriverSpec{Name: driverName, Personality: p})
	b.w.AddVolume(driverName, "a")
	b.w.Cluster.Apply(csiDriver(), volume("pv-a", "a"), claim("a", "pv-a"))
	b.w.StartAgent()
	return b
}

func csiDriver() *storagev1.CSIDriver {
	no := false
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driverName},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired:       &no,
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{"Persistent", "Ephemeral"},
		},
	}
}

func volume(name, handle string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			ClaimRef:    &corev1.ObjectReference{Namespace: "default", Name: handle},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driverName, VolumeHandle: handle},
			},
		},
	}
}

func claim(name, pv string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName:  pv,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		},
	}
}

func pod(name, claim string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
				}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{
					EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
				}},
			},
			Containers: []corev1.Container{{Name: "c", Image: "x", VolumeMounts: []corev1.VolumeMount{
				{Name: "data", MountPath: "/data"}, {Name: "scratch", MountPath: "/scratch"},
			}}},
		},
	}
	return p
}

func (b *bench) run(d time.Duration) {
	b.t.Helper()
	require.NoError(b.t, b.w.RunFor(d))
}

func (b *bench) status() engine.Status {
	var s engine.Status
	b.w.Do(func() { s, _ = b.m.Status(nil) }) //nolint:staticcheck // a nil context is never over
	return s
}

func TestUpRestartDown(t *testing.T) {
	b := newBench(t, sim.Polite())
	web := pod("web", "a")
	b.w.Cluster.Apply(web)
	b.run(time.Minute)
	s := b.status()
	require.Len(t, s.Pods, 1)
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s)

	b.log = nil
	b.w.KillAgent()
	b.run(10 * time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
	for _, line := range b.log {
		require.NotContains(t, line, "operation", "a healthy volume is adopted without a call")
	}

	b.w.Cluster.Delete(web)
	b.run(5 * time.Minute)
	s = b.status()
	require.Empty(t, s.Rungs)
	require.Zero(t, s.Journal.Records)
}

// The status says why a volume is still there that an edit has taken from its pod.
func TestStatusSaysWhyADroppedVolumeStays(t *testing.T) {
	b := newBench(t, sim.Polite())
	web := pod("web", "a")
	b.w.Cluster.Apply(web)
	b.run(time.Minute)
	for _, v := range b.status().Pods[0].Volumes {
		require.Empty(t, v.Why)
	}
	web = web.DeepCopy()
	web.Spec.Volumes, web.Spec.Containers[0].VolumeMounts = web.Spec.Volumes[1:],
		web.Spec.Containers[0].VolumeMounts[1:]
	b.w.Cluster.Apply(web)
	b.run(time.Minute)
	volumes := b.status().Pods[0].Volumes
	require.Len(t, volumes, 2)
	require.Equal(t, "scratch", volumes[0].Name)
	require.Empty(t, volumes[0].Why)
	require.Equal(t, "pv-a", volumes[1].PV)
	require.Equal(t, "not wanted, but containers may still use it; volnode keeps it", volumes[1].Why)
}

// twoOfOneHandle has two PersistentVolumes with one handle and other options, and a pod for each, one after the other.
func (b *bench) twoOfOneHandle() {
	other := volume("pv-b", "a")
	other.Spec.ClaimRef.Name = "b"
	other.Spec.CSI.FSType = "xfs"
	b.w.Cluster.Apply(other, claim("b", "pv-b"), pod("first", "a"))
	b.run(time.Minute)
	b.w.Cluster.Apply(pod("second", "b"))
	b.run(time.Minute)
}

// Two PersistentVolumes with one handle and other options: the second is refused, with both names, until the first is
// not used any more.
func TestTwoVolumesWithOneHandle(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.twoOfOneHandle()

	s := b.status()
	require.Equal(t, engine.Ready, s.Pods[0].State)
	require.Equal(t, engine.Blocked, s.Pods[1].State)
	require.Contains(t, s.Pods[1].Volumes[0].Why,
		"PersistentVolume pv-b names the volume csi.example.com^a, and so does PersistentVolume pv-a")

	b.w.Cluster.Delete(pod("first", "a"))
	b.run(5 * time.Minute)
	s = b.status()
	require.Len(t, s.Pods, 1)
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s.Pods)
}

// The volume of the pod that uses the handle is edited to another one, while its containers run: once they have ended
// nothing is in the way of the pod that was refused.
func TestOneOfTwoVolumesWithOneHandleIsEdited(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.AddVolume(driverName, "c")
	b.twoOfOneHandle()
	require.Equal(t, engine.Blocked, b.status().Pods[1].State)

	edited := volume("pv-a", "c")
	edited.Spec.ClaimRef.Name = "a"
	b.w.Cluster.Apply(edited)
	b.run(time.Minute)
	require.Equal(t, engine.Blocked, b.status().Pods[1].State, "containers of the first may run on it")
	b.w.Cluster.Delete(pod("first", "a"))
	b.run(5 * time.Minute)
	s := b.status()
	require.Len(t, s.Pods, 1)
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s.Pods)
}

// After a restart the pod that was refused may be named first: the one whose containers run on the volume keeps it, and
// nothing is called for.
func TestTwoVolumesWithOneHandleAfterARestart(t *testing.T) {
	b := newBench(t, sim.Polite())
	other := volume("pv-b", "a")
	other.Spec.ClaimRef.Name = "b"
	other.Spec.CSI.FSType = "xfs"
	b.w.Cluster.Apply(other, claim("b", "pv-b"), pod("second", "a"))
	b.run(time.Minute)
	b.w.Cluster.Apply(pod("first", "b"))
	b.run(time.Minute)
	b.log = nil
	b.w.KillAgent()
	b.run(10 * time.Minute)
	s := b.status()
	require.Equal(t, engine.Blocked, s.Pods[0].Volumes[0].State, "%+v", s.Pods)
	require.Equal(t, engine.Ready, s.Pods[1].State, "%+v", s.Pods)
	for _, line := range b.log {
		require.NotContains(t, line, "operation")
	}

	// It goes while nobody serves the node: at the end of the start nothing speaks for it any more.
	b.w.KillAgent()
	b.w.Cluster.Delete(pod("second", "a"))
	b.run(10 * time.Minute)
	s = b.status()
	require.Len(t, s.Pods, 1)
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s)
}

// A pod that went while the agent was down, and whose driver does not let go, is called by its name: it is in the
// journal.
func TestPodThatWentDuringARestartHasItsName(t *testing.T) {
	for _, isLost := range []bool{false, true} {
		b := newBench(t, sim.Polite())
		b.w.Cluster.Apply(pod("web", "a"))
		b.run(time.Minute)
		b.w.KillAgent()
		b.w.Cluster.Delete(pod("web", "a"))
		b.w.BreakDriver(driverName, sim.Hangs)
		name := "web"
		if isLost {
			name = "" // of a pod that left only its directories nothing tells more than its uid
			for _, file := range b.w.Entries("/var/lib/volnode/volnode/journal") {
				require.Zero(t, b.w.RemoveFile("/var/lib/volnode/volnode/journal/"+file))
			}
		}
		b.run(time.Minute)
		s := b.status()
		require.Len(t, s.Pods, 1)
		require.Equal(t, "uid-web", string(s.Pods[0].UID))
		require.Equal(t, name, s.Pods[0].Name)
	}
}

// The journal is lost while the agent is down, and the pod stays.
func TestJournalLost(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	b.w.KillAgent()
	for _, name := range b.w.Entries("/var/lib/volnode/volnode/journal") {
		require.Zero(t, b.w.RemoveFile("/var/lib/volnode/volnode/journal/"+name))
	}
	b.run(10 * time.Minute)
	s := b.status()
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s.Rungs)
}

// A start that finds something of an earlier life, be it that no rung can be made of it, is none on a bare node.
func TestANodeIsBareIfNothingIsFoundOnIt(t *testing.T) {
	const csi, pods = "/var/lib/volnode/plugins/kubernetes.io/csi", "/var/lib/volnode/pods"
	const stage, raw = csi + "/" + driverName + "/0", csi + "/volumeDevices/pv/data"
	for what, find := range map[string]func(w *sim.World){
		"": func(*sim.World) {},
		"an emptyDir": func(w *sim.World) {
			w.MakeDir(pods + "/uid-web/volumes/kubernetes.io~empty-dir/scratch")
		},
		"a damaged data file": func(w *sim.World) {
			w.MakeDir(stage)
			w.WriteFile(stage+"/vol_data.json", []byte("{"))
		},
		"a data file alone": func(w *sim.World) {
			w.MakeDir(raw)
			w.WriteFile(raw+"/vol_data.json",
				[]byte(`{"specVolID":"pv","volumeHandle":"a","driverName":"`+driverName+`"}`))
		},
		"a volume of no plugin": func(w *sim.World) { w.MakeDir(pods + "/uid-web/volumes/kubernetes.io~iscsi/data") },
	} {
		b := newBench(t, sim.Polite())
		b.run(time.Minute)
		b.w.KillAgent()
		find(b.w)
		b.run(time.Minute)
		is := false
		b.w.Do(func() { is = b.m.IsBare() })
		require.Equal(t, what == "", is, what)
	}
}

// Somebody's mount is at the path of a volume: it is left alone, and as soon as it is gone the volume comes up.
func TestForeignMountGoes(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.run(time.Minute)
	const path = "/var/lib/volnode/pods/uid-web/volumes/kubernetes.io~empty-dir/scratch"
	b.w.MakeDir(path)
	b.w.MakeDir("/srv/other")
	require.Zero(t, b.w.BindMount("/srv/other", path, false))
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Blocked, b.status().Pods[0].State)
	require.NotEmpty(t, b.w.MountsAt(path))

	require.Zero(t, b.w.UnmountTop(path))
	b.run(5 * time.Second)
	require.Equal(t, engine.Ready, b.status().Pods[0].State, "%+v", b.status().Rungs)
}
