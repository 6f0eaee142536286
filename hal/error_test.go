package hal_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// What keeps a file from being written decides what people can do: a disk need not be looked at because of a directory
// that has a file's name.
func TestDiskAdvice(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.ENOSPC: "free space on the disk of /d", syscall.EDQUOT: "raise its quota",
		syscall.EISDIR: "move it away", syscall.ENOTDIR: "move it away", syscall.ENXIO: "move it away",
		syscall.EPERM: "chattr -R -i /d", syscall.EXDEV: "unmount it", syscall.EROFS: "mount it writable",
		syscall.EIO: "check the disk of /d",
	} {
		err := &hal.Error{Op: "write", Object: "/d/f", Class: hal.ClassFile, Outcome: hal.NotDone, Errno: errno}
		require.Contains(t, hal.DiskAdvice("/d", err), want)
	}
}
