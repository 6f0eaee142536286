package linux

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// crowdedHost returns a host whose root directory is a mount, with directories in it.
func crowdedHost(t *testing.T) (*Host, string) {
	t.Helper()
	h, root := startHost(t)
	mountDisk(t, root)
	for _, name := range []string{"source/sub", "target", "control", "other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o755))
	}
	return h, root
}

// sameAsCopied binds source, and once more by a copy of the mount itself, and compares the two.
func sameAsCopied(t *testing.T, h *Host, root, source string, because string) {
	t.Helper()
	target, control := filepath.Join(root, "target"), filepath.Join(root, "control")
	require.NoError(t, h.mounts.Bind(hal.Call{}, hal.BindSpec{Source: source, Target: target}), because)
	copied, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	require.NoError(t, err)
	require.NoError(t, unix.MoveMount(copied, "", unix.AT_FDCWD, control, unix.MOVE_MOUNT_F_EMPTY_PATH))
	unix.Close(copied)
	look := func(path string) (hal.Mount, mountShape) {
		stack, err := h.mounts.At(hal.Call{}, path)
		require.NoError(t, err)
		top := stack[len(stack)-1]
		shape, err := shapeOf(top.ID)
		if !h.mounts.index.old.Load() { // else nothing tells
			require.NoError(t, err)
		}
		require.NoError(t, unix.Unmount(path, 0))
		top.ID, top.Path, shape.id = 0, "", 0
		return top, shape
	}
	got, gotShape := look(target)
	want, wantShape := look(control)
	require.Equal(t, want, got, because)
	require.Equal(t, wantShape, gotShape, because)
}

func TestBindIsWhatTheMountIs(t *testing.T) {
	h, root := crowdedHost(t)
	sub := filepath.Join(root, "source/sub")
	check := func(because string) {
		t.Helper()
		sameAsCopied(t, h, root, sub, because)
		if h.mounts.crowded.unable || h.mounts.index.old.Load() {
			t.Skip("needs Linux 6.15: it copies from a detached mount")
		}
		require.GreaterOrEqual(t, h.mounts.crowded.copied, 0, because)
	}
	remount := func(flags uintptr) { require.NoError(t, unix.Mount("", root, "", flags, "")) }
	check("as it was mounted")
	kept := h.mounts.crowded.of
	check("once more")
	require.Equal(t, kept, h.mounts.crowded.of)
	remount(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NODEV | unix.MS_NOSUID)
	check("nodev, nosuid")
	remount(unix.MS_SHARED)
	check("shared")
	noMountComes(t, h.mounts.crowded, filepath.Join(root, "other"))
	require.NoError(t, unix.Mount(root, root, "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(root, unix.MNT_DETACH)) })
	check("a mount on top of it")
	remount(unix.MS_SLAVE)
	check("slave")
	remount(unix.MS_PRIVATE)
	check("private")
	remount(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY)
	check("read-only")
}

// noMountComes checks that what is mounted on the shared mount, after it was copied, isn't on the copy as well: there
// it would be in use for longer than anybody knows.
func noMountComes(t *testing.T, c *crowded, path string) {
	t.Helper()
	require.NoError(t, unix.Mount("x", path, "tmpfs", 0, ""))
	p, err := placeAt(c.copied, filepath.Base(path))
	require.NoError(t, err)
	require.False(t, p.root)
	require.NoError(t, unix.Unmount(path, 0))
}

func TestBindsAtOnce(t *testing.T) {
	h, root := crowdedHost(t)
	var binds sync.WaitGroup
	for i := range 4 {
		target := filepath.Join(root, "target", strconv.Itoa(i))
		require.NoError(t, os.Mkdir(target, 0o755))
		binds.Go(func() {
			for range 50 {
				err := h.mounts.Bind(hal.Call{}, hal.BindSpec{
					Source: filepath.Join(root, "source/sub"),
					Target: target,
				})
				if assert.NoError(t, err) {
					assert.NoError(t, unix.Unmount(target, unix.MNT_DETACH))
				}
			}
		})
	}
	for i := range 50 { // each change makes another copy due
		flag := []uintptr{unix.MS_NODEV, unix.MS_NOSUID}[i%2]
		require.NoError(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|flag, ""))
	}
	binds.Wait()
}

func TestBindTakesWhatIsThere(t *testing.T) {
	h, root := crowdedHost(t)
	sub, other := filepath.Join(root, "source/sub"), filepath.Join(root, "other")
	sameAsCopied(t, h, root, sub, "the first")
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	require.NoError(t, unix.Mount("x", other, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(other, unix.MNT_DETACH)) })
	require.NoError(t, os.Mkdir(filepath.Join(other, "in"), 0o755))
	sameAsCopied(t, h, root, other, "a mount made later")
	sameAsCopied(t, h, root, filepath.Join(other, "in"), "below a mount made later")
	sameAsCopied(t, h, root, root, "the root directory itself")
	require.NoError(t, os.Rename(filepath.Join(root, "source"), filepath.Join(root, "renamed")))
	require.NoError(t, os.MkdirAll(sub, 0o755))
	sameAsCopied(t, h, root, sub, "made again")
	sameAsCopied(t, h, root, filepath.Join(root, "renamed/sub"), "renamed")
	h.mounts.crowded.close()
	sameAsCopied(t, h, root, sub, "after the end")
	target := filepath.Join(root, "target")
	require.NoError(t, os.Symlink("source", filepath.Join(root, "link")))
	err := h.mounts.Bind(hal.Call{}, hal.BindSpec{Source: filepath.Join(root, "link/sub"), Target: target})
	require.ErrorIs(t, err, unix.ELOOP)
}
