package csidriver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// maxStacked bounds how many mounts on one path are taken away. More than one appears only when a crash hit between a
// mount and its reply, so a larger number means that somebody else mounts there.
const maxStacked = 16

// errForeignMount says that a path is covered by a mount that does not show the volume in question.
var errForeignMount = errors.New("is a mount point of something else")

// bind attaches source at target and then sets flags on that mount alone. It does not look for an existing mount:
// binding over a mount point stacks. When it fails, target is as it was.
func bind(source, target string, flags uintptr) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s on %s: %w", source, target, err)
	}
	if flags == 0 {
		return nil
	}
	// A bind mount ignores all flags but MS_BIND; they need a second call, which replaces the old ones.
	err := remount(target, flags)
	if err != nil {
		return errors.Join(err, unmount(target))
	}
	return nil
}

func remount(target string, flags uintptr) error {
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return fmt.Errorf("statfs %s: %w", target, err)
	}
	all := unix.MS_BIND | unix.MS_REMOUNT | flags | inherited(st.Flags)
	if err := unix.Mount("", target, "", all, ""); err != nil {
		return fmt.Errorf("remount %s: %w", target, err)
	}
	if flags&unix.MS_RDONLY == 0 {
		return nil
	}
	if err := unix.Statfs(target, &st); err != nil {
		return fmt.Errorf("statfs %s: %w", target, err)
	}
	if st.Flags&unix.ST_RDONLY == 0 {
		return fmt.Errorf("remount %s read-only had no effect", target)
	}
	return nil
}

// inherited turns the flags that statfs(2) reports into those that mount(2) takes, so that a remount drops none.
func inherited(statfsFlags int64) uintptr {
	const same = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC | unix.ST_NOATIME | unix.ST_NODIRATIME
	flags := uintptr(statfsFlags) & same
	if statfsFlags&unix.ST_RELATIME != 0 {
		flags |= unix.MS_RELATIME
	}
	return flags
}

func unmount(path string) error {
	if err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("umount %s: %w", path, err)
	}
	return nil
}

// mounted says whether path is a mount point, bind mounts included. A path that is missing is none.
func mounted(path string) (bool, error) {
	is, err := mountinfo.Mounted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return is, err
}

// unmountAll takes mounts off path until it is none any more. ours is asked before each one; a mount that is not ours
// stays and the result wraps errForeignMount.
func unmountAll(path string, ours func() (bool, error)) error {
	for range maxStacked {
		is, err := mounted(path)
		if err != nil || !is {
			return err
		}
		mine, err := ours()
		if err != nil {
			return err
		}
		if !mine {
			return fmt.Errorf("%s %w", path, errForeignMount)
		}
		if err := unmount(path); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s is still a mount point after %d unmounts", path, maxStacked)
}

// makeTarget creates what a volume is published on: an empty file for a device, else a directory. One that exists
// stays.
func makeTarget(path string, block bool) error {
	info, err := os.Lstat(path)
	if err == nil {
		if info.IsDir() == block {
			return fmt.Errorf("target %s exists and is of the wrong kind", path)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !block {
		return os.Mkdir(path, 0o750)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// removeTarget removes what makeTarget made. Anything with content stays and is an error: it is not the driver's.
func removeTarget(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() && (!info.Mode().IsRegular() || info.Size() > 0) {
		return fmt.Errorf("target %s is not an empty file", path)
	}
	return os.Remove(path)
}
