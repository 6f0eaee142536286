package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const rawAt = "/r/pods/u1/volumeDevices/kubernetes.io~local-volume/pv-1"

// raw sets the rungs of a raw block volume up, from the lowest on, until one does not come up.
func raw(t *testing.T, n *plugintest.Node, facts []core.Fact) (ops []core.Op, last core.Result) {
	t.Helper()
	v := diskVolume()
	v.Block = true
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 3)
	var below []core.Foundation
	for i := 2; i >= 0; i-- {
		r := rungs[i]
		o := core.Op{
			ID: 1, Verb: core.SetUp, Kind: r.Kind, Key: r.Key, Params: r.Want, Quiet: true, First: true, Below: below,
		}
		verbs := map[core.Kind]func(*hal.Host, core.Op) core.Result{
			KindDevice: setUpDevice, KindHold: disk.HoldVerbs().SetUp, KindMap: disk.MapVerbs().SetUp,
		}
		if r.Kind == KindDevice {
			o.Facts = facts
		}
		if last = verbs[r.Kind](n.HAL(), o); last.Outcome != hal.Done {
			return append(ops, o), last
		}
		ops = append(ops, made(o, last))
		below = []core.Foundation{{Key: r.Key, Kind: r.Kind, Facts: last.Facts, Fingerprint: last.Fingerprint}}
	}
	return ops, last
}

func TestARawDiskStaysAsItIs(t *testing.T) {
	n := plugintest.New()
	n.World.AddBlockDevice(dev, "LVM2_member", "")
	ops, r := raw(t, n, nil)
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	is, _ := n.World.RawAt(rawAt)
	require.Equal(t, dev, is)
	require.Equal(t, hal.Done, disk.MapVerbs().SetUp(n.HAL(), ops[2]).Outcome, "it is there")
	require.True(t, plugin.IsBlock(ops[2].Params))
	_, r = ladder(t, n, diskVolume())
	require.Contains(t, r.Reason, "it is the disk of a raw block volume")
	holds, _ := n.World.BlockDeviceHolds(dev)
	require.Equal(t, "LVM2_member", holds)
}

// TestARawDiskIsKnownByItsSerialNumber: it may grow, and of one without a number nothing is known after a boot.
func TestARawDiskIsKnownByItsSerialNumber(t *testing.T) {
	for name, is := range map[string]struct {
		had, serial string
		isGood      bool
	}{
		"the same":                     {"42", "42", true},
		"another one":                  {"41", "42", false},
		"one without a number":         {"41", "", false},
		"one of another boot":          {"259:1 sequence 7 in boot a", "", true},
		"one of another boot, by name": {"259:1 sequence 7 in boot a", "42", false},
	} {
		n := plugintest.New()
		n.World.AddBlockDevice(dev, "", "")
		n.World.NameBlockDevice(dev, is.serial)
		_, r := raw(t, n, []core.Fact{{Name: disk.FactDisk, Value: is.had}})
		require.Equal(t, is.isGood, r.Outcome == hal.Done, "%s: %s", name, r.Reason)
		if !is.isGood {
			require.Contains(t, r.Reason, "the volume has "+is.had, name)
		}
	}
}

func TestWhoHasADiskMountedIsTold(t *testing.T) {
	n := plugintest.New("/mnt")
	n.World.AddBlockDevice(dev, "ext4", other)
	require.NoError(t, n.HAL().Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: dev, Target: "/mnt"}))
	_, r := raw(t, n, nil)
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "volnode gives it to no pod, and tries again")
	require.Empty(t, n.World.HeldDevices())
}
