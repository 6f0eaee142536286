package linux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// oddMounts makes mounts with names that mountinfo escapes, and a read-only bind.
func oddMounts(t *testing.T, h *Host, root string) {
	t.Helper()
	mountDisk(t, root)
	for _, name := range []string{"a space", "a\ttab", "a\\back", "ü", "a\nline", "\xff"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, name), 0o755))
		require.NoError(t, unix.Mount("a source", filepath.Join(root, name), "tmpfs",
			unix.MS_NODEV|unix.MS_NOATIME, ""))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "from/sub dir"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "to"), 0o755))
	require.NoError(t, h.mounts.Bind(hal.Call{}, hal.BindSpec{
		Source: filepath.Join(root, "from/sub dir"), Target: filepath.Join(root, "to"), Flags: []string{"ro"},
	}))
}

func TestTableIsWhatMountinfoSays(t *testing.T) {
	h, root := startHost(t)
	oddMounts(t, h, filepath.Join(root, "disk"))
	modern, err := h.mounts.Table(hal.Call{})
	require.NoError(t, err)
	if h.mounts.index.old.Load() {
		t.Skip("this kernel has no statmount(2): there is nothing to compare")
	}
	h.mounts.index.old.Store(true)
	old, err := h.mounts.Table(hal.Call{})
	require.NoError(t, err)
	require.Equal(t, withoutIDs(old), withoutIDs(modern))
	require.Contains(t, paths(modern), filepath.Join(root, "disk/a\nline"))
	require.Contains(t, paths(modern), filepath.Join(root, "disk/\xff"))
}

// Linux 6.8 to 6.12 tell no source: it comes from mountinfo, by the mount's other id.
func TestFillSources(t *testing.T) {
	info, err := os.Open("/proc/self/mountinfo")
	require.NoError(t, err)
	defer info.Close()
	lines, err := readMountinfo(info)
	require.NoError(t, err)
	table, ids := slices.Clone(lines), []uint64{}
	for i := range table {
		ids = append(ids, uint64(table[i].ID))
		table[i].Source, table[i].ID = "", 0
	}
	require.NoError(t, fillSources(table, ids, info))
	for i := range table {
		require.Equal(t, lines[i].Source, table[i].Source)
	}
}

func paths(table []hal.Mount) []string {
	var all []string
	for _, m := range table {
		all = append(all, m.Path)
	}
	return all
}

// withoutIDs numbers mounts by their place in the table, as the two sources have ids of their own.
func withoutIDs(table []hal.Mount) []hal.Mount {
	place := map[hal.MountID]hal.MountID{}
	for i, m := range table {
		place[m.ID] = hal.MountID(i + 1)
	}
	table = slices.Clone(table)
	for i := range table {
		table[i].ID, table[i].Parent = place[table[i].ID], place[table[i].Parent]
	}
	return table
}

func TestAtWithoutStatmount(t *testing.T) {
	h, root := startHost(t)
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	require.NoError(t, h.mounts.Mount(hal.Call{}, hal.NewMount{FSType: "tmpfs", Source: "two", Target: disk}))
	modern, err := h.mounts.At(hal.Call{}, disk)
	require.NoError(t, err)
	require.Len(t, modern, 2)
	h.mounts.index.old.Store(true)
	old, err := h.mounts.At(hal.Call{}, disk)
	require.NoError(t, err)
	require.Equal(t, []string{"test", "two"}, []string{old[0].Source, old[1].Source})
	require.ErrorIs(t, h.mounts.Unmount(hal.Call{}, disk, old[0].ID), unix.EINVAL)
	require.NoError(t, h.mounts.Unmount(hal.Call{}, disk, old[1].ID))
}

// A table that is read while others mount and unmount shows mounts that were there all along, and each parent.
func TestTableUnderChurn(t *testing.T) {
	h, root := startHost(t)
	disk := filepath.Join(root, "disk")
	mountDisk(t, disk)
	stays := filepath.Join(disk, "stays")
	mountDisk(t, stays)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		churn := filepath.Join(disk, "churn")
		if os.Mkdir(churn, 0o755) != nil {
			return
		}
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = unix.Mount("churn", churn, "tmpfs", 0, "")
			_ = unix.Unmount(churn, 0)
		}
	})
	defer wg.Wait()
	defer close(stop)
	read := 0
	for range 200 {
		table, err := h.mounts.Table(hal.Call{})
		if hal.Is(err, unix.EAGAIN) {
			continue
		}
		require.NoError(t, err)
		read++
		require.Contains(t, paths(table), stays)
		seen := map[hal.MountID]bool{}
		for i, m := range table {
			listed := slices.ContainsFunc(table, func(p hal.Mount) bool { return p.ID == m.Parent })
			require.True(t, i == 0 || seen[m.Parent] || !listed)
			seen[m.ID] = true
		}
	}
	require.Positive(t, read)
}

func TestParentsFirst(t *testing.T) {
	table := []hal.Mount{
		{ID: 2, Parent: 5}, {ID: 3, Parent: 2}, {ID: 4, Parent: 1}, {ID: 5, Parent: 4}, {ID: 6, Parent: 6},
	}
	var order []hal.MountID
	for _, m := range parentsFirst(table) {
		order = append(order, m.ID)
	}
	require.Equal(t, []hal.MountID{4, 5, 2, 3, 6}, order)
}

func FuzzMountinfo(f *testing.F) {
	f.Add("36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue")
	f.Add("36 35 98:0 / /a\\040b ro shared:5 - fuse.sshfs a rw")
	f.Fuzz(func(_ *testing.T, text string) {
		lines, err := mountinfo.GetMountsFromReader(strings.NewReader(text), nil)
		if err != nil {
			return
		}
		for _, l := range lines {
			fromMountinfo(l)
		}
	})
}

func FuzzStatmount(f *testing.F) {
	f.Add(make([]byte, 600))
	f.Fuzz(func(_ *testing.T, buf []byte) {
		if len(buf) >= statmountHead {
			_, _ = (&reader{buf: buf}).decode()
		}
	})
}
