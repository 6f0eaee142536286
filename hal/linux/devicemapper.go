package linux

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dmHeader is struct dm_ioctl (linux/dm-ioctl.h).
type dmHeader struct {
	version              [3]uint32
	size, start, targets uint32
	opens                int32
	flags, event, _      uint32
	number               uint64
	name                 [128]byte
	uuid                 [129]byte
	_                    [7]byte
}

// The kernel knows this size alone.
var _ [312]byte = [unsafe.Sizeof(dmHeader{})]byte{}

// dmTarget is struct dm_target_spec, which comes before the words of each target.
type dmTarget struct {
	First, Length uint64 // in sectors
	Status        int32
	Next          uint32
	Type          [16]byte
}

const (
	dmControl = "/dev/mapper/control"

	dmRemove      = 4  // DM_DEV_REMOVE
	dmTableStatus = 12 // DM_TABLE_STATUS
	dmMessage     = 14 // DM_TARGET_MSG

	dmWantsTable = 1 << 4  // DM_STATUS_TABLE_FLAG
	dmIsFull     = 1 << 8  // DM_BUFFER_FULL_FLAG
	dmNoFlush    = 1 << 11 // DM_NOFLUSH_FLAG

	dmLeast, dmMost = 16 << 10, 1 << 20 // of a buffer, in bytes
)

// deviceMapper is the control device of the kernel's.
type deviceMapper struct{ control *os.File }

// openDeviceMapper returns nil if the kernel has none: to open the control device would load it.
func openDeviceMapper() (*deviceMapper, error) {
	if _, err := os.Stat("/sys/class/misc/device-mapper"); gone(err) {
		return nil, nil
	}
	f, err := os.OpenFile(dmControl, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &deviceMapper{f}, nil
}

func (d *deviceMapper) close() { d.control.Close() }

// call does what a command says to the device that has a UUID. It returns what the kernel has said, behind a header.
func (d *deviceMapper) call(command uintptr, uuid string, flags uint32, data []byte) (
	h dmHeader, said []byte, err error,
) {
	for size := dmLeast; ; size *= 4 {
		h = dmHeader{version: [3]uint32{4, 0, 0}, size: uint32(size), start: uint32(unsafe.Sizeof(h)), flags: flags}
		if copy(h.uuid[:len(h.uuid)-1], uuid) < len(uuid) {
			return h, nil, syscall.EINVAL
		}
		buffer := make([]byte, size)
		copy(buffer, unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h)))
		copy(buffer[unsafe.Sizeof(h):], data)
		code := 3<<30 | unsafe.Sizeof(h)<<16 | 0xfd<<8 | command // _IOWR
		if err := ioctl(int(d.control.Fd()), code, unsafe.Pointer(&buffer[0])); err != nil {
			return h, nil, err
		}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h)), buffer)
		if h.flags&dmIsFull == 0 || size >= dmMost {
			return h, buffer[min(int(h.start), size):], nil
		}
	}
}

// words are those of the first target of a device, of a type: how it is, or with table, how it was made. none: it has
// no such target.
func (d *deviceMapper) words(uuid, kind string, table bool) (h dmHeader, words string, none bool, err error) {
	flags := uint32(dmNoFlush)
	if table {
		flags |= dmWantsTable
	}
	h, said, err := d.call(dmTableStatus, uuid, flags, nil)
	if err != nil || h.targets == 0 {
		return h, "", true, err
	}
	var t dmTarget
	n, err := binary.Decode(said, binary.NativeEndian, &t)
	if err != nil {
		return h, "", true, err
	}
	end := max(0, bytes.IndexByte(said[n:], 0))
	return h, string(said[n : n+end]), strings.TrimRight(string(t.Type[:]), "\x00") != kind, nil
}

// message tells something to the only target of a device.
func (d *deviceMapper) message(uuid, text string) error {
	_, _, err := d.call(dmMessage, uuid, 0, append(make([]byte, 8), text+"\x00"...)) // sector 0
	return err
}

// remove removes a device that nobody has open. udev(7) may look at it for a moment.
func (d *deviceMapper) remove(uuid string) error {
	for tries := 0; ; tries++ {
		_, _, err := d.call(dmRemove, uuid, 0, nil)
		if !errors.Is(err, unix.EBUSY) || tries == removeTries {
			return err
		}
		pause(removePause)
	}
}
