package iscsi

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const portal2 = "10.0.0.2:3260"

// ofTwo is a volume of a disk with two portals.
func ofTwo() plugin.Volume {
	return of(func(s *corev1.ISCSIPersistentVolumeSource) { s.Portals = []string{"10.0.0.2", "10.0.0.1:3260"} })
}

// nodeOfTwo is node whose target has two portals.
func nodeOfTwo() *plugintest.Node {
	n := plugintest.New()
	n.World.AddTarget(iqn, portal, portal2)
	n.World.AddSANDisk("naa.1", "", "")
	n.World.AddSANDisk("naa.2", "", "")
	n.World.MapLUN(iqn, 1, "naa.1")
	return n
}

// active is how many paths the maps of the node use.
func active(n *plugintest.Node) (paths int) {
	for _, m := range n.World.MultipathMaps() {
		for _, p := range m.Paths {
			if p.Active {
				paths++
			}
		}
	}
	return paths
}

func TestADiskWithTwoPathsIsUsedByItsMap(t *testing.T) {
	n := nodeOfTwo()
	ops, r := up(t, n, ofTwo())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Len(t, ops, 5)
	device := ops[2]
	require.Equal(t, KindDevice, device.Kind)
	require.Equal(t, "/dev/dm-0", core.FactOf(device.Facts, disk.FactNode))
	require.Equal(t, 2, active(n))
	require.Equal(t, "naa.1", n.World.SANDiskAt(at))
	r = removeDisk(n.HAL(), device)
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "/dev/dm-0 is in use")

	require.Equal(t, hal.Done, disk.BindVerbs().TearDown(n.HAL(), ops[4]).Outcome)
	require.Equal(t, hal.Done, disk.MountVerbs().TearDown(n.HAL(), ops[3]).Outcome)
	for range 2 {
		require.Equal(t, hal.Done, removeDisk(n.HAL(), device).Outcome)
	}
	require.Empty(t, inspectDisk(n.HAL(), device).Fingerprint)
	for i := range 2 {
		require.Equal(t, hal.Done, logOut(n.HAL(), ops[i]).Outcome)
	}
	require.Empty(t, n.World.MultipathMaps())
	require.Empty(t, n.World.WWIDs())
	require.Empty(t, n.World.ISCSISessions())
}

// TestAPathThatIsLostComesBack is the device of a disk, which stays what it is.
func TestAPathThatIsLostComesBack(t *testing.T) {
	n := nodeOfTwo()
	ops, r := up(t, n, ofTwo())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	device := ops[2]
	for key := range map[string]bool{portal: true, portal2: true} {
		n.World.LosePortal(key, 0)
		require.NoError(t, n.World.RunFor(time.Minute))
		r = findDisk(n.HAL(), device)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Contains(t, r.Short, "the portal "+key+" does not answer")
		require.Equal(t, device.Fingerprint, r.Fingerprint)
		n.World.RestorePortal(key)
		require.NoError(t, n.World.RunFor(time.Minute))
		r = findDisk(n.HAL(), device)
		require.Empty(t, r.Short)
		require.Equal(t, 2, active(n))
	}
	device.Below = []core.Foundation{{Key: ops[0].Key}, {Key: ops[1].Key}}
	require.True(t, n.World.LogOutAtByHand(iqn, portal2))
	r = findDisk(n.HAL(), device)
	require.Equal(t, hal.Done, r.Outcome)
	require.True(t, r.BelowUnknown, "it is to be made again")
	require.Contains(t, r.Short, "there is no session at the portal "+portal2)
	require.True(t, n.World.LogOutAtByHand(iqn, portal))
	r = findDisk(n.HAL(), device)
	require.Equal(t, hal.NotDone, r.Outcome)
	require.True(t, r.BelowUnknown)
	for i := range 2 {
		require.Equal(t, hal.Done, logIn(n.HAL(), ops[i]).Outcome)
	}
	r = findDisk(n.HAL(), device)
	require.Empty(t, r.Short)
	require.Equal(t, device.Fingerprint, r.Fingerprint)
	require.Equal(t, 2, active(n))
}

// TestPathsToAnExchangedDisk are those of a volume whose LUN is another disk by now: nothing of that changes.
func TestPathsToAnExchangedDisk(t *testing.T) {
	n := nodeOfTwo()
	ops, r := up(t, n, ofTwo())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	n.World.MapLUN(iqn, 1, "naa.2")
	r = findDisk(n.HAL(), ops[2])
	require.Equal(t, hal.NotDone, r.Outcome, "somebody has it mounted")
	require.Contains(t, r.Reason, "is the disk naa.2 by now, and the kernel takes it for naa.1")
	require.Zero(t, n.World.UnmountTop(at))
	require.Zero(t, n.World.UnmountTop(mounted))
	require.True(t, findDisk(n.HAL(), ops[2]).Unfinished, "the kernel has forgotten the map, and a path")
	r = findDisk(n.HAL(), ops[2])
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, "is the disk naa.2, and the volume has naa.1")
	require.Empty(t, n.World.MultipathMaps())
	holds, _ := n.World.SANDiskHolds("naa.2")
	require.Empty(t, holds)
	n.World.MapLUN(iqn, 1, "naa.1")
	require.True(t, findDisk(n.HAL(), ops[2]).Unfinished)
	r = findDisk(n.HAL(), ops[2])
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Empty(t, r.Short)
	require.Equal(t, 2, active(n))
}

func TestARawDiskWithTwoPathsIsItsMap(t *testing.T) {
	n, v := nodeOfTwo(), ofTwo()
	v.Block = true
	ops, r := up(t, n, v)
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	is, _ := n.World.RawAt(rawAt)
	require.Equal(t, "naa.1", is)
	held := n.World.HeldDevices()
	require.Len(t, held, 1)
	require.Equal(t, n.World.MultipathMaps()[0].Is(), held[0].Device)

	// A start that has no journal finds what the hold and the map stand on.
	s, l := &plugin.Scanner{Host: n.HAL(), Root: "/r"}, Source().Scan().(*scan)
	s.PodDevices("u1", func(_ string, e hal.Entry) { l.Device(s, "u1", e) })
	require.NoError(t, l.Node(s))
	d := &plugin.Discovery{Root: "/r"}
	l.Discover(d)
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	found := map[hal.Key]core.Rung{}
	for _, f := range append(d.Lower, d.Upper...) {
		found[f.Key] = f
	}
	require.Len(t, found, len(rungs))
	for _, want := range rungs {
		require.ElementsMatch(t, want.Below, found[want.Key].Below, want.Key)
		require.Equal(t, want.Need, found[want.Key].Need)
		for _, p := range found[want.Key].Want {
			isListed := p.Name == paramPortals // in another order
			require.True(t, isListed || core.Value(want.Want, p.Name) == p.Value, "%s %s", want.Key, p.Name)
		}
	}

	// A container goes on by the path that is left, and what it has open keeps the map.
	raw, errno := n.World.OpenRaw(rawAt)
	require.Zero(t, errno)
	n.World.LosePortal(portal, 0)
	require.NoError(t, n.World.RunFor(time.Minute))
	require.Zero(t, raw.Writes("text"))
	require.Equal(t, hal.Done, disk.MapVerbs().TearDown(n.HAL(), ops[4]).Outcome)
	require.Equal(t, hal.NotDone, disk.HoldVerbs().TearDown(n.HAL(), ops[3]).Outcome)
	require.Equal(t, hal.NotDone, removeDisk(n.HAL(), ops[2]).Outcome)
	n.World.LosePortal(portal2, 0)
	require.NoError(t, n.World.RunFor(time.Minute))
	require.Equal(t, syscall.EIO, raw.Writes("more"))
	n.World.RestorePortals()
	require.NoError(t, n.World.RunFor(time.Minute))
	require.Zero(t, raw.Writes("more"))
	raw.Close()
	require.Equal(t, hal.Done, disk.HoldVerbs().TearDown(n.HAL(), ops[3]).Outcome)
	require.Equal(t, hal.Done, removeDisk(n.HAL(), ops[2]).Outcome)
}

func TestAVolumeSaysWhichPathsAreLost(t *testing.T) {
	n := nodeOfTwo()
	ops, _ := up(t, n, ofTwo())
	bind := ops[len(ops)-1]
	require.Equal(t, Kind, bind.Kind)
	says := func(want string, contains ...string) {
		t.Helper()
		all, err := health(n.HAL(), hal.Call{}, bind.Params)
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, all)
			return
		}
		require.Len(t, all, 1)
		require.Equal(t, want, all[0].Status+" "+all[0].Reason)
		for _, text := range contains {
			require.Contains(t, all[0].Message, text)
		}
	}
	says("")
	n.World.LosePortal(portal2, 0)
	require.NoError(t, n.World.RunFor(time.Minute))
	says("DEGRADED PathLost", "has 1 of 2 paths: the portal "+portal2+" does not answer")
	n.World.LosePortal(portal, 0)
	require.NoError(t, n.World.RunFor(time.Minute))
	says("INACCESSIBLE NoPath", "the portal "+portal+" does not answer", "the portal "+portal2+" does not answer")
	n.World.RestorePortals()
	require.NoError(t, n.World.RunFor(time.Minute))
	says("")
	require.True(t, n.World.LogOutAtByHand(iqn, portal))
	says("DEGRADED PathLost", "there is no session with "+iqn+" at the portal "+portal)
	require.Equal(t, hal.Done, logIn(n.HAL(), ops[0]).Outcome)
	require.Equal(t, hal.Done, logIn(n.HAL(), ops[1]).Outcome)
	says("DEGRADED PathLost", "the kernel has lost its disk (LUN 1 of "+iqn+" at the portal "+portal)
	n.World.SetMultipathd("off")
	require.Equal(t, hal.Done, findDisk(n.HAL(), ops[2]).Outcome)
	says("DEGRADED PathLost", "multipathd does not use /dev/sdb, which is at the portal "+portal)
	n.World.SetMultipathd("on")
	says("")
	require.True(t, n.World.LogOutByHand(iqn))
	says("INACCESSIBLE NoPath")
}

// mute is a node on which one disk gives no WWID.
type mute struct {
	hal.Blocks
	node string
}

func (m mute) Probe(c hal.Call, path string) (hal.BlockDevice, error) {
	is, err := m.Blocks.Probe(c, path)
	if path == m.node {
		is.Says = ""
	}
	return is, err
}

// TestAPathThatDoesNotSayItsDisk is one that is being lost: the other one is used.
func TestAPathThatDoesNotSayItsDisk(t *testing.T) {
	n := nodeOfTwo()
	ops, r := up(t, n, ofTwo())
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	h := n.HAL()
	h.Blocks = mute{h.Blocks, "/dev/sdb"}
	r = findDisk(h, ops[2])
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, ops[2].Fingerprint, r.Fingerprint)
	require.Contains(t, r.Short, "/dev/sdb gives no WWID")
	h.Blocks = mute{h.Blocks, "/dev/sdc"}
	r = findDisk(h, ops[2])
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "/dev/sdc gives no WWID")
}
