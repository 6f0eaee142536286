package fc

import (
	"testing"
	"time"

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
	port    hal.WWPN = 0x50060e801049cfd1
	other   hal.WWPN = 0x50060e801049cfd2
	first            = "naa.6001405000000000000000000000000a"
	second           = "naa.6001405000000000000000000000000b"
	at               = "/r/pods/u1/volumes/kubernetes.io~fc/pv-1"
	mounted          = "/r/plugins/kubernetes.io/fc/50060e801049cfd1-lun-1"
	named            = "/r/plugins/kubernetes.io/fc/36001405000000000000000000000000a"
)

// of is a volume of a pod whose PersistentVolume change makes.
func of(change ...func(*corev1.FCVolumeSource)) plugin.Volume {
	lun := int32(1)
	src := &corev1.FCVolumeSource{TargetWWNs: []string{port.String()}, Lun: &lun}
	for _, f := range change {
		f(src)
	}
	return plugin.Volume{
		Root: "/r",
		Pod:  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}},
		Spec: &corev1.Volume{Name: "data"},
		PV: &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
			Spec:       corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{FC: src}},
		},
	}
}

// byName is a volume that is known by a WWID.
func byName(wwid string) plugin.Volume {
	return of(func(s *corev1.FCVolumeSource) { s.TargetWWNs, s.Lun, s.WWIDs = nil, nil, []string{wwid} })
}

// node is one whose port sees one of an array, which has a blank disk that the kernel has not found yet, and another
// one.
func node() *plugintest.Node {
	n := plugintest.New()
	n.World.AddFCHost(1)
	n.World.AddFCTarget(port)
	n.World.AddSANDisk(first, "", "")
	n.World.AddSANDisk(second, "", "")
	n.World.MapLUN(port.String(), 1, first)
	return n
}

// up sets the rungs of a volume up, from the lowest on, until one does not come up.
func up(t *testing.T, n *plugintest.Node, v plugin.Volume) (ops []core.Op, last core.Result) {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 3)
	verbs := map[core.Kind]plugin.Verbs{}
	for _, k := range Source().Kinds {
		verbs[k.Name] = k.Verbs
	}
	var below []core.Foundation
	for i := 2; i >= 0; i-- {
		r := rungs[i]
		o := core.Op{
			ID: 1, Verb: core.SetUp, Kind: r.Kind, Key: r.Key, Params: r.Want, Quiet: true, First: true, Below: below,
		}
		if last = verbs[r.Kind].SetUp(n.HAL(), o); last.Outcome != hal.Done {
			return append(ops, o), last
		}
		o.Facts, o.Fingerprint = last.Facts, last.Fingerprint
		require.Equal(t, o.Fingerprint, verbs[r.Kind].Inspect(n.HAL(), o).Fingerprint)
		ops = append(ops, o)
		below = []core.Foundation{{Key: r.Key, Kind: r.Kind, Facts: last.Facts, Fingerprint: last.Fingerprint}}
	}
	return ops, last
}

// down takes the rungs of a volume down.
func down(t *testing.T, n *plugintest.Node, ops []core.Op) {
	t.Helper()
	require.Equal(t, hal.Done, disk.BindVerbs().TearDown(n.HAL(), ops[2]).Outcome)
	require.Equal(t, hal.Done, disk.MountVerbs().TearDown(n.HAL(), ops[1]).Outcome)
	for range 2 {
		require.Equal(t, hal.Done, removeDisk(n.HAL(), ops[0]).Outcome)
	}
}

// known are the disks of a name that the kernel has.
func known(t *testing.T, n *plugintest.Node, wwid string) []hal.SCSIDisk {
	t.Helper()
	all, err := n.HAL().SCSI.Named(hal.Call{}, wwid)
	require.NoError(t, err)
	return all
}

func TestABlankDiskOfAPortIsFormattedAndMounted(t *testing.T) {
	n := node()
	ops, r := up(t, n, of())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	holds, uuid := n.World.SANDiskHolds(first)
	require.Equal(t, "ext4", holds)
	require.Equal(t, uuid, core.FactOf(ops[1].Facts, disk.FactHolds))
	require.Equal(t, first, n.World.SANDiskAt(at))
	require.Len(t, n.World.MountsAt(mounted), 1)
	require.Equal(t, hal.NotDone, removeDisk(n.HAL(), ops[0]).Outcome, "it is mounted")
	down(t, n, ops)
	require.Empty(t, known(t, n, first))
	_, there := n.World.Exists(mounted)
	require.False(t, there)
}

// TestADiskIsKnownByItsName is a volume that only a WWID names: nothing is scanned for it, and nothing removed.
func TestADiskIsKnownByItsName(t *testing.T) {
	n := node()
	_, r := up(t, n, byName("36001405000000000000000000000000A"))
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "the kernel has no disk "+first)
	require.NoError(t, n.HAL().SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: 2, LUN: 1}))
	ops, r := up(t, n, byName("36001405000000000000000000000000a"))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, first, n.World.SANDiskAt(at))
	require.Len(t, n.World.MountsAt(named), 1)
	down(t, n, ops)
	require.Len(t, known(t, n, first), 1)
	n.World.MapLUN(port.String(), 1, second)
	r = findDisk(n.HAL(), ops[0])
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "is the disk "+second+" by now, and the kernel takes it for "+first)
	require.Len(t, known(t, n, first), 1)
}

func TestANumberIsGivenToAnotherDisk(t *testing.T) {
	n := node()
	ops, r := up(t, n, of())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	n.World.MapLUN(port.String(), 1, second)
	r = findDisk(n.HAL(), ops[0])
	require.Equal(t, hal.NotDone, r.Outcome, "somebody has it mounted")
	require.Contains(t, r.Reason, "is the disk "+second+" by now, and the kernel takes it for "+first)
	require.Zero(t, n.World.UnmountTop(at))
	require.Zero(t, n.World.UnmountTop(mounted))
	require.True(t, findDisk(n.HAL(), ops[0]).Unfinished, "the kernel has forgotten it")
	r = findDisk(n.HAL(), ops[0])
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "is the disk "+second+", and the volume has "+first)
	require.Equal(t, hal.Done, removeDisk(n.HAL(), ops[0]).Outcome)
	require.Len(t, known(t, n, second), 1, "it is not the volume's to remove")
	holds, _ := n.World.SANDiskHolds(second)
	require.Empty(t, holds)
}

func TestAPortIsAway(t *testing.T) {
	n := plugintest.New()
	_, r := up(t, n, of())
	require.Contains(t, r.Reason, "this node has no Fibre Channel port")
	n.World.AddFCHost(1)
	_, r = up(t, n, of())
	require.Contains(t, r.Reason, "no port of this node sees the port 50060e801049cfd1 as a target: it has "+
		"0000000000000001 (Online)")
	n.World.AddFCTarget(other)
	n.World.AddFCTarget(port)
	_, r = up(t, n, of())
	require.Equal(t, hal.Unknown, r.Outcome)
	require.Contains(t, r.Reason, "shows this node no such disk")
	n.World.AddSANDisk(first, "ext4", "88888888-1111-4222-8333-444455556666")
	n.World.MapLUN(port.String(), 1, first)
	ops, r := up(t, n, of())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, uint32(1), known(t, n, first)[0].Address.Target)
	n.World.LoseFCTarget(port, 0)
	r = findDisk(n.HAL(), ops[0])
	require.Contains(t, r.Reason, "the port 50060e801049cfd1 does not answer (it is Blocked)")
	require.NoError(t, n.World.RunFor(2*time.Minute))
	require.Contains(t, findDisk(n.HAL(), ops[0]).Reason, "no port of this node sees the port")
	require.Empty(t, inspectDisk(n.HAL(), ops[0]).Fingerprint)
	require.Equal(t, hal.Done, removeDisk(n.HAL(), ops[0]).Outcome)
}

// TestTwoWaysAreUsedByTheirMap is a disk that the node sees twice: by two ports of its own, by two of the array, or
// under two numbers.
func TestTwoWaysAreUsedByTheirMap(t *testing.T) {
	for text, see := range map[string]func(*plugintest.Node) plugin.Volume{
		"two ports of the node": func(n *plugintest.Node) plugin.Volume {
			n.World.AddFCHost(2)
			return of()
		},
		"two ports of the array": func(n *plugintest.Node) plugin.Volume {
			n.World.AddFCTarget(other)
			n.World.MapLUN(other.String(), 1, first)
			return of(func(s *corev1.FCVolumeSource) { s.TargetWWNs = append(s.TargetWWNs, other.String()) })
		},
		"a name": func(n *plugintest.Node) plugin.Volume {
			require.True(t, n.World.ScanByHand(port, 1))
			n.World.MapLUN(port.String(), 2, first)
			require.True(t, n.World.ScanByHand(port, 2))
			return byName(first)
		},
	} {
		t.Run(text, func(t *testing.T) {
			n := node()
			v := see(n)
			n.World.SetMultipathd("off")
			_, r := up(t, n, v)
			require.Equal(t, hal.NotDone, r.Outcome)
			require.Contains(t, r.Reason, "has several paths, which takes multipathd")
			n.World.SetMultipathd("on")
			ops, r := up(t, n, v)
			require.Equal(t, hal.Done, r.Outcome, r.Reason)
			require.Equal(t, "/dev/dm-0", core.FactOf(ops[0].Facts, disk.FactNode))
			maps := n.World.MultipathMaps()
			require.Len(t, maps, 1)
			require.Len(t, maps[0].Paths, 2)
			require.Equal(t, first, n.World.SANDiskAt(at))
			require.Equal(t, ops[0].Fingerprint, inspectDisk(n.HAL(), ops[0]).Fingerprint)
			down(t, n, ops)
			if v.PV.Spec.FC.Lun == nil {
				require.Len(t, n.World.MultipathMaps(), 1, "nobody could scan for its paths")
				return
			}
			require.Empty(t, n.World.MultipathMaps())
			require.Empty(t, known(t, n, first))
		})
	}
}

// TestADiskStaysOnePath is one that was set up before its port was seen a second time: it may be in use.
func TestADiskStaysOnePath(t *testing.T) {
	n := node()
	ops, r := up(t, n, of())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	n.World.AddFCHost(2)
	r = findDisk(n.HAL(), ops[0])
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, ops[0].Fingerprint, r.Fingerprint)
	require.Equal(t, ops[0].Fingerprint, inspectDisk(n.HAL(), ops[0]).Fingerprint)
	require.Equal(t, hal.NotDone, removeDisk(n.HAL(), ops[0]).Outcome, "it is mounted")
	down(t, n, ops)
	require.Empty(t, known(t, n, first))
}

func TestAVolumeSaysWhichPortsAreLost(t *testing.T) {
	n := node()
	n.World.AddFCTarget(other)
	n.World.MapLUN(other.String(), 1, first)
	ops, r := up(t, n, of(func(s *corev1.FCVolumeSource) { s.TargetWWNs = append(s.TargetWWNs, other.String()) }))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	says := func(params []core.Param, want, contains string) {
		t.Helper()
		all, err := health(n.HAL(), hal.Call{}, params)
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, all)
			return
		}
		require.Len(t, all, 1)
		require.Equal(t, want, all[0].Status+" "+all[0].Reason)
		require.Contains(t, all[0].Message, contains)
	}
	bind := ops[2].Params
	says(bind, "", "")
	n.World.LoseFCTarget(other, 0)
	says(bind, "DEGRADED PathLost", "has 1 of 2 paths: the port "+other.String()+" does not answer (it is Blocked)")
	require.NoError(t, n.World.RunFor(2*time.Minute))
	says(bind, "DEGRADED PathLost", "no port of this node sees the port "+other.String()+" any more")
	r = findDisk(n.HAL(), ops[0])
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, ops[0].Fingerprint, r.Fingerprint)
	require.Contains(t, r.Short, "has lost a path: no port of this node sees the port "+other.String())
	n.World.RestoreFCTarget(other)
	require.NoError(t, n.World.RunFor(2*time.Minute))
	says(bind, "", "")
	require.Empty(t, findDisk(n.HAL(), ops[0]).Short)
	n.World.LoseFCTarget(other, 0)
	n.World.LoseFCTarget(port, 0)
	says(bind, "INACCESSIBLE NoPath", "no path to LUN 1 of port "+port.String()+" is left")

	n = node()
	require.True(t, n.World.ScanByHand(port, 1))
	ops, r = up(t, n, byName(first))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	bind = ops[2].Params
	says(bind, "", "")
	n.World.LoseFCTarget(port, 0)
	says(bind, "INACCESSIBLE DiskFails", "is blocked")
	require.NoError(t, n.World.RunFor(2*time.Minute))
	says(bind, "INACCESSIBLE DiskGone", "the kernel has lost the disk "+first)
	says(nil, "", "") // a start has found the volume
}

func TestFieldsThatCantBeServed(t *testing.T) {
	type source = corev1.FCVolumeSource
	byWWIDs := func(all ...string) func(*source) { return func(s *source) { s.TargetWWNs, s.WWIDs = nil, all } }
	for want, change := range map[string]func(*source){
		`spec.fc.targetWWNs: is missing; name the port`:      func(s *source) { s.TargetWWNs = nil },
		`spec.fc.targetWWNs: "5006" is no name of a port`:    func(s *source) { s.TargetWWNs = []string{"5006"} },
		`spec.fc.targetWWNs: "0x50060e801049cf" is no name`:  func(s *source) { s.TargetWWNs = []string{"0x50060e801049cf"} },
		`spec.fc.targetWWNs: "b" is no name of a port`:       func(s *source) { s.TargetWWNs = append(s.TargetWWNs, "b") },
		`spec.fc.targetWWNs: has 17 ports; volnode uses at`:  func(s *source) { s.TargetWWNs = make([]string, 17) },
		`spec.fc.lun: is missing`:                            func(s *source) { s.Lun = nil },
		`spec.fc.lun: 256 is not between 0 and 255`:          func(s *source) { *s.Lun = 256 },
		`spec.fc.wwids: stands beside targetWWNs`:            func(s *source) { s.WWIDs = []string{first} },
		`spec.fc.wwids: "1ATA disk" is no WWID that volnode`: byWWIDs("1ATA disk"),
		`spec.fc.wwids: "../3600" is no WWID that volnode`:   byWWIDs("../3600"),
		`spec.fc.wwids: has 2 WWIDs, and a disk has one`:     byWWIDs("a", "b"),
		`spec.fc.fsType: "btrfs" is not served`:              func(s *source) { s.FSType = "btrfs" },
	} {
		_, p := Ladder(nil, of(change))
		require.NotNil(t, p, want)
		require.Contains(t, p.Error(), want)
	}
	v := of()
	v.Block, v.Spec.FC, v.PV = true, v.PV.Spec.FC, nil
	_, p := Ladder(nil, v)
	require.Contains(t, p.Error(), "is of no PersistentVolume")
}

func TestNamesOfDisks(t *testing.T) {
	for text, want := range map[string]string{
		"36001405000000000000000000000000a": first, "naa.6001405000000000000000000000000A": first,
		"35000c500a1b2c3d4": "naa.5000c500a1b2c3d4", "20024f4009d8e7f60": "eui.0024f4009d8e7f60",
		"3": "", "": "", "3600140500000000000000000000000zz": "", "1ATA": "", "naa.": "",
	} {
		have, isGood := wwidOf(text)
		require.Equal(t, want != "", isGood, text)
		require.Equal(t, want, have)
	}
	for entry, want := range map[string]which{
		"50060e801049cfd1-lun-1":            {ports: []hal.WWPN{port}, lun: 1},
		"36001405000000000000000000000000a": {wwid: first},
	} {
		have, is := whichOf(entry)
		require.True(t, is)
		require.Equal(t, want, have)
	}
	for _, entry := range []string{
		"", "x", "50060e801049cfd1", "50060E801049CFD1-lun-1", "50060e801049cfd1-lun-01", "50060e801049cfd1-lun-256",
		"50060e801049cfd1-50060e801049cfd2-lun-1", "naa.6001405000000000000000000000000a", "50060e801049cfd1-lun--1",
	} {
		_, is := whichOf(entry)
		require.False(t, is, entry)
	}
}

// TestAVolumeOfAPod shares its disk with a PersistentVolume of the same one.
func TestAVolumeOfAPod(t *testing.T) {
	v := of()
	pv, p := Ladder(nil, v)
	require.Nil(t, p)
	lun := int32(1)
	v.PV = nil
	v.Spec.FC = &corev1.FCVolumeSource{TargetWWNs: []string{"50060E801049CFD1"}, Lun: &lun, FSType: "ext4"}
	inline, p := Ladder(nil, v)
	require.Nil(t, p)
	for i := 1; i < 3; i++ {
		require.Equal(t, pv[i].Key, inline[i].Key)
	}
	require.Equal(t, DeviceKey(port, 1), pv[2].Key)
	require.Equal(t, "volume data of pod ns/web", plugin.OwnerOf(inline[2].Want))
}
