package linux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// followPeer calls gone on the owner once the peer is dead and its cgroup, with all below it, is empty: then nothing
// that it started can still act. It says nothing, ever, of a peer whose cgroup is ours, an ancestor's or the root:
// there it would wait for ourselves.
func (h *Host) followPeer(p hal.Peer, gone func()) {
	if p.Instance == "" || gone == nil {
		return
	}
	_, start, _ := strings.Cut(p.Instance, ":")
	ticks, err := strconv.ParseUint(start, 10, 64)
	if err != nil {
		return
	}
	pidfd, err := openProcess(p.PID, ticks)
	if err != nil {
		return
	}
	events, err := openCgroup(p.PID)
	if err == nil {
		_, err = startTime(p.PID) // its cgroup was read from this process, not from one with its pid
	}
	if err != nil {
		pidfd.Close()
		if events != nil {
			events.Close()
		}
		return
	}
	if !h.watch(func() {
		defer pidfd.Close()
		defer events.Close()
		if awaitEnd(pidfd, h.stop) && awaitEmpty(events, h.stop) {
			h.runtime.Post(gone)
		}
	}) {
		pidfd.Close()
		events.Close()
	}
}

// openCgroup opens cgroup.events of the version 2 cgroup of pid (cgroups(7)).
func openCgroup(pid int) (*os.File, error) {
	theirs, err := cgroupOf(strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	ours, err := cgroupOf("self")
	if err != nil {
		return nil, err
	}
	if theirs == "/" || theirs == ours || strings.HasPrefix(ours, theirs+"/") || strings.HasPrefix(theirs, "/..") {
		return nil, fmt.Errorf("cgroup %s of process %d also holds other processes", theirs, pid)
	}
	root, err := cgroupRoot()
	if err != nil {
		return nil, err
	}
	return os.Open(filepath.Join(root, theirs, "cgroup.events"))
}

func cgroupOf(pid string) (string, error) {
	lines, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(lines)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, nil
		}
	}
	return "", fmt.Errorf("process %s has no version 2 cgroup", pid)
}

func cgroupRoot() (string, error) {
	found, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		usable := m.FSType == "cgroup2" && m.Root == "/"
		return !usable, usable
	})
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no version 2 cgroup hierarchy is mounted")
	}
	return found[0].Mountpoint, nil
}

// awaitEmpty waits until cgroup.events says populated 0, or the cgroup is removed (ENODEV): only an empty one can be.
// False if stop was closed before.
func awaitEmpty(events *os.File, stop <-chan struct{}) bool {
	return awaitPoll(events, stop, func(fd uintptr) bool {
		buf := make([]byte, 256)
		n, err := unix.Pread(int(fd), buf, 0)
		if err != nil {
			return err == unix.ENODEV
		}
		return bytes.Contains(buf[:n], []byte("populated 0\n"))
	})
}
