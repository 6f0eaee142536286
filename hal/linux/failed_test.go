package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// A filesystem that has failed is seen at each of its mounts, by both readers, and can be unmounted. The mount table
// shows it of some filesystems only.
func TestAFilesystemThatHasFailedIsSeen(t *testing.T) {
	for name, c := range map[string]struct {
		fsType, options string
		fail            func(device, path string) error
	}{
		"ext4 after an error": {"ext4", "errors=remount-ro", func(device, _ string) error { // the trigger is for tests
			return os.WriteFile(filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error"), []byte("a test"), 0)
		}},
		"ext4 that was shut down": {"ext4", "", shutDown},
		"xfs that was shut down":  {"xfs", "", shutDown},
	} {
		t.Run(name, func(t *testing.T) {
			h, root := startHost(t)
			device := loopOf(t, c.fsType)
			disk, bound := filepath.Join(root, "disk"), filepath.Join(root, "bound")
			for _, dir := range []string{disk, bound} {
				require.NoError(t, os.Mkdir(dir, 0o755))
			}
			require.NoError(t, unix.Mount(device, disk, c.fsType, 0, c.options))
			t.Cleanup(func() { _ = unix.Unmount(disk, 0) }) // the test has done so, unless it fails
			require.NoError(t, unix.Mount(disk, bound, "", unix.MS_BIND, ""))
			t.Cleanup(func() { _ = unix.Unmount(bound, 0) })
			before := only(t, h.mounts.At, bound)
			require.False(t, before.ReadOnlyFS)
			require.False(t, before.NoDevice)
			if err := c.fail(device, disk); err != nil {
				t.Skip("can't be made to fail: " + err.Error())
			}
			if h.mounts.index.old.Load() && strings.HasSuffix(name, "after an error") {
				t.Skip("may be told by nothing before Linux 6.12")
			}
			require.Error(t, os.WriteFile(filepath.Join(bound, "file"), nil, 0o644))
			for _, look := range []func(hal.Call, string) ([]hal.Mount, error){h.mounts.At, h.mounts.Within} {
				after := only(t, look, bound)
				require.True(t, after.ReadOnlyFS)
				require.False(t, after.ReadOnly)
				require.True(t, hal.HasFailed(after.Fingerprint(), before.Fingerprint()))
				require.True(t, after.Was(before.Fingerprint()))
			}
			for _, old := range []bool{false, true} {
				h.mounts.index.old.Store(old)
				table, err := h.mounts.Table(hal.Call{})
				require.NoError(t, err)
				for _, m := range table {
					if m.Path == disk || m.Path == bound {
						require.True(t, m.ReadOnlyFS, "%s, old: %v", m.Path, old)
					}
				}
				at := map[bool]string{false: bound, true: disk}[old]
				require.NoError(t, h.mounts.Unmount(hal.Call{}, at, only(t, h.mounts.At, at).ID))
			}
		})
	}
}

// shutDown has a filesystem take no more calls, as it does by itself after an error that it can't pass over.
func shutDown(_, path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const goingDown, noLogFlush = 0x8004587d, 2 // EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN
	return unix.IoctlSetPointerInt(fd, goingDown, noLogFlush)
}

// only is the one mount that is found at a path.
func only(t *testing.T, look func(hal.Call, string) ([]hal.Mount, error), path string) hal.Mount {
	t.Helper()
	found, err := look(hal.Call{}, path)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

func TestDeviceIsGone(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "8:16"), 0o755))
	require.False(t, deviceIsGone(dir, hal.Device{Major: 8, Minor: 16}))
	require.True(t, deviceIsGone(dir, hal.Device{Major: 8, Minor: 32}))
	require.False(t, deviceIsGone(dir, hal.Device{Minor: 32}), "a filesystem without a block device")
	require.False(t, deviceIsGone(dir+"/missing", hal.Device{Major: 8, Minor: 32}), "a node without sysfs")
	require.False(t, deviceIsGone(sysDevices, hal.Device{Major: 7}) && exists("/dev/loop0") &&
		exists(sysDevices+"/7:0"))
}

func exists(path string) bool { return unix.Access(path, unix.F_OK) == nil }
