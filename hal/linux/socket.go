package linux

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// openSocket returns a handle of the socket at path. It must belong to root, like the directory that holds it, and
// nobody else may write to either: whoever could put a socket there would be handed volumes and secrets. Links are
// refused with ELOOP.
func openSocket(path string) (int, error) {
	dir, err := openPoint(filepath.Dir(path))
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	if err := rootOwned(dir, unix.S_IFDIR, "its directory "+filepath.Dir(path)); err != nil {
		return -1, err
	}
	const within = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	socket, err := openat2(dir, filepath.Base(path), unix.O_PATH|unix.O_NOFOLLOW, 0, within)
	if err != nil {
		return -1, err
	}
	if err := rootOwned(socket, unix.S_IFSOCK, "it"); err != nil {
		unix.Close(socket)
		return -1, err
	}
	return socket, nil
}

func rootOwned(fd int, want uint32, what string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		return because(syscall.ELOOP, what+" is a symbolic link, which is not followed")
	case kind != want:
		return because(syscall.ENOTSOCK, what+" is not a socket")
	case st.Uid != 0:
		return because(syscall.EACCES, fmt.Sprintf("%s belongs to user %d; it must belong to root", what, st.Uid))
	case st.Mode&0o022 != 0:
		const text = "%s has mode %04o; others than its owner must not be able to write to it"
		return because(syscall.EACCES, fmt.Sprintf(text, what, st.Mode&0o7777))
	}
	return nil
}

// dialSocket connects to the very socket that was checked: by its handle, so that neither a new socket at the path nor
// the 108 bytes of sun_path (unix(7)) are too few.
func dialSocket(ctx context.Context, path string) (*net.UnixConn, error) {
	socket, err := openSocket(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(socket)
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d", socket))
	if err != nil {
		if errno := errnoOf(err); errno != 0 {
			return nil, errno // without the number of a descriptor in its text
		}
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}
