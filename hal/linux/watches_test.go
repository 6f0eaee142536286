package linux

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// quiet takes what was told up to here away. A notice that is still on its way does no harm: it is one more.
func quiet[T any](t *testing.T, h *Host, c chan T) {
	t.Helper()
	done := make(chan struct{})
	h.runtime.Post(func() { close(done) })
	receive(t, done, "owner")
	for len(c) > 0 {
		<-c
	}
}

func TestDirectoryWatch(t *testing.T) {
	h, root := startHost(t)
	dir := filepath.Join(root, "not/yet")
	changed := make(chan struct{}, 100)
	h.watches.Directory(dir, func() { changed <- struct{}{} })
	receive(t, changed, "notice of the start")

	step := func(what string, do func() error) {
		t.Helper()
		quiet(t, h, changed)
		require.NoError(t, do())
		receive(t, changed, "notice of "+what)
	}
	step("the directory made", func() error { return os.MkdirAll(dir, 0o755) })
	file := filepath.Join(dir, "f")
	// The directory may have been made in two steps; the notice of the second one shows that it is watched.
	step("a file", func() error { return os.WriteFile(file, []byte("1"), 0o644) })
	step("a write", func() error { return os.WriteFile(file, []byte("22"), 0o644) })
	step("a rename over it", func() error {
		temp := filepath.Join(root, "temp")
		if err := os.WriteFile(temp, []byte("3"), 0o644); err != nil {
			return err
		}
		return os.Rename(temp, file)
	})
	step("a removal", func() error { return os.Remove(file) })
	step("the directory's end", func() error { return os.Remove(dir) })
	step("the directory's return", func() error { return os.Mkdir(dir, 0o755) })
	step("a file in it", func() error { return os.WriteFile(file, []byte("4"), 0o644) })
}

func TestDirectoryIsLookedAtWithoutNotice(t *testing.T) {
	h, root := startHost(t)
	h.watches.rescanEvery = 10 * time.Millisecond
	changed := make(chan struct{}, 100)
	last := signature(root)
	follow := &follower{
		watches: h.watches, watch: func() []string { return nil }, cares: func(string) bool { return true },
		look: func(noticed bool) {
			if now := signature(root); noticed || now != last {
				last = now
				changed <- struct{}{}
			}
		},
	}
	h.watch(follow.run)
	receive(t, changed, "notice of the start")
	require.NoError(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o644))
	receive(t, changed, "rescan")
}

func TestPluginSockets(t *testing.T) {
	h, root := startHost(t)
	dir := filepath.Join(root, "registry")
	require.NoError(t, os.Mkdir(dir, 0o755))
	there := listen(t, filepath.Join(dir, "there.sock"))
	defer there.Close()
	events := make(chan hal.SocketEvent, 100)
	h.watches.PluginSockets(dir, func(e hal.SocketEvent) { events <- e })
	next := func() hal.SocketEvent { t.Helper(); return receive(t, events, "event") }
	require.Equal(t, hal.SocketEvent{Path: filepath.Join(dir, "there.sock"), Present: true}, next())

	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".hidden"), 0o755))
	hidden := listen(t, filepath.Join(dir, ".hidden", "no.sock"))
	defer hidden.Close()
	path := filepath.Join(dir, "sub", "a.sock")
	// Made aside and renamed: a socket is told of as it stands, and here it is never seen before its mode is set.
	place := func() {
		l := listen(t, filepath.Join(root, "made"))
		t.Cleanup(func() { _ = l.Close() })
		require.NoError(t, os.Rename(filepath.Join(root, "made"), path))
	}
	place()
	require.Equal(t, hal.SocketEvent{Path: path, Present: true}, next())
	place()
	require.Equal(t, hal.SocketEvent{Path: path, Present: true}, next(), "replaced")
	require.NoError(t, os.Chmod(path, 0o777))
	e := next()
	require.False(t, e.Present)
	require.Contains(t, e.Problem, "mode 0777")
	require.NoError(t, os.Remove(path))
	require.Equal(t, hal.SocketEvent{Path: path}, next())
	require.NoError(t, os.Symlink("there.sock", filepath.Join(dir, "link")))
	require.Contains(t, next().Problem, "symbolic link")
	require.NoError(t, os.RemoveAll(dir))
	gone := map[string]bool{next().Path: true, next().Path: true}
	require.Equal(t, map[string]bool{filepath.Join(dir, "link"): true, filepath.Join(dir, "there.sock"): true}, gone)
	// The directory is made again, so a plugin that comes back finds it.
	for !isDir(dir) {
		_, _ = unix.Poll(nil, 1)
	}
}
