package linux

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// tree is hal.Tree.
type tree struct{ host *Host }

func (t *tree) Mkdir(c hal.Call, path string, mode uint32) error {
	return t.host.within(c, hal.ClassFile, "mkdir", path, func() error {
		parent, name, err := t.host.openParent(path, c.Inside)
		if errnoOf(err) == unix.EBUSY {
			err = syscall.EEXIST
		}
		if err != nil {
			return failure(hal.ClassFile, "mkdir", path, err)
		}
		defer unix.Close(parent)
		withoutUmask(func() { err = unix.Mkdirat(parent, name, mode&0o7777) })
		if err != nil {
			return failure(hal.ClassFile, "mkdir", path, err)
		}
		if err := chmodAt(parent, name, mode); err != nil {
			return partial("mkdir", path, err)
		}
		return nil
	})
}

// chmodAt gives a directory just made exactly mode: mkdir(2) takes the set-ID bits away, and a parent with the
// set-group-ID bit adds that.
func chmodAt(parent int, name string, mode uint32) error {
	fd, err := openat2(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolveBelow)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, mode&0o7777)
}

func (t *tree) Remove(c hal.Call, path string) error {
	return t.host.within(c, hal.ClassFile, "remove", path, func() error {
		parent, name, err := t.host.openParent(path, c.Inside)
		if err != nil {
			return failure(hal.ClassFile, "remove", path, err)
		}
		defer unix.Close(parent)
		if err := removeAt(parent, name); err != nil {
			return failure(hal.ClassFile, "remove", path, err)
		}
		return nil
	})
}

// removeAt removes one name of whatever type. Both calls answer EBUSY on a mount point of this namespace.
func removeAt(parent int, name string) error {
	err := unix.Unlinkat(parent, name, 0)
	if err == unix.EISDIR {
		return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
	}
	return err
}

func (t *tree) Rename(c hal.Call, oldPath, newPath string) error {
	return t.host.within(c, hal.ClassFile, "rename", oldPath+" to "+newPath, func() error {
		fail := func(err error) error { return failure(hal.ClassFile, "rename", oldPath+" to "+newPath, err) }
		from, oldName, err := t.host.openParent(oldPath, c.Inside)
		if err != nil {
			return fail(err)
		}
		defer unix.Close(from)
		to, newName, err := t.host.openParent(newPath, c.Inside)
		if err != nil {
			return fail(err)
		}
		defer unix.Close(to)
		if err := unix.Renameat2(from, oldName, to, newName, 0); err != nil {
			return fail(err)
		}
		t.host.mounts.index.renamed(oldPath)
		return nil
	})
}

func (t *tree) Chown(c hal.Call, path string, uid, gid int) error {
	return t.host.within(c, hal.ClassFile, "chown", path, func() error {
		fd, err := t.host.open(path, writing, c.Inside, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return failure(hal.ClassFile, "chown", path, err)
		}
		defer unix.Close(fd)
		if err := unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH); err != nil {
			return failure(hal.ClassFile, "chown", path, err)
		}
		return nil
	})
}

func (t *tree) Chmod(c hal.Call, path string, mode uint32) error {
	return t.host.within(c, hal.ClassFile, "chmod", path, func() error {
		fd, err := t.host.open(path, writing, c.Inside, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return failure(hal.ClassFile, "chmod", path, err)
		}
		defer unix.Close(fd)
		if err := unix.Fchmod(fd, mode&0o7777); err != nil {
			return failure(hal.ClassFile, "chmod", path, err)
		}
		return nil
	})
}

func (t *tree) Symlink(c hal.Call, target, path string) error {
	return t.host.within(c, hal.ClassFile, "symlink", path, func() error {
		parent, name, err := t.host.openParent(path, c.Inside)
		if errnoOf(err) == unix.EBUSY {
			err = syscall.EEXIST
		}
		if err != nil {
			return failure(hal.ClassFile, "symlink", path, err)
		}
		defer unix.Close(parent)
		if err := unix.Symlinkat(target, parent, name); err != nil {
			return failure(hal.ClassFile, "symlink", path, err)
		}
		return nil
	})
}

func (t *tree) Readlink(c hal.Call, path string) (text string, err error) {
	err = t.host.within(c, hal.ClassFile, "readlink", path, func() error {
		fd, err := t.host.open(path, reading, c.Inside, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return failure(hal.ClassFile, "readlink", path, err)
		}
		defer unix.Close(fd)
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", buf)
		if err == unix.ENOENT { // what is open is no link
			err = syscall.EINVAL
		}
		if err != nil {
			return failure(hal.ClassFile, "readlink", path, err)
		}
		text = string(buf[:n])
		return nil
	})
	return text, err
}

func (t *tree) List(c hal.Call, path string) ([]hal.Entry, error) {
	var entries []hal.Entry
	err := t.host.within(c, hal.ClassFile, "list", path, func() error {
		fd, err := t.host.open(path, reading, c.Inside, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return failure(hal.ClassFile, "list", path, err)
		}
		defer unix.Close(fd)
		if entries, err = readDir(fd); err != nil {
			return failure(hal.ClassFile, "list", path, err)
		}
		return nil
	})
	return entries, err
}

// direntBuffers are used again: a start lists two directories for each pod.
var direntBuffers = sync.Pool{New: func() any { return new([16 << 10]byte) }}

// readDir reads the rest of a directory, sorted by name.
func readDir(fd int) ([]hal.Entry, error) {
	var entries []hal.Entry
	memory, _ := direntBuffers.Get().(*[16 << 10]byte)
	defer direntBuffers.Put(memory)
	buf := memory[:]
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if entries, err = appendDirents(entries, fd, buf[:n]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(entries, func(a, b hal.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// dirent decodes the first struct linux_dirent64 of buf (getdents(2)): inode 8 bytes, offset 8, record length 2, type
// 1, name with a zero byte.
func dirent(buf []byte) (name string, kind byte, rest []byte) {
	size := int(buf[16]) | int(buf[17])<<8
	name, _, _ = strings.Cut(string(buf[19:size]), "\x00")
	return name, buf[18], buf[size:]
}

// appendDirents decodes what getdents(2) has read of the directory dir.
func appendDirents(entries []hal.Entry, dir int, buf []byte) ([]hal.Entry, error) {
	for len(buf) > 0 {
		var name string
		var code byte
		name, code, buf = dirent(buf)
		kind, known := direntTypes[code]
		if name == "." || name == ".." {
			continue
		}
		if !known {
			// Some filesystems answer DT_UNKNOWN (readdir(3)).
			var err error
			if kind, err = typeAt(dir, name); err == unix.ENOENT {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		entries = append(entries, hal.Entry{Name: name, Type: kind})
	}
	return entries, nil
}

var direntTypes = map[byte]hal.FileType{
	unix.DT_REG: hal.TypeFile, unix.DT_DIR: hal.TypeDirectory, unix.DT_LNK: hal.TypeSymlink,
	unix.DT_SOCK: hal.TypeSocket,
	unix.DT_BLK:  hal.TypeBlockDevice, unix.DT_CHR: hal.TypeCharDevice, unix.DT_FIFO: hal.TypeFIFO,
}

func typeAt(dir int, name string) (hal.FileType, error) {
	info, err := statAt(dir, name)
	if err == unix.EXDEV {
		// A mount point, whose type nobody tells.
		return hal.TypeOther, nil
	}
	return info.Type, err
}

func typeOf(mode uint32) hal.FileType {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return hal.TypeFile
	case unix.S_IFDIR:
		return hal.TypeDirectory
	case unix.S_IFLNK:
		return hal.TypeSymlink
	case unix.S_IFSOCK:
		return hal.TypeSocket
	case unix.S_IFBLK:
		return hal.TypeBlockDevice
	case unix.S_IFCHR:
		return hal.TypeCharDevice
	case unix.S_IFIFO:
		return hal.TypeFIFO
	}
	return hal.TypeOther
}

func (t *tree) Stat(c hal.Call, path string) (hal.Info, error) {
	var info hal.Info
	err := t.host.within(c, hal.ClassFile, "stat", path, func() (err error) {
		if info, err = t.stat(path, c.Inside); err != nil {
			return failure(hal.ClassFile, "stat", path, err)
		}
		return nil
	})
	return info, err
}

func (t *tree) stat(path string, in hal.Inside) (hal.Info, error) {
	dir, rest, err := t.host.home(path, reading)
	if err != nil {
		return hal.Info{}, err
	}
	if rest == "." { // it may be anything by now
		fd, err := openat2(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_NOFOLLOW, 0, withoutLinks)
		if err != nil {
			return hal.Info{}, err
		}
		defer unix.Close(fd)
		return statFD(fd)
	}
	root, rest, err := t.host.openBase(path, reading, in)
	if err != nil {
		return hal.Info{}, err
	}
	defer unix.Close(root)
	if rest == "." {
		return statFD(root)
	}
	info, err := statAt(root, rest)
	if err != unix.EXDEV {
		return info, err
	}
	// A mount is on the last name, or on one before it.
	parent, err := openat2(root, filepath.Dir(rest), unix.O_PATH|unix.O_DIRECTORY, 0, resolveBelow)
	if err != nil {
		return hal.Info{}, err
	}
	defer unix.Close(parent)
	if info, err = statAt(parent, filepath.Base(rest)); err == unix.EXDEV {
		return hal.Info{MountPoint: true}, nil
	}
	return info, err
}

// bornAt is when an inode was made, in nanoseconds since 1970; 0 if its filesystem does not tell.
func bornAt(st *unix.Statx_t) int64 {
	if st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// statAt looks at name without stepping onto a mount that is there: then EXDEV. (statx(2) would step onto it, and
// with some filesystems, 9p for one, even that asks the server.)
func statAt(dir int, name string) (hal.Info, error) {
	fd, err := openat2(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0, resolveBelow)
	if err != nil {
		return hal.Info{}, err
	}
	defer unix.Close(fd)
	return statFD(fd)
}

func statFD(fd int) (hal.Info, error) {
	var st unix.Statx_t
	const flags = unix.AT_EMPTY_PATH | unix.AT_STATX_DONT_SYNC | unix.AT_SYMLINK_NOFOLLOW
	const mask = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE
	if err := unix.Statx(fd, "", flags, mask, &st); err != nil {
		return hal.Info{}, err
	}
	return hal.Info{
		Type: typeOf(uint32(st.Mode)), Inode: st.Ino, Size: int64(st.Size), Mode: uint32(st.Mode) & 0o7777,
		UID: st.Uid, GID: st.Gid, Device: hal.Device{Major: st.Dev_major, Minor: st.Dev_minor}, Born: bornAt(&st),
		Mount:      hal.MountID(st.Mnt_id),
		Changed:    unix.TimespecToNsec(unix.Timespec{Sec: st.Ctime.Sec, Nsec: int64(st.Ctime.Nsec)}),
		MountPoint: st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}, nil
}
