package iscsi

import (
	"fmt"
	"slices"
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

const (
	iqn     = "iqn.2026-01.example:disks"
	portal  = "10.0.0.1:3260"
	at      = "/r/pods/u1/volumes/kubernetes.io~iscsi/pv-1"
	mounted = "/r/plugins/kubernetes.io/iscsi/iface-default/" + portal + "-" + iqn + "-lun-1"
)

// none is a cluster without Secrets.
type none struct{}

func (none) Content(string, string, string) *hal.Content { return nil }
func (none) TrustBundles() []*hal.Content                { return nil }

// of is a volume of a pod whose PersistentVolume change makes.
func of(change ...func(*corev1.ISCSIPersistentVolumeSource)) plugin.Volume {
	src := &corev1.ISCSIPersistentVolumeSource{TargetPortal: "10.0.0.1", IQN: iqn, Lun: 1}
	for _, f := range change {
		f(src)
	}
	return plugin.Volume{
		Root: "/r", Contents: none{},
		Pod:  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}},
		Spec: &corev1.Volume{Name: "data"},
		PV: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
			Spec:       corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{ISCSI: src}},
		},
	}
}

// node is one with a target on its network, which has a blank disk, and another one.
func node() *plugintest.Node {
	n := plugintest.New()
	n.World.AddTarget(iqn, portal)
	n.World.AddSANDisk("naa.1", "", "")
	n.World.AddSANDisk("naa.2", "", "")
	n.World.MapLUN(iqn, 1, "naa.1")
	return n
}

// up sets the rungs of a volume up, from the lowest on, until one does not come up.
func up(t *testing.T, n *plugintest.Node, v plugin.Volume) (ops []core.Op, last core.Result) {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	verbs := map[core.Kind]plugin.Verbs{}
	for _, k := range Source().Kinds {
		verbs[k.Name] = k.Verbs
	}
	are := map[hal.Key]core.Foundation{}
	for _, r := range slices.Backward(rungs) {
		o := core.Op{ID: 1, Verb: core.SetUp, Kind: r.Kind, Key: r.Key, Params: r.Want, Quiet: true, First: true}
		for _, key := range r.Below {
			o.Below = append(o.Below, are[key])
		}
		if last = verbs[r.Kind].SetUp(n.HAL(), o); last.Outcome != hal.Done {
			return append(ops, o), last
		}
		o.Facts, o.Fingerprint = last.Facts, last.Fingerprint
		require.Equal(t, o.Fingerprint, verbs[r.Kind].Inspect(n.HAL(), o).Fingerprint)
		ops = append(ops, o)
		are[r.Key] = core.Foundation{Key: r.Key, Kind: r.Kind, Facts: last.Facts, Fingerprint: last.Fingerprint}
	}
	return ops, last
}

func TestABlankDiskOfATargetIsFormattedAndMounted(t *testing.T) {
	n := node()
	ops, r := up(t, n, of())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	holds, uuid := n.World.SANDiskHolds("naa.1")
	require.Equal(t, "ext4", holds)
	require.Equal(t, uuid, core.FactOf(ops[2].Facts, disk.FactHolds))
	require.Equal(t, "naa.1", n.World.SANDiskAt(at))
	require.Len(t, n.World.MountsAt(mounted), 1)
	require.Equal(t, hal.NotDone, logOut(n.HAL(), ops[0]).Outcome, "a disk of it is mounted")
	require.Equal(t, hal.NotDone, removeDisk(n.HAL(), ops[1]).Outcome)

	require.Equal(t, hal.Done, disk.BindVerbs().TearDown(n.HAL(), ops[3]).Outcome)
	require.Equal(t, hal.Done, disk.MountVerbs().TearDown(n.HAL(), ops[2]).Outcome)
	for range 2 {
		require.Equal(t, hal.Done, removeDisk(n.HAL(), ops[1]).Outcome)
	}
	for range 2 {
		require.Equal(t, hal.Done, logOut(n.HAL(), ops[0]).Outcome)
	}
	require.Empty(t, n.World.ISCSISessions())
	require.Empty(t, n.World.ISCSIRecords())
	_, there := n.World.Exists("/r/plugins/kubernetes.io/iscsi/iface-default")
	require.False(t, there)
}

// TestANumberIsGivenToAnotherDisk is what becomes of a volume whose LUN is another disk by now: nothing of that
// changes.
func TestANumberIsGivenToAnotherDisk(t *testing.T) {
	n := node()
	ops, r := up(t, n, of())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	n.World.MapLUN(iqn, 1, "naa.2")
	r = findDisk(n.HAL(), ops[1])
	require.Equal(t, hal.NotDone, r.Outcome, "somebody has it mounted")
	require.Contains(t, r.Reason, "is the disk naa.2 by now, and the kernel takes it for naa.1")
	require.Zero(t, n.World.UnmountTop(at))
	require.Zero(t, n.World.UnmountTop(mounted))
	r = findDisk(n.HAL(), ops[1])
	require.True(t, r.Unfinished, "the kernel has forgotten it")
	r = findDisk(n.HAL(), ops[1])
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "is the disk naa.2, and the volume has naa.1")
	holds, _ := n.World.SANDiskHolds("naa.2")
	require.Empty(t, holds)
	n.World.MapLUN(iqn, 1, "naa.1")
	require.True(t, findDisk(n.HAL(), ops[1]).Unfinished)
	require.Equal(t, hal.Done, findDisk(n.HAL(), ops[1]).Outcome)

	n.World.MapLUN(iqn, 1, "naa.2") // between the look and the mount
	ops[2].Below[0].Facts = ops[1].Facts
	r = disk.MountVerbs().SetUp(n.HAL(), ops[2])
	require.NotEqual(t, hal.Done, r.Outcome)
	holds, _ = n.World.SANDiskHolds("naa.2")
	require.Empty(t, holds, "it is not formatted")
}

func TestCredentials(t *testing.T) {
	n := node()
	n.World.SetCHAP(iqn, map[string]string{chapKeys[0]: "node", chapKeys[1]: "a long secret"})
	v := of(func(src *corev1.ISCSIPersistentVolumeSource) {
		src.SessionCHAPAuth, src.SecretRef = true, &corev1.SecretReference{Name: "chap"}
	})
	_, r := up(t, n, of())
	require.Contains(t, r.Reason, "it asks for credentials (chapAuthSession)")
	_, r = up(t, n, v)
	require.Contains(t, r.Reason, "takes its credentials from Secret ns/chap, but there is none; add it")
	for _, c := range []struct{ user, password, why string }{
		{"node", "", "has no node.session.auth.password"},
		{"node", "a long\nsecret", "not printable ASCII"},
		{"node", "another secret", "refuses the credentials of Secret ns/chap"},
		{"node", "a long secret", ""},
	} {
		n.World.Cluster.Hold(hal.SecretKind, "ns", "chap", map[string]string{
			chapKeys[0]: c.user, chapKeys[1]: c.password, "discovery.sendtargets.auth.username": "x",
		})
		_, r = up(t, n, v)
		require.Contains(t, r.Reason, c.why)
		require.Equal(t, c.why == "", r.Outcome == hal.Done)
	}
}

// many are so many portals, beside that of a volume.
func many(n int) (portals []string) {
	for i := range n {
		portals = append(portals, fmt.Sprintf("10.0.1.%d", i))
	}
	return portals
}

func TestFieldsThatCantBeServed(t *testing.T) {
	type source = corev1.ISCSIPersistentVolumeSource
	name := "-x"
	for want, change := range map[string]func(*source){
		`spec.iscsi.iqn: "disks" is no iSCSI name`:                 func(s *source) { s.IQN = "disks" },
		`spec.iscsi.iqn: "iqn.2026/../x" is no iSCSI name`:         func(s *source) { s.IQN = "iqn.2026/../x" },
		`spec.iscsi.targetPortal: "" is no address`:                func(s *source) { s.TargetPortal = "" },
		`spec.iscsi.targetPortal: "a:99999" is no address`:         func(s *source) { s.TargetPortal = "a:99999" },
		`spec.iscsi.targetPortal: "a/b:1" is no address`:           func(s *source) { s.TargetPortal = "a/b:1" },
		`spec.iscsi.lun: 256 is not between 0 and 255`:             func(s *source) { s.Lun = 256 },
		`spec.iscsi.portals: "san.example" is no address`:          func(s *source) { s.Portals = []string{"san.example"} },
		`spec.iscsi.portals: has 17 portals with targetPortal`:     func(s *source) { s.Portals = many(16) },
		`spec.iscsi.iscsiInterface: "-I" is no name`:               func(s *source) { s.ISCSIInterface = "-I" },
		`spec.iscsi.iscsiInterface: "volnode" is one of volnode's`: func(s *source) { s.ISCSIInterface = "volnode" },
		`spec.iscsi.initiatorName: "-x" is no iSCSI name`:          func(s *source) { s.InitiatorName = &name },
		`spec.iscsi.secretRef: is missing`:                         func(s *source) { s.SessionCHAPAuth = true },
		`spec.iscsi.fsType: "btrfs" is not served`:                 func(s *source) { s.FSType = "btrfs" },
	} {
		_, p := Ladder(nil, of(change))
		require.NotNil(t, p, want)
		require.Contains(t, p.Error(), want)
	}
}

func TestPortalsAreSpeltWithAPort(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1": "10.0.0.1:3260", "10.0.0.1:860": "10.0.0.1:860", "san.example": "", "san.example:860": "",
		"fd00::1": "[fd00::1]:3260", "[FD00:0::1]": "[fd00::1]:3260", "[fd00::1]:860": "[fd00::1]:860",
		"": "", ":3260": "", "10.0.0.1:": "", "10.0.0.1:0": "", "[fd00::1]x:1": "", "[]": "", "[fe80::1%eth0]:3260": "",
	} {
		portal, isGood := portalOf(text)
		require.Equal(t, want != "", isGood, text)
		if isGood {
			require.Equal(t, want, portal)
		}
	}
}

// TestAVolumeOfAPod shares its disk with a PersistentVolume of the same one, and has a session of its own if it asks
// for another name of the initiator.
func TestAVolumeOfAPod(t *testing.T) {
	v := of()
	pv, p := Ladder(nil, v)
	require.Nil(t, p)
	v.PV = nil
	v.Spec.ISCSI = &corev1.ISCSIVolumeSource{
		TargetPortal: portal, IQN: iqn, Lun: 1, FSType: "ext4", ISCSIInterface: "default",
	}
	inline, p := Ladder(nil, v)
	require.Nil(t, p)
	for i := 1; i < 4; i++ {
		require.Equal(t, pv[i].Key, inline[i].Key)
	}
	require.Equal(t, "volume data of pod ns/web", plugin.OwnerOf(inline[2].Want))
	initiator := "iqn.2026-01.example:me"
	v.Spec.ISCSI.InitiatorName = &initiator
	named, p := Ladder(nil, v)
	require.Nil(t, p)
	require.NotEqual(t, inline[3].Key, named[3].Key)
	require.Equal(t, inline[2].Key, named[2].Key, "the disk is the same")
	require.Equal(t, []string{"ns/chap"}, secretsOfPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns"},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			ISCSI: &corev1.ISCSIVolumeSource{SecretRef: &corev1.LocalObjectReference{Name: "chap"}},
		}}}},
	}))
}
