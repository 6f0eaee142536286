package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// rootLock is held as long as the process lives: two agents on one root directory would undo each other's work. The
// lock is on the root directory itself, so that no file that somebody removes takes it away.
type rootLock struct{ files []*os.File }

// lockRoot takes the lock of a root directory. It makes and changes nothing. Helper children do not inherit the lock
// (the files are close-on-exec), so that one that hangs in the kernel does not keep the next agent out.
func lockRoot(rootDir string) (*rootLock, error) {
	l := &rootLock{}
	if err := l.take(rootDir, rootDir, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return nil, err
	}
	// Up to version 0.9 the lock was on this file.
	err := l.take(rootDir, filepath.Join(rootDir, "volnode", "volnode.lock"), unix.O_RDWR|unix.O_NONBLOCK)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.EISDIR) &&
		!errors.Is(err, unix.ENXIO) && !errors.Is(err, unix.ENOTDIR) {
		l.release()
		return nil, err
	}
	return l, nil
}

func (l *rootLock) take(rootDir, path string, flags int) error {
	file, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	l.files = append(l.files, file)
	if err := flockSoon(file); err != nil {
		who := holder(file)
		l.release()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fail(exitTemporary, "another volnode (%s) serves the root directory %s: stop it, or use another "+
				"--root-dir", who, rootDir)
		}
		return fmt.Errorf("flock %s: %w", path, err)
	}
	return nil
}

// A lock that is held is tried for again for a moment: a volnode that was killed holds it until the kernel has taken
// the process apart.
const (
	lockTries = 20
	lockAgain = 50 * time.Millisecond
)

func flockSoon(file *os.File) error {
	ticker := time.NewTicker(lockAgain)
	defer ticker.Stop()
	for try := 1; ; try++ {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || try == lockTries {
			return err
		}
		<-ticker.C
	}
}

// holder names the process that holds the lock of a file, as proc_locks(5) has it.
func holder(file *os.File) string {
	const unknown = "in another pid namespace"
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return unknown
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return unknown
	}
	defer func() { _ = locks.Close() }() // it was only read
	id := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for lines := bufio.NewScanner(locks); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 4711 08:02:1234 0 EOF
		if words := strings.Fields(lines.Text()); len(words) > 5 && words[1] == "FLOCK" && words[5] == id {
			return "pid " + words[4]
		}
	}
	return unknown
}

func (l *rootLock) release() {
	for _, f := range l.files {
		_ = f.Close() // nothing was written
	}
}
