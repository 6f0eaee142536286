package linux

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// ext4Loop returns a loop device with an empty ext4.
func ext4Loop(t *testing.T) string {
	t.Helper()
	return loopOf(t, "ext4")
}

// loopOf returns a loop device with an empty ext4 or xfs.
func loopOf(t *testing.T, fsType string) string {
	t.Helper()
	haltest.NeedPrivateMounts(t)
	mkfs := "mkfs." + fsType
	if _, err := exec.LookPath(mkfs); err != nil {
		t.Skip("needs " + mkfs)
	}
	image := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(image, nil, 0o600))
	size := map[string]int64{"ext4": 16 << 20, "xfs": 320 << 20}[fsType] // an xfs is no smaller
	require.NoError(t, os.Truncate(image, size))
	out, err := exec.Command(mkfs, "-q", image).CombinedOutput()
	require.NoError(t, err, string(out))
	return attachLoop(t, image)
}

// attachLoop returns a loop device for image. It detaches itself with its last user (LO_FLAGS_AUTOCLEAR, loop(4)),
// however this program ends.
func attachLoop(t *testing.T, image string) string {
	t.Helper()
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs loop devices: " + err.Error())
	}
	defer control.Close()
	for range 20 {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		require.NoError(t, err)
		path := fmt.Sprintf("/dev/loop%d", n)
		device, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Skip("needs a loop device: " + err.Error())
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, device.Close()) })
			return path
		}
		require.ErrorIs(t, err, unix.EBUSY, "another process took it meanwhile")
		require.NoError(t, device.Close())
	}
	t.Skip("needs a loop device: all are taken at once")
	return ""
}

func TestBlockSuperblockIsMountedByAChild(t *testing.T) {
	device := ext4Loop(t)
	h, root := startHost(t)
	target, bound := filepath.Join(root, "a"), filepath.Join(root, "b")
	require.NoError(t, os.Mkdir(target, 0o755))
	require.NoError(t, os.Mkdir(bound, 0o755))
	require.NoError(t, h.mounts.Mount(hal.Call{Key: "stage/a"}, hal.NewMount{
		FSType: "ext4", Source: device, Target: target, Flags: []string{"nosuid", "nodev"},
		Options: []hal.Option{{Key: "errors", Value: "remount-ro"}, {Key: "nodelalloc"}},
	}))
	require.NoError(t, h.mounts.Bind(hal.Call{}, hal.BindSpec{Source: target, Target: bound, Flags: []string{"ro"}}))
	stack, err := h.mounts.At(hal.Call{}, target)
	require.NoError(t, err)
	require.Len(t, stack, 1)
	m := stack[0]
	require.Equal(t, "ext4 "+device, m.FSType+" "+m.Source)
	require.Equal(t, []string{"nodev", "nosuid", "relatime"}, m.Options)

	held, err := os.Open(target)
	require.NoError(t, err)
	err = h.mounts.Unmount(hal.Call{}, target, m.ID)
	require.ErrorIs(t, err, unix.EBUSY)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	require.NoError(t, held.Close())
	require.NoError(t, h.mounts.Unmount(hal.Call{}, target, m.ID))
	stack, err = h.mounts.At(hal.Call{}, bound)
	require.NoError(t, err)
	require.True(t, stack[0].ReadOnly)
	require.NoError(t, h.mounts.Unmount(hal.Call{}, bound, stack[0].ID))
}

func TestMountSaysWhatTheFilesystemSays(t *testing.T) {
	device := ext4Loop(t)
	h, root := startHost(t)
	err := h.mounts.Mount(hal.Call{}, hal.NewMount{
		FSType: "ext4", Source: device, Target: root, Options: []hal.Option{{Key: "nonsense", Value: "1"}},
	})
	e := requireHALError(t, err)
	require.Equal(t, unix.EINVAL, e.Errno)
	require.Equal(t, hal.NotDone, e.Outcome)
	require.Contains(t, e.Detail, "nonsense")
}

func TestMountRefusesUnknownFlags(t *testing.T) {
	h, root := startHost(t)
	err := h.mounts.Mount(hal.Call{}, hal.NewMount{FSType: "tmpfs", Target: root, Flags: []string{"suid"}})
	require.ErrorIs(t, err, unix.EINVAL)
}

// The ways of kernels before Linux 5.12.
func TestMountByMount(t *testing.T) {
	_, root := startHost(t)
	mountDisk(t, filepath.Join(root, "disk"))
	a, b := filepath.Join(root, "disk/a"), filepath.Join(root, "disk/b")
	require.NoError(t, os.Mkdir(a, 0o755))
	require.NoError(t, os.Mkdir(b, 0o755))
	fd, err := openPoint(a)
	require.NoError(t, err)
	require.NoError(t, mountByMount(hal.NewMount{
		FSType: "tmpfs", Source: "old", Flags: []string{"nosuid"},
		Options: []hal.Option{{Key: "size", Value: "1m"}, {Key: "mode", Value: "0700"}},
	}, fd))
	require.NoError(t, unix.Close(fd))
	from, err := openPoint(a)
	require.NoError(t, err)
	to, err := openPoint(b)
	require.NoError(t, err)
	require.NoError(t, bindByMount(from, to, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV))
	require.NoError(t, unix.Close(from))
	require.NoError(t, unix.Close(to))
	h := startHostAt(t, root)
	stack, err := h.mounts.At(hal.Call{}, b)
	require.NoError(t, err)
	require.True(t, stack[0].ReadOnly)
	require.Equal(t, []string{"nodev", "nosuid", "relatime"}, stack[0].Options)
}

// A source that is not in the kernel's cache is looked for by a helper child.
func TestBindByAHelper(t *testing.T) {
	h, root := startHost(t)
	mountDisk(t, filepath.Join(root, "disk"))
	a, b, link := filepath.Join(root, "disk/a"), filepath.Join(root, "disk/b"), filepath.Join(root, "disk/link")
	require.NoError(t, os.Mkdir(a, 0o755))
	require.NoError(t, os.Mkdir(b, 0o755))
	require.NoError(t, os.Symlink(a, link))
	bind := func(source string, flags ...string) error {
		_, err := h.help(hal.Call{}, hal.ClassSyscall, "bind", b,
			request{Bind: &hal.BindSpec{Source: source, Target: b, Flags: flags}})
		return err
	}
	require.ErrorIs(t, bind(link), unix.ELOOP)
	require.ErrorIs(t, bind(a+"/none"), unix.ENOENT)
	require.ErrorIs(t, bind(a, "noatime"), unix.EINVAL)
	require.NoError(t, bind(a, "ro", "noexec"))
	stack, err := h.mounts.At(hal.Call{}, b)
	require.NoError(t, err)
	require.Len(t, stack, 1)
	require.True(t, stack[0].ReadOnly)
	require.Contains(t, stack[0].Options, "noexec")
	require.Equal(t, "/a", stack[0].Root)
}
