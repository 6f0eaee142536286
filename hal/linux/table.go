package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// tableReads bounds how often a table that changes while it is read is read again.
const tableReads = 50

// mounts is hal.Mounts.
type mounts struct {
	host    *Host
	crowded *crowded
	index   *mountIndex
}

func (m *mounts) Table(c hal.Call) ([]hal.Mount, error) {
	return m.several(c, "listmount", "/", m.index.all)
}

func (m *mounts) Within(c hal.Call, path string) ([]hal.Mount, error) {
	return m.several(c, "statmount", path, func() ([]hal.Mount, error) {
		if err := checkPath(path); err != nil {
			return nil, err
		}
		return m.index.within(path)
	})
}

func (m *mounts) At(c hal.Call, path string) ([]hal.Mount, error) {
	return m.several(c, "statmount", path, func() ([]hal.Mount, error) { return m.at(path) })
}

// several is a call that reads mounts.
func (m *mounts) several(c hal.Call, op, path string, read func() ([]hal.Mount, error)) ([]hal.Mount, error) {
	var found []hal.Mount
	err := m.host.within(c, hal.ClassSyscall, op, path, func() (err error) {
		if found, err = read(); err != nil {
			return failure(hal.ClassSyscall, op, path, err)
		}
		return nil
	})
	return found, err
}

// mountsChanged reports whether the table has changed since fd was opened or last asked.
func mountsChanged(fd int) (bool, error) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
	for {
		n, err := unix.Poll(p, 0)
		if err != unix.EINTR {
			return n > 0 && p[0].Revents&(unix.POLLPRI|unix.POLLERR) != 0, err
		}
	}
}

// readStatmount reads the whole table. With events, which tell of it, a mount that goes meanwhile is left out; else
// it is ENOENT.
func (x *mountIndex) readStatmount(info *os.File) ([]hal.Mount, error) {
	ids, err := listmount()
	if err != nil {
		return nil, err
	}
	x.read.Add(uint64(len(ids)))
	table := make([]hal.Mount, 0, len(ids))
	oldIDs := make([]uint64, 0, len(ids))
	r := reader{count: &x.read}
	told := uint64(0)
	for _, id := range ids {
		state, err := r.statmount(id)
		if err == unix.ENOENT && x.events >= 0 {
			continue
		}
		if err != nil {
			return nil, err
		}
		table, oldIDs = append(table, state.Mount), append(oldIDs, state.oldID)
		told |= state.mask
	}
	if told&statmountSBSource != 0 {
		return table, nil
	}
	x.read.Add(uint64(len(ids)))
	return table, fillSources(table, oldIDs, info)
}

// fillSources completes a table of Linux 6.8 to 6.12, where statmount(2) tells no source.
func fillSources(table []hal.Mount, oldIDs []uint64, info *os.File) error {
	lines, err := readMountinfo(info)
	if err != nil {
		return err
	}
	sources := make(map[hal.MountID]string, len(lines))
	for _, l := range lines {
		sources[l.ID] = l.Source
	}
	for i := range table {
		if table[i].Source == "" {
			table[i].Source = sources[hal.MountID(oldIDs[i])]
		}
	}
	return nil
}

// readMountinfo reads the table from /proc/self/mountinfo (proc_pid_mountinfo(5)).
func readMountinfo(info *os.File) ([]hal.Mount, error) {
	if _, err := info.Seek(0, 0); err != nil {
		return nil, err
	}
	lines, err := mountinfo.GetMountsFromReader(info, nil)
	if err != nil {
		return nil, err
	}
	table := make([]hal.Mount, 0, len(lines))
	for _, l := range lines {
		table = append(table, fromMountinfo(l))
	}
	return table, nil
}

func fromMountinfo(l *mountinfo.Info) hal.Mount {
	m := hal.Mount{
		ID: hal.MountID(l.ID), Parent: hal.MountID(l.Parent), Path: l.Mountpoint, Root: l.Root,
		Device: hal.Device{Major: uint32(l.Major), Minor: uint32(l.Minor)}, FSType: l.FSType, Source: l.Source,
		Shared: strings.Contains(l.Optional, "shared:"),
	}
	for o := range strings.SplitSeq(l.Options, ",") {
		switch o {
		case "ro":
			m.ReadOnly = true
		case "rw", "":
		default:
			m.Options = append(m.Options, o)
		}
	}
	slices.Sort(m.Options)
	m.ReadOnlyFS = takesNoWrites(l.VFSOptions) || hasStopped(m.FSType, m.Path, uint64(m.ID))
	m.NoDevice = deviceIsGone(sysDevices, m.Device)
	return m.AsNode()
}

// takesNoWrites reports whether the options of a superblock say that it takes no writes: it is mounted so; or ext4 has
// stopped after an error, which since Linux 6.15 leaves the superblock "rw"; or it was shut down.
func takesNoWrites(options string) bool {
	for o := range strings.SplitSeq(options, ",") {
		if o == "ro" || o == "emergency_ro" || o == "shutdown" {
			return true
		}
	}
	return false
}

// sysDevices has an entry for each block device of the node (sysfs(5)).
const sysDevices = "/sys/dev/block"

// deviceIsGone reports whether a filesystem is on a block device that the kernel does not have any more: it was pulled
// out, or detached. It looks in dir. If dir is missing, or the filesystem has no block device, it answers no.
func deviceIsGone(dir string, d hal.Device) bool {
	if d.Major == 0 || unix.Access(dir+"/"+d.String(), unix.F_OK) != unix.ENOENT {
		return false
	}
	return unix.Access(dir, unix.F_OK) == nil
}

// parentsFirst keeps the kernel's order, by age, save that a mount comes after its parent: one that was made early may
// be moved onto a later one.
func parentsFirst(table []hal.Mount) []hal.Mount {
	listed := make(map[hal.MountID]bool, len(table))
	for _, m := range table {
		listed[m.ID] = true
	}
	sorted := make([]hal.Mount, 0, len(table))
	waiting := map[hal.MountID][]hal.Mount{}
	var emit func(m hal.Mount)
	emit = func(m hal.Mount) {
		sorted = append(sorted, m)
		delete(listed, m.ID)
		children := waiting[m.ID]
		delete(waiting, m.ID)
		for _, c := range children {
			emit(c)
		}
	}
	for _, m := range table {
		if m.Parent != m.ID && listed[m.Parent] {
			waiting[m.Parent] = append(waiting[m.Parent], m)
			continue
		}
		emit(m)
	}
	return sorted
}

func (m *mounts) at(path string) ([]hal.Mount, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	for range tableReads {
		stack, err := m.stackAt(path)
		if err != unix.ENOENT && err != unix.ENOSYS && err != unix.EPERM {
			m.index.saw(stack)
			return stack, err
		}
		if err != unix.ENOENT {
			m.index.old.Store(true)
		}
	}
	return nil, because(syscall.EAGAIN, fmt.Sprintf("the mounts there changed during each of %d reads", tableReads))
}

// stackAt walks from the top mount at path to its parents for as long as they are mounted there, too. ENOENT: the stack
// changed meanwhile.
func (m *mounts) stackAt(path string) ([]hal.Mount, error) {
	if m.index.old.Load() {
		return m.index.stackAt(path)
	}
	id, err := topMount(path, unix.STATX_MNT_ID_UNIQUE)
	if id == 0 || err != nil {
		return nil, err
	}
	var stack []hal.Mount
	r := reader{count: &m.index.read}
	for {
		state, err := r.statmount(uint64(id))
		if err == unix.ENOENT && len(stack) > 0 {
			break // the root's parent lies outside the namespace
		}
		if err != nil {
			return nil, err
		}
		if state.Path != path {
			break
		}
		if state.mask&statmountSBSource == 0 {
			return m.index.stackAt(path)
		}
		stack = append(stack, state.Mount)
		if id = state.Parent; id == state.ID {
			break
		}
	}
	slices.Reverse(stack)
	return stack, nil
}

// stackAt tells the stack at a path from a reading of the whole table that began after the question. None is needed
// where nothing is mounted. ENOENT: the stack changed meanwhile.
func (x *mountIndex) stackAt(path string) ([]hal.Mount, error) {
	id, err := topMount(path, x.idsAre())
	if id == 0 || err != nil {
		return nil, err
	}
	table, err := x.all()
	if err != nil {
		return nil, err
	}
	var stack []hal.Mount
	for {
		at := slices.IndexFunc(table, func(m hal.Mount) bool { return m.ID == id })
		if at < 0 && len(stack) == 0 {
			return nil, unix.ENOENT
		}
		if at < 0 || table[at].Path != path {
			break
		}
		stack = append(stack, table[at])
		if id = table[at].Parent; id == table[at].ID {
			break
		}
	}
	slices.Reverse(stack)
	return stack, nil
}

// idsAre says which kind of id mounts are known by (statx(2)): without statmount(2) the one of /proc/self/mountinfo.
func (x *mountIndex) idsAre() int {
	if x.old.Load() {
		return unix.STATX_MNT_ID
	}
	return unix.STATX_MNT_ID_UNIQUE
}

// checkPath returns EINVAL for a path that has no one spelling.
func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return because(syscall.EINVAL, "not an absolute path without dots or double slashes")
	}
	return nil
}

// topMount returns the id of the mount whose root is at path, 0 if path is no mount point: nothing there, below a
// link, or an ordinary name. which is the kind of id that is asked for. The mount's filesystem is asked for nothing:
// AT_STATX_DONT_SYNC, AT_NO_AUTOMOUNT (statx(2)).
func topMount(path string, which int) (hal.MountID, error) {
	dir, name := filepath.Split(path)
	parent, err := openHome(dir)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return 0, nil
	default:
		return 0, err
	}
	defer unix.Close(parent)
	if name == "" {
		name = "."
	}
	var st unix.Statx_t
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	err = unix.Statx(parent, name, flags, which, &st)
	switch {
	case err == unix.ENOENT || err == unix.ENOTDIR:
		return 0, nil
	case err != nil:
		if id, is := mountAt(parent, name, which); is {
			return id, nil
		}
		return 0, err
	case st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0:
		return 0, nil
	case int(st.Mask)&which == 0:
		return 0, unix.ENOSYS
	}
	return hal.MountID(st.Mnt_id), nil
}
