package linux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// A filesystem that turns read-only after an error is seen at each of its mounts, by both readers. The trigger is
// ext4's own, for tests.
func TestFilesystemTurnsReadOnlyAfterAnError(t *testing.T) {
	h, root := startHost(t)
	device := ext4Loop(t)
	disk, bound := filepath.Join(root, "disk"), filepath.Join(root, "bound")
	for _, dir := range []string{disk, bound} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	require.NoError(t, unix.Mount(device, disk, "ext4", 0, "errors=remount-ro"))
	require.NoError(t, unix.Mount(disk, bound, "", unix.MS_BIND, ""))
	t.Cleanup(func() {
		require.NoError(t, unix.Unmount(bound, 0))
		require.NoError(t, unix.Unmount(disk, 0))
	})
	look := func() hal.Mount {
		stack, err := h.mounts.At(hal.Call{}, bound)
		require.NoError(t, err)
		require.Len(t, stack, 1)
		return stack[0]
	}
	before := look()
	require.False(t, before.ReadOnlyFS)
	require.False(t, before.NoDevice)
	trigger := filepath.Join("/sys/fs/ext4", filepath.Base(device), "trigger_fs_error")
	if err := os.WriteFile(trigger, []byte("a test"), 0); err != nil {
		t.Skip("needs " + trigger + ": " + err.Error())
	}
	require.ErrorIs(t, os.WriteFile(filepath.Join(bound, "file"), nil, 0o644), unix.EROFS)
	after := look()
	require.True(t, after.ReadOnlyFS)
	require.False(t, after.ReadOnly)
	require.True(t, hal.HasFailed(after.Fingerprint(), before.Fingerprint()))
	require.True(t, after.Was(before.Fingerprint()))
	for _, old := range []bool{false, true} {
		h.mounts.index.old.Store(old)
		table, err := h.mounts.Table(hal.Call{})
		require.NoError(t, err)
		for _, m := range table {
			if m.Path == disk || m.Path == bound {
				require.True(t, m.ReadOnlyFS, "%s, old: %v", m.Path, old)
			}
		}
	}
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
