package linux

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

func TestMountTableWatch(t *testing.T) {
	t.Run("with mount events", func(t *testing.T) {
		unix.Close(mountEvents(t))
		h, root := startHost(t)
		testMountTableWatch(t, h, root)
	})
	t.Run("with mountinfo alone", func(t *testing.T) {
		h, root := startHost(t)
		h.mounts.index.openEvents = func() (int, error) { return -1, unix.EINVAL }
		testMountTableWatch(t, h, root)
	})
	t.Run("with a queue that says nothing", func(t *testing.T) {
		h, root := startHost(t)
		h.mounts.index.openEvents = func() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) }
		testMountTableWatch(t, h, root)
	})
}

func testMountTableWatch(t *testing.T, h *Host, root string) {
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	changed := make(chan struct{}, 100)
	h.watches.MountTable(func([]string) { changed <- struct{}{} })
	receive(t, changed, "first notice")
	// f tells no more than that something changed, perhaps twice; each change is followed by an inspection that shows
	// it.
	step := func(what string, do func() error, shows func(top hal.Mount, stacked int) bool) {
		t.Helper()
		quiet(t, h, changed)
		require.NoError(t, do())
		for {
			receive(t, changed, "notice of "+what)
			stack, err := h.mounts.At(hal.Call{}, disk)
			require.NoError(t, err)
			require.NotEmpty(t, stack)
			if shows(stack[len(stack)-1], len(stack)) {
				return
			}
		}
	}
	step("a mount", func() error { return unix.Mount("x", disk, "tmpfs", 0, "") },
		func(_ hal.Mount, stacked int) bool { return stacked == 2 })
	step("a remount", func() error { return unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "") },
		func(top hal.Mount, _ int) bool { return top.ReadOnly })
	step("a new attribute", func() error {
		return unix.MountSetattr(unix.AT_FDCWD, disk, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}, func(top hal.Mount, _ int) bool { return !top.ReadOnly })
	step("an unmount", func() error { return unix.Unmount(disk, 0) },
		func(_ hal.Mount, stacked int) bool { return stacked == 1 })
}

// mountEvents returns a queue of mount events with nothing in it.
func mountEvents(t *testing.T) int {
	t.Helper()
	queue, err := openMountEvents()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		t.Skip("needs Linux 6.15 and root: fanotify tells of mounts (FAN_REPORT_MNT): " + err.Error())
	}
	require.NoError(t, err)
	return queue
}

// An event is in the queue before the call that made it returns.
func TestMountEvents(t *testing.T) {
	disk := filepath.Join(t.TempDir(), "disk")
	mountDisk(t, disk)
	queue := mountEvents(t)
	defer unix.Close(queue)
	step := func(want string, what string, do func() error) {
		t.Helper()
		require.NoError(t, do(), what)
		got := ""
		require.NoError(t, drain(queue, func(e mountEvent) error {
			require.NotZero(t, e.id)
			require.False(t, e.isOverflow)
			got += map[bool]string{true: "+", false: "-"}[e.isAttach]
			return nil
		}))
		require.Equal(t, want, got, what)
	}
	other, third := filepath.Join(disk, "other"), filepath.Join(disk, "third")
	step("", "mkdir", func() error { return errors.Join(os.Mkdir(other, 0o755), os.Mkdir(third, 0o755)) })
	step("+", "mount", func() error { return unix.Mount("x", other, "tmpfs", 0, "") })
	step("", "remount, the reason for the poll beside it",
		func() error { return unix.Mount("", other, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "") })
	step("+", "move", func() error { return unix.Mount(other, third, "", unix.MS_MOVE, "") })
	step("-", "unmount", func() error { return unix.Unmount(third, 0) })
	step("+", "bind", func() error { return unix.Mount(disk, other, "", unix.MS_BIND, "") })
	step("-", "lazy unmount", func() error { return unix.Unmount(other, unix.MNT_DETACH) })
}

func TestMountEventsAloneAreFollowed(t *testing.T) {
	unix.Close(mountEvents(t))
	h, root := startHost(t)
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	notices, err := newTableNotices(-1, h.mounts.index.queue())
	require.NoError(t, err)
	changed := make(chan []string, 100)
	following := make(chan struct{})
	news := &tableNews{}
	news.notifier = &notifier{runtime: h.runtime, f: func() {
		if at, isAny := news.take(); isAny {
			changed <- at
		}
	}}
	h.mounts.index.subscribe(news.add)
	h.watch(func() {
		defer close(following)
		h.watches.followMounts(notices, news)
	})
	t.Cleanup(func() { // before the notices are closed
		h.Close()
		<-following
		notices.close()
	})
	require.Nil(t, receive(t, changed, "first notice"))
	for range 10 {
		quiet(t, h, changed)
		require.NoError(t, unix.Mount("x", disk, "tmpfs", 0, ""))
		require.Equal(t, []string{disk}, receive(t, changed, "notice of a mount"))
		quiet(t, h, changed)
		require.NoError(t, unix.Unmount(disk, 0))
		require.Equal(t, []string{disk}, receive(t, changed, "notice of an unmount"))
	}
}

// What is left of events that had no room is one record that says so. Then the whole table is read, and anything may
// have changed.
func TestMountEventsOverflow(t *testing.T) {
	h, root := startHost(t)
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	text, err := os.ReadFile("/proc/sys/fs/fanotify/max_queued_events")
	require.NoError(t, err)
	room, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	if room > 1<<16 {
		t.Skipf("fs.fanotify.max_queued_events is %d: filling such a queue takes too long", room)
	}
	unix.Close(mountEvents(t))
	within := func() []hal.Mount {
		t.Helper()
		found, err := h.mounts.Within(hal.Call{}, disk)
		require.NoError(t, err)
		return found
	}
	require.Len(t, within(), 1)
	var told [][]string
	h.mounts.index.subscribe(func(at []string) { told = append(told, at) })
	for range room/2 + 1 {
		require.NoError(t, unix.Mount(disk, disk, "", unix.MS_BIND, ""))
		require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH))
	}
	require.NoError(t, unix.Mount("x", disk, "tmpfs", 0, ""))
	require.Len(t, within(), 2, "what came after the queue was full")
	require.Contains(t, told, []string(nil), "anything may have changed")
	require.NoError(t, unix.Unmount(disk, 0))
	told = nil
	require.Len(t, within(), 1)
	require.Equal(t, [][]string{{disk}}, told)
}
