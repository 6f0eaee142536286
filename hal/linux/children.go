package linux

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// Living looks through /proc for processes named as helper children of this root directory that this run did not start.
func (ch *children) Living(c hal.Call) ([]hal.Child, error) {
	var living []hal.Child
	err := ch.host.within(c, hal.ClassSyscall, "list processes", "/proc", func() (err error) {
		if living, err = ch.living(); err != nil {
			return failure(hal.ClassSyscall, "list processes", "/proc", err)
		}
		return nil
	})
	return living, err
}

func (ch *children) living() ([]hal.Child, error) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var living []hal.Child
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || ch.running[pid] {
			continue
		}
		child, ok, err := readChild(pid, ch.host.options.RootDir)
		if err != nil {
			return nil, err
		}
		if ok {
			living = append(living, child)
		}
	}
	return living, nil
}

// readChild tells whether pid is a helper child of an agent of this root directory. Only root may say so of itself, and
// by no set-user-ID program: else any user could keep a rung fenced for ever.
func readChild(pid int, rootDir string) (hal.Child, bool, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	cmdline, err := os.ReadFile(dir + "cmdline")
	if gone(err) {
		return hal.Child{}, false, nil
	}
	if err != nil {
		return hal.Child{}, false, err
	}
	args := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
	if len(args) != 4 || args[0] != helperName || args[1] != rootDir {
		return hal.Child{}, false, nil
	}
	alive, state, err := threadStates(dir)
	if err != nil || !alive {
		return hal.Child{}, false, err
	}
	start, err := startTime(pid)
	if gone(err) {
		return hal.Child{}, false, nil
	}
	if err != nil || !rootAlone(dir) {
		return hal.Child{}, false, err
	}
	return hal.Child{PID: pid, Start: start, Key: hal.Key(args[2]), What: args[3], State: state}, true, nil
}

// gone reports the errors that /proc answers for a process that has ended.
func gone(err error) bool {
	errno := errnoOf(err)
	return errno == syscall.ENOENT || errno == syscall.ESRCH
}

// rootAlone reports whether all user ids of a process are root's and its program gave it none of them.
func rootAlone(dir string) bool {
	status, err := os.ReadFile(dir + "status")
	if err != nil || !bytes.Contains(status, []byte("\nUid:\t0\t0\t0\t0\n")) {
		return false
	}
	exe, err := os.Stat(dir + "exe")
	return err == nil && exe.Mode()&os.ModeSetuid == 0
}

// threadStates reports whether any thread of a process lives, and the state that says most: D before all others.
// The first thread may be a zombie while another hangs.
func threadStates(dir string) (alive bool, state string, err error) {
	tasks, err := os.ReadDir(dir + "task")
	if gone(err) {
		return false, "", nil
	}
	if err != nil {
		return false, "", err
	}
	for _, t := range tasks {
		fields, err := readStat(dir + "task/" + t.Name() + "/stat")
		if gone(err) {
			continue
		}
		if err != nil {
			return false, "", err
		}
		s := fields[0]
		if s == "Z" || s == "X" {
			continue
		}
		if alive = true; state != "D" {
			state = s
		}
	}
	return alive, state, nil
}

// readStat returns the fields of proc_pid_stat(5) from the third on: the second, the name in brackets, may hold
// anything.
func readStat(path string) ([]string, error) {
	line, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(line, ')')
	fields := strings.Fields(string(line[end+1:]))
	if end < 0 || len(fields) < 20 {
		return nil, fmt.Errorf("%s: %d fields", path, len(fields))
	}
	return fields, nil
}

// startTime returns field 22 of proc_pid_stat(5): with the pid it names a process.
func startTime(pid int) (uint64, error) {
	fields, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// Gone waits on a pidfd: it becomes readable once the last thread has ended (pidfd_open(2)).
func (ch *children) Gone(child hal.Child, f func()) {
	pidfd, err := openProcess(child.PID, child.Start)
	if err != nil && !gone(err) {
		// Out of descriptors: look again later.
		// /proc may be slow; the owner does not wait
		ch.host.runtime.At(ch.host.runtime.Now().Add(lookAgain), func() { go ch.Gone(child, f) })
		return
	}
	if err != nil {
		ch.host.runtime.Post(f)
		return
	}
	if !ch.host.watch(func() {
		defer pidfd.Close()
		if awaitEnd(pidfd, ch.host.stop) {
			ch.host.runtime.Post(f)
		}
	}) {
		pidfd.Close()
	}
}

// openProcess returns a pidfd of the process that had pid at its start; ESRCH if it has ended.
func openProcess(pid int, start uint64) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), fmt.Sprintf("pidfd %d", pid))
	if now, err := startTime(pid); err != nil || now != start {
		file.Close()
		return nil, syscall.ESRCH
	}
	return file, nil
}
