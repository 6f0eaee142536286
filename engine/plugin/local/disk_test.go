package local

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const (
	dev     = "/dev/sda"
	mounted = "/r/plugins/kubernetes.io/local-volume/mounts/pv-1"
	other   = "77777777-1111-4222-8333-444455556666"
)

// diskVolume is a local volume of a pod, of the disk dev.
func diskVolume(options ...string) plugin.Volume {
	v, is := volume(), "ext4"
	v.PV.Spec.Local.Path, v.PV.Spec.Local.FSType, v.PV.Spec.MountOptions = dev, &is, options
	v.PV.UID = "uid"
	return v
}

// ladder sets the rungs of a volume up, from the lowest on, until one does not come up.
func ladder(t *testing.T, n *plugintest.Node, v plugin.Volume) (ops []core.Op, last core.Result) {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 3)
	var below []core.Foundation
	setUps := map[core.Kind]func(*hal.Host, core.Op) core.Result{
		KindDevice: setUpDevice, KindMount: mount.SetUp, Kind: bind.SetUp,
	}
	for i := 2; i >= 0; i-- {
		r := rungs[i]
		o := core.Op{
			ID: 1, Verb: core.SetUp, Kind: r.Kind, Key: r.Key, Params: r.Want, Quiet: true, First: true, Below: below,
		}
		if last = setUps[r.Kind](n.HAL(), o); last.Outcome != hal.Done {
			return append(ops, o), last
		}
		ops = append(ops, made(o, last))
		below = []core.Foundation{{Key: r.Key, Kind: r.Kind, Facts: last.Facts, Fingerprint: last.Fingerprint}}
	}
	return ops, last
}

func TestABlankDiskIsFormattedAndMounted(t *testing.T) {
	n := plugintest.New()
	n.World.AddBlockDevice(dev, "", "")
	ops, r := ladder(t, n, diskVolume("noexec", "discard", "commit=5"))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	holds, uuid := n.World.BlockDeviceHolds(dev)
	require.Equal(t, "ext4", holds)
	require.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), uuid)
	require.Equal(t, uuid, core.FactOf(ops[1].Facts, disk.FactHolds))
	require.Contains(t, n.World.MountsAt(mounted)[0].Options, "noexec")
	require.Equal(t, n.World.MountsAt(mounted)[0].Device, n.World.MountsAt(at)[0].Device)
	require.Equal(t, ops[0].Fingerprint, inspectDevice(n.HAL(), ops[0]).Fingerprint)

	again := ops[1]
	again.Verb, again.Fingerprint = core.SetUp, ""
	require.Equal(t, hal.Done, mount.SetUp(n.HAL(), again).Outcome, "what is mounted is found")
	require.Equal(t, hal.Done, bind.TearDown(n.HAL(), ops[2]).Outcome)
	require.Equal(t, hal.Done, mount.TearDown(n.HAL(), ops[1]).Outcome)
	require.Equal(t, hal.Done, tearDownDevice(n.HAL(), ops[0]).Outcome)
	_, there := n.World.Exists("/r/pods/u1")
	require.False(t, there)
	_, there = n.World.Exists(mounted)
	require.False(t, there)
	_, still := n.World.BlockDeviceHolds(dev)
	require.Equal(t, uuid, still)
}

func TestWhatADiskHoldsStays(t *testing.T) {
	for holds, why := range map[string]string{
		"xfs":            "it holds xfs, and fsType is ext4",
		"LVM2_member":    "it holds LVM2_member; volnode changes nothing on it",
		sim.Unrecognized: "nobody knows what it holds, and it is not blank",
	} {
		n := plugintest.New()
		n.World.AddBlockDevice(dev, holds, other)
		_, r := ladder(t, n, diskVolume())
		require.Equal(t, hal.NotDone, r.Outcome)
		require.Contains(t, r.Reason, why)
		is, _ := n.World.BlockDeviceHolds(dev)
		require.Equal(t, holds, is)
	}
	n := plugintest.New()
	n.World.AddBlockDevice(dev, "ext4", other)
	ops, r := ladder(t, n, diskVolume("ro"))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, other, core.FactOf(ops[0].Facts, disk.FactHolds))
	require.True(t, n.World.MountsAt(at)[0].ReadOnly)
}

// The device of a volume that pods have is looked at again: after a boot, or after its path led elsewhere.
func TestAVolumeHasOneDisk(t *testing.T) {
	const ours, named, notThis = "0", "a WWID", "nothing proves that it is this one"
	for name, c := range map[string]struct{ disk, had, holds, uuid, is, why string }{
		"its filesystem":                  {named, other, "ext4", other, other, ""},
		"the one that was made on it":     {named, disk.Blank, "ext4", ours, ours, ""},
		"nothing yet":                     {named, disk.Blank, "", "", disk.Blank, ""},
		"a part of what is made on it":    {named, disk.Blank, sim.Unrecognized, "", disk.Blank, ""},
		"another one":                     {named, other, "ext4", ours, "", "and the disk of the volume had " + other},
		"another one than it would have":  {named, disk.Blank, "ext4", other, "", "and the disk of the volume was blank"},
		"nothing any more":                {named, other, "", "", "", "it holds no filesystem, and the volume had " + other},
		"what nobody knows, and it had":   {named, other, sim.Unrecognized, "", "", "it holds no filesystem"},
		"something else than it had":      {named, other, "LVM2_member", "", "", "it holds LVM2_member"},
		"something else since it was new": {named, disk.Blank, "gpt", "", "", "it holds gpt"},
		"a part of it on another disk":    {"another WWID", disk.Blank, sim.Unrecognized, "", "", notThis},
		"a part of it on a nameless disk": {"", disk.Blank, sim.Unrecognized, "", "", notThis},
		"nothing yet, on another one":     {"another WWID", disk.Blank, "", "", disk.Blank, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := plugintest.New()
			rungs, p := Ladder(nil, diskVolume())
			require.Nil(t, p)
			uuid := c.uuid
			if uuid == ours {
				uuid = core.Value(rungs[2].Want, disk.ParamUUID)
			}
			n.World.AddBlockDevice(dev, c.holds, uuid)
			n.World.NameBlockDevice(dev, c.disk)
			r := setUpDevice(n.HAL(), core.Op{
				Kind: KindDevice, Params: rungs[2].Want,
				Facts: []core.Fact{
					{Name: disk.FactDisk, Value: named + " of 1073741824 bytes"}, {Name: disk.FactHolds, Value: c.had},
				},
			})
			if c.why != "" {
				require.Equal(t, hal.NotDone, r.Outcome)
				require.Contains(t, r.Reason, c.why)
				return
			}
			require.Equal(t, hal.Done, r.Outcome, r.Reason)
			if c.is == ours {
				c.is = uuid
			}
			require.Equal(t, c.is, core.FactOf(r.Facts, disk.FactHolds))
		})
	}
}

func TestADirectoryIsNoDisk(t *testing.T) {
	n := plugintest.New("/disk")
	v := diskVolume()
	v.PV.Spec.Local.Path = "/disk"
	_, r := ladder(t, n, v)
	require.Contains(t, r.Reason, "/disk is no block device; name one in spec.local.path")
}

// checkedDisk has a disk whose filesystem is not as it should be.
func checkedDisk(how sim.Flaw, holds string) *plugintest.Node {
	n := plugintest.New()
	n.World.AddBlockDevice(dev, holds, other)
	n.World.DamageBlockDevice(dev, how)
	return n
}

func TestAFilesystemIsCheckedBeforeItIsMounted(t *testing.T) {
	for name, c := range map[string]struct {
		flaw, left sim.Flaw
		options    []string
		reason     string
	}{
		"clean":                    {},
		"dirty":                    {flaw: sim.Dirty, reason: "it was not clean, and e2fsck(8) has checked it"},
		"with errors":              {flaw: sim.Mendable, reason: "it was not clean, and e2fsck(8) has checked it"},
		"read-only":                {flaw: sim.Mendable, left: sim.Mendable, options: []string{"ro"}},
		"read-only, and past help": {flaw: sim.Grave, left: sim.Grave, options: []string{"ro"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := checkedDisk(c.flaw, "ext4")
			ops, r := ladder(t, n, diskVolume(c.options...))
			require.Equal(t, hal.Done, r.Outcome, r.Reason)
			require.Equal(t, c.left, n.World.FlawOf(dev))

			require.Equal(t, hal.Done, bind.TearDown(n.HAL(), ops[2]).Outcome)
			require.Equal(t, hal.Done, mount.TearDown(n.HAL(), ops[1]).Outcome)
			n.World.DamageBlockDevice(dev, c.flaw)
			again := ops[1]
			again.Verb, again.Fingerprint = core.SetUp, ""
			r = mount.SetUp(n.HAL(), again)
			require.Equal(t, hal.Done, r.Outcome)
			require.Contains(t, r.Reason, c.reason)
			require.Equal(t, c.reason == "", r.Reason == "")
			n.World.DamageBlockDevice(dev, sim.Grave)
			r = mount.SetUp(n.HAL(), again)
			require.Equal(t, hal.Done, r.Outcome, "what is mounted is not checked")
		})
	}
}

func TestWhatNoProgramMendsIsNotMounted(t *testing.T) {
	for fsType, by := range map[string]string{
		"ext4": "e2fsck -f " + dev, "ext2": "e2fsck -f " + dev, "xfs": "xfs_repair " + dev,
	} {
		n := checkedDisk(sim.Grave, fsType)
		v := diskVolume()
		v.PV.Spec.Local.FSType = &fsType
		_, r := ladder(t, n, v)
		require.Equal(t, hal.Unknown, r.Outcome, "a part may be mended")
		require.False(t, r.BelowUnknown || r.Blocked || r.UndoFirst)
		require.Contains(t, r.Reason, "the filesystem of "+dev+" has errors: ")
		require.True(t, strings.HasSuffix(r.Reason, "; mend it by hand: "+by), r.Reason)
		require.Empty(t, n.World.MountsAt(mounted))
		holds, uuid := n.World.BlockDeviceHolds(dev)
		require.Equal(t, []string{fsType, other}, []string{holds, uuid})
		require.True(t, n.World.MendBlockDevice(dev))
		_, r = ladder(t, n, v)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
	}
}

func TestChecksThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		err          error
		outcome      hal.Outcome
		isLookedAt   bool
		reason       string
		withoutTools bool
	}{
		"another device by now": {err: syscall.ENODEV, outcome: hal.NotDone, isLookedAt: true, reason: "check " + dev},
		"a read-only device":    {err: syscall.EROFS, outcome: hal.NotDone, reason: "check " + dev},
		"nobody knows":          {err: syscall.EIO, outcome: hal.NotDone, reason: "input/output error"},
		"somebody else has it": {
			err: syscall.EBUSY, outcome: hal.Done, reason: "mounted, and not checked before: check " + dev,
		},
		"no program": {
			withoutTools: true, outcome: hal.Done,
			reason: "mounted, and not checked before, though it was not clean: there is no /sbin/e2fsck",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := checkedDisk(sim.Mendable, "ext4")
			if c.withoutTools {
				n.World.RemoveFsck()
			}
			rungs, p := Ladder(nil, diskVolume())
			require.Nil(t, p)
			device := setUpDevice(n.HAL(), core.Op{Kind: KindDevice, Params: rungs[2].Want})
			require.Equal(t, hal.Done, device.Outcome)
			if errno, is := c.err.(syscall.Errno); is { //nolint:errorlint // it is a bare one
				n.Fail["check "+dev] = plugintest.Errno("check", dev, errno)
			}
			r := mount.SetUp(n.HAL(), core.Op{
				Kind: KindMount, Params: rungs[1].Want, First: true,
				Below: []core.Foundation{{Key: rungs[2].Key, Kind: KindDevice, Facts: device.Facts}},
			})
			require.Equal(t, c.outcome, r.Outcome, r.Reason)
			require.Equal(t, c.isLookedAt, r.BelowUnknown)
			require.Contains(t, r.Reason, c.reason)
			require.Equal(t, c.outcome == hal.Done, len(n.World.MountsAt(mounted)) == 1)
		})
	}
}
