package flex

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const (
	at     = "/r/pods/u1/volumes/example.com~fs/data"
	driver = "example.com/fs"
)

// inline is a volume of a pod.
func inline() plugin.Volume {
	return plugin.Volume{
		Root: "/r", ServesFlex: true,
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"},
			Spec:       corev1.PodSpec{ServiceAccountName: "robot"},
		},
		Spec: &corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{
			Driver: driver, FSType: "xfs", Options: map[string]string{"share": "a&b"},
		}}},
	}
}

// persistent is one of a PersistentVolume.
func persistent() plugin.Volume {
	v := inline()
	src := v.Spec.FlexVolume
	v.PV = &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			FlexVolume: &corev1.FlexPersistentVolumeSource{Driver: src.Driver, FSType: src.FSType, Options: src.Options},
		}},
	}
	v.Spec.FlexVolume = nil
	return v
}

func opOf(t *testing.T, verb core.Verb, v plugin.Volume) core.Op {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 1)
	require.True(t, rungs[0].Intent)
	want := plugin.Sorted(append(rungs[0].Want, core.Param{Name: plugin.ParamPod, Value: "ns/web"}))
	return core.Op{
		ID: 1, Verb: verb, Kind: Kind, Key: rungs[0].Key, Pod: rungs[0].Pod, Params: want, Quiet: true, First: true,
	}
}

func TestProblems(t *testing.T) {
	for want, edit := range map[string]func(v *plugin.Volume){
		"flexVolume.driver: volnode serves no FlexVolume": func(v *plugin.Volume) { v.ServesFlex = false },
		"flexVolume.driver: is empty":                     func(v *plugin.Volume) { v.Spec.FlexVolume.Driver = "" },
		`flexVolume.driver: "fs" is no driver`:            func(v *plugin.Volume) { v.Spec.FlexVolume.Driver = "fs" },
		`flexVolume.driver: "a/../b" is no driver`: func(v *plugin.Volume) {
			v.Spec.FlexVolume.Driver = "a/../b"
		},
		`flexVolume.driver: "kubernetes.io/nfs" has the vendor`: func(v *plugin.Volume) {
			v.Spec.FlexVolume.Driver = "kubernetes.io/nfs"
		},
		"flexVolume.driver: a FlexVolume can't be a raw block device": func(v *plugin.Volume) { v.Block = true },
		"flexVolume.secretRef: volnode gives no secret": func(v *plugin.Volume) {
			v.Spec.FlexVolume.SecretRef = &corev1.LocalObjectReference{Name: "s"}
		},
		`flexVolume.fsType: "a b" is no name`: func(v *plugin.Volume) { v.Spec.FlexVolume.FSType = "a b" },
		`flexVolume.options: "kubernetes.io/readwrite" is an option that volnode itself sets`: func(v *plugin.Volume) {
			v.Spec.FlexVolume.Options = map[string]string{"kubernetes.io/readwrite": "rw"}
		},
		`flexVolume.options: "Sub.K8s.io/x" is an option that volnode itself sets`: func(v *plugin.Volume) {
			v.Spec.FlexVolume.Options = map[string]string{"Sub.K8s.io/x": "rw"}
		},
		"flexVolume.options: have 5001 bytes": func(v *plugin.Volume) {
			v.Spec.FlexVolume.Options = map[string]string{"a": strings.Repeat("b", 5000)}
		},
	} {
		v := inline()
		edit(&v)
		rungs, p := Ladder(nil, v)
		require.Empty(t, rungs)
		require.NotNil(t, p, want)
		require.True(t, strings.HasPrefix(p.Error(), "spec.volumes[data]."+want), "%s\nis not\n%s", p.Error(), want)
	}
	v := persistent()
	v.PV.Spec.FlexVolume.SecretRef = &corev1.SecretReference{Name: "s"}
	_, p := Ladder(nil, v)
	require.Contains(t, p.Error(), "PersistentVolume data spec.flexVolume.secretRef: ")
	v = persistent()
	v.PV.Spec.MountOptions = []string{"hard"}
	_, p = Ladder(nil, v)
	require.Contains(t, p.Error(), "PersistentVolume data spec.mountOptions: ")
	v = persistent()
	v.PV.Spec.FlexVolume = nil
	_, p = Ladder(nil, v)
	require.Contains(t, p.Error(), "is not a FlexVolume")
}

func TestOptions(t *testing.T) {
	v := inline()
	v.ReadOnly = true
	group := int64(2000)
	v.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	told := map[string]string{}
	for _, o := range begin(nil, opOf(t, core.SetUp, v)).options() {
		told[o.Key] = o.Value
	}
	require.Equal(t, map[string]string{
		"kubernetes.io/fsType": "xfs", "kubernetes.io/pod.name": "web", "kubernetes.io/pod.namespace": "ns",
		"kubernetes.io/pod.uid": "u1", "kubernetes.io/pvOrVolumeName": "data", "kubernetes.io/readwrite": "ro",
		"kubernetes.io/serviceAccount.name": "robot", "kubernetes.io/mounterArgs.FsGroup": "2000", "share": "a&b",
	}, told)
	text, err := json.Marshal(told)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret")
	require.Contains(t, begin(nil, opOf(t, core.SetUp, persistent())).options(),
		hal.Option{Key: "kubernetes.io/readwrite", Value: "rw"})
}

func TestAVolumeComesAndGoes(t *testing.T) {
	for _, v := range []plugin.Volume{inline(), persistent()} {
		n := plugintest.New()
		n.World.InstallFlex(driver, "polite")
		o := opOf(t, core.SetUp, v)
		require.Equal(t, hal.Key("flex/u1/example.com~fs/data"), o.Key)
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, at, core.FactOf(r.Facts, plugin.FactPath))
		require.Equal(t, r.Fingerprint, inspect(n.HAL(), o).Fingerprint)
		o.First, o.Fingerprint = false, r.Fingerprint
		calls := len(n.Calls)
		require.Equal(t, r, setUp(n.HAL(), o), "what is confirmed is found")
		require.Len(t, n.Calls, calls)
		o.Verb = core.TearDown
		require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome)
		require.Empty(t, n.World.FlexHolds())
		_, there := n.World.Exists("/r/pods/u1")
		require.False(t, there)
		n.Calls = nil
		require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome)
		require.NotContains(t, strings.Join(n.Calls, "\n"), "flex", "the driver is not asked again")
	}
}

// What a driver answers is not what it has done.
func TestAnswers(t *testing.T) {
	for manner, want := range map[string]struct {
		outcome     hal.Outcome
		undo, block bool
		reason      string
	}{
		"polite":   {hal.Done, false, false, ""},
		"lies":     {hal.Unknown, true, false, "nothing is mounted at " + at},
		"fails":    {hal.Unknown, false, false, "input/output error"},
		"no-mount": {hal.Unknown, false, true, "not supported"},

		"fails-late": {hal.Unknown, true, false, "is mounted; volnode unmounts it"},
		"garbles":    {hal.Unknown, true, false, "is mounted; volnode unmounts it"},
		"attaches":   {hal.NotDone, false, true, "driver example.com/fs wants its volumes attached"},
		"unsafe":     {hal.NotDone, false, true, "operation not permitted"},
		"missing":    {hal.NotDone, false, false, "no such file"},
	} {
		n := plugintest.New()
		if manner != "missing" {
			n.World.InstallFlex(driver, manner)
		}
		r := setUp(n.HAL(), opOf(t, core.SetUp, inline()))
		require.Equal(t, want.outcome, r.Outcome, manner)
		require.Equal(t, want.undo, r.UndoFirst, manner)
		require.Equal(t, want.block, r.Blocked, manner)
		require.Contains(t, r.Reason, want.reason, manner)
		_, made := n.World.Exists("/r/pods/u1")
		require.Equal(t, want.outcome != hal.NotDone, made, manner)
	}
}

func TestGroups(t *testing.T) {
	v, group := inline(), int64(2000)
	v.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	for manner, isReadOnly := range map[string]bool{"polite": false, "gives": true} {
		n := plugintest.New()
		n.World.InstallFlex(driver, manner)
		v.ReadOnly = isReadOnly
		require.Equal(t, hal.Done, setUp(n.HAL(), opOf(t, core.SetUp, v)).Outcome, manner)
	}
	n := plugintest.New()
	n.World.InstallFlex(driver, "gives")
	v.ReadOnly = false
	r := setUp(n.HAL(), opOf(t, core.SetUp, v))
	require.Equal(t, hal.NotDone, r.Outcome)
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "group 2000 (capability fsGroup)")
}

// What an earlier call has mounted is not taken for the volume as it is asked for now.
func TestWhatAnEarlierCallHasMountedGoesFirst(t *testing.T) {
	n := plugintest.New()
	n.World.InstallFlex(driver, "fails-late")
	o := opOf(t, core.SetUp, inline())
	setUp(n.HAL(), o)
	n.World.InstallFlex(driver, "polite")
	o.First = false
	r := setUp(n.HAL(), o)
	require.Equal(t, hal.Unknown, r.Outcome)
	require.True(t, r.UndoFirst)
	require.Contains(t, r.Reason, "an earlier call has mounted")
	o.Verb = core.TearDown
	require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome)
	require.Empty(t, n.World.FlexHolds())
}

func TestWhatADriverLeaves(t *testing.T) {
	for manner, want := range map[string]struct {
		outcome hal.Outcome
		undo    bool
		mounts  int
	}{
		"lies":       {hal.Done, false, 0},
		"no-unmount": {hal.Done, false, 0},
		"missing":    {hal.Done, false, 0},
		"fails":      {hal.Unknown, true, 1},
		"fails-late": {hal.Unknown, true, 0},
		"garbles":    {hal.Unknown, true, 0},
		"unsafe":     {hal.NotDone, false, 1},
	} {
		n := plugintest.New()
		n.World.InstallFlex(driver, "polite")
		o := opOf(t, core.SetUp, inline())
		r := setUp(n.HAL(), o)
		o.Verb, o.First, o.Fingerprint = core.TearDown, false, r.Fingerprint
		if manner == "missing" {
			require.True(t, n.World.RemoveFlexDriver(driver))
		} else {
			n.World.InstallFlex(driver, manner)
		}
		r = tearDown(n.HAL(), o)
		require.Equal(t, want.outcome, r.Outcome, "%s: %s", manner, r.Reason)
		require.Equal(t, want.undo, r.UndoFirst, manner)
		require.Len(t, n.World.MountsAt(at), want.mounts, manner)
		_, there := n.World.Exists(at)
		require.Equal(t, want.outcome != hal.Done, there, manner)
	}
}

// A driver that has let go of a volume, and has left a mount that is busy, has done something.
func TestABusyMountIsLeft(t *testing.T) {
	n := plugintest.New()
	n.World.InstallFlex(driver, "polite")
	o := opOf(t, core.SetUp, inline())
	r := setUp(n.HAL(), o)
	o.Verb, o.First, o.Fingerprint = core.TearDown, false, r.Fingerprint
	for manner, want := range map[string]hal.Outcome{"lies": hal.Unknown, "no-unmount": hal.NotDone} {
		n.World.InstallFlex(driver, manner)
		n.Fail["umount "+at] = plugintest.Errno("umount", at, syscall.EBUSY)
		r := tearDown(n.HAL(), o)
		require.Equal(t, want, r.Outcome, manner)
		require.Equal(t, want == hal.Unknown, r.UndoFirst, manner)
	}
}

func TestAMountThatIsNoneOfOurs(t *testing.T) {
	n := plugintest.New(at)
	n.World.InstallFlex(driver, "polite")
	require.Zero(t, n.World.MountForeign(at))
	foreign := n.World.MountsAt(at)[0].Fingerprint()
	o := opOf(t, core.SetUp, inline())
	r := setUp(n.HAL(), o)
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "unexpected mount")
	o.Verb, o.First, o.Seen = core.TearDown, false, foreign
	r = tearDown(n.HAL(), o)
	require.True(t, r.Blocked)
	require.Len(t, n.World.MountsAt(at), 1)
	o.Seen = core.SeenUnknown // no record tells of it
	require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome)
}

func TestRecordsThatLackSomething(t *testing.T) {
	n := plugintest.New()
	for _, f := range []func(*hal.Host, core.Op) core.Result{setUp, tearDown} {
		require.Equal(t, hal.NotDone, f(n.HAL(), core.Op{Key: "k"}).Outcome)
	}
	require.Nil(t, scanOf("kubernetes.io~nfs"))
	require.Nil(t, scanOf("nfs"))
	require.NotNil(t, scanOf("example.com~fs"))
	require.Equal(t, "", hal.FlexDirectory("a/b~c"))
	require.Equal(t, sim.FlexManner{}, sim.FlexManners["polite"])
}
