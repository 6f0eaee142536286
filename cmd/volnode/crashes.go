package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

const (
	// recently is how long a crash is shown.
	recently = 10 * time.Minute
	// crashLoop is from how many recent crashes on volnode is said to crash again and again.
	crashLoop = 3
	// maxCrashes bounds the instants that are kept.
	maxCrashes = 20
	// maxCrashLog is the size in bytes from which on a start moves the crash log aside.
	maxCrashLog = 1 << 20
)

// crashes knows which runs of this boot ended without being stopped: by a defect, a signal or a lack of memory. A file
// below the root directory says that a run is under way, and of the crashes before it. Only the end of a run that was
// stopped removes it. A crash changes no volume, so no volume waits for this file either.
type crashes struct {
	dir     string
	runtime hal.Runtime
	crashRecord
	stackIn string // the file that ends with the stack of the last crash; "" if that wrote none
}

// crashRecord is the content of the file.
type crashRecord struct {
	Boot hal.BootID    `json:"boot"`
	At   []hal.Instant `json:"at,omitempty"` // each start that followed a crash, the oldest first: at most maxCrashes
	All  uint64        `json:"all"`          // crashes of this boot
	Log  int64         `json:"log"`          // bytes in the crash log when the run began
}

func (c *crashes) path() string    { return filepath.Join(c.dir, "running") }
func (c *crashes) logPath() string { return filepath.Join(c.dir, "crash.log") }

// beginRun reads how the last run ended, and has the stack of a crash of this one written to the crash log as well as
// to standard error. The first start of a root directory has no place for either yet. A crash of this run may not be
// reported if there is an error; no volume waits for that.
func beginRun(rootDir string, r hal.Runtime) (*crashes, error) {
	c := &crashes{dir: filepath.Join(rootDir, "volnode"), runtime: r}
	if _, err := os.Lstat(c.dir); errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	data, readErr := readShort(c.path())
	var last crashRecord
	// A reboot or a power cut is no crash.
	if readErr == nil && json.Unmarshal(data, &last) == nil && last.Boot == r.BootID() {
		c.crashRecord = last
		c.All++
		c.At = append(c.At, r.Now())
		c.At = c.At[max(0, len(c.At)-maxCrashes):]
	}
	if errors.Is(readErr, os.ErrNotExist) {
		readErr = nil
	}
	c.Boot = r.BootID()
	logErr := c.beginLog()
	data, err := json.Marshal(c.crashRecord)
	if err == nil {
		err = replaceFile(c.path(), data)
	}
	return c, errors.Join(readErr, logErr, err)
}

// beginLog opens the crash log, moves it aside if it is long, and finds the stack of the last crash.
func (c *crashes) beginLog() error {
	size, err := c.openLog()
	if err != nil {
		return err
	}
	if size > c.Log && len(c.At) > 0 {
		c.stackIn = c.logPath()
	}
	if c.Log = size; size <= maxCrashLog {
		return nil
	}
	if err := os.Rename(c.logPath(), c.logPath()+".1"); err != nil {
		return err
	}
	if c.stackIn != "" {
		c.stackIn += ".1"
	}
	c.Log, err = c.openLog()
	return err
}

// openLog has Go's runtime write to the crash log what it writes of a crash, and returns how much is there already.
func (c *crashes) openLog() (int64, error) {
	if info, err := os.Lstat(c.logPath()); err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file: remove it", c.logPath())
	}
	f, err := os.OpenFile(c.logPath(), os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close() // the runtime has a descriptor of its own
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), debug.SetCrashOutput(f, debug.CrashOptions{})
}

// readShort reads a small file, and waits for no writer if somebody has put a FIFO there.
func readShort(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, 4<<10)
	n, err := f.Read(data)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}

func replaceFile(path string, data []byte) error {
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// end says that this run was stopped, or refused to start.
func (c *crashes) end(log *slog.Logger) {
	if err := os.Remove(c.path()); err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Warn("cannot note that volnode was stopped; the next start takes this end for a crash", "error", err)
	}
}

// note says what people should know of the recent crashes, "" if there was none.
func (c *crashes) note() string {
	n, last := 0, time.Duration(0)
	for _, at := range slices.Backward(c.At) {
		age := c.runtime.Now().Sub(at)
		if age > recently {
			break
		}
		if n++; n == 1 {
			last = age
		}
	}
	if n == 0 {
		return ""
	}
	why := "a signal such as SIGKILL, or a lack of memory, ended it: see the log of the kernel and of the service manager"
	if c.stackIn != "" {
		why = "the stack is at the end of " + c.stackIn + ": report it"
	}
	return fmt.Sprintf("volnode crashed %s in the last %d minutes, the last time %s ago; mounts stayed, and it went on "+
		"from its journal; %s", plural(n, "time"), recently/time.Minute, last.Round(time.Second), why)
}

// tell logs what the start has learned of the runs before.
func (c *crashes) tell(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("cannot note that volnode runs; a crash, or its stack, may not be reported", "error", err)
	}
	note := c.note()
	switch {
	case note == "":
	case len(c.At) >= crashLoop && c.runtime.Now().Sub(c.At[len(c.At)-crashLoop]) <= recently:
		log.Error("volnode crashes again and again", "why", note)
	default:
		log.Warn("the last run of volnode crashed", "why", note)
	}
}
