package linux

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// tableNotices wakes the runtime's poller whenever the mount table has changed.
//
// It is an epoll(7) set within the poller's own, so a change that both report is one wake-up as a rule. Nobody calls
// epoll_wait(2) on it: the poller's look at mountinfo takes the POLLPRI away, so a second look would find nothing.
type tableNotices struct {
	set  *os.File
	info int // /proc/self/mountinfo, -1 without
}

// openTableNotices follows mountinfo, and the queue of mount events unless it is -1.
func openTableNotices(events int) (*tableNotices, error) {
	// Not os.Open: the poller would look at it on its own.
	info, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open /proc/self/mountinfo", err)
	}
	return newTableNotices(info, events)
}

// newTableNotices takes info over. It may be -1, and so may events.
func newTableNotices(info, events int) (*tableNotices, error) {
	t := &tableNotices{info: info}
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
	if t.info >= 0 {
		_ = unix.Close(t.info)
	}
}

// mountEvent is one event of the queue.
type mountEvent struct {
	id         hal.MountID
	isAttach   bool // it came, or was moved; else it went
	isOverflow bool // events were lost (FAN_Q_OVERFLOW)
}

const (
	eventHead     = 24 // struct fanotify_event_metadata
	eventInfoHead = 4  // struct fanotify_event_info_header
	eventInfoMnt  = 7  // FAN_EVENT_INFO_TYPE_MNT
)

// drain empties a queue and calls take for each event in it, in order, until that fails.
func drain(queue int, take func(mountEvent) error) error {
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(queue, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN || err == nil && n == 0:
			return nil
		case err != nil:
			return os.NewSyscallError("read of mount events", err)
		}
		for rest := buf[:n]; len(rest) >= eventHead; {
			size := int(binary.NativeEndian.Uint32(rest))
			if size < eventHead || size > len(rest) {
				return fmt.Errorf("a mount event of %d bytes", size)
			}
			if err := take(decodeEvent(rest[:size])); err != nil {
				return err
			}
			rest = rest[size:]
		}
	}
}

// decodeEvent reads a struct fanotify_event_metadata and what follows it. One that does not tell its mount counts as
// an overflow.
func decodeEvent(b []byte) mountEvent {
	mask := binary.NativeEndian.Uint64(b[8:])
	e := mountEvent{isAttach: mask&unix.FAN_MNT_ATTACH != 0, isOverflow: mask&unix.FAN_Q_OVERFLOW != 0}
	for info := b[min(len(b), int(binary.NativeEndian.Uint16(b[6:]))):]; len(info) >= eventInfoHead; {
		size := int(binary.NativeEndian.Uint16(info[2:]))
		if size < eventInfoHead || size > len(info) {
			break
		}
		if info[0] == eventInfoMnt && size >= 16 {
			e.id = hal.MountID(binary.NativeEndian.Uint64(info[8:]))
		}
		info = info[size:]
	}
	e.isOverflow = e.isOverflow || e.id == 0
	return e
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
