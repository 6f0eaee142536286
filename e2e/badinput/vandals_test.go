package badinput

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// state waits until a volume of the pod is in a state, for a reason that has the text.
func (n *node) state(volume string, want engine.Condition, text string) {
	n.T.Helper()
	n.agent.AwaitStatus(volume+" "+string(want), func(s engine.Status) bool {
		return slices.ContainsFunc(s.Pods, func(p engine.PodStatus) bool {
			return slices.ContainsFunc(p.Volumes, func(v engine.VolumeStatus) bool {
				return v.Name == volume && v.State == want && strings.Contains(v.Why, text)
			})
		})
	})
}

// What somebody does to the directory of an emptyDir is noticed at once. It is made again, empty, and the status says
// so until the pod ends.
func TestEmptyDirIsTakenAway(t *testing.T) {
	for name, vandal := range map[string]func(scratch string) error{
		"removed": os.RemoveAll,
		"moved":   func(scratch string) error { return os.Rename(scratch, scratch+".bak") },
		"a directory above it": func(scratch string) error {
			// In one step: volnode makes a directory that is missing again at once.
			aside := filepath.Join(scratch, "../../../../../aside")
			return errors.Join(os.Rename(filepath.Dir(scratch), aside), os.RemoveAll(aside))
		},
		"replaced": func(scratch string) error {
			if err := os.Mkdir(scratch+".bak", 0o777); err != nil {
				return err
			}
			// In one step, too.
			return unix.Renameat2(unix.AT_FDCWD, scratch, unix.AT_FDCWD, scratch+".bak", unix.RENAME_EXCHANGE)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := running(t)
			require.NoError(t, vandal(n.scratchPath()))
			n.state("scratch", engine.Degraded, "what it held is lost")
			require.DirExists(t, n.scratchPath())
			n.agent.Kill()
			n.agent = n.Start()
			n.state("scratch", engine.Degraded, "what it held is lost")
			require.NoError(t, os.RemoveAll(n.scratchPath()+".bak"))
			n.Remove("web.yaml")
			n.Wait("all", "gone")
			require.Empty(t, n.Leftovers())
		})
	}
}

func TestMemoryEmptyDirIsUnmounted(t *testing.T) {
	n := running(t)
	n.Apply("memory.yaml", host.Pod("memory", "memory", "fast", "emptyDir: {medium: Memory}"))
	n.Wait("pod/default/memory", "ready")
	require.NoError(t, unix.Unmount(filepath.Join(n.Root, "pods/memory/volumes/kubernetes.io~empty-dir/fast"), 0))
	n.state("fast", engine.Degraded, "its filesystem in memory was unmounted")
	n.unharmed()
	n.Remove("memory.yaml")
	n.Wait("pod/default/memory", "gone")
	n.ends()
}

// Somebody mounts over a directory above volumes: they are hidden, not lost. Nothing is done there, nothing of the
// mount is touched, and once it is gone all is as it was.
func TestDirectoryAboveVolumesIsMountedOver(t *testing.T) {
	for _, above := range []string{"pods", "pods/" + webUID, "pods/" + webUID + "/volumes/kubernetes.io~empty-dir"} {
		t.Run(filepath.Base(above), func(t *testing.T) {
			n := running(t)
			at := filepath.Join(n.Root, above)
			n.foreign(at)
			n.state("scratch", engine.Blocked, "mounted on "+at+", hides the volume's path")
			n.foreignStays(at)
			require.NoError(t, unix.Unmount(at, 0))
			n.state("scratch", engine.Ready, "")
			n.unharmed()

			n.foreign(at)
			n.state("scratch", engine.Blocked, "hides the volume's path")
			n.Remove("web.yaml")
			n.agent.AwaitStatus("a rung that is Stuck", func(s engine.Status) bool {
				return slices.ContainsFunc(s.Rungs, func(r engine.RungStatus) bool {
					return r.Kind == "emptydir" && r.State == engine.Stuck &&
						strings.Contains(r.Why, "hides the volume's path")
				})
			})
			n.foreignStays(at)
			names, err := os.ReadDir(at)
			require.NoError(t, err)
			require.Len(t, names, 1, "something was made in what somebody has mounted")
			require.NoError(t, unix.Unmount(at, 0))
			n.Wait("all", "gone")
			require.Empty(t, n.Leftovers())
		})
	}
}

func TestMountBelowAnEmptyDirIsTold(t *testing.T) {
	n := running(t)
	at := n.scratchPath() + "/sub"
	n.foreign(at)
	n.state("scratch", engine.Degraded, "mounted on "+at)
	require.NoError(t, unix.Unmount(at, 0))
	n.state("scratch", engine.Ready, "")
	n.unharmed()
	n.ends()
}
