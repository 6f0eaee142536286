package linux

import (
	"os"
	"path/filepath"
	"strconv"
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
	names := newNameQueue(root)
	names.rescan()
	follow := &follower{
		watches: h.watches, watch: func() []string { return nil }, cares: func(string) bool { return true },
		look: func(noticed bool) {
			if names.rescan() || noticed {
				changed <- struct{}{}
			}
		},
	}
	h.watch(follow.run)
	receive(t, changed, "notice of the start")
	require.NoError(t, os.WriteFile(filepath.Join(root, "f"), nil, 0o644))
	receive(t, changed, "rescan")
}

// socketEvents is what a watch has told last of each path: how often it looks, and in which order it tells of several,
// is not promised.
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

// Sockets deep in new directories are found, also when the whole directory appears by a rename, among files that are
// none.
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

// Whoever asks is told of each name that has changed before, without a notice; and that anything may have changed,
// where nobody can know.
func TestDirectoryTellsWhichNamesHaveChanged(t *testing.T) {
	h, root := startHost(t)
	h.watches.rescanEvery = time.Hour
	dir, away := filepath.Join(root, "manifests"), filepath.Join(root, "away")
	require.NoError(t, os.Mkdir(dir, 0o755))
	file := func(name string) string { return filepath.Join(dir, name) }
	changed := h.watches.Directory(dir, func() {})
	requireAny := func(what string) {
		t.Helper()
		_, isAny := changed()
		require.True(t, isAny, what)
	}
	require.NoError(t, os.WriteFile(file("a"), nil, 0o644))
	requireAny("nobody knows what was before")
	step := func(do error, names ...string) {
		t.Helper()
		require.NoError(t, do)
		told, isAny := changed()
		require.False(t, isAny)
		require.Equal(t, names, told)
	}
	step(nil)
	step(os.WriteFile(file("a"), []byte("1"), 0o644), "a")
	step(os.Chmod(file("a"), 0o600), "a")
	step(os.WriteFile(filepath.Join(root, "x"), nil, 0o644))
	step(os.Rename(filepath.Join(root, "x"), file("b")), "b")
	step(os.Rename(file("b"), file("c")), "b", "c")
	step(os.Mkdir(file("d"), 0o755), "d")
	step(os.Remove(file("c")), "c")

	require.NoError(t, os.Rename(dir, away))
	requireAny("there is no directory")
	require.NoError(t, os.Mkdir(dir, 0o755))
	requireAny("it is another one")
	step(os.WriteFile(file("e"), nil, 0o644), "e")
	require.NoError(t, os.Rename(dir, dir+"2"))
	require.NoError(t, os.Rename(dir+"2", dir))
	requireAny("it was away for a while")
	step(os.WriteFile(file("f"), nil, 0o644), "f")

	most, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(most)))
	require.NoError(t, err)
	if n > 1<<16 {
		return
	}
	for i := range n { // two events each; the same one in a row would be merged
		require.NoError(t, os.WriteFile(file(strconv.Itoa(i%2)), []byte("1"), 0o644))
	}
	requireAny("the queue was full")
	step(os.Remove(file("f")), "f")
}

// A rescan finds what nobody has told of, and then anything may have changed; what was told of already is no news.
func TestARescanFindsWhatNobodyHasTold(t *testing.T) {
	dir := t.TempDir()
	q := newNameQueue(dir)
	defer q.close()
	file := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, isAny := q.changed()
	require.True(t, isAny)
	require.False(t, q.rescan())
	require.NoError(t, os.WriteFile(file, []byte("1"), 0o644))
	require.True(t, q.rescan())
	names, isAny := q.changed()
	require.False(t, isAny)
	require.Equal(t, []string{"a"}, names)
	require.False(t, q.rescan())

	require.NoError(t, os.WriteFile(file, []byte("22"), 0o644))
	q.drain()
	clear(q.names) // as if inotify had said nothing
	require.True(t, q.rescan())
	_, isAny = q.changed()
	require.True(t, isAny)
	_, isAny = q.changed()
	require.False(t, isAny)
	require.NoError(t, os.Link(file, file+"2"))
	require.NoError(t, os.Rename(file+"2", filepath.Join(t.TempDir(), "other")))
	require.True(t, q.rescan())
	for range 3 {
		_, isAny = q.changed()
		require.True(t, isAny, "it may be written by its other name")
	}
}
