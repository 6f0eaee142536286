package hang

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/host"
)

// number is the number of the block device at a path.
func number(t *testing.T, at string) uint64 {
	var st unix.Stat_t
	require.NoError(t, unix.Stat(at, &st))
	require.EqualValues(t, unix.S_IFBLK, st.Mode&unix.S_IFMT, at)
	return st.Rdev
}

// TestRawDiskIsALocalVolume has two pods have a disk as it is, one of which may only read it, over a death of the
// agent.
func TestRawDiskIsALocalVolume(t *testing.T) {
	h := host.New(t)
	device := h.BlankDisk("disk")
	out, err := exec.Command("mkfs.ext4", "-q", "-F", device).CombinedOutput()
	require.NoError(t, err, "%s", out)
	made := on(device)
	h.Apply("disk.yaml", host.RawVolume("disk", device))
	h.Apply("a.yaml", host.RawPod("a", "uid-a", "disk", host.Claim("disk")))
	h.Apply("b.yaml", host.RawPod("b", "uid-b", "disk", "persistentVolumeClaim: {claimName: disk, readOnly: true}"))
	agent := h.Start()
	h.Wait("pod/default/a", "ready")
	h.Wait("pod/default/b", "ready")
	at := func(uid string) string {
		return filepath.Join(h.Root, "pods", uid, "volumeDevices/kubernetes.io~local-volume/disk")
	}
	require.Equal(t, number(t, device), number(t, at("uid-a")), "who writes has the disk itself")
	require.NotEqual(t, number(t, device), number(t, at("uid-b")))
	agent.Kill()
	h.Start()
	h.Wait("pod/default/a", "ready")
	h.Wait("pod/default/b", "ready")

	// A runtime gives a container a node of that number.
	node := func(uid string) string {
		made := filepath.Join(h.Dir, "node-of-"+uid)
		require.NoError(t, unix.Mknod(made, unix.S_IFBLK|0o600, int(number(t, at(uid)))))
		return made
	}
	writer, err := os.OpenFile(node("uid-a"), os.O_RDWR|unix.O_EXCL, 0)
	require.NoError(t, err, "a container may have it for itself alone")
	_, err = writer.WriteAt([]byte("precious"), diskEnd)
	require.NoError(t, err)
	require.NoError(t, writer.Sync())
	reader, err := os.OpenFile(node("uid-b"), os.O_RDWR, 0)
	require.NoError(t, err)
	text := make([]byte, 8)
	_, err = reader.ReadAt(text, diskEnd)
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
	_, err = reader.WriteAt([]byte("changed!"), diskEnd)
	require.ErrorIs(t, err, unix.EPERM)

	// What somebody still has open is not let go of.
	h.Remove("a.yaml")
	h.Remove("b.yaml")
	h.Wait("pod/default/a", "gone")
	h.Wait("pod/default/b", "gone")
	require.Contains(t, loops(t), device)
	require.NoError(t, writer.Close())
	require.NoError(t, reader.Close())
	h.Wait("all", "gone")
	require.NotContains(t, loops(t), device)
	require.NoDirExists(t, filepath.Join(h.Root, "pods/uid-a"))
	require.Equal(t, made, on(device), "what was on it stays")
}

// diskEnd is a place on the disk that no filesystem uses.
const diskEnd = 16<<20 - 4096

// loops are what loop devices are of.
func loops(t *testing.T) string {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	require.NoError(t, err)
	var all []string
	for _, file := range files {
		text, _ := os.ReadFile(file) // or it was let go of
		all = append(all, strings.TrimSuffix(string(text), "\n"))
	}
	return strings.Join(all, "\n")
}
