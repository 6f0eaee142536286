package iscsi

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

const rawAt = "/r/pods/u1/volumeDevices/kubernetes.io~iscsi/pv-1"

// rawOf is a raw block volume of a pod.
func rawOf(isReadOnly bool) plugin.Volume {
	v := of()
	v.Block, v.ReadOnly = true, isReadOnly
	return v
}

func TestARawDiskIsHeldAndGivenAsItIs(t *testing.T) {
	for _, isReadOnly := range []bool{false, true} {
		n := node()
		ops, r := up(t, n, rawOf(isReadOnly))
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, rawAt, plugin.FoundAt(r.Facts))
		is, cannotWrite := n.World.RawAt(rawAt)
		require.Equal(t, "naa.1", is)
		require.Equal(t, isReadOnly, cannotWrite)
		held := n.World.HeldDevices()
		require.Len(t, held, 1)
		require.Equal(t, string(ops[2].Key), held[0].Name)
		require.LessOrEqual(t, len(held[0].Name), hal.HoldNameMost)

		// A start that has no journal finds all of it, and each on what it stands on.
		s, l := &plugin.Scanner{Host: n.HAL(), Root: "/r"}, Source().Scan().(*scan)
		s.PodDevices("u1", func(source string, e hal.Entry) {
			require.Equal(t, directory, source)
			l.Device(s, "u1", e)
		})
		require.NoError(t, l.Node(s))
		d := &plugin.Discovery{Root: "/r"}
		l.Discover(d)
		require.Empty(t, append(d.Left, s.Found.Left...))
		found := append(d.Lower, d.Upper...)
		below := map[hal.Key][]hal.Key{}
		for _, f := range found {
			below[f.Key] = f.Below
		}
		require.Len(t, below, 4)
		require.Equal(t, []hal.Key{ops[2].Key}, below[ops[3].Key])
		require.Equal(t, []hal.Key{ops[1].Key}, below[ops[2].Key])

		raw, errno := n.World.OpenRaw(rawAt)
		require.Zero(t, errno)
		for range 2 {
			require.Equal(t, hal.Done, disk.MapVerbs().TearDown(n.HAL(), ops[3]).Outcome)
		}
		r = disk.HoldVerbs().TearDown(n.HAL(), ops[2])
		require.Equal(t, hal.NotDone, r.Outcome, "a container has it open")
		require.Contains(t, r.Reason, "is in use")
		raw.Close()
		for range 2 {
			require.Equal(t, hal.Done, disk.HoldVerbs().TearDown(n.HAL(), ops[2]).Outcome)
		}
		require.Empty(t, n.World.HeldDevices())
		require.Equal(t, hal.Done, removeDisk(n.HAL(), ops[1]).Outcome)
		_, there := n.World.Exists("/r/pods/u1")
		require.False(t, there)
		holds, _ := n.World.SANDiskHolds("naa.1")
		require.Empty(t, holds)
	}
}

// TestTheNumberOfALostRawDiskIsKept is what becomes of a disk whose session a person has ended: the next disk has other
// numbers, and the rungs say that the former one is lost.
func TestTheNumberOfALostRawDiskIsKept(t *testing.T) {
	n := node()
	ops, r := up(t, n, rawOf(false))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	raw, errno := n.World.OpenRaw(rawAt)
	require.Zero(t, errno)
	require.True(t, n.World.LogOutByHand(iqn))
	_, errno = raw.Reads()
	require.Equal(t, syscall.EIO, errno)
	for _, verbs := range []struct {
		plugin.Verbs
		o core.Op
	}{{disk.MapVerbs(), ops[3]}, {disk.HoldVerbs(), ops[2]}} {
		require.True(t, hal.HasFailed(verbs.Inspect(n.HAL(), verbs.o).Fingerprint, verbs.o.Fingerprint))
	}
	n.World.MapLUN(iqn, 2, "naa.2")
	require.Equal(t, hal.Done, logIn(n.HAL(), ops[0]).Outcome)
	other := ops[1]
	other.Params = sameOf(hal.ISCSIRecord{Target: iqn, Portal: portal, Interface: hal.OwnInterface}, 2)
	other.Facts, other.Key = nil, DeviceKey(iqn, 2)
	r = findDisk(n.HAL(), other)
	require.NotEqual(t, "/dev/sdb", core.FactOf(r.Facts, disk.FactNode))
	_, errno = raw.Opens()
	require.Equal(t, syscall.ENXIO, errno, "the number is nobody's")
	r = disk.HoldVerbs().SetUp(n.HAL(), ops[2])
	require.True(t, r.UndoFirst && r.Failed && r.BelowUnknown, r.Reason)
}

func TestAnExchangedDiskIsNotTakenFromPods(t *testing.T) {
	n := node()
	ops, r := up(t, n, rawOf(false))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	n.World.MapLUN(iqn, 1, "naa.2")
	r = findDisk(n.HAL(), ops[1])
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "is the disk naa.2 by now, and pods were given naa.1")
	require.True(t, n.World.IsHeld("naa.1"))
}

func TestARawDiskIsNoOtherVolumes(t *testing.T) {
	n := node()
	_, r := up(t, n, rawOf(false))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	_, r = up(t, n, of())
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "it is the disk of a raw block volume")
	n = node()
	n.World.AddSANDisk("naa.3", "held", "")
	n.World.MapLUN(iqn, 1, "naa.3")
	_, r = up(t, n, rawOf(false))
	require.Contains(t, r.Reason, "it is a part of dm-0")
}

func TestWhatIsBelowARawDeviceStays(t *testing.T) {
	n := node()
	ops, r := up(t, n, rawOf(false))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Zero(t, n.World.UnmountTop(rawAt))
	n.World.WriteFile(rawAt, []byte("precious"))
	r = disk.MapVerbs().SetUp(n.HAL(), ops[3])
	require.Contains(t, r.Reason, "somebody has put there")
	r = disk.MapVerbs().TearDown(n.HAL(), ops[3])
	require.Contains(t, r.Reason, "somebody has put there")
	require.Equal(t, "precious", string(n.World.ReadFile(rawAt)))
}

func TestOnlyPersistentVolumesAreRaw(t *testing.T) {
	v := rawOf(false)
	v.PV = nil
	v.Spec.ISCSI = &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: iqn, Lun: 1}
	_, p := Ladder(nil, v)
	require.NotNil(t, p)
	require.True(t, strings.Contains(p.Error(), "is of no PersistentVolume"), p)
}
