package linux

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// This file finds filesystems that have failed where the mount table does not say so: an XFS that has shut
// down, by itself or by XFS_IOC_GOINGDOWN, on any kernel; and an ext4 that has stopped on Linux before 6.15, which does
// not have "shutdown" or "emergency_ro" in its options. Such a kernel makes it "ro" after an error, but for Linux 6.12
// and older stable kernels with that change; of the latter nothing tells an error that has not shut it down.

// hasStopped reports whether the filesystem of a mount has failed, which its options don't tell. old is the id of the
// mount in /proc/self/mountinfo. It waits for no filesystem: what the path leads through must be in the kernel's cache,
// and what is asked ends at once on a filesystem that has failed. False if it can't tell, as of a mount that another
// one hides.
func hasStopped(fsType, path string, old uint64) bool {
	asks := stops[fsType]
	if asks == nil {
		return false
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: resolveCached | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if asks(fd) != unix.EIO {
		return false
	}
	id, err := mountIDOf(fd)
	return err == nil && id == old
}

// stops are questions that a filesystem answers with EIO once it has stopped, by type.
var stops = map[string]func(fd int) error{
	"xfs": func(fd int) error {
		var st unix.Statx_t
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	},
	"ext2": asksExt4, "ext3": asksExt4, "ext4": asksExt4, // one driver serves all three
}

// asksExt4 asks where the options don't tell: elsewhere it might wait for who changes the attributes of the root
// directory.
func asksExt4(fd int) error {
	if !hidesExt4Errors() {
		return nil
	}
	_, err := unix.Getxattr("/proc/self/fd/"+strconv.Itoa(fd), "trusted.volnode", nil)
	return err
}

// hidesExt4Errors: the kernel is before Linux 6.15.
var hidesExt4Errors = sync.OnceValue(func() bool {
	var name unix.Utsname
	var major, minor int
	if err := unix.Uname(&name); err != nil {
		return false
	}
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major < 6 || major == 6 && minor < 15)
})

// mountAt is the id of the mount whose root is at a name, of a filesystem that answers statx(2) with an error, as an
// XFS does that has shut down: so it can still be unmounted. which is the kind of id that is asked for. False if
// nothing is mounted there, or nobody can tell.
func mountAt(parent int, name string, which int) (hal.MountID, bool) {
	fd, err := openat2(parent, name, unix.O_PATH|unix.O_NOFOLLOW, 0, withoutLinks)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	around, err := mountIDOf(parent)
	if err != nil {
		return 0, false
	}
	old, err := mountIDOf(fd)
	if err != nil || old == around {
		return 0, false
	}
	if which == unix.STATX_MNT_ID {
		return hal.MountID(old), true
	}
	ids, err := listmount()
	if err != nil {
		return 0, false
	}
	var r reader
	for _, id := range ids {
		if state, err := r.statmount(id); err == nil && state.oldID == old {
			return hal.MountID(id), true
		}
	}
	return 0, false
}

// mountIDOf is the id in /proc/self/mountinfo of the mount on which an open file lies (proc_pid_fdinfo(5)).
func mountIDOf(fd int) (uint64, error) {
	f, err := os.Open("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if id, ok := strings.CutPrefix(s.Text(), "mnt_id:"); ok {
			return strconv.ParseUint(strings.TrimSpace(id), 10, 64)
		}
	}
	return 0, unix.ENODATA
}
