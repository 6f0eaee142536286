package linux

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

const ofTest = "0a0b0c0d-1111-4222-8333-444455556666"

// blankLoop is a loop device of a new file.
func blankLoop(t *testing.T) string {
	haltest.NeedPrivateMounts(t)
	file := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, 16<<20))
	return attachLoop(t, file)
}

func ofFound(path string, is hal.BlockDevice) hal.NewFilesystem {
	return hal.NewFilesystem{Path: path, Device: is.Is(), FSType: "ext4", UUID: ofTest}
}

func TestABlankDeviceIsFormattedOnce(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	device := blankLoop(t)
	is, err := h.Blocks.Probe(hal.Call{}, device)
	require.NoError(t, err)
	require.True(t, is.IsBlank)
	require.EqualValues(t, 16<<20, is.Size)
	require.Empty(t, is.Type+is.UUID)
	require.NotZero(t, is.Device.Major)

	require.NoError(t, h.Blocks.Format(hal.Call{}, ofFound(device, is)))
	after, err := h.Blocks.Probe(hal.Call{}, device)
	require.NoError(t, err)
	require.False(t, after.IsBlank)
	require.True(t, after.IsFilesystem)
	require.Equal(t, []string{"ext4", ofTest}, []string{after.Type, after.UUID})
	require.Equal(t, is.Is(), after.Is())

	at := t.TempDir()
	require.NoError(t, h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: device, Target: at}))
	stack, err := h.Mounts.At(hal.Call{}, at)
	require.NoError(t, err)
	require.Len(t, stack, 1)
	require.Equal(t, is.Device, stack[0].Device)
	require.NoError(t, os.WriteFile(at+"/precious", nil, 0o600))
	again := ofFound(device, is)
	again.MayHaveBegun = true
	require.ErrorIs(t, h.Blocks.Format(hal.Call{}, again), syscall.EBUSY, "it is mounted")
	require.FileExists(t, at+"/precious")
	require.NoError(t, h.Mounts.Unmount(hal.Call{}, at, stack[0].ID))

	for name, f := range map[string]func(*hal.NewFilesystem){
		"it holds a filesystem": func(*hal.NewFilesystem) {},
		"it holds another filesystem": func(f *hal.NewFilesystem) {
			f.MayHaveBegun, f.UUID = true, strings.Replace(ofTest, "0a", "0f", 1)
		},
	} {
		other := ofFound(device, is)
		f(&other)
		require.ErrorIs(t, h.Blocks.Format(hal.Call{}, other), syscall.EEXIST, name)
	}
	other := ofFound(device, is)
	other.Device += "1"
	require.ErrorIs(t, h.Blocks.Format(hal.Call{}, other), syscall.ENODEV, "another device by now")
	other = ofFound(device, is)
	other.FSType = "vfat"
	require.ErrorIs(t, h.Blocks.Format(hal.Call{}, other), syscall.EOPNOTSUPP)
	require.NoError(t, h.Blocks.Format(hal.Call{}, again), "an earlier attempt may have made it")
}

// What is not known is not blank.
func TestOnlyZerosAreBlank(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	for _, at := range []int64{0, 1<<20 - 1, 16<<20 - 1} {
		device := blankLoop(t)
		f, err := os.OpenFile(device, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{1}, at)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		is, err := h.Blocks.Probe(hal.Call{}, device)
		require.NoError(t, err)
		require.False(t, is.IsBlank, "%d", at)
		require.Empty(t, is.Type)
		require.ErrorIs(t, h.Blocks.Format(hal.Call{}, ofFound(device, is)), syscall.EEXIST)
		begun := ofFound(device, is)
		begun.MayHaveBegun = true
		require.NoError(t, h.Blocks.Format(hal.Call{}, begun))
	}
}

func TestOtherContentIsToldByName(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	for name, content := range map[string]struct {
		at   int64
		text string
	}{
		"crypto_LUKS": {0, "LUKS\xba\xbe\x00\x01"},
		"dos": {510 - 64, "\x80\x00\x01\x00\x83\xff\xff\xff\x00\x08\x00\x00\x00\x10\x00\x00" +
			strings.Repeat("\x00", 48) + "\x55\xaa"},
	} {
		device := blankLoop(t)
		f, err := os.OpenFile(device, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte(content.text), content.at)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		is, err := h.Blocks.Probe(hal.Call{}, device)
		require.NoError(t, err)
		require.Equal(t, name, is.Type)
		require.False(t, is.IsFilesystem || is.IsBlank)
		begun := ofFound(device, is)
		begun.MayHaveBegun = true
		require.ErrorIs(t, h.Blocks.Format(hal.Call{}, begun), syscall.EEXIST, name)
	}
}

func TestWhatIsNoBlockDevice(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	dir := t.TempDir()
	require.NoError(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	for path, errno := range map[string]syscall.Errno{
		dir: syscall.ENOTBLK, dir + "/fifo": syscall.ENOTBLK, dir + "/none": syscall.ENOENT, "/dev/null": syscall.ENOTBLK,
		"relative": syscall.EINVAL,
	} {
		_, err := h.Blocks.Probe(hal.Call{}, path)
		require.ErrorIs(t, err, errno, path)
	}
}

func TestDiskName(t *testing.T) {
	for want, files := range map[string]map[string]string{
		`"naa.5000"`:         {"device/wwid": "naa.5000\n", "serial": "\n"},
		`"eui.01"`:           {"wwid": "eui.01", "serial": "7"},
		`"eui.02" from 2048`: {"wwid": "eui.02", "part/start": "2048\n"},
		`"mpath-3600"`:       {"dm/uuid": "mpath-3600"},
		"":                   {"serial": " \n"},
		`"odd \x00\n name"`:  {"serial": "odd \x00\n name"},
		`"QEMU 1" from 4096`: {"device/serial": "QEMU 1", "part/start": "4096"},
	} {
		disk := t.TempDir()
		at := disk
		for name, text := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(disk, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(disk, name), []byte(text), 0o600))
			if filepath.Dir(name) == "part" {
				at = filepath.Join(disk, "part")
			}
		}
		require.Equal(t, want, diskName(at))
	}
	require.Empty(t, diskName("/sys/dev/block/0:0"))
}
