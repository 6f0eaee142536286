package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest/lio"
)

// withFabric returns a host that meets a port of a target with two disks.
func withFabric(t *testing.T) (hal.Host, *lio.Fabric) {
	t.Helper()
	if !lio.Here() || testing.Short() {
		t.Skip("needs a machine of its own, and minutes: make e2e-vm")
	}
	f := lio.StartFC(t.TempDir())
	t.Cleanup(f.Close)
	f.MakePort(1)
	f.MapFC(1, 0, "one")
	f.MapFC(1, 4, "two")
	f.Plug(1)
	h, _ := startHost(t)
	return h.HAL(), f
}

// targetPort is the port of a target as the node has it.
func targetPort(t *testing.T, h hal.Host) hal.FCRemotePort {
	t.Helper()
	all, err := h.FC.RemotePorts(hal.Call{})
	require.NoError(t, err)
	for _, p := range all {
		if p.Name == lio.FCName(1) {
			require.True(t, p.IsTarget)
			return p
		}
	}
	t.Fatalf("no port of a target: %+v", all)
	return hal.FCRemotePort{}
}

// diskOf is the disk that a port has under a number.
func diskOf(t *testing.T, h hal.Host, p hal.FCRemotePort, lun uint64) hal.SCSIDisk {
	t.Helper()
	all, err := h.SCSI.Disks(hal.Call{}, p.Host)
	require.NoError(t, err)
	for _, d := range all {
		if d.Address == p.At(lun) {
			return d
		}
	}
	t.Fatalf("no disk %s: %+v", p.At(lun), all)
	return hal.SCSIDisk{}
}

func TestFCDiskIsUsedAndRemoved(t *testing.T) {
	h, f := withFabric(t)
	p := targetPort(t, h)
	require.True(t, p.IsUp())
	hosts, err := h.FC.Hosts(hal.Call{})
	require.NoError(t, err)
	require.Contains(t, hosts, hal.FCHost{Host: p.Host, Name: lio.FCName(0), State: "Online"})
	d := diskOf(t, h, p, 4)
	require.Equal(t, f.WWID("two"), d.WWID)
	named, err := h.SCSI.Named(hal.Call{}, f.WWID("two"))
	require.NoError(t, err)
	require.Equal(t, []hal.SCSIDisk{d}, named)

	const uuid = "0b0c0d0e-0000-4000-8000-000000000001"
	is, err := h.Blocks.Probe(hal.Call{}, "/dev/"+d.Name)
	require.NoError(t, err)
	require.Equal(t, f.WWID("two"), is.Says)
	require.True(t, is.IsBlank)
	require.NoError(t, h.Blocks.Format(hal.Call{}, hal.NewFilesystem{
		Path: "/dev/" + d.Name, Device: is.Is(), Says: is.Says, FSType: "ext4", UUID: uuid,
	}))
	dir := t.TempDir()
	require.NoError(t, unix.Mount("/dev/"+d.Name, dir, "ext4", 0, ""))
	data := bytes.Repeat([]byte("volnode "), 1<<16)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), data, 0o600))
	err = h.SCSI.Remove(hal.Call{}, d, true)
	require.True(t, hal.Is(err, syscall.EBUSY), "%v", err)
	require.NoError(t, unix.Unmount(dir, 0))
	require.NoError(t, h.SCSI.Remove(hal.Call{}, d, true))
	require.NoError(t, h.SCSI.Scan(hal.Call{}, d.Address))
	f.Settle()
	again := diskOf(t, h, p, 4)
	require.NotEqual(t, d.Is(), again.Is())
	require.NoError(t, unix.Mount("/dev/"+again.Name, dir, "ext4", unix.MS_RDONLY, ""))
	have, err := os.ReadFile(filepath.Join(dir, "f"))
	require.NoError(t, unix.Unmount(dir, 0))
	require.NoError(t, err)
	require.Equal(t, data, have)
}

func TestFCPortIsLostUnderAMount(t *testing.T) {
	h, f := withFabric(t)
	p := targetPort(t, h)
	d := diskOf(t, h, p, 0)
	is, err := h.Blocks.Probe(hal.Call{}, "/dev/"+d.Name)
	require.NoError(t, err)
	const uuid = "0b0c0d0e-0000-4000-8000-000000000002"
	require.NoError(t, h.Blocks.Format(hal.Call{}, hal.NewFilesystem{
		Path: "/dev/" + d.Name, Device: is.Is(), Says: is.Says, FSType: "ext4", UUID: uuid,
	}))
	dir := t.TempDir()
	require.NoError(t, unix.Mount("/dev/"+d.Name, dir, "ext4", 0, ""))
	f.SetCable("down")
	require.Equal(t, "Blocked", targetPort(t, h).State)
	require.Equal(t, "blocked", diskOf(t, h, p, 0).State)
	f.SetCable("up")
	require.True(t, targetPort(t, h).IsUp())
	require.Equal(t, d, diskOf(t, h, p, 0))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("as before"), 0o600))
	f.SetCable("gone")
	require.Equal(t, "Not Present", targetPort(t, h).State)
	all, err := h.SCSI.Disks(hal.Call{}, p.Host)
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, unix.Unmount(dir, 0))
	f.SetCable("up")
	again := targetPort(t, h)
	require.Equal(t, p, again)
	require.NotEqual(t, d.Is(), diskOf(t, h, again, 0).Is())
}

// A bus is never scanned: of disks that come later the kernel finds the one that it is asked for.
func TestFCScanIsOfOneDisk(t *testing.T) {
	h, f := withFabric(t)
	p := targetPort(t, h)
	f.MapFC(1, 7, "three")
	f.MapFC(1, 8, "four")
	require.NoError(t, h.SCSI.Scan(hal.Call{}, p.At(8)))
	f.Settle()
	require.Equal(t, f.WWID("four"), diskOf(t, h, p, 8).WWID)
	all, err := h.SCSI.Disks(hal.Call{}, p.Host)
	require.NoError(t, err)
	require.Len(t, all, 3)
	d := diskOf(t, h, p, 8)
	f.MapFC(1, 8, "three")
	is, err := h.Blocks.Probe(hal.Call{}, "/dev/"+d.Name)
	require.NoError(t, err)
	require.Equal(t, f.WWID("three"), is.Says)
	require.Equal(t, f.WWID("four"), diskOf(t, h, p, 8).WWID)
}
