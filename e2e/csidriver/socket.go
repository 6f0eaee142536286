package csidriver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// dialPatience is how long a socket may take to say whether anybody listens there.
const dialPatience = 2 * time.Second

// ErrServed says that another process serves a socket.
var ErrServed = errors.New("another process serves it; stop that one, or give this driver another name and endpoint")

// ownSocket is a listener that removes its socket when it closes, and not one that somebody else has put in its place.
type ownSocket struct {
	*net.UnixListener
	path   string
	is     os.FileInfo
	remove sync.Once
}

func (s *ownSocket) Close() error {
	s.remove.Do(func() {
		if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.is) {
			_ = os.Remove(s.path) // a socket that nobody serves is replaced by the next start
		}
	})
	return s.UnixListener.Close()
}

// listenUnix listens at path, in place of a socket that a dead process left there. The directory is created.
func listenUnix(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := removeDead(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	is, err := os.Lstat(path)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	return &ownSocket{UnixListener: l, path: path, is: is}, nil
}

// removeDead removes a socket that nobody serves.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w: %s exists and is not a socket", ErrConfig, path)
	}
	conn, err := net.DialTimeout("unix", path, dialPatience)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s: %w", path, ErrServed)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%s: it can't be told whether anybody serves it: %w", path, err)
	}
	return os.Remove(path)
}
