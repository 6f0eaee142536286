package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// rootLock is held as long as the process lives: two agents on one root directory would undo each other's work.
type rootLock struct{ file *os.File }

// lockRoot takes the lock of a root directory. Helper children do not inherit it (the file is close-on-exec), so that one that hangs in the kernel
// does not keep the next agent out.
func lockRoot(rootDir string) (*rootLock, error) {
	dir := filepath.Join(rootDir, "volnode")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	path := filepath.Join(dir, "volnode.lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flockSoon(file); err != nil {
		defer file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fail(exitTemporary, "another volnode (%s) serves the root directory %s: stop it, or give this one another --root-dir",
				holder(file), rootDir)
		}
		return nil, fmt.Errorf("flock %s: %w", path, err)
	}
	// The pid is for the message above only: it may be lost without harm.
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(file, "%d\n", os.Getpid())
	}
	return &rootLock{file}, nil
}

// A lock that is held is tried for again for a moment: a volnode that was killed holds it until the kernel has taken the process apart.
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

// holder names the process that wrote its pid into the lock file.
func holder(file *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(file, 16))
	if pid := strings.TrimSpace(string(text)); pid != "" {
		return "pid " + pid
	}
	return "starting"
}

func (l *rootLock) release() { _ = l.file.Close() }
