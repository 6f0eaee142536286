package sim

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// node is one file or directory: an inode and its one name. There are no hard links.
type node struct {
	parent *node // nil for the root of a superblock, and once it is unlinked
	was    *node // the directory it was unlinked from
	name   string
	kind   hal.FileType
	sb     *superblock
	inode  uint64 // is used again
	serial uint64 // is never used again
	mode   uint32
	uid    uint32
	gid    uint32
	// project: see quotas; what is made in a directory is of its project
	project uint32
	kids    []*node // of a directory, sorted by name
	// of a directory, names below it that nobody but who removes them all looks at: a container's million files
	bulk    int
	found   int         // in kids, the entry that was looked for last
	link    string      // of a symbolic link
	dev     hal.Device  // of a block device
	file    *content    // of a file
	changed hal.Instant // when its content changed last
	mounts  []*mount    // whose mount point this is, in any parent mount
	server  *driver     // of a socket: who listens; nil is nobody
	life    uint32      // of a socket: of which life of the server it is
	gone    bool        // unlinked
	// isRegistrar: who listens is the server's registrar.
	isRegistrar bool
	// isUnread: somebody put the directory in the place of another, and the agent has not listed it since.
	isUnread bool
}

// superblock is one filesystem.
type superblock struct {
	dev    hal.Device
	fsType string
	source string
	root   *node
	inodes uint64
	moves  uint64 // counts what may change the path of a node that has one
	// readOnly: it is mounted read-only, by the first mount of it.
	readOnly bool
	pages    *pageCache   // nil where a power cut loses nothing, or everything
	quotas   *quotas      // of projects; nil where there are none
	asked    []hal.Option // what it was mounted with, of one in memory
}

// filesystem is all superblocks: what exists, mounted or not.
type filesystem struct {
	w       *World
	root    *superblock
	devices []*superblock // of block devices, kept over reboots
	minor   uint32        // of the last anonymous device
}

// What limits.h has: of a name, and of a path with the zero at its end.
const (
	nameMax = 255
	pathMax = 4096
)

func newFilesystem(w *World) *filesystem {
	f := &filesystem{w: w, minor: 30}
	f.root = newSuperblock(hal.Device{Major: 8, Minor: 1}, "ext4", "/dev/sda1")
	if w.config.Disk == DiskEager {
		f.root.fsType = "xfs"
	}
	f.root.pages = &pageCache{disk: w.config.Disk}
	return f
}

func newSuperblock(dev hal.Device, fsType, source string) *superblock {
	sb := &superblock{dev: dev, fsType: fsType, source: source}
	sb.root = sb.newNode(hal.TypeDirectory, 0o755)
	return sb
}

// anonymous returns the next device number of a superblock without a device.
func (f *filesystem) anonymous() hal.Device {
	f.minor++
	return hal.Device{Minor: f.minor}
}

func (sb *superblock) newNode(kind hal.FileType, mode uint32) *node {
	sb.inodes++
	n := &node{kind: kind, sb: sb, inode: sb.inodes + 1, serial: sb.inodes + 1, mode: mode}
	if kind == hal.TypeFile {
		n.file = &content{}
	}
	return n
}

// newChild makes a node that is to be in the directory n, of its group if it has the set-group-ID bit (inode(7)).
func (n *node) newChild(kind hal.FileType, mode uint32) *node {
	k := n.sb.newNode(kind, mode)
	k.project = n.project
	if n.mode&modeSetGID != 0 {
		k.gid = n.gid
	}
	return k
}

// The bits of stat(2) that set an ID.
const (
	modeSetGID = 0o2000
	modeSetID  = 0o6000
)

// born stands for the time at which n was made: another one for each node that there ever is.
func (n *node) born() int64 {
	return int64(n.sb.dev.Major)<<52 | int64(n.sb.dev.Minor)<<32 | int64(n.serial)
}

// tick is how coarse the clock of a filesystem is: changes within one tick show one instant (hal.Info.Changed).
const tick = 2 * time.Second

func (n *node) isDir() bool { return n.kind == hal.TypeDirectory }

func (n *node) position(name string) (int, bool) {
	if n.found < len(n.kids) && n.kids[n.found].name == name {
		return n.found, true
	}
	at, known := slices.BinarySearchFunc(n.kids, name,
		func(k *node, name string) int { return strings.Compare(k.name, name) })
	if known {
		n.found = at
	}
	return at, known
}

// few is how many entries of a directory are looked at one by one.
const few = 8

// child returns the entry of a directory, nil if there is none.
func (n *node) child(name string) *node {
	if len(n.kids) <= few {
		for _, k := range n.kids {
			if k.name == name {
				return k
			}
		}
		return nil
	}
	if i, ok := n.position(name); ok {
		return n.kids[i]
	}
	return nil
}

// attach puts k into the directory n.
func (n *node) attach(name string, k *node) {
	i, taken := n.position(name)
	if taken {
		panic("sim: " + n.path() + "/" + name + " is taken")
	}
	n.kids = slices.Insert(n.kids, i, k)
	if k.gone {
		k.sb.moves++
	}
	k.parent, k.name, k.gone = n, name, false
}

// detach takes n out of its directory. Its own name stays readable.
func (n *node) detach() {
	i, ok := n.parent.position(n.name)
	if !ok || n.parent.kids[i] != n {
		panic("sim: " + n.path() + " is not in its directory")
	}
	n.parent.kids = slices.Delete(n.parent.kids, i, i+1)
	n.parent, n.was, n.gone = nil, n.parent, true
	n.sb.moves++
}

// path is the path within the superblock; what is unlinked reads as the kernel shows it.
func (n *node) path() string {
	if n.parent == nil && !n.gone {
		return "/"
	}
	var b [256]byte
	path, isDeleted := n.appendPath(b[:0])
	if isDeleted {
		path = append(path, "//deleted"...)
	}
	return string(path)
}

// appendPath appends the path of n, and says whether some name of it is gone. The root has none.
func (n *node) appendPath(b []byte) (path []byte, isDeleted bool) {
	above := n.parent
	if n.gone {
		above = n.was
	}
	if above == nil {
		return b, false
	}
	b, isDeleted = above.appendPath(b)
	return append(append(b, '/'), n.name...), isDeleted || n.gone
}

// inside says whether n is top or lies below it, in one superblock.
func (n *node) inside(top *node) bool {
	for m := n; m != nil; m = m.parent {
		if m == top {
			return true
		}
	}
	return false
}

// location is a place in the mounted tree.
type location struct {
	m *mount
	n *node
}

// walkMode says how a path is followed.
type walkMode uint8

const (
	// walkAll follows links and mounts, the last name included.
	walkAll walkMode = iota
	// walkNoLastLink does not follow a link at the last name.
	walkNoLastLink
	// walkParent stops at the directory that holds the last name.
	walkParent
	// walkNoLinks refuses every link, with ELOOP, and every path that is not clean, with EINVAL (openat2(2),
	// RESOLVE_NO_SYMLINKS).
	walkNoLinks
)

// linksMax is where the kernel gives up (path_resolution(7)).
const linksMax = 40

// walk resolves an absolute path as the kernel does for a process that sees everything.
func (w *World) walk(path string, mode walkMode) (location, string, syscall.Errno) {
	links := 0
	if mode == walkNoLinks && !clean(path) {
		return location{}, "", syscall.EINVAL
	}
	return w.walkFrom(w.mounts.rootLocation(), path, mode, &links)
}

func (w *World) walkFrom(at location, path string, mode walkMode, links *int) (location, string, syscall.Errno) {
	if path == "" {
		return at, "", syscall.ENOENT
	}
	if path[0] == '/' {
		at = w.mounts.rootLocation()
	}
	for {
		name, rest := nextName(path)
		if name == "" {
			return at, "", 0
		}
		if !at.n.isDir() {
			return at, "", syscall.ENOTDIR
		}
		if errno := at.m.refuses(w); errno != 0 {
			return at, "", errno
		}
		if mode == walkParent && rest == "" {
			return at, name, 0
		}
		path = rest
		if name == "." || name == ".." {
			if name == ".." {
				at = w.mounts.up(at)
			}
			continue
		}
		if len(name) > nameMax {
			return at, "", syscall.ENAMETOOLONG
		}
		k := at.n.child(name)
		if k == nil {
			return at, "", syscall.ENOENT
		}
		if k.kind == hal.TypeSymlink && mode == walkNoLinks {
			return at, "", syscall.ELOOP
		}
		if k.kind == hal.TypeSymlink && (rest != "" || mode == walkAll) {
			if *links++; *links > linksMax {
				return at, "", syscall.ELOOP
			}
			next, _, errno := w.walkFrom(at, k.link, walkAll, links)
			if errno != 0 {
				return at, "", errno
			}
			at = next
			continue
		}
		at = w.mounts.top(location{at.m, k})
	}
}

// nextName splits the first name off a path.
func nextName(path string) (name, rest string) {
	begin := 0
	for begin < len(path) && path[begin] == '/' {
		begin++
	}
	end := begin
	for end < len(path) && path[end] != '/' {
		end++
	}
	after := end
	for after < len(path) && path[after] == '/' {
		after++
	}
	return path[begin:end], path[after:]
}

// inside is the root of the mount that a call goes into, and what is left of path there. isInside: path leads there.
func (w *World) inside(path string, in hal.Inside) (at location, rest string, isInside bool, errno syscall.Errno) {
	rest, isInside = strings.CutPrefix(path, in.Path)
	isInside = isInside && in.ID != 0 && (rest == "" || rest[0] == '/') && strings.HasPrefix(in.Path, w.base+"/")
	if !isInside || !clean(path) {
		return at, rest, false, 0
	}
	at, _, errno = w.walk(in.Path, walkNoLinks)
	switch {
	case errno != 0:
	case !at.n.isDir():
		errno = syscall.ENOTDIR
	case at.m.id != in.ID || at.n != at.m.root:
		errno = syscall.ESTALE
	}
	return at, rest, true, errno
}

// beneath resolves a path below the agent's root directory, to what is to be changed: through no link, no mount but
// that of in, and not out of it (openat2(2)). It returns the directory and the last name; for the root directory
// itself, name is "".
func (w *World) beneath(path string, in hal.Inside) (dir location, name string, errno syscall.Errno) {
	if path != in.Path {
		if at, rest, isInside, errno := w.inside(path, in); isInside {
			if errno != 0 {
				return at, "", errno
			}
			return w.below(at, rest)
		}
	}
	rest, isBelow := strings.CutPrefix(path, w.base)
	switch isBelow = isBelow && (rest == "" || rest[0] == '/'); {
	case isBelow && (rest == "/" || rest != "" && !clean(rest)), !isBelow && !clean(path):
		return dir, "", syscall.EINVAL
	case !isBelow:
		return dir, "", syscall.EXDEV
	}
	at := w.mounts.baseLocation()
	if more, isMore := strings.CutPrefix(path, w.config.MoreDir); w.config.MoreDir != "" && isMore &&
		(more == "" || more[0] == '/') {
		rest = more
		if at, _, errno = w.walk(w.config.MoreDir, walkNoLinks); errno != 0 {
			return at, "", errno
		}
	}
	if at.n == nil {
		return at, "", syscall.ENOENT
	}
	return w.below(at, rest)
}

// below resolves what is left of a path, "" or with a slash before each name, from a place on.
func (w *World) below(at location, rest string) (dir location, name string, errno syscall.Errno) {
	for rest != "" {
		next := rest[1:]
		if i := strings.IndexByte(next, '/'); i < 0 {
			rest = ""
		} else {
			next, rest = next[:i], next[i:]
		}
		switch {
		case len(next) > nameMax:
			return at, "", syscall.ENAMETOOLONG
		case rest == "" && at.n.gone: // the root of a mount whose directory was removed
			return at, next, syscall.ENOENT
		case rest == "":
			return at, next, 0
		}
		k := at.n.child(next)
		switch {
		case k == nil:
			return at, "", syscall.ENOENT
		case w.mounts.child(at.m, k) != nil:
			return at, "", syscall.EXDEV
		case k.kind == hal.TypeSymlink:
			return at, "", syscall.ELOOP
		case !k.isDir():
			return at, "", syscall.ENOTDIR
		}
		at.n = k
	}
	return at, "", 0
}

// clean says whether a path is absolute and without dots or double slashes: the host takes no other.
func clean(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' {
		return false
	}
	begin := 1
	for at := 1; ; at++ {
		if at < len(path) && path[at] != '/' {
			continue
		}
		if name := path[begin:at]; name == "" || name == "." || name == ".." {
			return false
		}
		if at == len(path) {
			return true
		}
		begin = at + 1
	}
}

// open resolves a path below the agent's root directory to what is there, over no mount but that of in, and through no
// link.
func (w *World) open(path string, in hal.Inside) (location, syscall.Errno) {
	if path == in.Path {
		if at, _, isInside, errno := w.inside(path, in); isInside {
			return at, errno
		}
	}
	dir, name, errno := w.beneath(path, in)
	if errno != 0 || name == "" {
		return dir, errno
	}
	k := dir.n.child(name)
	switch {
	case k == nil:
		return dir, syscall.ENOENT
	case w.mounts.child(dir.m, k) != nil:
		return dir, syscall.EXDEV
	case k.kind == hal.TypeSymlink:
		return dir, syscall.ELOOP
	}
	return location{dir.m, k}, 0
}

// isLink says whether the last name of a path below the agent's root directory is a link.
func (w *World) isLink(path string, in hal.Inside) bool {
	n := w.linkAt(path, in)
	return n != nil && n.kind == hal.TypeSymlink
}

// linkAt is the last name of a path below the agent's root directory, which may be a link; nil if there is none.
func (w *World) linkAt(path string, in hal.Inside) *node {
	dir, name, errno := w.beneath(path, in)
	if errno != 0 || name == "" || path == in.Path {
		return nil
	}
	return dir.n.child(name)
}

// makeDirs makes a directory with its parents, durable.
func (w *World) makeDirs(path string) location {
	at := w.mounts.rootLocation()
	for {
		var name string
		name, path = nextName(path)
		if name == "" {
			return at
		}
		k := at.n.child(name)
		if k == nil {
			k = at.n.newChild(hal.TypeDirectory, 0o755)
			at.n.attach(name, k)
			w.persist(at.n, name, k)
		}
		at = w.mounts.top(location{at.m, k})
	}
}

func hashTree(n *node, h uint64) uint64 {
	h = fold(h ^ hashString(n.name) ^ uint64(n.kind)<<32 ^ uint64(n.mode) ^ uint64(n.bulk)<<40 ^ uint64(n.uid)<<16 ^
		uint64(n.gid)<<24 ^ uint64(n.project)<<8)
	if n.file != nil {
		h = fold(h ^ n.file.hash())
	}
	for _, k := range n.kids {
		h = hashTree(k, h)
	}
	return fold(h ^ uint64(len(n.kids)))
}
