package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
)

// Mount is one line of the mount table.
type Mount struct {
	Path, Type, Source, Root string
	ID                       int
}

// Mounts lists what is mounted below the root directory, in the kernel's order.
func (h *Host) Mounts() []Mount {
	h.T.Helper()
	table, err := mountinfo.GetMounts(mountinfo.PrefixFilter(h.Root))
	require.NoError(h.T, err)
	var mounts []Mount
	for _, m := range table {
		if m.Mountpoint != h.Root {
			mounts = append(mounts, Mount{m.Mountpoint, m.FSType, m.Source, m.Root, m.ID})
		}
	}
	return mounts
}

// MountedAt tells whether something is mounted at path.
func (h *Host) MountedAt(path string) bool {
	return slices.ContainsFunc(h.Mounts(), func(m Mount) bool { return m.Path == path })
}

// allMounts lists the mount points below the host's directory, the last mounted first.
func (h *Host) allMounts() []string {
	table, err := mountinfo.GetMounts(mountinfo.PrefixFilter(h.Dir))
	if err != nil {
		return nil
	}
	var paths []string
	for _, m := range table {
		paths = append(paths, m.Mountpoint)
	}
	slices.Reverse(paths)
	return paths
}

// Helper is a helper child of some agent of this root directory.
type Helper struct {
	PID   int
	State string // of proc_pid_stat(5)
	Rung  string
	Call  string
}

// Helpers lists the helper children that live.
func (h *Host) Helpers() []Helper {
	h.T.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(h.T, err)
	var found []Helper
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		if err != nil || len(args) != 4 || args[0] != "volnode-helper" || args[1] != h.Root {
			continue
		}
		if state := processState(pid); state != "" && state != "Z" && state != "X" {
			found = append(found, Helper{pid, state, args[2], args[3]})
		}
	}
	return found
}

// processState is the state of a process, "" if there is none.
func processState(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(line, ')')
	if err != nil || end < 0 || end+2 >= len(line) {
		return ""
	}
	return string(line[end+2 : end+3])
}

// Leftovers lists all that an idle node does not have, one line each: mounts, directories of pods and of volumes, what
// the driver believes to be staged or published, helper processes.
func (h *Host) Leftovers() []string {
	h.T.Helper()
	var left []string
	for _, m := range h.Mounts() {
		left = append(left, "mount "+m.Path)
	}
	left = append(left, below(filepath.Join(h.Root, "pods"), 1)...)
	// The directory of a driver itself stays.
	left = append(left, below(filepath.Join(h.Root, "plugins", "kubernetes.io", "csi"), 2)...)
	left = append(left, below(filepath.Join(h.Root, "plugins", "kubernetes.io", "image"), 1)...)
	state := h.DriverState()
	for id, s := range state.Staged {
		left = append(left, "the driver has staged "+id+" at "+s.Path)
	}
	for id, targets := range state.Published {
		for target := range targets {
			left = append(left, "the driver has published "+id+" at "+target)
		}
	}
	for _, p := range h.Helpers() {
		left = append(left, fmt.Sprintf("helper %d (%s): %s", p.PID, p.State, p.Call))
	}
	return left
}

// below lists the names that lie the given number of levels below dir.
func below(dir string, levels int) []string {
	pattern := dir + strings.Repeat("/*", levels)
	hidden := dir + strings.Repeat("/*", levels-1) + "/.*"
	var names []string
	for _, p := range []string{pattern, hidden} {
		found, err := filepath.Glob(p)
		if err == nil {
			names = append(names, found...)
		}
	}
	return names
}
