package sim

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

type hostMounts struct{ *host }

var (
	callTable   = newCallSite("mounts.table", hal.ClassSyscall, false)
	callAt      = newCallSite("mounts.at", hal.ClassSyscall, false)
	callWithin  = newCallSite("mounts.within", hal.ClassSyscall, false)
	callMount   = newCallSite("mounts.mount", hal.ClassSyscall, true)
	callBind    = newCallSite("mounts.bind", hal.ClassSyscall, true)
	callUnmount = newCallSite("mounts.unmount", hal.ClassSyscall, true)
)

func (h hostMounts) Table(c hal.Call) ([]hal.Mount, error) {
	k := h.enter(callTable, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	var table []hal.Mount
	if ok {
		table = h.w.Mounts()
	}
	return table, k.done(errno)
}

func (h hostMounts) At(c hal.Call, path string) ([]hal.Mount, error) {
	k := h.enter(callAt, path, c, &h.w.menus.read)
	errno, ok := k.acts()
	var stack []hal.Mount
	if ok {
		stack = h.w.MountsAt(path)
	}
	return stack, k.done(errno)
}

func (h hostMounts) Within(c hal.Call, path string) ([]hal.Mount, error) {
	k := h.enter(callWithin, path, c, &h.w.menus.read)
	errno, ok := k.acts()
	if ok && !clean(path) && path != "/" {
		errno, ok = syscall.EINVAL, false
	}
	var found []hal.Mount
	if ok {
		found = h.w.MountsWithin(path)
	}
	return found, k.done(errno)
}

// networkTypes can fail with their whole effect done.
var networkTypes = []string{"nfs", "nfs4"}

func (h hostMounts) Mount(c hal.Call, m hal.NewMount) error {
	w := h.w
	menu := &w.menus.mount
	network := slices.Contains(networkTypes, m.FSType)
	if network {
		menu = &w.menus.netMount
	}
	k := h.enter(callMount, m.Target, c, menu)
	errno, ok := k.acts()
	if ok {
		errno = k.inKernel("mount "+m.Target, func(by actor) syscall.Errno {
			if network {
				return w.mounts.mountExport(by, m)
			}
			return w.mounts.mountNew(by, m)
		})
	}
	if k.fault == FailFull && errno == 0 {
		return k.leave(syscall.ETIMEDOUT, hal.Unknown)
	}
	return k.done(errno)
}

func (h hostMounts) Bind(c hal.Call, b hal.BindSpec) error {
	w := h.w
	k := h.enter(callBind, b.Target, c, &w.menus.mount)
	errno, ok := k.acts()
	if ok {
		errno = k.inKernel("bind "+b.Target, func(by actor) syscall.Errno {
			return w.mounts.bind(by, b, walkNoLinks)
		})
	}
	return k.done(errno)
}

func (h hostMounts) Unmount(c hal.Call, path string, id hal.MountID) error {
	w := h.w
	k := h.enter(callUnmount, path, c, &w.menus.mount)
	errno, ok := k.acts()
	if ok {
		errno = k.inKernel("umount "+path, func(by actor) syscall.Errno {
			switch {
			case id == 0:
				return syscall.EINVAL
			case w.mounts.isHung(path):
				return hangs
			}
			return w.mounts.unmount(by, path, id)
		})
	}
	return k.done(errno)
}

// mountFlags are the flags of a mount.
var mountFlags = []string{"nodev", "noexec", "nosuid", "ro"}

// tmpfsOption says whether tmpfs(5) takes a parameter.
func tmpfsOption(o hal.Option) bool {
	switch o.Key {
	case "inode32", "inode64", "noswap":
		return o.Value == ""
	case "huge":
		return slices.Contains([]string{"never", "always", "within_size", "advise"}, o.Value)
	case "mode":
		return o.Value != "" && strings.Trim(o.Value, "01234567") == ""
	case "uid", "gid":
		_, is := idOf(o.Value)
		return is
	case "size", "nr_blocks", "nr_inodes":
		digits := strings.TrimRight(o.Value, "kKmMgGtTpPeE%")
		return digits != "" && len(o.Value)-len(digits) <= 1 && strings.Trim(digits, "0123456789") == ""
	}
	return false
}

// hugetlbfsOption says whether hugetlbfs takes a parameter. The node has pages of two sizes, as x86-64 does.
func hugetlbfsOption(o hal.Option) bool {
	switch o.Key {
	case "mode", "uid", "gid", "size", "nr_inodes":
		return tmpfsOption(o)
	case "pagesize":
		return slices.Contains([]string{"2M", "2097152", "1G", "1073741824"}, o.Value)
	}
	return false
}

// idOf reads a user or a group as the kernel reads a number in a mount option: octal after 0, hexadecimal after 0x.
func idOf(text string) (id uint32, is bool) {
	base := 10
	if hex, isHex := strings.CutPrefix(text, "0x"); isHex {
		text, base = hex, 16
	} else if len(text) > 1 && text[0] == '0' {
		base = 8
	}
	n, err := strconv.ParseUint(text, base, 32)
	return uint32(n), err == nil && n != math.MaxUint32
}

// flag gives m flags, besides those that it has; false if one is unknown.
func (m *mount) flag(flags []string) bool {
	for _, f := range flags {
		switch {
		case !slices.Contains(mountFlags, f):
			return false
		case f == "ro":
			m.readOnly = true
		case !slices.Contains(m.options, f):
			m.options = append(slices.Clone(m.options), f)
			slices.Sort(m.options)
		}
	}
	return true
}

// mountNew makes a superblock and attaches it.
func (t *mountTable) mountNew(by actor, m hal.NewMount) syscall.Errno {
	made := t.newMount(nil)
	if !made.flag(m.Flags) {
		return syscall.EINVAL
	}
	to, _, errno := t.w.walk(m.Target, walkNoLinks)
	if errno != 0 {
		return errno
	}
	sb, b, errno := t.w.fs.superblockFor(m)
	if errno != 0 {
		return errno
	}
	switch made.root = sb.root; {
	case !to.n.isDir():
		return syscall.EINVAL // move_mount(2)
	case to.n.gone:
		return syscall.ENOENT
	}
	if b != nil && b.conn() != nil {
		made.conn = b.conn()
	}
	t.place(by, to, made)
	if b != nil && !sb.readOnly {
		t.w.wearsDisk(b, made.path)
	}
	return 0
}

// mountedBy are the types that a filesystem may be mounted as: one driver mounts ext2, ext3 and ext4 (ext4_fill_super).
var mountedBy = map[string][]string{
	"ext2": {"ext2", "ext4"}, "ext3": {"ext2", "ext3", "ext4"}, "ext4": {"ext4"}, "xfs": {"xfs"},
}

// isMountedAs: a filesystem that is mounted is mounted once more only as it is (fs/super.c, get_tree_bdev).
func (sb *superblock) isMountedAs(m hal.NewMount) bool {
	return sb.fsType == m.FSType && sb.readOnly == slices.Contains(m.Flags, "ro")
}

// superblockFor returns the filesystem that a mount(2) would attach, and the disk that it is on, nil if it is on none.
func (f *filesystem) superblockFor(m hal.NewMount) (*superblock, *blockDevice, syscall.Errno) {
	switch m.FSType {
	case "tmpfs", "ramfs", "hugetlbfs":
		for _, o := range m.Options {
			if m.FSType == "tmpfs" && !tmpfsOption(o) || m.FSType == "hugetlbfs" && !hugetlbfsOption(o) {
				return nil, nil, syscall.EINVAL
			}
		}
		sb := newSuperblock(f.anonymous(), m.FSType, cmp.Or(m.Source, "none")) // as proc_pid_mountinfo(5) shows it
		sb.asked = m.Options
		if m.FSType == "tmpfs" {
			sb.root.mode = 0o1777 // tmpfs(5)
		}
		for _, o := range m.Options {
			switch id, _ := idOf(o.Value); o.Key {
			case "mode":
				mode, err := strconv.ParseUint(o.Value, 8, 12)
				if m.FSType == "hugetlbfs" {
					mode &= 0o1777 // fs/hugetlbfs/inode.c
				}
				if err == nil {
					sb.root.mode = uint32(mode)
				}
			case "uid":
				sb.root.uid = id
			case "gid":
				sb.root.gid = id
			}
		}
		return sb, nil, 0
	case "ext2", "ext3", "ext4", "xfs":
		switch b, errno := f.w.reach(m.Source); {
		case errno == hangs, errno == syscall.EIO, errno == syscall.ENXIO:
			return nil, nil, errno
		case errno == 0 && f.w.mapWith(b) != nil, errno == 0 && f.w.isMounted(b) && !b.sb.isMountedAs(m):
			return nil, nil, syscall.EBUSY
		case errno == 0 && b.sb == nil, errno == 0 && !slices.Contains(mountedBy[b.holds], m.FSType):
			return nil, nil, syscall.EINVAL
		case errno == 0 && b.whyNotMount() != 0:
			return nil, nil, b.whyNotMount()
		case errno == 0:
			b.replays()
			b.sb.fsType, b.sb.readOnly = m.FSType, slices.Contains(m.Flags, "ro")
			b.mountedAs(f.w, m.FSType)
			return b.sb, b, 0
		}
		for _, sb := range f.devices {
			if sb.source == m.Source {
				if sb.fsType != m.FSType {
					return nil, nil, syscall.EINVAL
				}
				return sb, nil, 0
			}
		}
		if strings.HasPrefix(m.Source, "/") {
			return nil, nil, syscall.ENOENT
		}
		return nil, nil, syscall.ENOTBLK
	}
	return nil, nil, syscall.ENODEV
}

// OptionsAt is what the filesystem in memory that is mounted at a path was mounted with, nil if none is.
func (w *World) OptionsAt(path string) []hal.Option {
	stack := w.mounts.stack(path)
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1].root.sb.asked
}
