package linux

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// This file keeps block devices open by loop devices, which outlive the agent (loop(4)). The file of one is the held
// device itself, opened to be read, and its name is the hold's: see markOf.

func (b *blocks) Hold(c hal.Call, d hal.DeviceHold) error {
	return b.host.within(c, hal.ClassHelper, "hold", d.Path, func() error {
		_, err := b.host.help(c, hal.ClassHelper, "hold", d.Path, request{
			Hold: &holdRequest{Hold: d, Owner: b.owner()},
		})
		return err
	})
}

func (b *blocks) Holds(c hal.Call) (all []hal.HeldDevice, err error) {
	err = b.host.within(c, hal.ClassSyscall, "holds", "", func() (err error) {
		if all, err = holds(b.owner()); err != nil {
			return failure(hal.ClassSyscall, "holds", "", err)
		}
		return nil
	})
	return all, err
}

func (b *blocks) Release(c hal.Call, d hal.HeldDevice) error {
	return b.host.within(c, hal.ClassHelper, "release", d.Device, func() error {
		_, err := b.host.help(c, hal.ClassHelper, "release", d.Device, request{
			Release: &releaseRequest{Held: d, Owner: b.owner()},
		})
		return err
	})
}

// heldAs are the names by which the agent holds a device.
func (b *blocks) heldAs(is hal.BlockDevice) (names []string, err error) {
	all, err := holds(b.owner())
	if err != nil {
		return nil, failure(hal.ClassHelper, "holds", "", err)
	}
	for _, d := range all {
		if d.Device == is.Is() {
			names = append(names, d.Name)
		}
	}
	return names, nil
}

// owner tells the holds of this agent from those of others.
func (b *blocks) owner() string {
	sum := sha256.Sum256([]byte(b.host.options.RootDir))
	return "volnode:" + hex.EncodeToString(sum[:3]) + ":"
}

type holdRequest struct {
	Hold  hal.DeviceHold
	Owner string
}

type releaseRequest struct {
	Held  hal.HeldDevice
	Owner string
}

// markOf is the name of a loop device: whose it is, the hold's name, and the device that it holds, as the node may lose
// that. The kernel keeps 63 bytes of it.
func markOf(owner, name, device string) (string, error) {
	mark := owner + name + ":" + strings.Replace(device, " sequence ", ":", 1)
	if len(name) > hal.HoldNameMost || strings.Contains(name, ":") || len(mark) >= unix.LO_NAME_SIZE {
		return "", because(syscall.EINVAL, fmt.Sprintf("%q is no name for a hold", name))
	}
	return mark, nil
}

// heldBy is what a mark says, false if it is no mark of owner's.
func heldBy(owner, mark string) (d hal.HeldDevice, isOne bool) {
	rest, isOwn := strings.CutPrefix(mark, owner)
	part := strings.Split(rest, ":")
	if !isOwn || len(part) != 4 {
		return d, false
	}
	var number [3]uint64
	for i := range number {
		n, err := strconv.ParseUint(part[i+1], 10, 64)
		if err != nil {
			return d, false
		}
		number[i] = n
	}
	is := hal.BlockDevice{
		Device: hal.Device{Major: uint32(number[0]), Minor: uint32(number[1])}, Sequence: number[2],
	}
	return hal.HeldDevice{Name: part[0], Device: is.Is()}, true
}

// holds lists what owner has held.
func holds(owner string) (all []hal.HeldDevice, err error) {
	names, err := namesIn("/sys/block")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		dir := "/sys/block/" + name
		if !strings.HasPrefix(name, "loop") || attribute(dir, "ro") != "1" ||
			!strings.HasPrefix(attribute(dir, "loop/backing_file"), "/dev/") {
			continue
		}
		d, isOne, err := holdOf(owner, "/dev/"+name)
		if err != nil {
			return nil, err
		}
		if isOne {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b hal.HeldDevice) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// holdOf asks a loop device what it holds.
func holdOf(owner, path string) (d hal.HeldDevice, isOne bool, err error) {
	loop, err := openDevice(path, unix.O_RDONLY)
	if gone(err) || errors.Is(err, syscall.ENXIO) {
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	defer loop.Close()
	info, err := unix.IoctlLoopGetStatus64(int(loop.Fd()))
	if errors.Is(err, syscall.ENXIO) { // it has been let go since
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	if d, isOne = heldBy(owner, unix.ByteSliceToString(info.File_name[:])); !isOne {
		return d, false, nil
	}
	is, err := numbersOf(loop)
	d.Path, d.By = path, is.Is()
	d.IsGone = isLost(sysDevices, d.Device)
	return d, true, err
}

// isLost: the node does not have the device any more, which devices has by number. A partition has the sequence of its
// disk.
func isLost(devices, is string) bool {
	number, sequence, _ := strings.Cut(is, " sequence ")
	dir, err := filepath.EvalSymlinks(devices + "/" + number)
	if err != nil {
		return errors.Is(err, syscall.ENOENT)
	}
	for _, at := range []string{dir, filepath.Dir(dir)} {
		if now := attribute(at, "diskseq"); now != "" {
			return now != sequence
		}
	}
	return false // before Linux 5.15
}

// hold is Hold in a helper child.
func hold(r holdRequest) (hal.Outcome, error) {
	// Exclusive: nobody has mounted it, and it is no part of another device (open(2)).
	alone, err := openDevice(r.Hold.Path, unix.O_RDONLY|unix.O_EXCL)
	if errors.Is(err, syscall.EBUSY) {
		return holdInUse(r)
	}
	if err != nil {
		return hal.NotDone, err
	}
	defer alone.Close()
	if err := isToBeHeld(alone, r.Hold); err != nil {
		return hal.NotDone, err
	}
	held, isKnown, err := known(r)
	switch {
	case err != nil:
		return hal.NotDone, err
	case isKnown && held.Device == r.Hold.Device:
		return hal.Done, nil
	case isKnown:
		return hal.NotDone, because(syscall.EEXIST,
			fmt.Sprintf("%s holds another device by that name: %s", held.Path, held.Device))
	}
	device, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", alone.Fd()), os.O_RDONLY, 0)
	if err != nil {
		return hal.NotDone, err
	}
	defer device.Close()
	return attach(r, device)
}

// holdInUse is the end of a hold of a device that somebody has for himself alone: it may be held already.
func holdInUse(r holdRequest) (hal.Outcome, error) {
	held, isKnown, err := known(r)
	if err == nil && isKnown && held.Device == r.Hold.Device {
		return hal.Done, nil
	}
	return hal.NotDone, errors.Join(err, because(syscall.EBUSY, r.Hold.Path+" is in use"+usersOf(nameOf(r.Hold.Path))))
}

// nameOf is the name of a device in sysfs.
func nameOf(path string) string {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at
	}
	return filepath.Base(path)
}

// isToBeHeld fails with ENODEV if a device is another one.
func isToBeHeld(device *os.File, d hal.DeviceHold) error {
	is, err := numbersOf(device)
	if err != nil {
		return err
	}
	if is.Is() != d.Device {
		return because(syscall.ENODEV, fmt.Sprintf("the path leads to device %s by now", is.Is()))
	}
	now, err := says(device, is.Device)
	if err == nil && d.Says != "" && now != d.Says {
		return isOther(now)
	}
	return err
}

// known is what is held by the name already.
func known(r holdRequest) (hal.HeldDevice, bool, error) {
	all, err := holds(r.Owner)
	i := slices.IndexFunc(all, func(d hal.HeldDevice) bool { return d.Name == r.Hold.Name })
	if i < 0 {
		return hal.HeldDevice{}, false, err
	}
	return all[i], true, err
}

// attach makes the loop device.
func attach(r holdRequest, device *os.File) (hal.Outcome, error) {
	mark, err := markOf(r.Owner, r.Hold.Name, r.Hold.Device)
	if err != nil {
		return hal.NotDone, err
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return hal.NotDone, because(errnoOf(err), "the node has no loop devices: "+err.Error())
	}
	defer control.Close()
	size, err := unix.IoctlGetInt(int(device.Fd()), unix.BLKSSZGET)
	if err != nil {
		return hal.NotDone, err
	}
	config := unix.LoopConfig{Fd: uint32(device.Fd()), Size: uint32(size)}
	config.Info.Flags = unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_DIRECT_IO
	copy(config.Info.File_name[:], mark)
	for range 20 { // others take free ones, too
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return hal.NotDone, err
		}
		loop, err := openDevice(fmt.Sprintf("/dev/loop%d", n), unix.O_RDONLY)
		if err != nil {
			return hal.NotDone, err
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		_ = loop.Close()
		if !errors.Is(err, syscall.EBUSY) {
			return map[bool]hal.Outcome{true: hal.Done, false: hal.NotDone}[err == nil], err
		}
	}
	return hal.NotDone, because(syscall.EBUSY, "others take each free loop device")
}

// release is Release in a helper child.
func release(r releaseRequest) (hal.Outcome, error) {
	all, err := holds(r.Owner)
	i := slices.IndexFunc(all, func(d hal.HeldDevice) bool { return d.Name == r.Held.Name })
	switch {
	case err != nil:
		return hal.NotDone, err
	case i < 0:
		return hal.Done, nil
	case !all[i].IsSame(r.Held):
		return hal.NotDone, because(syscall.ESTALE, fmt.Sprintf("%s holds %s by that name", all[i].Path, all[i].Device))
	}
	who, err := openersOf(numberIn(r.Held.Device), numberIn(r.Held.By))
	switch {
	case err != nil:
		return hal.NotDone, err
	case who != "":
		return hal.NotDone, because(syscall.EBUSY, "it is open in "+who)
	}
	loop, err := openDevice(r.Held.Path, unix.O_RDONLY)
	if err != nil {
		return hal.NotDone, err
	}
	err = unix.IoctlSetInt(int(loop.Fd()), unix.LOOP_CLR_FD, 0)
	_ = loop.Close() // the last one to close it lets go
	if err != nil {
		return hal.Unknown, err
	}
	if _, isHeld, err := holdOf(r.Owner, r.Held.Path); err != nil || isHeld {
		return hal.Unknown, errors.Join(err,
			because(syscall.EBUSY, r.Held.Path+" lets go of it once who has opened it meanwhile closes it"))
	}
	return hal.Done, nil
}

// numberIn is the number of a device: see hal.BlockDevice.Is.
func numberIn(is string) string {
	number, _, _ := strings.Cut(is, " ")
	return number
}

// openersOf names the processes that have a device open that has one of the numbers, "" if none has: at most three.
func openersOf(numbers ...string) (who string, err error) {
	processes, err := namesIn("/proc")
	if err != nil {
		return "", err
	}
	var all []string
	self := strconv.Itoa(os.Getpid())
	for _, pid := range processes {
		if _, err := strconv.Atoi(pid); err != nil || pid == self {
			continue
		}
		files, err := namesIn("/proc/" + pid + "/fd")
		if err != nil && !gone(err) {
			return "", err
		}
		for _, file := range files {
			if at := "/proc/" + pid + "/fd/" + file; isOpenAs(at, numbers) && len(all) < 3 {
				name, _ := os.ReadFile("/proc/" + pid + "/comm") // it may have ended since
				all = append(all, fmt.Sprintf("process %s (%s)", pid, strings.TrimSpace(string(name))))
				break
			}
		}
	}
	return strings.Join(all, ", "), nil
}

// isOpenAs asks no server of what a file is on.
func isOpenAs(at string, numbers []string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, at, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK &&
		slices.Contains(numbers, hal.Device{Major: st.Rdev_major, Minor: st.Rdev_minor}.String())
}
