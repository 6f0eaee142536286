package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// Read returns zeros for the holes of a file, and for blocks that are reserved and were never written.
func TestAFileIsReadWithItsHoles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	files := &files{startHostAt(t, dir)}
	for name, at := range map[string][]int64{
		"none": nil, "first": {0}, "last": {4<<20 - 8},
		"some": {64 << 10, 1<<20 - 4, 3 << 20},
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, files.Allocate(hal.Call{}, file, 4<<20, 0o600))
		want := make([]byte, 4<<20)
		for _, at := range at {
			require.NoError(t, files.WriteAt(hal.Call{}, file, at, []byte("content.")))
			copy(want[at:], "content.")
		}
		for range 2 { // the second time the kernel may have it in memory
			got, err := files.Read(hal.Call{}, file, 4<<20)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), name)
		}
		_, err := files.Read(hal.Call{}, file, 4<<20-1)
		require.True(t, hal.Is(err, syscall.EFBIG), "%v", err)
	}
}

// A file that has another length than it had when it was looked at is read to its end, or to its bound.
func TestAFileThatGrowsIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	text := strings.Repeat("0123456789", 1000)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	for _, size := range []int64{0, 1, 9999, 10_000, 20_000, 1 << 20, 1<<20 + 1} {
		got, err := contentOf(fd, size, max(size, 10_000))
		require.NoError(t, err)
		require.Equal(t, text, string(got), size)
	}
	got, err := contentOf(fd, 100, 100)
	require.NoError(t, err)
	require.Len(t, got, 101, "one byte tells that it is longer")
}
