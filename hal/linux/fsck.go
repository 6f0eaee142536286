package linux

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// extTypes are the filesystems that e2fsck(8) checks.
var extTypes = []string{"ext2", "ext3", "ext4"}

// superblock is what the superblock of an ext2, ext3 or ext4 says of the filesystem.
type superblock struct {
	isThere bool
	uuid    string // "" if it has none, as blkid(8) says
	isClean bool   // it was unmounted, and nobody has found an error
}

// Where the superblock is, and fields of it (Documentation/filesystems/ext4/super.rst of Linux).
const (
	superblockAt, superblockSize = 1024, 1024

	magicAt, magicIs     = 0x38, 0xef53
	stateAt, stateValid  = 0x3a, 1
	incompatAt, recovers = 0x60, 4 // the journal has what is not in its place yet
	uuidAt               = 0x68
)

func readSuperblock(device *os.File) (is superblock, err error) {
	var b [superblockSize]byte
	if _, err := device.ReadAt(b[:], superblockAt); err != nil {
		return is, err
	}
	if binary.LittleEndian.Uint16(b[magicAt:]) != magicIs {
		return is, nil
	}
	is.isThere = true
	if id := hex.EncodeToString(b[uuidAt : uuidAt+16]); strings.Trim(id, "0") != "" {
		is.uuid = strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
	}
	// Of the bits of the state only the first is one of a clean filesystem: others say that the kernel has found errors,
	// or recovers orphans.
	is.isClean = binary.LittleEndian.Uint16(b[stateAt:]) == stateValid &&
		binary.LittleEndian.Uint32(b[incompatAt:])&recovers == 0
	return is, nil
}

// check is Check in a helper child, which the program dies with.
func check(f hal.FilesystemCheck) (hal.Checked, hal.Outcome, error) {
	// Exclusive: nobody has mounted it, and it is no part of another device (open(2)). To read: a clean filesystem is not
	// written to, and nobody who watches for writers looks at it again (udev(7)).
	device, err := openDevice(f.Path, unix.O_RDONLY|unix.O_EXCL)
	if err != nil {
		return hal.Checked{}, hal.NotDone, err
	}
	is, err := deviceOf(device)
	if err == nil {
		is.Says, err = says(device, is.Device)
	}
	holds, read := readSuperblock(device)
	pin, pinned := unix.Open(fmt.Sprintf("/proc/self/fd/%d", device.Fd()), unix.O_PATH|unix.O_CLOEXEC, 0)
	_ = device.Close() // or the program can't have it for itself; nothing was written
	if err := errors.Join(err, read, pinned); err != nil {
		return hal.Checked{}, hal.NotDone, err
	}
	same := os.NewFile(uintptr(pin), f.Path)
	defer same.Close()
	switch {
	case is.Is() != f.Device:
		return hal.Checked{}, hal.NotDone, because(syscall.ENODEV, "the path leads to device "+is.Is()+" by now")
	case f.Says != "" && f.Says != is.Says:
		return hal.Checked{}, hal.NotDone, isOther(is.Says)
	case !holds.isThere || holds.uuid != f.UUID:
		return hal.Checked{}, hal.NotDone, because(syscall.ENODEV, "it does not hold the filesystem "+f.UUID+" any more")
	case holds.isClean:
		return hal.Checked{}, hal.Done, nil
	case is.ReadOnly:
		return hal.Checked{}, hal.NotDone, because(syscall.EROFS, "its filesystem needs a check")
	}
	program, err := programOf("e2fsck", "e2fsprogs")
	if err != nil {
		return hal.Checked{Unchecked: detailOf(err)}, hal.Done, nil
	}
	said, code, err := run(program, []string{"-p", ofProgram}, same)
	said = strings.ReplaceAll(said, ofProgram, f.Path)
	if err != nil {
		return hal.Checked{}, hal.Unknown, because(syscall.EIO, program+": "+err.Error()+" "+said)
	}
	return checkEnded(program, said, code)
}

// ofProgram is how a program finds the device that it is given.
const ofProgram = "/proc/self/fd/3"

// The bits of the exit status of e2fsck(8).
const (
	checkMended   = 1
	checkReboot   = 2 // of the root filesystem: nothing of this one was mounted
	checkLeft     = 4
	checkCanceled = 32
)

// checkEnded is what the exit status of e2fsck(8) says. What it writes is for people.
func checkEnded(program, said string, code int) (hal.Checked, hal.Outcome, error) {
	switch {
	case code&checkLeft != 0:
		return hal.Checked{}, hal.Unknown, because(syscall.EUCLEAN, ended(program, said, code))
	case code&checkCanceled != 0:
		return hal.Checked{}, hal.Unknown, because(syscall.EINTR, ended(program, said, code))
	case code&^(checkMended|checkReboot) != 0:
		// It has no opinion: it does not know a feature of the filesystem, or somebody else has the device. The kernel
		// looks at what it mounts as well.
		return hal.Checked{Unchecked: ended(program, said, code)}, hal.Done, nil
	}
	return hal.Checked{IsMended: true}, hal.Done, nil
}
