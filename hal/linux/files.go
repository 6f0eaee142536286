package linux

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// files is hal.Files.
type files struct{ host *Host }

// openRegular opens a regular file. O_NONBLOCK keeps an open of a FIFO from waiting for its other end; it means nothing
// for a file.
func (f *files) openRegular(path string, a access, in hal.Inside, flags int, mode uint32,
) (fd int, info hal.Info, err error) {
	if a == writing && path == in.Path { // a name on the filesystem below
		in = hal.Inside{}
	}
	if fd, err = f.host.open(path, a, in, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, mode); err != nil {
		return -1, info, err
	}
	info, err = statFD(fd)
	switch {
	case err != nil:
	case info.Type == hal.TypeDirectory:
		err = syscall.EISDIR
	case info.Type != hal.TypeFile:
		err = because(syscall.EINVAL, "is a "+info.Type.String()+", not a file")
	}
	if err != nil {
		unix.Close(fd)
		return -1, info, err
	}
	return fd, info, nil
}

func (f *files) openFile(path string, in hal.Inside, flags int, mode uint32) (*os.File, error) {
	fd, _, err := f.openRegular(path, writing, in, flags, mode)
	if err != nil {
		return nil, err
	}
	return asFile(fd, path), nil
}

// asFile makes the descriptor a blocking one: os.File would give a non-blocking one to the poller, which takes no
// files.
func asFile(fd int, path string) *os.File {
	_ = unix.SetNonblock(fd, false)
	return os.NewFile(uintptr(fd), path)
}

// openOrMake opens path for writing and tells whether it made it, with exactly mode.
func (f *files) openOrMake(path string, in hal.Inside, mode uint32, flags int) (file *os.File, made bool, err error) {
	file, err = f.openFile(path, in, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode&0o7777)
	if err == nil {
		return file, true, unix.Fchmod(int(file.Fd()), mode&0o7777)
	}
	if err != unix.EEXIST {
		return nil, false, err
	}
	file, err = f.openFile(path, in, unix.O_WRONLY|flags, 0)
	return file, false, err
}

func (f *files) Read(c hal.Call, path string, limit int64) ([]byte, error) {
	var data []byte
	err := f.host.within(c, hal.ClassFile, "read", path, func() error {
		fd, info, err := f.openRegular(path, reading, c.Inside, unix.O_RDONLY, 0)
		if err != nil {
			return failure(hal.ClassFile, "read", path, err)
		}
		defer unix.Close(fd)
		if data, err = contentOf(fd, min(info.Size, limit), limit); err != nil {
			return failure(hal.ClassFile, "read", path, err)
		}
		if int64(len(data)) > limit {
			data = nil
			return failure(hal.ClassFile, "read", path,
				because(syscall.EFBIG, fmt.Sprintf("longer than %d bytes", limit)))
		}
		return nil
	})
	return data, err
}

func (f *files) ReadAt(c hal.Call, path string, offset int64, b []byte) (n int, err error) {
	err = f.host.within(c, hal.ClassFile, "read", path, func() error {
		fd, _, err := f.openRegular(path, reading, c.Inside, unix.O_RDONLY, 0)
		if err != nil {
			return failure(hal.ClassFile, "read", path, err)
		}
		defer unix.Close(fd)
		for n < len(b) {
			read, err := unix.Pread(fd, b[n:], offset+int64(n))
			switch {
			case err == unix.EINTR:
			case err != nil:
				return failure(hal.ClassFile, "read", path, err)
			case read == 0:
				return nil
			default:
				n += read
			}
		}
		return nil
	})
	return n, err
}

// contentOf reads a file that is about so long, and no more of it than one byte beyond limit.
func contentOf(fd int, size, limit int64) ([]byte, error) {
	data := make([]byte, size+1) // the last byte shows its end
	at := int64(0)
	for at <= limit {
		if at == int64(len(data)) { // it grows
			data = append(data, make([]byte, min(at, limit+1-at))...)
		}
		n, err := unix.Pread(fd, data[at:], at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		at += int64(n)
	}
	return data[:at], nil
}

func (f *files) Write(c hal.Call, path string, data []byte, mode uint32) error {
	return f.host.within(c, hal.ClassFile, "write", path, func() error {
		file, _, err := f.openOrMake(path, c.Inside, mode, unix.O_TRUNC)
		if file == nil {
			return failure(hal.ClassFile, "write", path, err)
		}
		defer file.Close()
		if err == nil {
			_, err = file.Write(data)
		}
		if err != nil {
			return partial("write", path, err)
		}
		return nil
	})
}

func (f *files) WriteAt(c hal.Call, path string, offset int64, data []byte) error {
	return f.host.within(c, hal.ClassFile, "write", path, func() error {
		if offset < 0 {
			return failure(hal.ClassFile, "write", path, syscall.EINVAL)
		}
		fd, info, err := f.openRegular(path, writing, c.Inside, unix.O_WRONLY, 0)
		if err != nil {
			return failure(hal.ClassFile, "write", path, err)
		}
		file := asFile(fd, path)
		defer file.Close()
		if info.Size < offset {
			return failure(hal.ClassFile, "write", path,
				because(syscall.ERANGE, fmt.Sprintf("truncated: it ends at byte %d", info.Size)))
		}
		if _, err := file.WriteAt(data, offset); err != nil {
			return partial("write", path, err)
		}
		return nil
	})
}

func (f *files) Allocate(c hal.Call, path string, size int64, mode uint32) error {
	return f.host.within(c, hal.ClassFile, "allocate", path, func() error {
		if size <= 0 {
			return failure(hal.ClassFile, "allocate", path, syscall.EINVAL) // as fallocate(2)
		}
		file, made, err := f.openOrMake(path, c.Inside, mode, 0)
		if file == nil {
			return failure(hal.ClassFile, "allocate", path, err)
		}
		defer file.Close()
		if err == nil {
			err = grow(file, size)
		}
		if err != nil {
			if made {
				_ = (&tree{f.host}).Remove(hal.Call{Inside: c.Inside}, path) // a file without its room is of no use to anybody
			}
			return partial("allocate", path, err)
		}
		return nil
	})
}

// grow reserves blocks up to size. Where the disk has not so many, it gives back those that it has found: they may be
// all that is left.
func grow(file *os.File, size int64) error {
	before, err := file.Stat()
	if err != nil {
		return err
	}
	if err = reserve(file, size); err == nil || size <= before.Size() {
		return err
	}
	if left := file.Truncate(before.Size()); left != nil {
		return errors.Join(err, left)
	}
	return err
}

// reserve gives file its blocks, up to size. A filesystem without fallocate(2) gets zeros written where the file ends.
func reserve(file *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(file.Fd()), 0, 0, size)
		if err == unix.EINTR {
			continue
		}
		if err != unix.EOPNOTSUPP {
			return err
		}
		break
	}
	st, err := file.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for at := st.Size(); at < size; {
		n, err := file.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// NB: Sync opens the file again. The kernel reports a write-back error that nobody has seen to the next fsync(2) of any
// descriptor, unless the inode was evicted from memory in between.
func (f *files) Sync(c hal.Call, path string) error {
	return f.host.within(c, hal.ClassFile, "sync", path, func() error {
		fd, err := f.host.open(path, writing, c.Inside, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != nil {
			return failure(hal.ClassFile, "sync", path, err)
		}
		defer unix.Close(fd)
		if err := unix.Fsync(fd); err != nil {
			return partial("sync", path, err)
		}
		return nil
	})
}
