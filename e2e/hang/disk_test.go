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

// on is blkid(8) of a device.
func on(device string) string {
	out, _ := exec.Command("blkid", "-p", "-o", "export", device).Output() // 2 for nothing
	return string(out)
}

// TestDiskIsALocalVolume has pods use a disk that was blank, over deaths of the agent.
func TestDiskIsALocalVolume(t *testing.T) {
	h := host.New(t)
	device := h.BlankDisk("disk")
	require.Empty(t, on(device))
	h.Apply("disk.yaml", host.DiskVolume("disk", device, "ext4"))
	h.Apply("a.yaml", host.Pod("a", "uid-a", "disk", host.Claim("disk")))
	agent := h.Start()
	h.Wait("pod/default/a", "ready")
	made := on(device)
	require.Contains(t, made, "TYPE=ext4")
	at := func(uid string) string {
		return filepath.Join(h.Root, "pods", uid, "volumes/kubernetes.io~local-volume/disk")
	}
	require.NoError(t, os.WriteFile(at("uid-a")+"/kept", []byte("data"), 0o600))
	agent.Kill()
	h.Apply("b.yaml", host.Pod("b", "uid-b", "disk", host.Claim("disk")))
	h.Start()
	h.Wait("pod/default/b", "ready")
	data, err := os.ReadFile(at("uid-b") + "/kept")
	require.NoError(t, err)
	require.Equal(t, "data", string(data))
	var a, b, shared unix.Stat_t
	require.NoError(t, unix.Stat(at("uid-a"), &a))
	require.NoError(t, unix.Stat(at("uid-b"), &b))
	require.NoError(t, unix.Stat(filepath.Join(h.Root, "plugins/kubernetes.io/local-volume/mounts/disk"), &shared))
	require.Equal(t, a.Dev, b.Dev)
	require.Equal(t, a.Dev, shared.Dev)

	h.Remove("a.yaml")
	h.Remove("b.yaml")
	h.Wait("pod/default/a", "gone")
	h.Wait("pod/default/b", "gone")
	h.Wait("all", "gone")
	require.NoDirExists(t, filepath.Join(h.Root, "plugins/kubernetes.io/local-volume/mounts/disk"))
	require.Equal(t, made, on(device), "what was on it stays")

	// Nobody knows what is on it, or it is of another kind: it stays so, and the status says why.
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, 8192), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Empty(t, on(device))
	h.Apply("c.yaml", host.Pod("c", "uid-c", "disk", host.Claim("disk")))
	says := func() bool {
		v := usageOf(h.Status(), "uid-c")
		return strings.Contains(v.Why, "it is not blank, as its first and last MiB are not zeros")
	}
	require.Eventually(t, says, host.Patience, 50*time.Millisecond) //nolint:forbidigo // no notice tells
	require.Empty(t, on(device))
}
