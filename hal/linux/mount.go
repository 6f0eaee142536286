package linux

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// inMemory are the filesystems whose mount and unmount wait for no device, server or daemon.
var inMemory = map[string]bool{
	"tmpfs": true, "ramfs": true, "proc": true, "sysfs": true, "devtmpfs": true, "devpts": true, "mqueue": true,
	"cgroup2": true, "hugetlbfs": true,
}

func (m *mounts) Mount(c hal.Call, n hal.NewMount) error {
	return m.host.within(c, hal.ClassSyscall, "mount", n.Target, func() error {
		if inMemory[n.FSType] {
			return mountError("mount", n.Target, attachNew(n))
		}
		_, err := m.host.help(c, hal.ClassSyscall, "mount", n.Target, request{Mount: &n})
		return err
	})
}

// Bind asks the kernel's cache for the source, which never waits for a filesystem. What is not in it, a helper child
// looks for.
func (m *mounts) Bind(c hal.Call, b hal.BindSpec) error {
	return m.host.within(c, hal.ClassSyscall, "bind", b.Target, func() error {
		attrs, err := bindAttrs(b.Flags)
		if err != nil {
			return mountError("bind", b.Target, err)
		}
		source, err := openCachedPoint(b.Source)
		if errors.Is(err, unix.EAGAIN) {
			_, err = m.host.help(c, hal.ClassSyscall, "bind", b.Target, request{Bind: &b})
			return err
		}
		if err != nil {
			return mountError("bind", b.Target, about(b.Source, err))
		}
		defer unix.Close(source)
		return mountError("bind", b.Target, attachBind(source, b, attrs, m.crowded))
	})
}

// Unmount takes the call to a helper child unless the superblock can't block: one in memory, or the one the root
// directory lies on, which stays mounted elsewhere.
//
// NB: between the look at the top mount and umount2(2) a foreign mount may come on top. It is then the one that goes,
// if nothing uses it.
func (m *mounts) Unmount(c hal.Call, path string, id hal.MountID) error {
	return m.host.within(c, hal.ClassSyscall, "umount", path, func() error {
		top, err := m.checkTop(path, id)
		if err != nil {
			return failure(hal.ClassSyscall, "umount", path, err)
		}
		if inMemory[top.FSType] || m.host.onRootDevice(top.Device) {
			return mountError("umount", path, detach(path))
		}
		of := request{Unmount: &unmountRequest{path, id, m.index.idsAre()}}
		_, err = m.host.help(c, hal.ClassSyscall, "umount", path, of)
		return err
	})
}

func (m *mounts) checkTop(path string, id hal.MountID) (hal.Mount, error) {
	stack, err := m.at(path)
	if err != nil {
		return hal.Mount{}, err
	}
	if len(stack) == 0 {
		return hal.Mount{}, because(syscall.EINVAL, "not a mount point")
	}
	top := stack[len(stack)-1]
	if top.ID != id {
		return hal.Mount{}, because(syscall.EINVAL, fmt.Sprintf("the top mount there is %d, not %d", top.ID, id))
	}
	return top, nil
}

// onRootDevice reports whether a superblock is that of the root directory.
func (h *Host) onRootDevice(d hal.Device) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, h.options.RootDir, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	return err == nil && st.Dev_major == d.Major && st.Dev_minor == d.Minor
}

// mountError is the hal error of a mount call made in this process: without effect, whatever its errno.
func mountError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return failure(hal.ClassSyscall, op, path, err)
}

// openPoint opens a place to mount at or to clone from. A link anywhere in it fails with ELOOP.
func openPoint(path string) (int, error) {
	if err := checkPath(path); err != nil {
		return -1, err
	}
	return openat2(unix.AT_FDCWD, path, unix.O_PATH, 0, withoutLinks)
}

// detach is umount2(2) with the directory that holds path resolved without links.
func detach(path string) error {
	parent, err := openPoint(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	return unix.Unmount(fmt.Sprintf("/proc/self/fd/%d/%s", parent, filepath.Base(path)), unix.UMOUNT_NOFOLLOW)
}

const moveFDs = unix.MOVE_MOUNT_F_EMPTY_PATH | unix.MOVE_MOUNT_T_EMPTY_PATH

// openCachedPoint is openPoint for what the kernel has in its cache; EAGAIN if it has not.
func openCachedPoint(path string) (int, error) {
	if err := checkPath(path); err != nil {
		return -1, err
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: withoutLinks | resolveCached}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err == unix.EINVAL { // before Linux 5.12
		err = unix.EAGAIN
	}
	return fd, err
}

// bindAttrs are the attributes of a bind mount.
func bindAttrs(flags []string) (uint64, error) {
	attrs, err := mountAttrs(flags)
	if other := attrs &^ bindable; err == nil && other != 0 {
		err = because(syscall.EINVAL, "a bind mount takes nodev, nosuid, noexec and ro alone")
	}
	return attrs, err
}

const bindable = unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY

// bindInHelper is a bind whose source may lie on a filesystem that hangs.
func bindInHelper(b hal.BindSpec) error {
	attrs, err := bindAttrs(b.Flags)
	if err != nil {
		return err
	}
	source, err := openPoint(b.Source)
	if err != nil {
		return about(b.Source, err)
	}
	defer unix.Close(source)
	return attachBind(source, b, attrs, nil)
}

// attachBind attaches a copy of the mount that source lies on, rooted there. kept is nil in a helper child.
func attachBind(source int, b hal.BindSpec, attrs uint64, kept *crowded) error {
	target, err := openPoint(b.Target)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	copied, ok := -1, false
	if kept != nil {
		copied, ok = kept.copyAt(source, b.Source)
	}
	if !ok {
		copied, err = openTree(source)
	}
	if err == unix.ENOSYS {
		return bindByMount(source, target, attrs)
	}
	if err != nil {
		return err
	}
	defer unix.Close(copied)
	if attrs != 0 {
		err := unix.MountSetattr(copied, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: attrs})
		if err == unix.ENOSYS {
			return bindByMount(source, target, attrs)
		}
		if err != nil {
			return err
		}
	}
	return unix.MoveMount(copied, "", target, "", moveFDs)
}

// about says which of a call's two paths an error is about, when it isn't the one the call is named by.
func about(path string, err error) error {
	return because(errnoOf(err), path+": "+err.Error())
}

// bindByMount serves kernels before Linux 5.12. NB: a read-only bind is writable for the moment between its two calls.
func bindByMount(source, target int, attrs uint64) error {
	from, to := fmt.Sprintf("/proc/self/fd/%d", source), fmt.Sprintf("/proc/self/fd/%d", target)
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil || attrs == 0 {
		return err
	}
	// The handle refers to what lies below the bind: its path has to be looked up again.
	path, err := linkText(to)
	if err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err = unix.Statfs(path, &fs); err == nil {
		// statfs(2) shows them with the numbers of mount(2), which those of bindable have, too.
		const keep = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME
		err = unix.Mount("", path, "", uintptr(fs.Flags)&keep|uintptr(attrs)|unix.MS_BIND|unix.MS_REMOUNT, "")
	}
	if err != nil {
		return errors.Join(err, unix.Unmount(path, unix.UMOUNT_NOFOLLOW))
	}
	return nil
}

func linkText(link string) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlink(link, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// attachNew makes a superblock and attaches it (fsopen(2), fsconfig(2), fsmount(2), move_mount(2)).
func attachNew(n hal.NewMount) error {
	attrs, err := mountAttrs(n.Flags)
	if err != nil {
		return err
	}
	target, err := openPoint(n.Target)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	fs, err := unix.Fsopen(n.FSType, unix.FSOPEN_CLOEXEC)
	if err == unix.ENOSYS {
		return mountByMount(n, target)
	}
	if err != nil {
		return about("filesystem type "+n.FSType, err)
	}
	defer unix.Close(fs)
	if err := configure(fs, n, attrs); err != nil {
		return explain(fs, err)
	}
	mnt, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, int(attrs))
	if err != nil {
		return explain(fs, err)
	}
	defer unix.Close(mnt)
	return unix.MoveMount(mnt, "", target, "", moveFDs)
}

func mountAttrs(flags []string) (uint64, error) {
	var attrs uint64
	for _, f := range flags {
		bit, known := flagAttrs[f]
		if !known {
			return 0, because(syscall.EINVAL, fmt.Sprintf("unknown mount flag %q", f))
		}
		attrs |= bit
	}
	return attrs, nil
}

func configure(fs int, n hal.NewMount, attrs uint64) error {
	if n.Source != "" {
		if err := unix.FsconfigSetString(fs, "source", n.Source); err != nil {
			return err
		}
	}
	if attrs&unix.MOUNT_ATTR_RDONLY != 0 { // the superblock, too, as mount(8) does: a read-only device needs it
		if err := unix.FsconfigSetFlag(fs, "ro"); err != nil {
			return err
		}
	}
	for _, o := range n.Options {
		var err error
		if o.Value == "" {
			err = unix.FsconfigSetFlag(fs, o.Key)
		} else {
			err = unix.FsconfigSetString(fs, o.Key, o.Value)
		}
		if err != nil {
			return err
		}
	}
	return unix.FsconfigCreate(fs)
}

// explain adds what the filesystem says about an error: a context's descriptor reads as its log, a message a read,
// ENODATA at the end.
func explain(fs int, err error) error {
	var says []string
	buf := make([]byte, 512)
	for len(says) < 8 {
		n, readErr := unix.Read(fs, buf)
		if readErr != nil || n == 0 {
			break
		}
		says = append(says, strings.TrimSpace(string(buf[:n])))
	}
	if len(says) == 0 {
		return err
	}
	return because(errnoOf(err), strings.Join(says, "; "))
}

// mountByMount serves kernels before Linux 5.2 and filters that refuse fsopen(2).
func mountByMount(n hal.NewMount, target int) error {
	names := map[string]uintptr{
		"nodev": unix.MS_NODEV, "nosuid": unix.MS_NOSUID, "noexec": unix.MS_NOEXEC, "ro": unix.MS_RDONLY,
		"nodiratime": unix.MS_NODIRATIME, "nosymfollow": unix.MS_NOSYMFOLLOW, "noatime": unix.MS_NOATIME,
		"strictatime": unix.MS_STRICTATIME, "relatime": unix.MS_RELATIME,
	}
	var flags uintptr
	for _, f := range n.Flags {
		flags |= names[f]
	}
	var data []string
	for _, o := range n.Options {
		if strings.ContainsAny(o.Key+o.Value, ",") {
			return because(syscall.EINVAL, "an option with a comma can't be given to mount(2)")
		}
		if o.Value == "" {
			data = append(data, o.Key)
		} else {
			data = append(data, o.Key+"="+o.Value)
		}
	}
	return unix.Mount(n.Source, fmt.Sprintf("/proc/self/fd/%d", target), n.FSType, flags, strings.Join(data, ","))
}
