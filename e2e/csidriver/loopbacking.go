package csidriver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	mount "k8s.io/mount-utils"
	utilexec "k8s.io/utils/exec"
)

// loopBacking makes volumes of sparse image files.
//
// A filesystem volume's device is in autoclear mode: it lives exactly as long as its mounts, and a driver that dies
// between attach and mount leaves nothing behind. A raw block volume's device has no mount that could hold it, so it
// stays until release detaches it. A read-only publication of a raw block volume gets a read-only device stacked on
// the first: a read-only bind mount of a device node would not keep anyone from writing to the device.
type loopBacking struct {
	stateDir string
	mounter  *mount.SafeFormatAndMount
	resizer  *mount.ResizeFs
}

func newLoopBacking(stateDir string) loopBacking {
	exec := utilexec.New()
	return loopBacking{
		stateDir: stateDir,
		mounter:  mount.NewSafeFormatAndMount(mount.NewWithoutSystemd(""), exec),
		resizer:  mount.NewResizeFs(exec),
	}
}

func (b loopBacking) image(v Volume) string {
	return filepath.Join(volumeDir(b.stateDir, v.ID), "image")
}

func (b loopBacking) ensure(v Volume) error {
	dir := volumeDir(b.stateDir, v.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(b.image(v), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < v.Bytes {
		err = f.Truncate(v.Bytes)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), syncDir(dir))
}

func (b loopBacking) remove(v Volume) error {
	if err := b.release(v); err != nil {
		return err
	}
	return os.RemoveAll(volumeDir(b.stateDir, v.ID))
}

func (b loopBacking) stage(v Volume, path string, a Access) error {
	dev, err := attachLoop(b.image(v), loopMode{autoclear: !a.Block})
	if err != nil {
		return err
	}
	if a.Block {
		return dev.Close()
	}
	fsType := a.FsType
	if fsType == "" {
		fsType = v.FsType
	}
	if fsType == "" {
		fsType = defaultFsType
	}
	err = b.mounter.FormatAndMount(dev.Name(), path, fsType, a.MountFlags)
	return errors.Join(err, dev.Close())
}

func (b loopBacking) source(v Volume, path string, p Publication) (string, error) {
	if !p.Access.Block {
		return path, nil
	}
	device, err := findLoop(b.image(v), false)
	if err == nil && device == "" {
		err = fs.ErrNotExist
	}
	if err != nil || !p.Readonly {
		return device, err
	}
	dev, err := attachLoop(device, loopMode{readonly: true})
	if err != nil {
		return "", err
	}
	return dev.Name(), dev.Close()
}

func (b loopBacking) shows(v Volume, path string) (bool, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return false, nil
		}
		return false, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	number := st.Dev
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		number = st.Rdev
	}
	devices, err := b.devices(v)
	if err != nil {
		return false, err
	}
	for _, device := range devices {
		var dev unix.Stat_t
		if err := unix.Stat(device, &dev); err != nil {
			return false, &fs.PathError{Op: "stat", Path: device, Err: err}
		}
		if dev.Rdev == number {
			return true, nil
		}
	}
	return false, nil
}

// devices are the volume's attached loop devices: the read-only one, if any, before the one it is stacked on.
func (b loopBacking) devices(v Volume) ([]string, error) {
	device, err := findLoop(b.image(v), false)
	if err != nil || device == "" {
		return nil, err
	}
	readonly, err := findLoop(device, true)
	if err != nil || readonly == "" {
		return []string{device}, err
	}
	return []string{readonly, device}, nil
}

func (b loopBacking) release(v Volume) error {
	devices, err := b.devices(v)
	for _, device := range devices {
		err = errors.Join(err, detachLoop(device))
	}
	return err
}

// releaseReadonly detaches the read-only device when no read-only publication is left.
func (b loopBacking) releaseReadonly(v Volume) error {
	devices, err := b.devices(v)
	if err != nil || len(devices) < 2 {
		return err
	}
	return detachLoop(devices[0])
}

// resize makes the device, and the filesystem mounted at path unless the volume is raw, as large as the image.
func (b loopBacking) resize(v Volume, path string, block bool) error {
	devices, err := b.devices(v)
	if err != nil {
		return err
	}
	if len(devices) == 0 {
		return fs.ErrNotExist
	}
	for i := len(devices) - 1; i >= 0; i-- {
		if err := growLoop(devices[i]); err != nil {
			return err
		}
	}
	if block {
		return nil
	}
	_, err = b.resizer.Resize(devices[len(devices)-1], path)
	return err
}
