package hang

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/host"
)

// debugs changes what is on a disk that is not mounted.
func debugs(t *testing.T, device string, requests ...string) {
	t.Helper()
	cmd := exec.Command("debugfs", "-w", "-f", "-", device)
	cmd.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// checkedNode is a node whose agent has a disk, and steps that have pods use it.
type checkedNode struct {
	*host.Host
	t      *testing.T
	device string
}

// has has a pod come, and returns where its volume is.
func (n *checkedNode) has(pod string) string {
	n.Apply(pod+".yaml", host.Pod(pod, "uid-"+pod, "disk", host.Claim("disk")))
	return filepath.Join(n.Root, "pods/uid-"+pod, "volumes/kubernetes.io~local-volume/disk")
}

func (n *checkedNode) goes(pod string) {
	n.Remove(pod + ".yaml")
	n.Wait("pod/default/"+pod, "gone")
	n.Wait("all", "gone")
}

// isClean is e2fsck(8) that changes nothing.
func (n *checkedNode) isClean() bool { return exec.Command("e2fsck", "-fn", n.device).Run() == nil }

func (n *checkedNode) requireKept(at string) {
	n.t.Helper()
	data, err := os.ReadFile(at + "/kept")
	require.NoError(n.t, err)
	require.Equal(n.t, "data", string(data))
}

func TestDiskIsChecked(t *testing.T) {
	for _, tool := range []string{"debugfs", "e2fsck"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	n := &checkedNode{Host: host.New(t), t: t}
	n.device = n.BlankDisk("disk")
	n.Apply("disk.yaml", host.DiskVolume("disk", n.device, "ext4"))
	agent := n.Start()
	at := n.has("a")
	n.Wait("pod/default/a", "ready")
	require.NoError(t, os.WriteFile(at+"/kept", []byte("data"), 0o600))
	n.goes("a")

	// It was not unmounted, and has an error that needs no decision.
	debugs(t, n.device, "ssv state 0", "sif kept links_count 7")
	require.False(t, n.isClean())
	at = n.has("b")
	n.Wait("pod/default/b", "ready")
	n.requireKept(at)
	n.goes("b")
	require.True(t, n.isClean())
	require.Contains(t, logOf(t, agent), "it was not clean, and e2fsck(8) has checked it before it was mounted")

	// It has one that does: nothing is mounted, and people hear what to do.
	debugs(t, n.device, "ssv state 0", "clri <7>")
	was := on(n.device)
	at = n.has("c")
	why := "; mend it by hand: e2fsck -f " + n.device
	says := func() bool { return strings.Contains(usageOf(n.Status(), "uid-c").Why, why) }
	require.Eventually(t, says, host.Patience, 50*time.Millisecond) //nolint:forbidigo // no notice tells
	text, _, status := n.Run("describe", "pod", "default/c")
	require.Zero(t, status)
	require.Contains(t, text, why)
	require.Contains(t, text, "FailedMount")
	require.Contains(t, text, "structure needs cleaning")
	require.NoDirExists(t, at)
	require.Equal(t, was, on(n.device))
	require.False(t, n.MountedAt(filepath.Join(n.Root, "plugins/kubernetes.io/local-volume/mounts/disk")))

	require.Error(t, exec.Command("e2fsck", "-fy", n.device).Run(), "it has mended something")
	at = n.has("d") // a pod that comes ends the wait
	n.Wait("pod/default/d", "ready")
	n.requireKept(at)
	n.Wait("pod/default/c", "ready")
	n.Remove("c.yaml")
	n.goes("d")

	// A node without the program goes on.
	program, err := filepath.EvalSymlinks("/sbin/e2fsck")
	require.NoError(t, err)
	none := filepath.Join(n.Dir, "none")
	require.NoError(t, os.WriteFile(none, nil, 0o600))
	debugs(t, n.device, "ssv state 0")
	require.NoError(t, unix.Mount(none, program, "", unix.MS_BIND, "")) // in the namespace of this test
	t.Cleanup(func() { _ = unix.Unmount(program, unix.MNT_DETACH) })
	at = n.has("e")
	n.Wait("pod/default/e", "ready")
	n.requireKept(at)
	require.Contains(t, logOf(t, agent), "mounted, and not checked before, though it was not clean: there is no")
	require.NoError(t, unix.Unmount(program, 0))
	n.goes("e")
}

func logOf(t *testing.T, a *host.Agent) string {
	t.Helper()
	text, err := os.ReadFile(a.Log)
	require.NoError(t, err)
	return string(text)
}
