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

func newCheckedNode(t *testing.T) *checkedNode {
	t.Helper()
	for _, tool := range []string{"debugfs", "e2fsck"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("needs " + tool)
		}
	}
	n := &checkedNode{Host: host.New(t), t: t}
	n.device = n.BlankDisk("disk")
	n.Apply("disk.yaml", host.DiskVolume("disk", n.device, "ext4"))
	return n
}

func TestDiskIsChecked(t *testing.T) {
	n := newCheckedNode(t)
	agent := n.Start()
	at := n.has("a")
	n.Wait("pod/default/a", "ready")
	require.NoError(t, os.WriteFile(at+"/kept", []byte("data"), 0o600))
	n.goes("a")

	// It was not unmounted, and has an error that needs no decision.
	n.Debugfs(n.device, "ssv state 0", "sif kept links_count 7")
	require.False(t, n.isClean())
	at = n.has("b")
	n.Wait("pod/default/b", "ready")
	n.requireKept(at)
	n.goes("b")
	require.True(t, n.isClean())
	require.Contains(t, logOf(t, agent), "it was not clean, and e2fsck(8) has checked it before it was mounted")

	// It has one that does: nothing is mounted, and people hear what to do.
	n.Debugfs(n.device, "ssv state 0", "clri <7>")
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
	n.Debugfs(n.device, "ssv state 0")
	again := n.replaces("e2fsck", "", 0o600)
	at = n.has("e")
	n.Wait("pod/default/e", "ready")
	n.requireKept(at)
	require.Contains(t, logOf(t, agent), "mounted, and not checked before, though it was not clean: there is no")
	again()
	n.goes("e")
}

// replaces has a program of the node be another one, in the namespace of this test, until again.
func (n *checkedNode) replaces(name, text string, mode os.FileMode) (again func()) {
	n.t.Helper()
	program, err := filepath.EvalSymlinks("/sbin/" + name)
	require.NoError(n.t, err)
	other := filepath.Join(n.Dir, name)
	require.NoError(n.t, os.WriteFile(other, []byte(text), mode))
	require.NoError(n.t, unix.Mount(other, program, "", unix.MS_BIND, ""))
	n.t.Cleanup(func() { _ = unix.Unmount(program, unix.MNT_DETACH) }) // it may be again by then
	return func() { require.NoError(n.t, unix.Unmount(program, 0)) }
}

// TestACheckOutlivesTheAgent: who is killed while a filesystem is checked leaves the check to end, and the next agent
// does nothing beside it.
func TestACheckOutlivesTheAgent(t *testing.T) {
	n := newCheckedNode(t)
	n.AgedDisk(n.device, "kept", "data")
	begun, ends, checks := filepath.Join(n.Dir, "begun"), filepath.Join(n.Dir, "ends"), filepath.Join(n.Dir, "checks")
	text, err := os.ReadFile("/sbin/e2fsck")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(checks, text, 0o755))
	n.replaces("e2fsck", "#!/bin/sh\necho >> "+begun+"\nwhile [ ! -e "+ends+" ]; do sleep 0.02; done\n"+
		"exec "+checks+" \"$@\"\n", 0o755)
	times := func() int {
		lines, _ := os.ReadFile(begun) // it may not be there yet
		return len(lines)
	}
	agent := n.Start()
	at := n.has("a")
	n.Await("a check", func() bool { return times() == 1 }, n.Dir)
	agent.Kill()
	n.Start()
	waits := func() bool {
		return strings.Contains(usageOf(n.Status(), "uid-a").Why, "helper process of an earlier run")
	}
	require.Eventually(t, waits, host.Patience, 50*time.Millisecond) //nolint:forbidigo // no notice tells
	require.Equal(t, 1, times())
	require.NoDirExists(t, at)
	require.NoError(t, os.WriteFile(ends, nil, 0o600))
	n.Wait("pod/default/a", "ready")
	n.requireKept(at)
	require.Equal(t, 1, times(), "it was clean by then")
	n.goes("a")
	out, err := exec.Command(checks, "-fn", n.device).CombinedOutput()
	require.NoError(t, err, string(out))
}

func logOf(t *testing.T, a *host.Agent) string {
	t.Helper()
	text, err := os.ReadFile(a.Log)
	require.NoError(t, err)
	return string(text)
}
