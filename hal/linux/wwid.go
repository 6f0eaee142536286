package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"github.com/volnode/volnode/hal"
)

// sgIO is struct sg_io_hdr (scsi/sg.h of Linux).
type sgIO struct {
	interfaceID, direction   int32
	commandLength, senseMost uint8
	_                        uint16
	dataLength               uint32
	data, command, sense     unsafe.Pointer
	timeout, flags           uint32
	packID                   int32
	_                        unsafe.Pointer
	status, _, _, _          uint8
	hostStatus, driverStatus uint16
	left                     int32
	_, _                     uint32
}

const (
	sgIOCall   = 0x2285 // SG_IO
	fromDevice = -3     // SG_DXFER_FROM_DEV
	askMost    = 20_000 // that a disk has for its answer, in milliseconds

	inquiry      = 0x12
	identityPage = 0x83
	// shortPage is what old disks can be asked for, and mostPage what one page may have, in bytes.
	shortPage, mostPage = 252, 4096
)

// says is hal.BlockDevice.Says. EIO: the disk does not answer.
func says(device *os.File, number hal.Device) (string, error) {
	dir, err := filepath.EvalSymlinks("/sys/dev/block/" + number.String())
	if err != nil {
		return "", because(syscall.ENODEV, device.Name()+" is gone")
	}
	if _, err := os.Stat(dir + "/partition"); err == nil {
		dir = filepath.Dir(dir)
	}
	if _, err := os.Stat(dir + "/device/scsi_disk"); err != nil && !isOfMap(attribute(dir, "dm/uuid")) {
		return "", nil
	}
	page, err := readIdentity(device, shortPage)
	if err == nil && len(page) == shortPage {
		page, err = readIdentity(device, mostPage)
	}
	return strings.TrimSpace(wwidOf(page)), err
}

// isOfMap reports whether a UUID of the device mapper is that of a map of paths, or of a partition of one: a path
// answers for such a device.
func isOfMap(uuid string) bool {
	part, _, is := strings.Cut(uuid, mapPrefix)
	return is && (part == "" || partition.MatchString(part))
}

// readIdentity asks a disk for its page of names, as much of it as fits. It has none if it answers without one, or if
// nobody can ask it. EIO: it does not answer, as while its way is lost.
func readIdentity(device *os.File, most int) ([]byte, error) {
	command := []byte{inquiry, 1, identityPage, byte(most >> 8), byte(most), 0}
	page, sense := make([]byte, most), make([]byte, 32)
	call := sgIO{
		interfaceID: 'S', direction: fromDevice, timeout: askMost,
		commandLength: uint8(len(command)), command: unsafe.Pointer(&command[0]),
		senseMost: uint8(len(sense)), sense: unsafe.Pointer(&sense[0]),
		dataLength: uint32(len(page)), data: unsafe.Pointer(&page[0]),
	}
	err := ioctl(int(device.Fd()), sgIOCall, unsafe.Pointer(&call))
	switch {
	case errors.Is(err, syscall.ENOTTY), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EPERM):
		return nil, nil
	case err != nil, call.hostStatus != 0:
		return nil, because(syscall.EIO, device.Name()+" does not answer")
	case call.status != 0, call.driverStatus != 0:
		return nil, nil
	}
	page = page[:max(0, len(page)-int(max(0, call.left)))]
	if len(page) < 4 {
		return nil, nil
	}
	return page[:min(len(page), 4+int(binary.BigEndian.Uint16(page[2:])))], nil
}

// wwidOf is the name in a page that the kernel takes, in its words (scsi_vpd_lun_id of Linux): of the names of the disk
// itself, the one that is least likely to be another's, too; of equal ones the last.
func wwidOf(page []byte) string {
	if len(page) < 4 || page[1] != identityPage {
		return ""
	}
	best, longest, name := 0, 0, ""
	for rest := page[4:]; len(rest) >= 4 && len(rest) >= 4+int(rest[3]); rest = rest[4+int(rest[3]):] {
		kind, id := rest[1]&0xf, rest[4:4+int(rest[3])]
		rank := rankOf(rest[1], id)
		isText := kind == 1 || kind == 8
		if rank == 0 || rank < best || isText && len(id) < longest {
			continue
		}
		best, longest = rank, len(id)
		switch kind {
		case 1:
			name = "t10." + escaped(id)
		case 2:
			name = fmt.Sprintf("eui.%x", id)
		case 3:
			name = fmt.Sprintf("naa.%x", id)
		case 8:
			name = strings.TrimRight(string(id), "\x00")
		}
	}
	return name
}

// rankOf ranks a name as the kernel does; 0 if it is no name of the disk.
func rankOf(kind byte, id []byte) int {
	if kind&0x30 != 0 || len(id) == 0 { // of a port, or of the target
		return 0
	}
	switch kind & 0xf {
	case 8:
		return 9
	case 3:
		if len(id) == 8 || len(id) == 16 {
			return map[byte]int{6: 8, 5: 5, 4: 4, 3: 1}[id[0]>>4]
		}
	case 2:
		return map[int]int{16: 7, 12: 6, 8: 3}[len(id)]
	case 1:
		return 1
	}
	return 0
}

// escaped prints as %pE of the kernel does.
func escaped(text []byte) string {
	var b strings.Builder
	for _, c := range text {
		short := strings.IndexByte("\n\r\t\v\f\a\x1b\x00", c)
		switch {
		case c >= ' ' && c < 0x7f, c >= 0xa0: // as the kernel has it
			b.WriteByte(c)
		case short >= 0:
			b.WriteString(`\` + `nrtvfae0`[short:short+1])
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}

// The kernel knows this size alone.
var _ [88]byte = [unsafe.Sizeof(sgIO{})]byte{}
