package linux

import (
	"os"

	"golang.org/x/sys/unix"
)

// tableNotices wakes the runtime's poller whenever the mount table has changed.
//
// It is an epoll(7) set within the poller's own, so that a change told by both is one wake-up as a rule. Nobody calls
// epoll_wait(2) on it: the poller's look at mountinfo takes the POLLPRI away, and a second look would find nothing.
type tableNotices struct {
	set    *os.File
	info   int // /proc/self/mountinfo
	events int // a queue of mount events, -1 without
}

// openTableNotices follows mountinfo, and mount events if openEvents has them.
func openTableNotices(openEvents func() (queue int, err error)) (*tableNotices, error) {
	// Not os.Open: the poller would look at it on its own.
	info, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open /proc/self/mountinfo", err)
	}
	events, err := openEvents()
	if err != nil {
		events = -1 // the poll tells of everything that they would
	}
	return newTableNotices(info, events)
}

// newTableNotices takes the descriptors over, of which either may be -1.
func newTableNotices(info, events int) (*tableNotices, error) {
	t := &tableNotices{info: info, events: events}
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.close()
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	err = unix.SetNonblock(set, true) // for os.NewFile to hand it to the poller
	t.set = os.NewFile(uintptr(set), "mount table notices")
	if err == nil && info >= 0 {
		err = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, info, &unix.EpollEvent{Events: unix.EPOLLPRI})
	}
	if err == nil && events >= 0 {
		err = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, events, &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	if err != nil {
		t.close()
		return nil, os.NewSyscallError("epoll_ctl", err)
	}
	return t, nil
}

func (t *tableNotices) close() {
	if t.set != nil {
		t.set.Close()
	}
	for _, fd := range []int{t.info, t.events} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// takeEvents empties the queue of mount events and reports whether there was anything in it. An overflow
// (FAN_Q_OVERFLOW), which stands for the events that were lost, is one more record.
func (t *tableNotices) takeEvents() (told bool) {
	if t.events < 0 {
		return false
	}
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(t.events, buf)
		if err != nil && err != unix.EINTR || n == 0 {
			return told // EAGAIN: it is empty
		}
		told = told || n > 0
	}
}

// openMountEvents returns a queue of the mounts and unmounts in this process's mount namespace (fanotify(7),
// FAN_REPORT_MNT). It takes Linux 6.15 and CAP_SYS_ADMIN in the user namespace that owns the mount namespace: without
// one of them it fails, with EINVAL or EPERM.
func openMountEvents() (queue int, err error) {
	const flags = unix.FAN_CLASS_NOTIF | unix.FAN_REPORT_MNT | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK
	queue, err = unix.FanotifyInit(flags, unix.O_RDONLY)
	if err != nil {
		return -1, os.NewSyscallError("fanotify_init", err)
	}
	if err := markNamespace(queue); err != nil {
		_ = unix.Close(queue)
		return -1, err
	}
	return queue, nil
}

func markNamespace(queue int) error {
	namespace, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open /proc/self/ns/mnt", err)
	}
	defer unix.Close(namespace)
	const marks, events = unix.FAN_MARK_ADD | unix.FAN_MARK_MNTNS, unix.FAN_MNT_ATTACH | unix.FAN_MNT_DETACH
	return os.NewSyscallError("fanotify_mark", unix.FanotifyMark(queue, marks, events, namespace, ""))
}
