package linux

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// hostPaths is hal.HostPaths.
type hostPaths struct{ host *Host }

// Find asks the kernel's cache first, which never waits for a filesystem. What is not in it, a helper looks for.
func (p *hostPaths) Find(c hal.Call, path string) (hal.HostFile, error) {
	if !filepath.IsAbs(path) {
		return hal.HostFile{}, failure(hal.ClassHelper, "find", path, because(syscall.EINVAL, "not an absolute path"))
	}
	var found hal.HostFile
	err := p.host.within(c, hal.ClassHelper, "find", path, func() (err error) {
		if found, err = (&finder{isCached: true}).find(path, p.host.options.RootDir); err == nil {
			return nil
		}
		var resp response
		resp, err = p.host.help(c, hal.ClassHelper, "find", path,
			request{Find: &findRequest{path, p.host.options.RootDir}})
		found = resp.Found
		return err
	})
	return found, err
}

// Cached leaves EAGAIN to the caller.
func (p *hostPaths) Cached(c hal.Call, path string) (hal.HostFile, error) {
	var found hal.HostFile
	err := p.host.within(c, hal.ClassSyscall, "find cached", path, func() (err error) {
		if !filepath.IsAbs(path) {
			err = because(syscall.EINVAL, "not an absolute path")
		} else {
			found, err = (&finder{isCached: true}).find(path, p.host.options.RootDir)
		}
		if err != nil {
			return failure(hal.ClassSyscall, "find cached", path, err)
		}
		return nil
	})
	return found, err
}

// Usage asks a helper, as a server may be silent; what is kept in memory it asks for itself.
func (p *hostPaths) Usage(c hal.Call, path string) (hal.Usage, error) {
	if !filepath.IsAbs(path) {
		return hal.Usage{}, failure(hal.ClassHelper, "usage", path, because(syscall.EINVAL, "not an absolute path"))
	}
	var is hal.Usage
	err := p.host.within(c, hal.ClassHelper, "usage", path, func() (err error) {
		if is, err = p.usageInMemory(path); err == nil {
			return nil
		}
		resp, err := p.host.help(c, hal.ClassHelper, "usage", path, request{Usage: &path})
		is = resp.Usage
		return err
	})
	return is, err
}

// countsInMemory are the filesystems that know how full they are without asking a device or a server.
var countsInMemory = [...]string{"btrfs", "ext2", "ext3", "ext4", "tmpfs", "xfs"}

// usageInMemory is Usage of a mount that waits for nothing. EAGAIN: path is not in the kernel's cache, or no such mount
// is there.
func (p *hostPaths) usageInMemory(path string) (hal.Usage, error) {
	stack, err := p.host.mounts.At(hal.Call{}, path)
	if last := len(stack) - 1; err != nil || last < 0 || !slices.Contains(countsInMemory[:], stack[last].FSType) {
		return hal.Usage{}, syscall.EAGAIN
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path,
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveCached})
	if err != nil {
		return hal.Usage{}, err
	}
	defer unix.Close(fd)
	var at unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID_UNIQUE, &at)
	if err != nil || at.Mnt_id != uint64(stack[len(stack)-1].ID) {
		return hal.Usage{}, syscall.EAGAIN // something else is there by now, or the kernel has no such id
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return hal.Usage{}, err
	}
	return usageOf(&st), nil
}

// usageOf is what statfs(2) says.
func usageOf(st *unix.Statfs_t) hal.Usage {
	size := st.Frsize
	if size == 0 {
		size = st.Bsize
	}
	return hal.Usage{
		Bytes: hal.Amount{
			Total: int64(st.Blocks) * size, Available: int64(st.Bavail) * size, Used: int64(st.Blocks-st.Bfree) * size,
		},
		Inodes: hal.Amount{Total: int64(st.Files), Available: int64(st.Ffree), Used: int64(st.Files - st.Ffree)},
	}
}

func (p *hostPaths) Count(c hal.Call, path string) (hal.Usage, error) {
	dir, rest, err := p.host.home(path, writing)
	if err != nil {
		return hal.Usage{}, failure(hal.ClassHelper, "count", path, err)
	}
	var is hal.Usage
	err = p.host.within(c, hal.ClassHelper, "count", path, func() error {
		resp, err := p.host.help(c, hal.ClassHelper, "count", path, request{Count: &findRequest{rest, dir}})
		is = resp.Usage
		return err
	})
	return is, err
}

func (p *hostPaths) Make(c hal.Call, path string, t hal.FileType) error {
	op := map[hal.FileType]string{hal.TypeDirectory: "mkdir", hal.TypeFile: "create"}[t]
	if op == "" || !filepath.IsAbs(path) {
		err := because(syscall.EINVAL, "only a directory or a file can be made, at an absolute path; not a "+t.String())
		return failure(hal.ClassHelper, "make", path, err)
	}
	return p.host.within(c, hal.ClassHelper, op, path, func() error {
		_, err := p.host.help(c, hal.ClassHelper, op, path, request{Make: &makeRequest{path, t}})
		return err
	})
}

const (
	resolveCached = 0x20 // RESOLVE_CACHED (linux/openat2.h)
	maxLinks      = 40   // as path_resolution(7) has it
)

// finder looks where paths lead to.
type finder struct {
	// isCached: it never waits. What the kernel does not have in its cache fails with EAGAIN (openat2(2),
	// RESOLVE_CACHED, since Linux 5.12).
	isCached bool
}

// located is where a file lies.
type located struct {
	file   hal.FileType
	path   string     // of its name, links followed
	device hal.Device // of its filesystem,
	inner  string     // and its path in that
	inode  uint64
	born   int64
}

func (f *finder) find(path, root string) (hal.HostFile, error) {
	home, err := f.locate(root)
	if err != nil {
		return hal.HostFile{}, err
	}
	is, err := f.locate(path)
	found := hal.HostFile{
		Exists: err == nil, Type: is.file, Path: is.path, Device: is.device, Root: is.inner, Inode: is.inode, Born: is.born,
	}
	rest := ""
	if errors.Is(err, unix.ENOENT) && !f.isCached {
		is, rest, err = f.nearest(filepath.Clean(path))
	}
	if err != nil {
		return hal.HostFile{}, err
	}
	if below, ok := relative(home.path, filepath.Join(is.path, rest)); ok {
		found.Below = append(found.Below, below)
	}
	if below, ok := relative(home.inner, filepath.Join(is.inner, rest)); ok && is.device == home.device &&
		!slices.Contains(found.Below, below) {
		found.Below = append(found.Below, below)
	}
	return found, nil
}

// nearest is the last name on the way to a missing file that is there, and the rest of the way. A link that leads
// nowhere is a part of the way.
func (f *finder) nearest(at string) (is located, rest string, err error) {
	for links := 0; ; {
		if is, err = f.locate(at); !errors.Is(err, unix.ENOENT) || at == "/" {
			return is, rest, err
		}
		dir, name := filepath.Dir(at), filepath.Base(at)
		to, noLink := os.Readlink(at)
		if noLink != nil {
			at, rest = dir, filepath.Join(name, rest)
			continue
		}
		if links++; links > maxLinks {
			return is, "", unix.ELOOP
		}
		if at = filepath.Clean(to); !filepath.IsAbs(to) {
			above, err := f.locate(dir)
			if err != nil {
				return is, "", err
			}
			at = filepath.Join(above.path, to)
		}
	}
}

// relative is what follows dir in path, "." for dir itself; false if path does not lie there.
func relative(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// locate tells where path leads to.
func (f *finder) locate(path string) (located, error) {
	how, flags := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}, unix.AT_EMPTY_PATH
	if f.isCached {
		how.Resolve, flags = resolveCached, flags|unix.AT_STATX_DONT_SYNC
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	for err == unix.EINTR || err == unix.EAGAIN && !f.isCached {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
	}
	if err != nil {
		return located{}, err
	}
	defer unix.Close(fd)
	var st unix.Statx_t
	const asks = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_BTIME | unix.STATX_MNT_ID | unix.STATX_MNT_ID_UNIQUE
	if err := unix.Statx(fd, "", flags, asks, &st); err != nil {
		return located{}, err
	}
	is := located{file: typeOf(uint32(st.Mode)), inode: st.Ino, born: bornAt(&st)}
	if is.path, err = linkText("/proc/self/fd/" + strconv.Itoa(fd)); err != nil {
		return located{}, err
	}
	m, err := mountOf(fd, &st)
	if err != nil {
		return located{}, err
	}
	rest, isSeen := relative(m.Path, is.path)
	if !isSeen {
		return located{}, because(syscall.EXDEV, is.path+" lies on a mount of another mount namespace")
	}
	is.device, is.inner = m.Device, filepath.Join(m.Root, rest)
	return is, nil
}

// readers are used again: a start looks at each hostPath.
var readers = sync.Pool{New: func() any { return new(reader) }}

// mountOf is the mount that an open file lies on: its path, its root and its device. st is the file's statx.
func mountOf(fd int, st *unix.Statx_t) (hal.Mount, error) {
	if st.Mask&unix.STATX_MNT_ID_UNIQUE != 0 {
		r, _ := readers.Get().(*reader)
		defer readers.Put(r)
		m, err := r.placeOf(st.Mnt_id)
		if err != unix.ENOSYS && err != unix.EPERM { // EPERM: a seccomp filter older than the call
			return m, err
		}
		// The id of /proc/self/mountinfo.
		if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, st); err != nil {
			return hal.Mount{}, err
		}
	}
	info, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return hal.Mount{}, err
	}
	defer info.Close()
	table, err := readMountinfo(info)
	if err != nil {
		return hal.Mount{}, err
	}
	at := slices.IndexFunc(table, func(m hal.Mount) bool { return uint64(m.ID) == st.Mnt_id })
	if at < 0 {
		return hal.Mount{}, because(syscall.EXDEV, "it lies on a mount of another mount namespace")
	}
	return table[at], nil
}
