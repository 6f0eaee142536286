package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// rootListener accepts connections of processes that run as root.
type rootListener struct{ *net.UnixListener }

// listenControl makes the control socket: mode 0600, in a directory that only root can enter. Called with the root
// directory's lock held.
func listenControl(path string) (net.Listener, error) {
	if err := prepareSocketDir(filepath.Dir(path)); err != nil {
		return nil, &exitError{exitConfig, err}
	}
	if err := removeStaleSocket(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return rootListener{l}, nil
}

// prepareSocketDir makes a missing directory, and refuses one that others can enter: between bind(2) and chmod(2) the
// socket's own mode is what the umask says.
func prepareSocketDir(dir string) error {
	if err := refuseLinks("directory of the control socket", resolveRun(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("directory of the control socket: %w", err)
	}
	if err := checkOwned("directory of the control socket", dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		cure := "name a socket in a directory of its own with --socket"
		if !isShared(dir, info) {
			cure += ", or chmod 0700 " + dir
		}
		return fmt.Errorf("directory of the control socket %s: users other than root can enter it (mode %04o): %s",
			dir, mode, cure)
	}
	return nil
}

// resolveRun takes away the link that /var/run is on every system of today.
func resolveRun(dir string) string {
	if rest, err := filepath.Rel("/var/run", dir); err == nil && filepath.IsLocal(rest) {
		return filepath.Join("/run", rest)
	}
	return dir
}

// removeStaleSocket removes what an agent that was killed left. A socket that answers is another agent's, of another
// root directory.
func removeStaleSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fail(exitConfig, "%s exists and is not a socket: remove it, or name another socket with --socket",
			path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return fail(exitTemporary,
			"another process serves the socket %s: stop it, or name another socket with --socket", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

// Accept returns the next connection of root.
func (l rootListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn); err == nil && uid == 0 {
			return conn, nil
		}
		// The file modes keep others out; this holds where somebody has changed them.
		_ = conn.Close()
	}
}

// peerUID is the user that the process at the other end had when it connected (unix(7), SO_PEERCRED).
func peerUID(conn *net.UnixConn) (uint32, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if asked != nil {
		return 0, asked
	}
	return cred.Uid, nil
}
