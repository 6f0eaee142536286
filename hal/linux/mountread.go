package linux

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// differences returns the paths at which two readings differ.
func differences(before, after map[hal.MountID]hal.Mount) (paths []string) {
	for id, m := range before {
		if now, is := after[id]; !is || !same(m, now) {
			paths = append(paths, m.Path)
		}
	}
	for id, m := range after {
		if was, is := before[id]; !is || !same(m, was) {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// same reports whether two readings of a mount are equal.
func same(a, b hal.Mount) bool {
	return a.Path == b.Path && a.Parent == b.Parent && a.Root == b.Root && a.Device == b.Device &&
		a.FSType == b.FSType && a.Source == b.Source &&
		a.ReadOnly == b.ReadOnly && a.ReadOnlyFS == b.ReadOnlyFS && a.NoDevice == b.NoDevice && a.Shared == b.Shared &&
		slices.Equal(a.Options, b.Options)
}

// readTable reads the whole table. Without events it reads until the kernel says that nothing has changed since the
// read began: an open /proc/self/mountinfo polls as POLLPRI after any change of the namespace's mounts
// (proc_pid_mountinfo(5)), whatever the table is read with.
func (x *mountIndex) readTable() ([]hal.Mount, error) {
	// Not os.Open: it would hand the descriptor to the runtime's poller, and a poll by anybody takes the notice away.
	fd, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	info := os.NewFile(uintptr(fd), "/proc/self/mountinfo")
	defer info.Close()
	for range tableReads {
		table, err := x.readOnce(info)
		if err != nil && err != unix.ENOENT { // ENOENT: a mount went between listmount and statmount
			return nil, err
		}
		if x.events >= 0 {
			return parentsFirst(table), nil
		}
		changed, pollErr := mountsChanged(fd)
		if pollErr != nil {
			return nil, pollErr
		}
		if !changed && err == nil {
			return parentsFirst(table), nil
		}
	}
	return nil, because(syscall.EAGAIN, fmt.Sprintf("the mount table changed during each of %d reads", tableReads))
}

func (x *mountIndex) readOnce(info *os.File) ([]hal.Mount, error) {
	if !x.old.Load() {
		table, err := x.readStatmount(info)
		if err != unix.ENOSYS && err != unix.EPERM { // EPERM: a seccomp filter older than the call
			return table, err
		}
		x.old.Store(true)
	}
	if x.events >= 0 { // they tell of mounts by ids that nothing can be asked about
		_ = unix.Close(x.events)
		x.events, x.isLost = -1, true
	}
	table, err := readMountinfo(info)
	x.read.Add(uint64(len(table)))
	return table, err
}
