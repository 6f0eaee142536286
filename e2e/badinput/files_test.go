package badinput

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/engine"
)

// chain makes directories, each in the one before: far longer than a path may be.
func chain(t *testing.T, top string, levels int) {
	t.Helper()
	at, err := unix.Open(top, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	require.NoError(t, err)
	name := strings.Repeat("deep", 60)
	for range levels {
		require.NoError(t, unix.Mkdirat(at, name, 0o755))
		next, err := unix.Openat(at, name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(at))
		at = next
	}
	require.NoError(t, unix.Close(at))
}

func wide(t *testing.T, top string, files int) {
	t.Helper()
	require.NoError(t, os.Mkdir(top, 0o755))
	for i := range files {
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/%d", top, i), nil, 0o600))
	}
}

// What a pod leaves in its emptyDir goes, however deep and however wide it is. volnode dies again and again meanwhile,
// and is told to stop: the next start goes on.
func TestDeepAndWideEmptyDir(t *testing.T) {
	n := running(t)
	levels, files := 5000, 100_000
	if testing.Short() {
		levels, files = 1000, 20_000
	}
	scratch := n.scratchPath()
	chain(t, scratch, levels)
	wide(t, scratch+"/wide", files)
	trash := filepath.Join(filepath.Dir(scratch), "."+filepath.Base(scratch)+".deleting")
	n.Remove("web.yaml")
	begun := n.agent.AwaitStatus("the deletion", func(engine.Status) bool {
		_, err := os.Stat(scratch)
		return os.IsNotExist(err)
	})
	require.NotEmpty(t, begun.Node)
	deaths := 0
	for range 3 {
		n.agent.Kill()
		if _, err := os.Stat(trash); err == nil {
			deaths++
		}
		n.agent = n.Start()
	}
	require.NoError(t, n.agent.Terminate())
	require.Zero(t, n.agent.Exit())
	n.agent = n.Start()
	n.Wait("all", "gone")
	require.Empty(t, n.Leftovers())
	t.Logf("%d deaths in the middle of the deletion", deaths)
}

// A bind mount that a container has left in the middle of its files stops the deletion before it begins, one that comes
// later stops it there: the pod is Stuck, the mount is named, and what it shows stays.
func TestMountInTheMiddleOfAnEmptyDir(t *testing.T) {
	n := running(t)
	middle := n.scratchPath() + strings.Repeat("/d", 40)
	require.NoError(t, os.MkdirAll(middle, 0o755))
	n.foreign(middle)
	n.Remove("web.yaml")
	s := n.agent.AwaitStatus("a pod that is Stuck", func(s engine.Status) bool {
		return len(s.Pods) == 1 && s.Pods[0].State == engine.Stuck
	})
	require.Contains(t, fmt.Sprintf("%+v", s), middle)
	n.foreignStays(middle)
	n.agent.Kill()
	n.agent = n.Start()
	n.foreignStays(middle)
	n.agent.Kill()
	require.NoError(t, unix.Unmount(middle, 0))
	n.agent = n.Start()
	n.Wait("all", "gone")
	require.Empty(t, n.Leftovers())
}

// A file that nobody may delete, for it is protected under another name, too, leaves the pod Stuck, and the file is
// named.
func TestProtectedFileOfAnEmptyDir(t *testing.T) {
	n := running(t)
	other := filepath.Join(n.Root, "other")
	require.NoError(t, os.WriteFile(other, []byte("keep\n"), 0o600))
	require.NoError(t, os.MkdirAll(n.scratchPath()+"/d", 0o755))
	require.NoError(t, os.Link(other, n.scratchPath()+"/d/theirs"))
	setFlags(t, other, unix.STATX_ATTR_IMMUTABLE)
	t.Cleanup(func() {
		if _, err := os.Stat(other); err == nil {
			setFlags(t, other, 0)
		}
	})
	n.Remove("web.yaml")
	s := n.agent.AwaitStatus("a pod that is Stuck", func(s engine.Status) bool {
		return len(s.Pods) == 1 && s.Pods[0].State == engine.Stuck
	})
	require.Contains(t, fmt.Sprintf("%+v", s), "d/theirs")
	setFlags(t, other, 0)
	n.agent.Kill()
	n.agent = n.Start()
	n.Wait("all", "gone")
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "keep\n", string(text))
	require.NoError(t, os.Remove(other))
	require.Empty(t, n.Leftovers())
}

func setFlags(t *testing.T, path string, flags int) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags); err != nil {
		t.Skip("this filesystem has no attributes of files:", err)
	}
}
