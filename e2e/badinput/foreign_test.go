package badinput

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/plugin"
)

// foreign mounts something of somebody else's at path, with a file in it.
func (n *node) foreign(path string) {
	n.T.Helper()
	require.NoError(n.T, os.MkdirAll(path, 0o750))
	require.NoError(n.T, unix.Mount("somebody", path, "tmpfs", 0, "size=64k"))
	require.NoError(n.T, os.WriteFile(filepath.Join(path, "theirs"), []byte("keep\n"), 0o600))
}

// foreignStays checks that it is there, on top.
func (n *node) foreignStays(path string) {
	n.T.Helper()
	text, err := os.ReadFile(filepath.Join(path, "theirs"))
	require.NoError(n.T, err)
	require.Equal(n.T, "keep\n", string(text))
}

// What somebody has mounted at a path of ours before we came to it is shown and left, and once it is gone the volume
// comes up.
func TestForeignMounts(t *testing.T) {
	for _, c := range []struct {
		name, path, volume string
		state              engine.Condition
		why                string
	}{
		{
			"stage", "plugins/kubernetes.io/csi/" + csidriver.DefaultName + "/" + plugin.HandleHash("vol-2") +
				"/globalmount", "data",
			engine.Waiting, "globalmount is a mount point of something else",
		},
		{
			"publish", "pods/second/volumes/kubernetes.io~csi/more/mount", "data",
			engine.Waiting, "more/mount is a mount point of something else",
		},
		{
			"emptydir", "pods/second/volumes/kubernetes.io~empty-dir/scratch", "scratch",
			engine.Blocked, "(recorded: nothing); volnode leaves it alone; unmount it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := running(t, "vol-2")
			at := filepath.Join(n.Root, c.path)
			n.foreign(at)
			n.Apply("zweite.yaml", host.ClaimAndVolume("more", "vol-2", "")+"---\n"+
				host.Pod("second", "second", "data", host.Claim("more"), "scratch", "emptyDir: {}"))
			why := n.volume("second", c.volume, c.state)
			t.Log(why)
			require.Contains(t, why, at)
			require.Contains(t, why, c.why)
			n.foreignStays(at)
			n.unharmed()
			require.NoError(t, unix.Unmount(at, 0))
			if c.state == engine.Blocked {
				n.restarted() // what is blocked is tried again, but not soon
			}
			n.Wait("pod/default/second", "ready")
			n.unharmed()
			n.Remove("zweite.yaml")
			n.Wait("pod/default/second", "gone")
			n.unharmed()
			n.ends()
		})
	}
}

// Somebody mounts over a volume that is up. It is told, it is left, also when the pod goes; once it is gone all goes
// its way.
func TestForeignMountOverAVolume(t *testing.T) {
	for _, c := range []struct {
		name, why string
		path      func(*node) string
	}{
		{"publish", "is a mount point of something else", (*node).claimPath},
		{"emptydir", "(recorded: no mount, directory", (*node).scratchPath},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := running(t)
			at := c.path(n)
			n.foreign(at)
			n.Remove("web.yaml")
			n.agent.AwaitStatus("a rung that can't go", func(s engine.Status) bool {
				return slices.ContainsFunc(s.Rungs, func(r engine.RungStatus) bool {
					return r.Desired == "unwanted" && strings.Contains(r.Why, at) && strings.Contains(r.Why, c.why)
				})
			})
			n.foreignStays(at)
			n.agent.Kill()
			n.agent = n.Start()
			n.foreignStays(at)
			n.agent.Kill()
			require.NoError(t, unix.Unmount(at, 0))
			n.agent = n.Start()
			n.Wait("all", "gone")
			require.Empty(t, n.Leftovers())
		})
	}
}

// The same, with an agent that is killed while it can't do anything about it: the next one does not take what is
// mounted there for its own.
func TestForeignMountsAfterARestart(t *testing.T) {
	for _, at := range []string{
		"plugins/kubernetes.io/csi/" + csidriver.DefaultName + "/" + plugin.HandleHash("vol-2") + "/globalmount",
		"pods/second/volumes/kubernetes.io~csi/more/mount",
		"pods/second/volumes/kubernetes.io~empty-dir/scratch",
	} {
		t.Run(filepath.Base(at), func(t *testing.T) {
			n := running(t, "vol-2")
			at := filepath.Join(n.Root, at)
			n.foreign(at)
			n.Apply("zweite.yaml", host.ClaimAndVolume("more", "vol-2", "")+"---\n"+
				host.Pod("second", "second", "data", host.Claim("more"), "scratch", "emptyDir: {}"))
			n.agent.AwaitStatus("an operation that fails", func(s engine.Status) bool {
				return slices.ContainsFunc(s.Rungs, func(r engine.RungStatus) bool { return r.Attempts > 0 })
			})
			n.restarted()
			n.foreignStays(at)
			n.Remove("zweite.yaml")
			n.restarted()
			n.foreignStays(at)
			n.agent.Kill()
			require.NoError(t, unix.Unmount(at, 0))
			n.agent = n.Start()
			n.Wait("pod/default/second", "gone")
			n.unharmed()
		})
	}
}
