package linux

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest/lio"
)

// withMaps returns a host with multipathd, and two paths to each of some disks.
func withMaps(t *testing.T, disks ...string) (hal.Host, *lio.Maps, [][]hal.SCSIDisk) {
	t.Helper()
	h, n := withTargets(t)
	maps := lio.StartMultipath(n)
	t.Cleanup(maps.Close)
	first, second := logIn(t, h, plainAt(1)), logIn(t, h, plainAt(2))
	var all [][]hal.SCSIDisk
	for i, disk := range disks {
		n.PutLUN(plainTarget, uint64(i), disk)
		all = append(all, []hal.SCSIDisk{
			scanned(t, h, n, first, uint64(i)), scanned(t, h, n, second, uint64(i)),
		})
	}
	return h, maps, all
}

// mapsOf are the maps that the kernel has.
func mapsOf(t *testing.T, h hal.Host) []hal.MultipathMap {
	t.Helper()
	all, err := h.Multipath.Maps(hal.Call{})
	require.NoError(t, err)
	return all
}

// awaitMap waits until the only map is as it should be.
func awaitMap(t *testing.T, h hal.Host, n *lio.Maps, is func(hal.MultipathMap) bool) hal.MultipathMap {
	t.Helper()
	for range 600 {
		if all := mapsOf(t, h); len(all) == 1 && is(all[0]) {
			return all[0]
		}
		n.Pause()
	}
	require.Fail(t, "the map is not so", "%+v", mapsOf(t, h))
	return hal.MultipathMap{}
}

func TestMultipathServesAFilesystem(t *testing.T) {
	h, n, all := withMaps(t, "one")
	disks := all[0]
	require.Empty(t, mapsOf(t, h), "nobody has asked for a map")
	require.NoError(t, h.Multipath.Assemble(hal.Call{}, disks))
	n.Settle()
	m := awaitMap(t, h, n, func(m hal.MultipathMap) bool { return m.Opens == 0 })
	require.Equal(t, "mpath-3"+strings.TrimPrefix(n.WWID("one"), "naa."), m.UUID)
	require.Equal(t, n.WWID("one"), m.WWID)
	require.Equal(t, []hal.MultipathPath{
		{Device: disks[0].Device, Name: disks[0].Name, Active: true},
		{Device: disks[1].Device, Name: disks[1].Name, Active: true},
	}, m.Paths)
	require.False(t, m.Queues)
	require.False(t, m.IsSuspended)
	require.FileExists(t, "/dev/mapper/"+m.Name)
	path := "/dev/" + m.Node
	is, err := h.Blocks.Probe(hal.Call{}, path)
	require.NoError(t, err)
	require.Equal(t, m.Is(), is.Is())
	require.Equal(t, m.WWID, is.Says)
	require.Equal(t, m.Size, is.Size)
	require.Equal(t, `"`+m.UUID+`"`, is.Disk)
	require.NoError(t, h.Blocks.Format(hal.Call{}, hal.NewFilesystem{
		Path: path, Device: is.Is(), Says: m.WWID, FSType: "ext4", UUID: "0b0c0d0e-0000-4000-8000-000000000001",
	}))
	point := t.TempDir()
	require.NoError(t, unix.Mount(path, point, "ext4", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) })
	n.SetPortal(1, "dead")
	awaitMap(t, h, n, func(m hal.MultipathMap) bool { return m.IsUp() && !(m.Paths[0].Active && m.Paths[1].Active) })
	require.NoError(t, os.WriteFile(point+"/file", []byte("content"), 0o600))
	n.SetPortal(1, "up")
	for _, flush := range []bool{true, false} {
		e := requireFailure(t, h.Multipath.Remove(hal.Call{}, m, flush), syscall.EBUSY)
		require.Contains(t, e.Detail, point)
	}
	e := requireFailure(t, h.SCSI.Remove(hal.Call{}, disks[0], true), syscall.EBUSY)
	require.Contains(t, e.Detail, m.Node)
	require.NoError(t, unix.Unmount(point, 0))
	require.Equal(t, []string{m.WWID}, n.WWIDs())
	require.NoError(t, h.Multipath.Remove(hal.Call{}, m, true))
	require.Empty(t, mapsOf(t, h))
	require.Empty(t, n.WWIDs())
	n.Settle()
	require.NoFileExists(t, "/dev/mapper/"+m.Name)
	for _, d := range disks {
		require.NoError(t, h.SCSI.Remove(hal.Call{}, d, true))
	}
	require.NotContains(t, n.MultipathdLog(), "reconfigure (operator)")
}

// A flush that waits, since the last path is lost after it has begun, ends once the map queues no more.
func TestMultipathFlushThatWaits(t *testing.T) {
	h, n, all := withMaps(t, lio.Patient)
	require.NoError(t, h.Multipath.Assemble(hal.Call{}, all[0]))
	n.Settle()
	m := awaitMap(t, h, n, func(m hal.MultipathMap) bool { return m.Queues && m.Opens == 0 })
	n.SetPortal(1, "down")
	n.SetPortal(2, "down")
	device, err := os.OpenFile("/dev/"+m.Node, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = device.Write(make([]byte, 4096)) // to the page cache
	require.NoError(t, err)
	flushed := make(chan error, 1)
	go func() { flushed <- device.Sync() }()
	awaitMap(t, h, n, func(m hal.MultipathMap) bool { return !m.IsUp() })
	requireFailure(t, h.Multipath.Remove(hal.Call{}, m, true), syscall.EIO)
	requireFailure(t, h.Multipath.Remove(hal.Call{}, m, false), syscall.EBUSY)
	select {
	case err := <-flushed:
		t.Fatal("it does not wait", err)
	default:
	}
	require.NoError(t, h.Multipath.FailQueued(hal.Call{}, m))
	require.ErrorIs(t, <-flushed, syscall.EIO)
	require.NoError(t, device.Close())
	require.False(t, mapsOf(t, h)[0].Queues)
	require.NoError(t, h.Multipath.Remove(hal.Call{}, m, false))
	require.Empty(t, mapsOf(t, h))
}

func TestMultipathRemovesPartitionsThatNobodyUses(t *testing.T) {
	h, n, all := withMaps(t, "one")
	require.NoError(t, h.Multipath.Assemble(hal.Call{}, all[0]))
	n.Settle()
	m := awaitMap(t, h, n, func(m hal.MultipathMap) bool { return m.Opens == 0 })
	create := func(name, uuid string) {
		out, err := exec.Command("dmsetup", "create", name, "--uuid", uuid, "--table", "0 8 linear /dev/"+m.Node+" 0").
			CombinedOutput()
		require.NoError(t, err, string(out))
	}
	create("foreign", "LVM-x")
	e := requireFailure(t, h.Multipath.Remove(hal.Call{}, m, true), syscall.EBUSY)
	require.Contains(t, e.Detail, "it is a part of dm-1")
	require.NoError(t, exec.Command("dmsetup", "remove", "--retry", "foreign").Run())
	create("part", "part1-"+m.UUID)
	is, err := h.Blocks.Probe(hal.Call{}, "/dev/mapper/part")
	require.NoError(t, err)
	require.Equal(t, m.WWID, is.Says)
	held, err := os.Open("/dev/mapper/part")
	require.NoError(t, err)
	e = requireFailure(t, h.Multipath.Remove(hal.Call{}, m, true), syscall.EBUSY)
	require.Contains(t, e.Detail, "a partition of "+m.Node)
	require.NoError(t, held.Close())
	require.NoError(t, h.Multipath.Remove(hal.Call{}, m, true))
	require.Empty(t, mapsOf(t, h))
	require.NoFileExists(t, "/sys/block/dm-1")
}
