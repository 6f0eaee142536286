package local

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const at = "/r/pods/u1/volumes/kubernetes.io~local-volume/pv-1"

var bind, mount = disk.BindVerbs(), disk.MountVerbs()

// volume is a local volume of a pod, of the directory /disk.
func volume() plugin.Volume {
	return plugin.Volume{
		Root: "/r",
		Pod:  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}},
		Spec: &corev1.Volume{Name: "data"},
		PV: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/disk/"}},
			},
		},
	}
}

// opOf is an operation on a volume.
func opOf(t *testing.T, verb core.Verb, v plugin.Volume) core.Op {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 1)
	return core.Op{ID: 1, Verb: verb, Kind: Kind, Key: rungs[0].Key, Params: rungs[0].Want, Quiet: true}
}

// made is a teardown of what a setup has made.
func made(o core.Op, r core.Result) core.Op {
	o.Verb, o.Fingerprint, o.Facts = core.TearDown, r.Fingerprint, r.Facts
	return o
}

func TestProblems(t *testing.T) {
	for want, edit := range map[string]func(v *plugin.Volume){
		`PersistentVolume pv-1 spec.local.path: "disk" is not an absolute path`: func(v *plugin.Volume) {
			v.PV.Spec.Local.Path = "disk"
		},
		`PersistentVolume pv-1 spec.local.path: "/disk/../etc" contains ".."`: func(v *plugin.Volume) {
			v.PV.Spec.Local.Path = "/disk/../etc"
		},
		`PersistentVolume pv-1 spec.local.fsType: "zfs" is not served; use one of ext2`: func(v *plugin.Volume) {
			is := "zfs"
			v.PV.Spec.Local.FSType = &is
		},
		`PersistentVolume pv-1 spec.mountOptions: "errors=panic" is not an option`: func(v *plugin.Volume) {
			is := "ext4"
			v.PV.Spec.Local.FSType, v.PV.Spec.MountOptions = &is, []string{"rw", "discard", "errors=panic"}
		},
		`PersistentVolume pv-1 spec.mountOptions: "noatime" can't be given`: func(v *plugin.Volume) {
			v.PV.Spec.MountOptions = []string{"nosuid", "noatime"}
		},
		`PersistentVolume pv-1 spec.mountOptions: "rw" can't be given`: func(v *plugin.Volume) {
			v.PV.Spec.MountOptions, v.ReadOnly = []string{"rw"}, true
		},
		"PersistentVolume a/b metadata.name: ": func(v *plugin.Volume) { v.PV.Name = "a/b" },
		"spec.securityContext.fsGroup: volume": func(v *plugin.Volume) {
			group := int64(1)
			v.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
		},
	} {
		v := volume()
		edit(&v)
		rungs, p := Ladder(nil, v)
		require.Empty(t, rungs)
		require.NotNil(t, p, want)
		require.True(t, strings.HasPrefix(p.Error(), want), "%s\nis not\n%s", p.Error(), want)
	}
	v := volume()
	v.ReadOnly = true // nothing is written, so the owner does not matter
	group := int64(1)
	v.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	_, p := Ladder(nil, v)
	require.Nil(t, p)
}

func TestADirectoryIsBoundAndStays(t *testing.T) {
	n := plugintest.New("/disk/kept")
	v := volume()
	v.PV.Spec.MountOptions = []string{"nosuid", "ro", "bind", "nosuid"}
	o := opOf(t, core.SetUp, v)
	r := bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, at, core.FactOf(r.Facts, plugin.FactPath))
	m := n.World.MountsAt(at)[0]
	require.Equal(t, "/disk", m.Root)
	require.True(t, m.ReadOnly)
	require.Contains(t, m.Options, "nosuid")
	require.Equal(t, r.Fingerprint, bind.Inspect(n.HAL(), o).Fingerprint)

	calls := len(n.Calls)
	require.Equal(t, r, bind.SetUp(n.HAL(), o), "what is there is found")
	require.Len(t, n.Calls, calls)

	require.Equal(t, hal.Done, bind.TearDown(n.HAL(), made(o, r)).Outcome)
	_, there := n.World.Exists("/r/pods/u1")
	require.False(t, there)
	_, there = n.World.Exists("/disk/kept")
	require.True(t, there)
}

func TestWhatIsNoDirectory(t *testing.T) {
	for want, put := range map[string]func(n *plugintest.Node){
		"there is no /disk":         func(*plugintest.Node) {},
		"/disk is a file":           func(n *plugintest.Node) { n.Put("/disk", hal.TypeFile) },
		"/disk is a block device":   func(n *plugintest.Node) { n.Put("/disk", hal.TypeBlockDevice) },
		"no such file or directory": func(n *plugintest.Node) { n.Fail["host find /disk"] = syscall.ENOENT },
		"local volume /disk leads to pods/u2 in volnode's root directory": func(n *plugintest.Node) {
			n.World.MakeDir("/r/pods/u2")
			_ = n.World.Symlink("/r/pods/u2", "/disk")
		},
	} {
		n := plugintest.New()
		put(n)
		r := bind.SetUp(n.HAL(), opOf(t, core.SetUp, volume()))
		require.Equal(t, hal.NotDone, r.Outcome)
		require.Contains(t, r.Reason, want)
		require.Equal(t, strings.Contains(want, "root directory"), r.Blocked)
		require.Empty(t, n.Calls, "nothing is made")
	}
}

func TestAnotherDirectoryIsNotBound(t *testing.T) {
	n := plugintest.New("/disk")
	o := opOf(t, core.SetUp, volume())
	r := bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.Done, r.Outcome)
	require.Zero(t, n.World.UnmountTop(at))
	n.Put("/disk", hal.TypeDirectory)

	o.Fingerprint, o.Facts = r.Fingerprint, r.Facts
	again := bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.NotDone, again.Outcome)
	require.Contains(t, again.Reason, "/disk is not the directory that the pod was given")
	require.Empty(t, n.World.MountsAt(at))

	o.Left = true
	require.Equal(t, hal.Done, bind.SetUp(n.HAL(), o).Outcome, "the pod has left since")
	o.Left = false
	require.Zero(t, n.World.UnmountTop(at))
	v := volume()
	v.PV.Spec.Local.Path = "/other"
	n.Put("/other", hal.TypeDirectory)
	edited := opOf(t, core.SetUp, v)
	edited.Facts = r.Facts
	require.Equal(t, hal.Done, bind.SetUp(n.HAL(), edited).Outcome, "somebody has edited the path")
}

func TestAMountThatIsNoneOfOurs(t *testing.T) {
	n := plugintest.New("/disk")
	n.Mount(at, "other")
	o := opOf(t, core.SetUp, volume())
	o.First = true
	r := bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.Unknown, r.Outcome)
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "unexpected mount")
	r = bind.TearDown(n.HAL(), o)
	require.True(t, r.Blocked)
	require.Len(t, n.World.MountsAt(at), 1)

	o.First = false
	r = bind.SetUp(n.HAL(), o)
	require.True(t, r.UndoFirst, "an attempt that died may have bound it, before the source led elsewhere")
	require.False(t, r.Blocked)
	require.Len(t, n.World.MountsAt(at), 1)
	require.Equal(t, hal.Done, bind.TearDown(n.HAL(), o).Outcome)
	n.World.MakeDir(at)
	require.Zero(t, n.World.BindMount("/disk", at, false))
	r = bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.Done, r.Outcome, "whoever has bound it")
	require.Equal(t, hal.Done, bind.TearDown(n.HAL(), o).Outcome)
}

func TestWhatHasNoRecord(t *testing.T) {
	n := plugintest.New("/disk", at)
	found := rung("/r", "u1", "pv-1")
	o := core.Op{ID: 1, Verb: core.TearDown, Kind: Kind, Key: found.Key, Params: found.Want, Quiet: true}
	require.Equal(t, hal.NotDone, bind.SetUp(n.HAL(), o).Outcome)
	require.Zero(t, n.World.MountForeign(at))
	require.True(t, bind.TearDown(n.HAL(), o).Blocked, "nothing else on the node shows this filesystem")
	require.Zero(t, n.World.BindMount("/disk", at, false))
	require.True(t, bind.TearDown(n.HAL(), o).Blocked, "two mounts are there")
	require.Zero(t, n.World.UnmountTop(at))
	require.Zero(t, n.World.UnmountTop(at))
	require.Zero(t, n.World.BindMount("/disk", at, false))
	require.Equal(t, hal.Done, bind.TearDown(n.HAL(), o).Outcome)
	require.Equal(t, hal.Done, bind.TearDown(n.HAL(), o).Outcome)
}

func TestWhatContainersWroteBelowTheMountStays(t *testing.T) {
	n := plugintest.New("/disk", at)
	n.World.WriteFile(at+"/precious", []byte("x"))
	o := opOf(t, core.SetUp, volume())
	r := bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.Done, r.Outcome)
	r = bind.TearDown(n.HAL(), made(o, r))
	require.Equal(t, hal.Unknown, r.Outcome)
	require.Contains(t, r.Reason, "directory not empty")
	_, there := n.World.Exists(at + "/precious")
	require.True(t, there)
}

func TestAFileInThePlaceOfTheMountStays(t *testing.T) {
	n := plugintest.New("/disk", at)
	o := opOf(t, core.SetUp, volume())
	r := bind.SetUp(n.HAL(), o)
	require.Equal(t, hal.Done, r.Outcome)
	require.Zero(t, n.World.UnmountTop(at))
	require.Zero(t, n.World.RemoveDir(at))
	n.World.WriteFile(at, []byte("precious"))
	r = bind.TearDown(n.HAL(), made(o, r))
	require.Equal(t, hal.Unknown, r.Outcome)
	require.Contains(t, r.Reason, "a file is there")
	_, there := n.World.Exists(at)
	require.True(t, there)
}

func TestCallsThatFail(t *testing.T) {
	for call, want := range map[string]hal.Outcome{
		"mkdir " + at: hal.Unknown, "bind /disk " + at: hal.Unknown, "mounts at " + at: hal.NotDone,
		"host find /disk": hal.NotDone,
	} {
		n := plugintest.New("/disk")
		n.Fail[call] = plugintest.Errno("call", at, syscall.EIO)
		require.Equal(t, want, bind.SetUp(n.HAL(), opOf(t, core.SetUp, volume())).Outcome, call)
	}
	for call, want := range map[string]hal.Outcome{
		"umount " + at: hal.NotDone, "remove " + at: hal.Unknown, "mounts at " + at: hal.NotDone,
		"remove /r/pods/u1": hal.Unknown,
	} {
		n := plugintest.New("/disk")
		o := opOf(t, core.SetUp, volume())
		r := bind.SetUp(n.HAL(), o)
		n.Fail[call] = plugintest.Errno("call", at, syscall.EIO)
		require.Equal(t, want, bind.TearDown(n.HAL(), made(o, r)).Outcome, call)
	}
}
