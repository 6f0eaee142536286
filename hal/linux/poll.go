package linux

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lookAgain is how long to wait where only another look can tell.
const lookAgain = 10 * time.Second

// awaitEnd waits until the process of pidfd has ended; false if stop was closed before. The runtime's poller waits, so
// no thread is held.
func awaitEnd(pidfd *os.File, stop <-chan struct{}) bool {
	return awaitPoll(pidfd, stop, func(fd uintptr) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		return err == nil && n > 0
	})
}

// awaitPoll waits until ready answers true; it is asked at first and whenever the descriptor's state has changed. False
// if stop was closed before.
func awaitPoll(file *os.File, stop <-chan struct{}, ready func(fd uintptr) bool) bool {
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	ended := make(chan bool, 1)
	go func() { ended <- conn.Read(ready) == nil }()
	select {
	case ok := <-ended:
		return ok
	case <-stop:
		_ = file.SetReadDeadline(time.Unix(1, 0)) // wakes the reader
		<-ended
		return false
	}
}
