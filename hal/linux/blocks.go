package linux

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// blocks is hal.Blocks.
type blocks struct{ host *Host }

func (b *blocks) Probe(c hal.Call, path string) (hal.BlockDevice, error) {
	if !filepath.IsAbs(path) {
		return hal.BlockDevice{}, failure(hal.ClassHelper, "probe", path, because(syscall.EINVAL, "not an absolute path"))
	}
	var found hal.BlockDevice
	err := b.host.within(c, hal.ClassHelper, "probe", path, func() error {
		resp, err := b.host.help(c, hal.ClassHelper, "probe", path, request{Probe: &path})
		found = resp.Block
		if err == nil {
			found.Held, err = b.heldAs(found)
		}
		return err
	})
	return found, err
}

func (b *blocks) Identify(c hal.Call, path string) (is hal.BlockDevice, err error) {
	err = b.host.within(c, hal.ClassSyscall, "identify", path, func() (err error) {
		if !filepath.IsAbs(path) {
			err = because(syscall.EINVAL, "not an absolute path")
		} else {
			is, err = identify(path)
		}
		if err != nil {
			return failure(hal.ClassSyscall, "identify", path, err)
		}
		return nil
	})
	return is, err
}

// identify asks sysfs, which answers for a device that hangs as well. A partition has the sequence of its disk.
func identify(path string) (is hal.BlockDevice, err error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path,
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveCached})
	if err != nil {
		return is, err
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st); err != nil {
		return is, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return is, syscall.ENOTBLK
	}
	is.Device = hal.Device{Major: st.Rdev_major, Minor: st.Rdev_minor}
	dir, err := filepath.EvalSymlinks("/sys/dev/block/" + is.Device.String())
	if errors.Is(err, syscall.ENOENT) {
		return is, syscall.ENXIO
	}
	if err != nil {
		return is, err
	}
	for _, at := range []string{dir, filepath.Dir(dir)} {
		text, err := os.ReadFile(at + "/diskseq") // not before Linux 5.15
		if err == nil {
			is.Sequence, err = strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
			return is, err
		}
	}
	return is, nil
}

func (b *blocks) Format(c hal.Call, f hal.NewFilesystem) error {
	return b.host.within(c, hal.ClassHelper, "format", f.Path, func() error {
		_, err := b.host.help(c, hal.ClassHelper, "format", f.Path, request{Format: &f})
		return err
	})
}

func (b *blocks) Check(c hal.Call, f hal.FilesystemCheck) (is hal.Checked, err error) {
	err = b.host.within(c, hal.ClassHelper, "check", f.Path, func() error {
		if !slices.Contains(extTypes, f.FSType) {
			return nil
		}
		resp, err := b.host.help(c, hal.ClassHelper, "check", f.Path, request{Check: &f})
		is = resp.Checked
		return err
	})
	return is, err
}

// probe is Probe in a helper child.
func probe(path string) (hal.BlockDevice, error) {
	device, err := openDevice(path, unix.O_RDONLY)
	if err != nil {
		return hal.BlockDevice{}, err
	}
	defer device.Close()
	return probeDevice(device)
}

// openDevice opens a block device, and nothing else: a FIFO would wait for its other end, and a tape would rewind.
func openDevice(path string, flags int) (*os.File, error) {
	pin, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return nil, syscall.ENOTBLK
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pin), flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// What package unix does not have of linux/fs.h.
const (
	blkGetDiskSeq = 0x80081280
	blkGetSize64  = 0x80081272
)

func probeDevice(device *os.File) (is hal.BlockDevice, err error) {
	if is, err = deviceOf(device); err != nil {
		return is, err
	}
	if is.Says, err = says(device, is.Device); err != nil {
		return is, err
	}
	if err := readContent(device, &is); err != nil {
		return is, err
	}
	if is.Type == "" {
		is.IsBlank, err = isBlank(device, is.Size)
	}
	return is, err
}

// deviceOf is all that a device is but for its content.
func deviceOf(device *os.File) (is hal.BlockDevice, err error) {
	if is, err = numbersOf(device); err != nil {
		return is, err
	}
	var size uint64
	if err := ask(device, blkGetSize64, &size); err != nil {
		return is, err
	}
	is.Size = int64(size)
	readOnly, err := unix.IoctlGetInt(int(device.Fd()), unix.BLKROGET)
	if err != nil {
		return is, err
	}
	is.ReadOnly = readOnly != 0
	is.Disk = diskName("/sys/dev/block/" + is.Device.String())
	holders, err := os.ReadDir("/sys/dev/block/" + is.Device.String() + "/holders")
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return is, err
	}
	for _, h := range holders {
		is.Holders = append(is.Holders, h.Name())
	}
	return is, nil
}

// diskNames are the files of sysfs that name a disk in every boot: of NVMe, of SCSI, of virtio, and of a device that
// the device mapper makes (Documentation/ABI of Linux).
var diskNames = []string{"wwid", "device/wwid", "serial", "device/serial", "dm/uuid"}

// diskName is hal.BlockDevice.Disk of the device that has a directory of sysfs.
func diskName(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	part := ""
	if start, err := os.ReadFile(dir + "/start"); err == nil { // in sectors
		part = " from " + string(bytes.TrimSpace(start))
		dir = filepath.Dir(dir)
	}
	for _, name := range diskNames {
		text, err := os.ReadFile(dir + "/" + name)
		if text = bytes.TrimSpace(text); err == nil && len(text) > 0 {
			return fmt.Sprintf("%q", text) + part
		}
	}
	return ""
}

// ask is an ioctl that answers with a number.
func ask(device *os.File, what uintptr, into *uint64) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, device.Fd(), what, uintptr(unsafe.Pointer(into)))
	if errno != 0 {
		return errno
	}
	return nil
}

// readContent has blkid(8) say what is on a device: nobody knows more formats.
func readContent(device *os.File, is *hal.BlockDevice) error {
	program, err := programOf("blkid", "util-linux")
	if err != nil {
		return err
	}
	said, code, err := run(program, []string{"--probe", "--output", "export", "/proc/self/fd/3"}, device)
	switch {
	case err != nil:
		return because(syscall.EIO, program+": "+err.Error())
	case code == 2:
		return nil // it knows nothing of it
	case code == 8:
		is.Type = "ambivalent"
		return nil
	case code != 0:
		return because(syscall.EIO, ended(program, said, code))
	}
	values := map[string]string{}
	for line := range strings.Lines(said) {
		if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
			values[key] = strings.ReplaceAll(value, `\`, "")
		}
	}
	is.Type, is.UUID, is.IsFilesystem = values["TYPE"], values["UUID"], values["USAGE"] == "filesystem"
	if is.Type == "" {
		is.Type, is.UUID = values["PTTYPE"], values["PTUUID"]
	}
	return nil
}

// edge is how much of the beginning and of the end of a blank device is zeros, in bytes.
const edge = 1 << 20

func isBlank(device *os.File, size int64) (bool, error) {
	if size <= 0 {
		return false, nil
	}
	zeros, buffer := make([]byte, edge), make([]byte, edge)
	for _, at := range []int64{0, max(0, size-edge)} {
		part := buffer[:min(edge, size-at)]
		if _, err := device.ReadAt(part, at); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if !bytes.Equal(part, zeros[:len(part)]) {
			return false, nil
		}
	}
	return true, nil
}

// formatters are the packages of the programs that make filesystems, the option for the UUID, and the other options.
// With these a program does not ask about what it finds: this file has looked at that. None formats a mounted device.
var formatters = map[string]struct {
	install, uuid string
	args          []string
}{
	"ext2": {"e2fsprogs", "-U", []string{"-q", "-F", "-m0"}},
	"ext3": {"e2fsprogs", "-U", []string{"-q", "-F", "-m0"}},
	"ext4": {"e2fsprogs", "-U", []string{"-q", "-F", "-m0"}},
	"xfs":  {"xfsprogs", "-muuid=", []string{"-q", "-f"}},
}

// makeFilesystem is Format in a helper child.
func makeFilesystem(f hal.NewFilesystem) (hal.Outcome, error) {
	by, known := formatters[f.FSType]
	if !known {
		return hal.NotDone, because(syscall.EOPNOTSUPP, fmt.Sprintf("volnode makes no filesystems of the type %q", f.FSType))
	}
	program, err := programOf("mkfs."+f.FSType, by.install)
	if err != nil {
		return hal.NotDone, err
	}
	// Exclusive: nobody has mounted it, and it is no part of another device (open(2)).
	device, err := openDevice(f.Path, unix.O_RDWR|unix.O_EXCL)
	if err != nil {
		return hal.NotDone, err
	}
	is, err := probeDevice(device)
	pin, pinned := unix.Open(fmt.Sprintf("/proc/self/fd/%d", device.Fd()), unix.O_PATH|unix.O_CLOEXEC, 0)
	_ = device.Close() // or the program can't have it for itself; nothing was written
	if err := errors.Join(err, pinned); err != nil {
		return hal.NotDone, err
	}
	same := os.NewFile(uintptr(pin), f.Path)
	defer same.Close()
	if why := whyNotFormat(f, is); why != nil {
		return hal.NotDone, why
	}
	args := append(slices.Clone(by.args), by.uuid+f.UUID)
	if by.uuid == "-U" {
		args = append(slices.Clone(by.args), by.uuid, f.UUID)
	}
	said, code, err := run(program, append(args, "/proc/self/fd/3"), same)
	switch {
	case err != nil:
		return hal.Unknown, because(syscall.EIO, program+": "+err.Error()+" "+said)
	case code != 0:
		return hal.Unknown, because(syscall.EIO, ended(program, said, code))
	}
	if err := flush(same); err != nil {
		return hal.Unknown, err
	}
	return hal.Done, nil
}

// flush has all that was written to a device on it, wherever its path leads by now.
func flush(device *os.File) error {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", device.Fd()), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fsync(fd), unix.Close(fd))
}

// isOther is the failure of what was to be done to another disk than the one that a device is by now.
func isOther(says string) error {
	if says == "" {
		return because(syscall.ENODEV, "the device does not say which disk it is")
	}
	return because(syscall.ENODEV, "the device is the disk "+says+" by now")
}

// whyNotFormat is why a filesystem must not be made on a device, nil if it may.
func whyNotFormat(f hal.NewFilesystem, is hal.BlockDevice) error {
	begun := f.MayHaveBegun && (is.Type == "" || is.IsFilesystem && is.UUID == f.UUID)
	switch {
	case is.Is() != f.Device:
		return because(syscall.ENODEV, fmt.Sprintf("the path leads to device %s by now", is.Is()))
	case f.Says != "" && f.Says != is.Says:
		return isOther(is.Says)
	case is.ReadOnly:
		return syscall.EROFS
	case len(is.Holders) > 0:
		return because(syscall.EBUSY, "it is a part of "+strings.Join(is.Holders, " "))
	case !is.IsBlank && !begun && is.Type == "":
		return because(syscall.EEXIST, "it is not blank: its beginning or its end is not zeros")
	case !is.IsBlank && !begun:
		return because(syscall.EEXIST, "it holds "+is.Type)
	}
	return nil
}
