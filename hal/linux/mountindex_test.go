package linux

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// ways are the ways in which an index learns of changes.
var ways = map[string]func(*mountIndex){
	"events":    func(*mountIndex) {},
	"poll":      func(x *mountIndex) { x.openEvents = func() (int, error) { return -1, unix.EINVAL } },
	"mountinfo": func(x *mountIndex) { x.old.Store(true) },
}

// inEachWay runs a test with an index of each way.
func inEachWay(t *testing.T, test func(t *testing.T, x *mountIndex)) {
	for name, set := range ways {
		t.Run(name, func(t *testing.T) {
			if name == "events" {
				unix.Close(mountEvents(t))
			}
			x := newMountIndex()
			set(x)
			t.Cleanup(x.close)
			test(t, x)
		})
	}
}

// churner mounts and unmounts below a directory, at random.
type churner struct {
	disk string
	rand *rand.Rand
}

func (c *churner) path() string {
	names := []string{"a", "b", "a/x", "a/y", "b/x", "a/x/z"}
	return filepath.Join(c.disk, names[c.rand.IntN(len(names))])
}

// step does one thing, if it can be done.
func (c *churner) step() string {
	at, other := c.path(), c.path()
	const moveBeneath = unix.MOVE_MOUNT_F_EMPTY_PATH | 0x200 // MOVE_MOUNT_BENEATH, Linux 6.5
	what, err := "", error(nil)
	switch c.rand.IntN(11) {
	case 0, 1:
		what, err = "mount", unix.Mount("x", at, "tmpfs", 0, "")
	case 2:
		what, err = "bind "+other, unix.Mount(other, at, "", unix.MS_BIND, "")
	case 3:
		what, err = "rbind "+other, unix.Mount(other, at, "", unix.MS_BIND|unix.MS_REC, "")
	case 4:
		what, err = "move "+other, unix.Mount(other, at, "", unix.MS_MOVE, "")
	case 5, 6:
		what, err = "umount", unix.Unmount(at, 0)
	case 7:
		what, err = "detach", unix.Unmount(at, unix.MNT_DETACH)
	case 8:
		flags := []uintptr{unix.MS_SHARED, unix.MS_SLAVE, unix.MS_PRIVATE}[c.rand.IntN(3)]
		what, err = "share", unix.Mount("", at, "", flags|unix.MS_REC, "")
	case 9:
		what = "beneath " + other
		fd, openErr := unix.OpenTree(unix.AT_FDCWD, other, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err = openErr; err == nil {
			err = unix.MoveMount(fd, "", unix.AT_FDCWD, at, moveBeneath)
			unix.Close(fd)
		}
	case 10:
		what, err = "mkdir", os.MkdirAll(at, 0o755)
	}
	return fmt.Sprint(what, " at ", at, ": ", err)
}

func mountsNow(t *testing.T, x *mountIndex, path string) map[hal.MountID]string {
	t.Helper()
	found, err := x.within(path)
	require.NoError(t, err)
	stands := map[hal.MountID]string{}
	for _, m := range found {
		stands[m.ID] = m.Path
	}
	require.Len(t, stands, len(found))
	return stands
}

// Whatever others mount, move, bind with all below it, push beneath or take away, at once and by propagation: the
// index has what a reading of the table has, and tells where it was.
func TestIndexIsWhatTheTableSays(t *testing.T) {
	inEachWay(t, func(t *testing.T, x *mountIndex) {
		disk := filepath.Join(t.TempDir(), "disk")
		mountDisk(t, disk)
		c := &churner{disk, rand.New(rand.NewPCG(7, 1))}
		for range 20 {
			require.NoError(t, os.MkdirAll(c.path(), 0o755))
		}
		_, err := x.update()
		require.NoError(t, err)
		told := map[string]bool{}
		isAll := false
		x.subscribe(func(at []string) {
			isAll = isAll || at == nil
			for _, path := range at {
				told[path] = true
			}
		})
		before := mountsNow(t, x, disk)
		for range 1500 {
			if len(before) > 100 {
				require.NoError(t, unix.Unmount(filepath.Join(disk), unix.MNT_DETACH))
				require.NoError(t, unix.Mount("test", disk, "tmpfs", 0, ""))
			}
			clear(told)
			what := c.step()
			after := mountsNow(t, x, disk)
			whole := newMountIndex()
			ways["poll"](whole)
			whole.old.Store(x.old.Load())
			require.Equal(t, mountsNow(t, whole, disk), after, what)
			whole.close()
			for _, pair := range [2][2]map[hal.MountID]string{{before, after}, {after, before}} {
				for id, path := range pair[0] {
					if pair[1][id] != path {
						require.True(t, told[path], "%s: %s is not told of", what, path)
					}
				}
			}
			before = after
		}
		require.False(t, isAll, "each change was told by its path")
	})
}

// A reading of the table that is under way when others ask is shared by those who asked before it began, and by
// nobody else.
func TestOneReadingServesAllWhoAsked(t *testing.T) {
	inEachWay(t, func(t *testing.T, x *mountIndex) {
		table, err := x.all()
		require.NoError(t, err)
		entries := x.read.Load()
		x.mu.Lock()
		var asking sync.WaitGroup
		const many = 50
		for range many {
			asking.Go(func() {
				found, err := x.all()
				assert.NoError(t, err)
				assert.Equal(t, paths(table), paths(found))
			})
		}
		for x.waiting.Load() < many {
			unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
		x.mu.Unlock()
		asking.Wait()
		require.Equal(t, 2*entries, x.read.Load(), "one reading more")
		require.Nil(t, x.shared)
	})
}

// foreign makes mounts that have nothing to do with the agent.
func foreign(t *testing.T, count int) {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "foreign")
	mountDisk(t, disk)
	for i := range count {
		at := filepath.Join(disk, strconv.Itoa(i))
		require.NoError(t, os.Mkdir(at, 0o755))
		require.NoError(t, unix.Mount(disk, at, "", unix.MS_BIND, ""))
	}
}

// What a mount, a bind, a look, a question for what is below and a notice cost does not depend on how many mounts
// there are.
func TestCostDoesNotGrowWithTheTable(t *testing.T) {
	unix.Close(mountEvents(t))
	var costs []uint64
	for _, count := range []int{50, 2000} {
		h, root := crowdedHost(t)
		foreign(t, count)
		changed := make(chan []string, 100)
		h.watches.MountTable(func(at []string) {
			select {
			case changed <- at:
			default: // of the end of the test
			}
		})
		receive(t, changed, "first notice")
		_, err := h.mounts.Table(hal.Call{})
		require.NoError(t, err)
		quiet(t, h, changed)
		target, source := filepath.Join(root, "target"), filepath.Join(root, "source/sub")
		begin := h.MountsRead()
		c := hal.Call{}
		require.NoError(t, h.mounts.Mount(c, hal.NewMount{FSType: "tmpfs", Target: target}))
		require.NoError(t, h.mounts.Bind(c, hal.BindSpec{Source: source, Target: target}))
		stack, err := h.mounts.At(c, target)
		require.NoError(t, err)
		require.Len(t, stack, 2)
		below, err := h.mounts.Within(c, root)
		require.NoError(t, err)
		require.Len(t, below, 3)
		require.NoError(t, h.mounts.Unmount(c, target, stack[1].ID))
		quiet(t, h, changed)
		require.NoError(t, unix.Unmount(target, 0))
		require.Equal(t, []string{target}, receive(t, changed, "notice of an unmount"))
		costs = append(costs, h.MountsRead()-begin)
	}
	require.Less(t, costs[0], uint64(40))
	require.InDelta(t, costs[0], costs[1], 6, "entries that were read, with few and with many mounts of others")
}

// A remount, of which no event tells, is told as a change of anything; it is not lost beside a question that has
// emptied the queue.
func TestARemountIsTold(t *testing.T) {
	unix.Close(mountEvents(t))
	h, root := startHost(t)
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	changed := make(chan []string, 100)
	h.watches.MountTable(func(at []string) { changed <- at })
	require.Nil(t, receive(t, changed, "first notice"))
	quiet(t, h, changed)
	require.NoError(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := h.mounts.Within(hal.Call{}, disk)
	require.NoError(t, err)
	require.Nil(t, receive(t, changed, "notice of a remount"))
}

func TestMountPoints(t *testing.T) {
	root := &mountPoint{}
	for id, path := range []string{"/", "/a", "/a/b", "/a-b", "/a/b/c", "/a"} {
		at := root.find(path, true)
		require.Equal(t, path, at.path())
		at.mounts = append(at.mounts, hal.MountID(id))
	}
	require.Equal(t, []hal.MountID{1, 5, 2, 4}, root.within("/a"))
	require.Equal(t, []hal.MountID{4}, root.within("/a/b/c"))
	require.Len(t, root.within("/"), 6)
	require.Empty(t, root.within("/a/b/c/d"))
	root.find("/a/b", false).drop(2)
	root.find("/a/b/c", false).drop(4)
	require.Nil(t, root.find("/a/b", false))
	require.NotNil(t, root.find("/a", false))
}

func FuzzMountEvent(f *testing.F) {
	f.Add(slices.Repeat([]byte{40, 0, 0, 0}, 10))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if len(b) >= eventHead {
			decodeEvent(b)
		}
	})
}

// What the host does with mounts it does as well where a filter of system calls refuses mount events, or them and
// statmount(2).
func TestMountsWithoutNewCalls(t *testing.T) {
	for _, calls := range []string{"events", "events statmount"} {
		t.Run(calls, func(t *testing.T) {
			const tests = "^(TestMountsAreToldByPath|TestMountsInADirectoryAreNoticed|TestTableUnderChurn)$"
			haltest.RunBlocked(t, calls, tests)
		})
	}
}

// With events or without, a notice names the places.
func TestMountsAreToldByPath(t *testing.T) {
	h, root := startHost(t)
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	changed := make(chan []string, 100)
	h.watches.MountTable(func(at []string) { changed <- at })
	require.Nil(t, receive(t, changed, "first notice"))
	at := filepath.Join(disk, "at")
	require.NoError(t, os.Mkdir(at, 0o755))
	for range 5 {
		quiet(t, h, changed)
		require.NoError(t, unix.Mount("x", at, "tmpfs", 0, ""))
		require.Equal(t, []string{at}, receive(t, changed, "notice of a mount"))
		quiet(t, h, changed)
		require.NoError(t, unix.Unmount(at, 0))
		require.Equal(t, []string{at}, receive(t, changed, "notice of an unmount"))
	}
}

// A mount that somebody has seen, and that goes before its event was taken, is told nevertheless.
func TestWhatWasSeenIsToldWhenItGoes(t *testing.T) {
	for name, set := range ways {
		t.Run(name, func(t *testing.T) {
			h, root := startHost(t)
			set(h.mounts.index)
			disk := filepath.Join(root, "disk")
			mountDisk(t, disk)
			x := h.mounts.index
			_, err := x.update()
			require.NoError(t, err)
			var told []string
			x.subscribe(func(at []string) { told = append(told, at...) })
			c := hal.Call{}
			for range 3 {
				require.NoError(t, h.mounts.Mount(c, hal.NewMount{FSType: "tmpfs", Target: disk}))
				stack, err := h.mounts.At(c, disk)
				require.NoError(t, err)
				require.Len(t, stack, 2)
				told = nil
				require.NoError(t, unix.Unmount(disk, 0))
				_, err = x.update()
				require.NoError(t, err)
				require.Contains(t, told, disk)

				told = nil
				x.saw([]hal.Mount{stack[1]}) // the inspection took long, and it has gone meanwhile
				if !x.old.Load() {
					require.Contains(t, told, disk)
				}
			}
		})
	}
}
