package csidriver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Loop devices are found by the file behind them, never by a remembered number: numbers are reused, and the driver may
// have died between attaching a device and writing down which one it got.

// attachAttempts bounds the races with other users of loop devices on the host.
const attachAttempts = 32

// loopMode says how a loop device is attached.
type loopMode struct {
	readonly  bool
	autoclear bool // the kernel detaches the device when its last user closes it; a mount is a user
}

func (m loopMode) flags() uint32 {
	var flags uint32
	if m.readonly {
		flags |= unix.LO_FLAGS_READ_ONLY
	}
	if m.autoclear {
		flags |= unix.LO_FLAGS_AUTOCLEAR
	}
	return flags
}

// attachLoop puts a loop device over backing, or takes the one that exists, and returns it open. Closing the file
// lets go of a device in autoclear mode unless it was mounted in between.
func attachLoop(backing string, m loopMode) (*os.File, error) {
	for range attachAttempts {
		dev, err := attachOnce(backing, m)
		// EBUSY: somebody else took the free device. ENXIO: the existing one was on its way out.
		if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENXIO) {
			return dev, err
		}
	}
	return nil, fmt.Errorf("loop device for %s: none after %d attempts", backing, attachAttempts)
}

func attachOnce(backing string, m loopMode) (*os.File, error) {
	device, err := findLoop(backing, m.readonly)
	if err != nil {
		return nil, err
	}
	if device != "" {
		return reuseLoop(device, m)
	}
	access := os.O_RDWR
	if m.readonly {
		access = os.O_RDONLY
	}
	file, err := os.OpenFile(backing, access, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return configureFreeLoop(file, m)
}

// reuseLoop opens an attached device and sets its autoclear mode to what is asked for.
func reuseLoop(device string, m loopMode) (*os.File, error) {
	access := os.O_RDWR
	if m.readonly {
		access = os.O_RDONLY
	}
	dev, err := os.OpenFile(device, access, 0)
	if err != nil {
		return nil, err
	}
	info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
	if err == nil {
		info.Flags = m.flags()
		err = unix.IoctlLoopSetStatus64(int(dev.Fd()), info)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("loop status of %s: %w", device, err), dev.Close())
	}
	return dev, nil
}

func configureFreeLoop(file *os.File, m loopMode) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return nil, fmt.Errorf("find a free loop device: %w", err)
	}
	dev, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", number), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: m.flags()}}
	copy(config.Info.File_name[:len(config.Info.File_name)-1], file.Name())
	if err := unix.IoctlLoopConfigure(int(dev.Fd()), &config); err != nil {
		return nil, errors.Join(fmt.Errorf("attach %s to %s: %w", file.Name(), dev.Name(), err), dev.Close())
	}
	return dev, nil
}

// findLoop is the loop device over backing, or "" if there is none or no such file.
func findLoop(backing string, readonly bool) (string, error) {
	var want unix.Stat_t
	if err := unix.Stat(backing, &want); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return "", nil
		}
		return "", fmt.Errorf("stat %s: %w", backing, err)
	}
	attached, err := attachedLoops()
	if err != nil {
		return "", err
	}
	for _, device := range attached {
		info, err := loopStatus(device)
		if err != nil {
			return "", err
		}
		if info == nil || info.Device != want.Dev || info.Inode != want.Ino {
			continue
		}
		if (info.Flags&unix.LO_FLAGS_READ_ONLY != 0) == readonly {
			return device, nil
		}
	}
	return "", nil
}

// attachedLoops lists the devices that have a file behind them. The directory "loop" in sysfs exists only then.
func attachedLoops() ([]string, error) {
	entries, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	devices := make([]string, 0, len(entries))
	for _, e := range entries {
		devices = append(devices, "/dev/"+filepath.Base(filepath.Dir(filepath.Dir(e))))
	}
	return devices, nil
}

// loopStatus is nil when the device has been detached in the meantime.
func loopStatus(device string) (*unix.LoopInfo64, error) {
	dev, err := os.Open(device)
	if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	info, err := unix.IoctlLoopGetStatus64(int(dev.Fd()))
	if errors.Is(err, unix.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("loop status of %s: %w", device, err)
	}
	return info, nil
}

// detachLoop lets go of the device. A device that is in use goes when its last user does.
func detachLoop(device string) error {
	dev, err := os.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	if _, err := unix.IoctlRetInt(int(dev.Fd()), unix.LOOP_CLR_FD); err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("detach %s: %w", device, err)
	}
	return nil
}

// growLoop makes the device see the present size of the file behind it.
func growLoop(device string) error {
	dev, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer dev.Close()
	if err := unix.IoctlSetInt(int(dev.Fd()), unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("set capacity of %s: %w", device, err)
	}
	return nil
}

// loopsUnder lists the attached devices whose file is below dir; those stacked on others come first.
func loopsUnder(dir string) ([]string, error) {
	attached, err := attachedLoops()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, device := range attached {
		data, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop/backing_file"))
		if err == nil {
			files[device] = strings.TrimSuffix(strings.TrimSpace(string(data)), " (deleted)")
		}
	}
	var stacked, direct []string
	for device, file := range files {
		switch {
		case strings.HasPrefix(file, dir+"/"):
			direct = append(direct, device)
		case strings.HasPrefix(files[file], dir+"/"):
			stacked = append(stacked, device)
		}
	}
	return append(stacked, direct...), nil
}
