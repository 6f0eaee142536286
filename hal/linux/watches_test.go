package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
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

// inotify(7) says nothing of what is mounted over a file, over a directory, or goes from there.
func TestMountsInADirectoryAreNoticed(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	h, root := startHost(t)
	dir := filepath.Join(root, "manifests")
	file, other := filepath.Join(dir, "f.yaml"), filepath.Join(root, "other")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(file, []byte("1"), 0o644))
	require.NoError(t, os.WriteFile(other, []byte("2"), 0o644))
	changed := make(chan struct{}, 100)
	h.watches.rescanEvery = time.Hour
	h.watches.MountTable(func([]string) {})
	h.watches.Directory(dir, func() { changed <- struct{}{} })
	receive(t, changed, "notice of the start")
	for _, at := range []struct{ over, what string }{{file, other}, {file, file}, {dir, root}, {root, root}} {
		t.Cleanup(func() { _ = unix.Unmount(at.over, unix.MNT_DETACH) })
		quiet(t, h, changed)
		require.NoError(t, unix.Mount(at.what, at.over, "", unix.MS_BIND, ""))
		receive(t, changed, "notice of a mount over "+at.over)
		quiet(t, h, changed)
		require.NoError(t, unix.Unmount(at.over, unix.MNT_DETACH))
		receive(t, changed, "notice of an unmount of "+at.over)
	}
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

// socketEvents is what a watch has told last of each path: how often it looks, and in which order it tells of several, is not promised.
type socketEvents struct {
	t    *testing.T
	all  chan hal.SocketEvent
	last map[string]hal.SocketEvent
}

// until reads on until what was told last of a path is as ok wants it.
func (s *socketEvents) until(path string, ok func(hal.SocketEvent) bool) hal.SocketEvent {
	s.t.Helper()
	for {
		if e, told := s.last[path]; told && ok(e) {
			return e
		}
		e := receive(s.t, s.all, "event of "+path)
		s.last[e.Path] = e
	}
}

func watchSockets(t *testing.T, h *Host, dir string) *socketEvents {
	s := &socketEvents{t: t, all: make(chan hal.SocketEvent, 1000), last: map[string]hal.SocketEvent{}}
	h.watches.PluginSockets(dir, func(e hal.SocketEvent) { s.all <- e })
	return s
}

func isPresent(e hal.SocketEvent) bool { return e.Present && e.Problem == "" && e.Made != 0 }

func isGone(e hal.SocketEvent) bool { return !e.Present && e.Problem == "" && e.Made == 0 }

func isProblem(text string) func(hal.SocketEvent) bool {
	return func(e hal.SocketEvent) bool { return !e.Present && strings.Contains(e.Problem, text) }
}

// placeSocket makes a socket aside and renames it to path, so that it is never seen before its mode is set.
func placeSocket(t *testing.T, root, path string) {
	t.Helper()
	l := listen(t, filepath.Join(root, "made"))
	t.Cleanup(func() { _ = l.Close() })
	require.NoError(t, os.Rename(filepath.Join(root, "made"), path))
}

func TestPluginSockets(t *testing.T) {
	h, root := startHost(t)
	dir := filepath.Join(root, "registry")
	require.NoError(t, os.Mkdir(dir, 0o755))
	there := listen(t, filepath.Join(dir, "there.sock"))
	defer there.Close()
	events := watchSockets(t, h, dir)
	events.until(filepath.Join(dir, "there.sock"), isPresent)

	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".hidden"), 0o755))
	hidden := filepath.Join(dir, ".hidden", "no.sock")
	defer listen(t, hidden).Close()
	path := filepath.Join(dir, "sub", "a.sock")
	placeSocket(t, root, path)
	events.until(path, isPresent)
	delete(events.last, path)
	placeSocket(t, root, path)
	events.until(path, isPresent)
	require.NoError(t, os.Chmod(path, 0o777))
	events.until(path, isProblem("mode 0777"))
	require.NoError(t, os.Remove(path))
	events.until(path, isGone)
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("there.sock", link))
	events.until(link, isProblem("symbolic link"))
	require.NoError(t, os.RemoveAll(dir))
	events.until(link, isGone)
	events.until(filepath.Join(dir, "there.sock"), isGone)
	// The directory is made again, so a plugin that comes back finds it.
	for !isDir(dir) {
		_, _ = unix.Poll(nil, 1)
	}
	placeSocket(t, root, filepath.Join(dir, "back.sock"))
	events.until(filepath.Join(dir, "back.sock"), isPresent)
	require.NotContains(t, events.last, hidden)
}

// Sockets deep in new directories are found, also when the whole directory appears by a rename, among files that are none.
func TestPluginSocketsInDirectories(t *testing.T) {
	h, root := startHost(t)
	dir := filepath.Join(root, "registry")
	events := watchSockets(t, h, dir)
	for !isDir(dir) {
		_, _ = unix.Poll(nil, 1)
	}
	deep := filepath.Join(dir, "a/b/c")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	placeSocket(t, root, filepath.Join(deep, "deep.sock"))
	events.until(filepath.Join(deep, "deep.sock"), isPresent)

	whole := filepath.Join(root, "whole/sub")
	require.NoError(t, os.MkdirAll(whole, 0o755))
	placeSocket(t, root, filepath.Join(whole, "moved.sock"))
	require.NoError(t, os.WriteFile(filepath.Join(whole, "readme"), nil, 0o644))
	require.NoError(t, os.Rename(filepath.Join(root, "whole"), filepath.Join(dir, "whole")))
	events.until(filepath.Join(dir, "whole/sub/moved.sock"), isPresent)
	events.until(filepath.Join(dir, "whole/sub/readme"), isProblem("not a socket"))
	require.NoError(t, os.Rename(filepath.Join(dir, "whole"), filepath.Join(root, "away")))
	events.until(filepath.Join(dir, "whole/sub/moved.sock"), isGone)
}
