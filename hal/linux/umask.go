package linux

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// unmasked hands work to a thread that has no umask and is idle.
var unmasked = make(chan func())

// idle bounds the threads that wait for work.
var idle = make(chan struct{}, 2)

// withoutUmask runs f without the process's umask, which has no call to do without it: who is killed between mkdir(2)
// and chmod(2) would leave a directory that its users can't enter.
func withoutUmask(f func()) {
	done := make(chan struct{})
	work := func() {
		f()
		close(done)
	}
	select {
	case unmasked <- work:
	default:
		go unmask(work)
	}
	<-done
}

// unmask works on a thread of its own, which ends with it.
func unmask(work func()) {
	runtime.LockOSThread()
	if unix.Unshare(unix.CLONE_FS) == nil { // else the umask counts, and chmod(2) follows
		unix.Umask(0)
	}
	for {
		work()
		select {
		case idle <- struct{}{}:
		default:
			return
		}
		work = <-unmasked
		<-idle
	}
}
