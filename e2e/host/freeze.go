package host

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Frozen is a filesystem on which every change hangs in the kernel, unkillable, until it is thawed.
type Frozen struct {
	host  *Host
	Path  string
	guard *exec.Cmd
	hold  io.WriteCloser
}

const guardEnv = "VOLNODE_E2E_THAW"

// The requests of linux/fs.h that x/sys/unix does not have.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// MountImage makes a filesystem of its own, in an image file behind a loop device, and mounts it outside of the root
// directory.
func (h *Host) MountImage(name string) string {
	h.T.Helper()
	image, dir := filepath.Join(h.Dir, name+".img"), filepath.Join(h.Dir, name)
	require.NoError(h.T, os.WriteFile(image, nil, 0o600))
	require.NoError(h.T, os.Truncate(image, diskSize))
	require.NoError(h.T, os.Mkdir(dir, 0o755))
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		require.NoError(h.T, err, "%v: %s", args, out)
	}
	return dir
}

// BlankDisk attaches a loop device on which nothing is. It goes when the test ends.
func (h *Host) BlankDisk(name string) (device string) {
	return h.loop(filepath.Join(h.Dir, name+".img"))
}

// loop attaches a loop device over a file that it makes.
func (h *Host) loop(image string) (device string) {
	h.T.Helper()
	require.NoError(h.T, os.WriteFile(image, nil, 0o600))
	require.NoError(h.T, os.Truncate(image, diskSize))
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	require.NoError(h.T, err, "%s", out)
	device = strings.TrimSpace(string(out))
	h.T.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	return device
}

// ClearDisk has nothing on a disk again.
func (h *Host) ClearDisk(device string) {
	h.T.Helper()
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	require.NoError(h.T, err)
	_, err = f.Write(make([]byte, diskSize))
	require.NoError(h.T, err)
	require.NoError(h.T, errors.Join(f.Sync(), f.Close()))
}

// AgedDisk has an ext4 on a disk, with a file that has that content, which nobody has unmounted and which has an error
// that e2fsck(8) mends unasked.
func (h *Host) AgedDisk(device, file, content string) {
	h.T.Helper()
	from := filepath.Join(h.Dir, file)
	require.NoError(h.T, os.WriteFile(from, []byte(content), 0o600))
	out, err := exec.Command("mkfs.ext4", "-q", "-F", device).CombinedOutput()
	require.NoError(h.T, err, "%s", out)
	h.Debugfs(device, "write "+from+" "+file, "sif "+file+" links_count 7", "ssv state 0")
}

// Debugfs has debugfs(8) change what is on a disk that is not mounted.
func (h *Host) Debugfs(device string, requests ...string) {
	h.T.Helper()
	cmd := exec.Command("debugfs", "-w", "-f", "-", device)
	cmd.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	require.NoError(h.T, err, "%s", out)
}

// RequireCleanDisk has e2fsck(8) look at all of a disk that is not mounted.
func (h *Host) RequireCleanDisk(device string) {
	h.T.Helper()
	out, err := exec.Command("e2fsck", "-fn", device).CombinedOutput()
	require.NoError(h.T, err, "%s", out)
}

// MountDisk mounts what is on a disk, where UnmountDisk finds it.
func (h *Host) MountDisk(device string) (dir string) {
	h.T.Helper()
	dir = device + ".mounted"
	require.NoError(h.T, os.MkdirAll(dir, 0o755))
	out, err := exec.Command("mount", device, dir).CombinedOutput()
	require.NoError(h.T, err, "%s", out)
	return dir
}

// UnmountDisk ends MountDisk. A process that is forked at that moment has what was read there open until it executes
// its program.
func (h *Host) UnmountDisk(device string) {
	h.T.Helper()
	isFree := func() bool { return unix.Unmount(device+".mounted", 0) == nil }
	require.Eventually(h.T, isFree, Patience, 10*time.Millisecond) //nolint:forbidigo // no notice tells
}

// diskSize is the size of a disk, in bytes.
const diskSize = 16 << 20

// Freeze freezes the filesystem at path (ioctl_fsfreeze: FIFREEZE). A guard process thaws it when this process ends,
// whatever ends it.
func (h *Host) Freeze(path string) *Frozen {
	h.T.Helper()
	f := &Frozen{host: h, Path: path, guard: exec.Command("/proc/self/exe")}
	f.guard.Env = append(os.Environ(), guardEnv+"="+path)
	var err error
	f.hold, err = f.guard.StdinPipe()
	require.NoError(h.T, err)
	opened, err := f.guard.StdoutPipe()
	require.NoError(h.T, err)
	require.NoError(h.T, f.guard.Start())
	h.T.Cleanup(f.Thaw)
	// It has opened the filesystem, and will need nothing else to thaw it.
	_, err = io.ReadFull(opened, make([]byte, 1))
	require.NoError(h.T, err)
	dir, err := os.Open(path)
	require.NoError(h.T, err)
	defer dir.Close()
	require.NoError(h.T, unix.IoctlSetInt(int(dir.Fd()), fiFreeze, 0))
	return f
}

// Thaw thaws the filesystem. Twice does no harm.
func (f *Frozen) Thaw() {
	if f.hold == nil {
		return
	}
	_ = f.hold.Close()
	f.hold = nil
	if err := f.guard.Wait(); err != nil {
		f.host.T.Errorf("thaw %s: %v", f.Path, err)
	}
}

// guardMain is the guard: it waits for the end of its standard input, then thaws.
func guardMain() {
	path := os.Getenv(guardEnv)
	if path == "" {
		return
	}
	dir, err := os.Open(path)
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := unix.IoctlSetInt(int(dir.Fd()), fiThaw, 0); err != nil && err != unix.EINVAL {
		os.Exit(1)
	}
	os.Exit(0)
}

// AwaitHanging waits until the helper child of a call that begins like this hangs in the kernel, and returns it. Any
// helper sleeps like that for a moment while it reads from the disk; the call that a frozen filesystem holds up is the
// one that writes. The kernel tells nobody that a process has come to hang, so this is the one wait that asks again and
// again.
func (h *Host) AwaitHanging(call string) Helper {
	h.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, p := range h.Helpers() {
			if p.State == "D" && strings.HasPrefix(p.Call, call) {
				return p
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(h.T, "no helper hangs")
		}
	}
}
