package linux

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// scsi is hal.SCSI, by sysfs (Documentation/scsi of Linux).
type scsi struct{ host *Host }

func (s *scsi) Disks(c hal.Call, host uint32) (all []hal.SCSIDisk, err error) {
	object := hal.SCSIAddress{Host: host}.String()
	err = s.host.within(c, hal.ClassSyscall, "scsi disks", object, func() error {
		if all, err = disksIn("/sys", atHost(host)); err != nil {
			return failure(hal.ClassSyscall, "scsi disks", object, err)
		}
		return nil
	})
	return all, err
}

func (s *scsi) Named(c hal.Call, wwid string) (all []hal.SCSIDisk, err error) {
	err = s.host.within(c, hal.ClassSyscall, "scsi named", wwid, func() error {
		if all, err = disksIn("/sys", func(hal.SCSIAddress) bool { return true }); err != nil {
			return failure(hal.ClassSyscall, "scsi named", wwid, err)
		}
		all = slices.DeleteFunc(all, func(d hal.SCSIDisk) bool { return d.WWID != wwid || wwid == "" })
		return nil
	})
	return all, err
}

func (s *scsi) Scan(c hal.Call, a hal.SCSIAddress) error {
	return s.host.within(c, hal.ClassHelper, "scsi scan", a.String(), func() error {
		_, err := s.host.help(c, hal.ClassHelper, "scsi scan", a.String(), request{Scan: &a})
		return err
	})
}

func (s *scsi) Remove(c hal.Call, d hal.SCSIDisk, flush bool) error {
	object := d.Address.String()
	return s.host.within(c, hal.ClassHelper, "scsi remove", object, func() error {
		_, err := s.host.help(c, hal.ClassHelper, "scsi remove", object, request{Forget: &forgetRequest{d, flush}})
		return err
	})
}

type forgetRequest struct {
	Disk  hal.SCSIDisk
	Flush bool
}

func atHost(host uint32) func(hal.SCSIAddress) bool {
	return func(a hal.SCSIAddress) bool { return a.Host == host }
}

// disksIn reads sysfs for the disks at some addresses. Disks come and go meanwhile.
func disksIn(sys string, isWanted func(hal.SCSIAddress) bool) (all []hal.SCSIDisk, err error) {
	names, err := namesIn(sys + "/class/scsi_device")
	for _, name := range names {
		a, isAddress := parseAddress(name)
		if !isAddress || !isWanted(a) {
			continue
		}
		if d, isDisk := readDisk(sys + "/class/scsi_device/" + name + "/device"); isDisk {
			d.Address = a
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b hal.SCSIDisk) int {
		return cmp.Or(cmp.Compare(a.Address.Host, b.Address.Host), cmp.Compare(a.Address.Channel, b.Address.Channel),
			cmp.Compare(a.Address.Target, b.Address.Target), cmp.Compare(a.Address.LUN, b.Address.LUN))
	})
	return all, err
}

func parseAddress(text string) (a hal.SCSIAddress, isOne bool) {
	part := strings.Split(text, ":")
	if len(part) != 4 {
		return a, false
	}
	var small [3]uint32
	for i := range small {
		n, err := strconv.ParseUint(part[i], 10, 32)
		if err != nil {
			return a, false
		}
		small[i] = uint32(n)
	}
	lun, err := strconv.ParseUint(part[3], 10, 64)
	return hal.SCSIAddress{Host: small[0], Channel: small[1], Target: small[2], LUN: lun}, err == nil
}

// readDisk reads the directory of a SCSI device. One that is no disk, or that the kernel has not looked at yet, has no
// block device.
func readDisk(dir string) (d hal.SCSIDisk, isDisk bool) {
	names, err := namesIn(dir + "/block")
	if err != nil || len(names) == 0 {
		return d, false
	}
	block := dir + "/block/" + names[0]
	d = hal.SCSIDisk{Name: names[0], State: attribute(dir, "state")}
	d.WWID = strings.TrimRight(attribute(dir, "wwid"), "\x00 ")
	major, minor, _ := strings.Cut(attribute(block, "dev"), ":")
	ma, err := strconv.ParseUint(major, 10, 32)
	mi, failed := strconv.ParseUint(minor, 10, 32)
	d.Device = hal.Device{Major: uint32(ma), Minor: uint32(mi)}
	d.Sequence, _ = strconv.ParseUint(attribute(block, "diskseq"), 10, 64) // not before Linux 5.15
	return d, errors.Join(err, failed) == nil && d.State != ""
}

// scan is Scan in a helper child.
func scan(a hal.SCSIAddress) error {
	file, err := os.OpenFile(fmt.Sprintf("/sys/class/scsi_host/host%d/scan", a.Host), os.O_WRONLY, 0)
	if errors.Is(err, syscall.ENOENT) {
		return because(syscall.ENODEV, fmt.Sprintf("the node has no SCSI host %d", a.Host))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d %d %d\n", a.Channel, a.Target, a.LUN)
	return errors.Join(err, file.Close())
}

// forget is Remove in a helper child. The directory that it holds is that of one device: after that, another one at the
// same address has another.
func forget(f forgetRequest) (hal.Outcome, error) {
	at := "/sys/class/scsi_device/" + f.Disk.Address.String() + "/device"
	fd, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if gone(err) {
		return hal.Done, nil
	}
	if err != nil {
		return hal.NotDone, err
	}
	defer unix.Close(fd)
	dir := fmt.Sprintf("/proc/self/fd/%d", fd)
	is, isDisk := readDisk(dir)
	if !isDisk || is.Is() != f.Disk.Is() {
		return hal.NotDone, because(syscall.ENODEV, "another device is at that address by now")
	}
	held, err := claim(is)
	if err == nil {
		defer held.Close()
		if f.Flush {
			err = unix.Fsync(int(held.Fd()))
		}
	}
	isOffline := errors.Is(err, syscall.ENXIO) // and nobody has it
	switch {
	case err == nil || isOffline && !f.Flush:
	case held != nil || isOffline:
		return hal.NotDone, because(syscall.EIO, "what was written can't be flushed: "+err.Error())
	default:
		return hal.NotDone, err
	}
	if err := write(dir+"/delete", "1"); err != nil && !gone(err) && !errors.Is(err, syscall.ENODEV) {
		return hal.Unknown, err
	}
	if has, isThere := readDisk(at); isThere && has.Is() == f.Disk.Is() {
		return hal.Unknown, because(syscall.EIO, "the kernel has not removed the disk")
	}
	return hal.Done, nil
}

func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// claim opens a disk for this process alone (open(2), O_EXCL): EBUSY if somebody has mounted it or a part of it, or has
// it for himself. ENXIO if nobody has, and it fails: the kernel looks at that last. ENODEV if its name leads to another
// device.
func claim(d hal.SCSIDisk) (*os.File, error) {
	fd, err := unix.Open("/dev/"+d.Name, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err == unix.EBUSY {
		return nil, because(syscall.EBUSY, d.Name+" is in use"+usersOf(d.Name))
	}
	if err != nil {
		return nil, err
	}
	held := os.NewFile(uintptr(fd), "/dev/"+d.Name)
	if is, err := numbersOf(held); err != nil || is.Is() != d.Is() {
		held.Close()
		return nil, errors.Join(err, because(syscall.ENODEV, "/dev/"+d.Name+" leads to device "+is.Is()))
	}
	return held, nil
}

// numbersOf are those that name a device.
func numbersOf(device *os.File) (is hal.BlockDevice, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(device.Fd()), &st); err != nil {
		return is, err
	}
	is.Device = hal.Device{Major: unix.Major(st.Rdev), Minor: unix.Minor(st.Rdev)}
	if err := ask(device, blkGetDiskSeq, &is.Sequence); err != nil {
		is.Sequence = 0 // before Linux 5.15
	}
	return is, nil
}

// usersOf says where a disk, or a part of it, is mounted, and what is made of it, as far as this process sees it.
func usersOf(disk string) (who string) {
	dir := "/sys/class/block/" + disk
	var mounts []hal.Mount
	if info, err := os.Open("/proc/self/mountinfo"); err == nil {
		defer info.Close()
		mounts, _ = readMountinfo(info)
	}
	parts, _ := namesIn(dir) // what can't be read is not told
	for _, part := range append([]string{"."}, parts...) {
		number := attribute(dir+"/"+part, "dev")
		if number == "" || part != "." && attribute(dir+"/"+part, "partition") == "" {
			continue
		}
		holders, _ := namesIn(dir + "/" + part + "/holders")
		for _, h := range holders {
			who += ": it is a part of " + h
		}
		for _, m := range mounts {
			if m.Device.String() == number {
				who += ": it is mounted at " + m.Path
			}
		}
	}
	return who
}
