package nfs

import (
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
)

const at = "/r/pods/u1/volumes/kubernetes.io~nfs/data"

// inline is a volume of a pod.
func inline() plugin.Volume {
	return plugin.Volume{
		Root: "/r",
		Pod:  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}},
		Spec: &corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			NFS: &corev1.NFSVolumeSource{Server: "nas", Path: "/data"},
		}},
	}
}

// persistent is one of a PersistentVolume with mount options.
func persistent(options ...string) plugin.Volume {
	v := inline()
	v.PV = &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: v.Spec.NFS}, MountOptions: options,
		},
	}
	v.Spec.NFS = nil
	return v
}

func opOf(t *testing.T, verb core.Verb, v plugin.Volume) core.Op {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 1)
	return core.Op{ID: 1, Verb: verb, Kind: Kind, Key: rungs[0].Key, Params: rungs[0].Want, Quiet: true}
}

func TestProblems(t *testing.T) {
	for want, edit := range map[string]func(src *corev1.NFSVolumeSource){
		"server: is empty":                     func(src *corev1.NFSVolumeSource) { src.Server = "" },
		`server: "-o" is no host name`:         func(src *corev1.NFSVolumeSource) { src.Server = "-o" },
		`server: "a,b" is no host name`:        func(src *corev1.NFSVolumeSource) { src.Server = "a,b" },
		"server: is longer":                    func(src *corev1.NFSVolumeSource) { src.Server = strings.Repeat("a", 300) },
		`path: "data" is not an absolute path`: func(src *corev1.NFSVolumeSource) { src.Path = "data" },
		`path: "/a/../b" contains ".."`:        func(src *corev1.NFSVolumeSource) { src.Path = "/a/../b" },
		"path: has 2000 bytes": func(src *corev1.NFSVolumeSource) {
			src.Path = "/" + strings.Repeat("a", 1999)
		},
		`path: "/a\nb" has control characters`: func(src *corev1.NFSVolumeSource) { src.Path = "/a\nb" },
	} {
		for from, v := range map[string]plugin.Volume{
			"spec.volumes[data].nfs.": inline(), "PersistentVolume data spec.nfs.": persistent(),
		} {
			src := v.Spec.NFS
			if v.PV != nil {
				src = v.PV.Spec.NFS
			}
			edit(src)
			rungs, p := Ladder(nil, v)
			require.Empty(t, rungs)
			require.NotNil(t, p, want)
			require.True(t, strings.HasPrefix(p.Error(), from+want), "%s\nis not\n%s", p.Error(), from+want)
		}
	}
	v := inline()
	v.Block = true
	_, p := Ladder(nil, v)
	require.Contains(t, p.Message, "raw block")
}

// What mount.nfs may be told is listed: no option runs a program, names a file, or comes in two.
func TestOptions(t *testing.T) {
	for _, option := range []string{
		"hard", "soft", "vers=4.2", "nfsvers=3", "timeo=600", "proto=tcp6", "sec=krb5p", "nconnect=4", "nolock", "noexec",
		"lookupcache=none", "rw", "ro",
	} {
		_, p := Ladder(nil, persistent(option))
		require.Nil(t, p, option)
	}
	for _, option := range []string{
		"", "exec", "suid", "dev", "bg", "retry=10000", "clientaddr=1.2.3.4", "fsc", "context=x", "vers", "vers=",
		"vers=4,suid",
		"hard=1", "timeo=6 0", "hard,soft", "-o", "remount", "bind", "users", "xprtsec=tls",
	} {
		_, p := Ladder(nil, persistent(option))
		require.NotNil(t, p, option)
		require.Contains(t, p.Error(), "PersistentVolume data spec.mountOptions", option)
	}
	v := persistent("rw")
	v.ReadOnly = true
	_, p := Ladder(nil, v)
	require.NotNil(t, p)

	w := begin(nil, opOf(t, core.SetUp, persistent("vers=4.2", "hard", "noexec", "nodev", "ro", "hard")))
	require.Equal(t, hal.NewMount{
		FSType: "nfs", Source: "nas:/data", Target: at, Flags: []string{"nodev", "nosuid", "ro", "noexec"},
		Options: []hal.Option{{Key: "retry", Value: "0"}, {Key: "hard"}, {Key: "vers", Value: "4.2"}},
	}, w.mount())
	v = inline()
	v.Spec.NFS.Server, v.Spec.NFS.Path = "fd00::1", "//data/"
	require.Equal(t, "[fd00::1]:/data", begin(nil, opOf(t, core.SetUp, v)).mount().Source)
}

func TestAnExportComesAndGoes(t *testing.T) {
	for _, v := range []plugin.Volume{inline(), persistent()} {
		n := plugintest.New()
		n.World.Export("nas:/data")
		o := opOf(t, core.SetUp, v)
		require.Equal(t, hal.Key("nfs/u1/data"), o.Key)
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, at, core.FactOf(r.Facts, plugin.FactPath))
		require.Equal(t, r.Fingerprint, inspect(n.HAL(), o).Fingerprint)
		calls := len(n.Calls)
		require.Equal(t, r, setUp(n.HAL(), o), "what an attempt has mounted is found")
		require.Len(t, n.Calls, calls)
		o.Fingerprint = r.Fingerprint
		require.Equal(t, r, setUp(n.HAL(), o))
		require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome)
		require.Empty(t, n.World.MountsAt(at))
		_, there := n.World.Exists("/r/pods/u1")
		require.False(t, there)
	}
}

func TestAMountThatIsNoneOfOurs(t *testing.T) {
	n := plugintest.New(at)
	n.World.Export("nas:/data")
	require.Zero(t, n.World.MountForeign(at))
	o := opOf(t, core.SetUp, inline())
	for _, r := range []core.Result{setUp(n.HAL(), o), tearDown(n.HAL(), o)} {
		require.True(t, r.Blocked)
		require.Contains(t, r.Reason, "unexpected mount")
	}
	require.Len(t, n.World.MountsAt(at), 1)
	found := rung("/r", "u1", "data")
	o = core.Op{ID: 1, Verb: core.TearDown, Kind: Kind, Key: found.Key, Params: found.Want, Quiet: true}
	require.Equal(t, hal.NotDone, setUp(n.HAL(), o).Outcome)
	require.True(t, tearDown(n.HAL(), o).Blocked)
	require.Zero(t, n.World.UnmountTop(at))
	require.Equal(t, hal.Done, setUp(n.HAL(), opOf(t, core.SetUp, inline())).Outcome)
	require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome, "it is of NFS")
}

// The kernel may spell an export in another way than mount.nfs was told.
func TestAnExportIsSpelledInAnotherWay(t *testing.T) {
	n := plugintest.New()
	n.World.Export("nas:/data")
	o := opOf(t, core.SetUp, inline())
	r := setUp(n.HAL(), o)
	require.Equal(t, "nas:/data nas:/data", core.FactOf(r.Facts, factSource))
	for i := range o.Params {
		if o.Params[i].Name == paramSource {
			o.Params[i].Value = "nas.example:/data"
		}
	}
	require.True(t, setUp(n.HAL(), o).Blocked)
	o.Facts = []core.Fact{{Name: factSource, Value: "nas.example:/data nas:/data"}}
	require.Equal(t, o.Facts[0], setUp(n.HAL(), o).Facts[1])
	require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome)
}

func TestCallsThatFail(t *testing.T) {
	n := plugintest.New()
	r := setUp(n.HAL(), opOf(t, core.SetUp, inline()))
	require.Equal(t, hal.Unknown, r.Outcome, "it has made directories")
	require.Contains(t, r.Reason, "permission denied", "nobody exports it")
	for call, want := range map[string]hal.Outcome{
		"mkdir " + at: hal.Unknown, "mounts at " + at: hal.NotDone, "mount nfs " + at: hal.Unknown,
	} {
		n.Fail[call] = plugintest.Errno("call", at, syscall.EIO)
		require.Equal(t, want, setUp(n.HAL(), opOf(t, core.SetUp, inline())).Outcome, call)
		delete(n.Fail, call)
	}
	o := opOf(t, core.TearDown, inline())
	o.Params = nil
	require.Equal(t, hal.NotDone, tearDown(n.HAL(), o).Outcome)
}
