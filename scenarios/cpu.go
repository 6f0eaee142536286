package scenarios

import (
	"syscall"
	"time"
)

// CPUTime is the CPU time that the process has used, in user and system mode.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// GCPercent lets the heap grow to many times what lives before it is collected: worlds are small and short. More than
// this is slower: the memory that is used next is then in no cache.
const GCPercent = 1500
