package linux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// ext4 keeps what it found of an fallocate(2) for which the disk has no room: all that is left.
func TestAFileThatCanNotGrowTakesNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, unix.Mount(ext4Loop(t), dir, "ext4", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	files, file := &files{startHostAt(t, dir)}, filepath.Join(dir, "spare")
	require.NoError(t, files.Allocate(hal.Call{}, file, 64<<10, 0o600))
	room := func() uint64 {
		var fs unix.Statfs_t
		require.NoError(t, unix.Statfs(dir, &fs))
		return fs.Bfree
	}
	before := room()
	require.ErrorIs(t, files.Allocate(hal.Call{}, file, 1<<40, 0o600), unix.ENOSPC)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, int64(64<<10), info.Size())
	require.Equal(t, before, room())
}
