package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// A file with two names is counted once, and no depth is too deep.
func TestCountOfLinksAndDepth(t *testing.T) {
	h, root := startHost(t)
	dir := filepath.Join(root, "d")
	const wide = 2000
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "wide"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 1<<20), 0o600))
	require.NoError(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "b")))
	for i := range wide { // more than one part
		require.NoError(t, os.MkdirAll(fmt.Sprintf("%s/wide/%04d/sub", dir, i), 0o755))
	}
	at, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	const depth = 3000
	for range depth { // its path is longer than PATH_MAX
		require.NoError(t, unix.Mkdirat(at, "deep", 0o755))
		next, err := unix.Openat(at, "deep", unix.O_PATH|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	is, err := h.HAL().HostPaths.Count(hal.Call{}, dir)
	require.NoError(t, err)
	require.EqualValues(t, 2+1+2*wide+depth, is.Inodes.Used)
	require.GreaterOrEqual(t, is.Bytes.Used, int64(1<<20))
	require.Less(t, is.Bytes.Used, int64(2<<20)+(2*wide+depth)*4096)
	more, err := h.HAL().Tree.RemoveTree(hal.Call{}, dir, 10000)
	require.NoError(t, err)
	require.False(t, more)

	_, err = h.HAL().HostPaths.Count(hal.Call{}, "/etc")
	require.ErrorIs(t, err, unix.EXDEV, "it is not below the root directory")
}
