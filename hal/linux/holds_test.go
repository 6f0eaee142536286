package linux

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// closedLoop is a loop device of a new file that nobody has open.
func closedLoop(t *testing.T) string {
	haltest.NeedPrivateMounts(t)
	file := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, 16<<20))
	said, err := exec.Command("losetup", "--find", "--show", file).Output()
	if err != nil {
		t.Skip("needs loop devices and losetup(8): " + err.Error())
	}
	device := strings.TrimSpace(string(said))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	return device
}

func TestADeviceIsHeldUntilNobodyHasItOpen(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	device := closedLoop(t)
	is, err := h.Blocks.Probe(hal.Call{}, device)
	require.NoError(t, err)
	require.Empty(t, is.Held)
	d := hal.DeviceHold{Name: "test.hold/0123456789ab", Path: device, Device: is.Is()}

	other := d
	other.Device += "1"
	require.ErrorIs(t, h.Blocks.Hold(hal.Call{}, other), syscall.ENODEV)
	alone, err := os.OpenFile(device, os.O_RDONLY|unix.O_EXCL, 0)
	require.NoError(t, err)
	require.ErrorIs(t, h.Blocks.Hold(hal.Call{}, d), syscall.EBUSY, "somebody has it for himself")
	require.NoError(t, alone.Close())
	long := d
	long.Name = "a name that is much too long"
	require.ErrorIs(t, h.Blocks.Hold(hal.Call{}, long), syscall.EINVAL)
	all, err := h.Blocks.Holds(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, all)

	require.NoError(t, h.Blocks.Hold(hal.Call{}, d))
	require.NoError(t, h.Blocks.Hold(hal.Call{}, d), "it is held")
	all, err = h.Blocks.Holds(hal.Call{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	held := all[0]
	t.Cleanup(func() { _ = h.Blocks.Release(hal.Call{}, held) })
	require.Equal(t, []string{d.Name, d.Device}, []string{held.Name, held.Device})
	is, err = h.Blocks.Identify(hal.Call{}, held.Path)
	require.NoError(t, err)
	require.Equal(t, held.By, is.Is())
	is, err = h.Blocks.Probe(hal.Call{}, device)
	require.NoError(t, err)
	require.Equal(t, []string{d.Name}, is.Held)
	second := d
	second.Path = blankLoop(t)
	is, err = h.Blocks.Probe(hal.Call{}, second.Path)
	require.NoError(t, err)
	second.Device = is.Is()
	require.ErrorIs(t, h.Blocks.Hold(hal.Call{}, second), syscall.EEXIST)

	// Who has the disk writes to it, and who has the holder reads that, and can't write, though it is root.
	disk, err := os.OpenFile(device, os.O_RDWR|unix.O_EXCL, 0)
	require.NoError(t, err, "a container may have the disk for itself alone")
	_, err = disk.WriteAt([]byte("precious"), 4096)
	require.NoError(t, err)
	require.NoError(t, disk.Sync())
	reader, err := os.Open(held.Path)
	require.NoError(t, err)
	text := make([]byte, 8)
	_, err = reader.ReadAt(text, 4096)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
	writer, err := os.OpenFile(held.Path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = writer.WriteAt([]byte("changed!"), 4096)
	require.ErrorIs(t, err, syscall.EPERM)
	require.NoError(t, writer.Close())

	err = h.Blocks.Release(hal.Call{}, held)
	require.ErrorIs(t, err, syscall.EBUSY)
	require.ErrorContains(t, err, "it is open in process ")
	require.NoError(t, disk.Close())
	require.ErrorIs(t, h.Blocks.Release(hal.Call{}, held), syscall.EBUSY, "the holder is open")
	require.NoError(t, reader.Close())
	stale := held
	stale.Device += "1"
	require.ErrorIs(t, h.Blocks.Release(hal.Call{}, stale), syscall.ESTALE)
	require.NoError(t, h.Blocks.Release(hal.Call{}, held))
	require.NoError(t, h.Blocks.Release(hal.Call{}, held), "it is let go")
	all, err = h.Blocks.Holds(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestALostDeviceIsTold(t *testing.T) {
	devices := t.TempDir()
	disk := filepath.Join(devices, "disk")
	require.NoError(t, os.MkdirAll(disk+"/part", 0o700))
	require.NoError(t, os.WriteFile(disk+"/diskseq", []byte("42\n"), 0o600))
	for number, to := range map[string]string{"8:16": disk, "8:17": disk + "/part"} {
		require.NoError(t, os.Symlink(to, filepath.Join(devices, number)))
		require.False(t, isLost(devices, number+" sequence 42"))
		require.True(t, isLost(devices, number+" sequence 41"), "another disk has its number")
	}
	require.True(t, isLost(devices, "8:32 sequence 42"))
	require.NoError(t, os.Remove(disk+"/diskseq"))
	require.False(t, isLost(devices, "8:16 sequence 0"))
}

func TestMarksSayWhatIsHeld(t *testing.T) {
	mark, err := markOf("volnode:abcdef:", "iscsi.hold/0123456789ab", "259:1048575 sequence 4242424242")
	require.NoError(t, err)
	d, isOne := heldBy("volnode:abcdef:", mark)
	require.True(t, isOne)
	require.Equal(t, []string{"iscsi.hold/0123456789ab", "259:1048575 sequence 4242424242"}, []string{d.Name, d.Device})
	for _, other := range []string{"", mark + ":1", "volnode:abcdef:a:8:b:1", "volnode:000000:a:8:1:1"} {
		_, isOne := heldBy("volnode:abcdef:", other)
		require.False(t, isOne, other)
	}
}
