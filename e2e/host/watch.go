package host

import (
	"os"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Await looks again whenever the mount table changes (proc_pid_mountinfo(5), poll) or a name in one of dirs does
// (inotify(7)), until ok.
func (h *Host) Await(what string, ok func() bool, dirs ...string) {
	h.T.Helper()
	table, err := os.Open("/proc/self/mountinfo")
	require.NoError(h.T, err)
	defer table.Close()
	notes, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	require.NoError(h.T, err)
	defer unix.Close(notes)
	for _, dir := range dirs {
		_, err := unix.InotifyAddWatch(notes, dir,
			unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_TO|unix.IN_CLOSE_WRITE|unix.IN_MODIFY)
		require.NoError(h.T, err)
	}
	fds := []unix.PollFd{{Fd: int32(table.Fd()), Events: unix.POLLPRI}, {Fd: int32(notes), Events: unix.POLLIN}}
	end := time.Now().Add(Patience)
	buffer := make([]byte, 64<<10)
	for !ok() {
		n, err := unix.Poll(fds, int(max(0, time.Until(end)).Milliseconds()))
		if err != unix.EINTR {
			require.NoError(h.T, err)
			require.Positive(h.T, n, "%s: nothing told of it", what)
		}
		// What was read is of no interest: the inspection tells.
		_, _ = unix.Read(notes, buffer)
	}
}
