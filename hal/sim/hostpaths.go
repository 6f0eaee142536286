package sim

import (
	gopath "path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

type hostPaths struct{ *host }

var (
	callFind   = newCallSite("hostpaths.find", hal.ClassHelper, false)
	callCached = newCallSite("hostpaths.cached", hal.ClassSyscall, false)
	callMake   = newCallSite("hostpaths.make", hal.ClassHelper, true)
	callCount  = newCallSite("hostpaths.count", hal.ClassHelper, false)
	callUsage  = newCallSite("hostpaths.usage", hal.ClassHelper, false)
)

func (h hostPaths) Find(c hal.Call, path string) (hal.HostFile, error) {
	w := h.w
	k := h.enter(callFind, path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return hal.HostFile{}, k.done(errno)
	}
	var found hal.HostFile
	errno = k.inKernel("find "+path, func(actor) (errno syscall.Errno) {
		found, errno = w.find(path)
		return errno
	})
	return found, k.done(errno)
}

func (h hostPaths) Usage(c hal.Call, path string) (hal.Usage, error) {
	w := h.w
	k := h.enter(callUsage, path, c, &w.menus.helper)
	w.tell(actor{call: &k}, Effect{Kind: EffectMeasured, Path: path})
	errno, ok := k.acts()
	if !ok {
		return hal.Usage{}, k.done(errno)
	}
	var is hal.Usage
	errno = k.inKernel("usage "+path, func(actor) syscall.Errno {
		at, _, errno := w.walk(path, walkAll)
		if errno == 0 {
			errno = at.m.refuses(w) // statfs(2) asks the server, also about the root of what it serves
		}
		if errno == 0 {
			is = usageOf(at.n.sb)
		}
		return errno
	})
	return is, k.done(errno)
}

func (h hostPaths) Count(c hal.Call, path string) (hal.Usage, error) {
	w := h.w
	k := h.enter(callCount, path, c, &w.menus.helper)
	w.tell(actor{call: &k}, Effect{Kind: EffectMeasured, Path: path})
	errno, ok := k.acts()
	if !ok {
		return hal.Usage{}, k.done(errno)
	}
	at, errno := w.open(path, hal.Inside{})
	switch {
	case errno == syscall.ELOOP && w.isLink(path, hal.Inside{}): // O_DIRECTORY looks at the type first
		return hal.Usage{}, k.done(syscall.ENOTDIR)
	case errno != 0:
		return hal.Usage{}, k.done(errno)
	case !at.n.isDir():
		return hal.Usage{}, k.done(syscall.ENOTDIR)
	}
	var is hal.Usage
	w.count(at, &is)
	if names := is.Inodes.Used; names > manyNames {
		k.sleep(time.Duration(names) * perName)
	}
	return is, k.done(0)
}

// Occupied is what a directory holds.
func (w *World) Occupied(path string) (is hal.Usage) {
	if at, _, errno := w.look(path, walkNoLinks); errno == 0 {
		w.count(at, &is)
	}
	return is
}

// count adds what a directory holds, but for what is mounted there.
func (w *World) count(at location, is *hal.Usage) {
	is.Inodes.Used += int64(at.n.bulk)
	is.Bytes.Used += int64(at.n.bulk) * sectorSize
	for _, k := range at.n.kids {
		if w.mounts.child(at.m, k) != nil {
			continue
		}
		is.Inodes.Used++
		if k.file != nil {
			is.Bytes.Used += (k.file.size + sectorSize - 1) / sectorSize * sectorSize
		}
		w.count(location{at.m, k}, is)
	}
}

// UsageAt is how full the filesystem is that a path leads to; zero if there is none.
func (w *World) UsageAt(path string) hal.Usage {
	at, _, errno := w.walk(path, walkAll)
	if errno != 0 {
		return hal.Usage{}
	}
	return usageOf(at.n.sb)
}

// HangsAt: who asks what is mounted at a path about its filesystem waits for a server.
func (w *World) HangsAt(path string) bool { return w.mounts.isHung(path) }

// usageOf is how full a filesystem is. No two are of one size.
func usageOf(sb *superblock) hal.Usage {
	return filled(1<<30 + int64(sb.dev.Major)<<20 + int64(sb.dev.Minor)<<12)
}

// filled is the usage of what has so many bytes.
func filled(size int64) hal.Usage {
	return hal.Usage{
		Bytes:  hal.Amount{Total: size, Used: size / 4, Available: size - size/4},
		Inodes: hal.Amount{Total: size >> 12, Used: 11, Available: size>>12 - 11},
	}
}

// Cached: all is in the cache but what a server serves that is silent. A fault is what is not.
func (h hostPaths) Cached(c hal.Call, path string) (hal.HostFile, error) {
	k := h.enter(callCached, path, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return hal.HostFile{}, k.done(errno)
	}
	found, errno := h.w.find(path)
	switch {
	case errno == hangs:
		errno = syscall.EAGAIN
	case errno == 0 && !found.Exists:
		errno = syscall.ENOENT
	}
	if errno != 0 {
		found = hal.HostFile{}
	}
	return found, k.done(errno)
}

// find tells what a path leads to, as [hal.HostPaths] has it.
func (w *World) find(path string) (hal.HostFile, syscall.Errno) {
	at, _, errno := w.walk(path, walkAll)
	found := hal.HostFile{Exists: errno == 0}
	if errno == 0 {
		found.Type, found.Path, found.Device, found.Root = at.n.kind, w.mounts.pathOf(at), at.n.sb.dev, at.n.path()
		found.Inode, found.Born = at.n.inode, at.n.born()
		if at.m.conn != nil {
			found.Device = at.m.conn.dev
		}
	}
	rest := ""
	if errno == syscall.ENOENT {
		at, rest, errno = w.nearest(gopath.Clean(path))
	}
	home := w.mounts.baseLocation()
	switch {
	case errno != 0:
		return hal.HostFile{}, errno
	case home.n == nil:
		return hal.HostFile{}, syscall.ENOENT
	}
	if below, ok := relative(w.base, gopath.Join(w.mounts.pathOf(at), rest)); ok {
		found.Below = append(found.Below, below)
	}
	below, ok := relative(home.n.path(), gopath.Join(at.n.path(), rest))
	if ok && at.n.sb == home.n.sb && !slices.Contains(found.Below, below) {
		found.Below = append(found.Below, below)
	}
	return found, 0
}

// nearest is the last name on the way to a missing file that is there, and the rest of the way. A link that leads
// nowhere is a part of the way.
func (w *World) nearest(path string) (at location, rest string, errno syscall.Errno) {
	for links := 0; ; {
		if at, _, errno = w.walk(path, walkAll); errno != syscall.ENOENT || path == "/" {
			return at, rest, errno
		}
		dir, _, _ := w.walk(gopath.Dir(path), walkAll)
		at, _, errno = w.walk(path, walkNoLastLink)
		switch {
		case errno != 0:
			path, rest = gopath.Dir(path), gopath.Join(gopath.Base(path), rest)
			continue
		case links == linksMax:
			return at, "", syscall.ELOOP
		}
		links++
		if path = gopath.Clean(at.n.link); path[0] != '/' {
			path = gopath.Join(w.mounts.pathOf(dir), path)
		}
	}
}

// relative is what follows dir in path, "." for dir itself; false if path does not lie there.
func relative(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func (h hostPaths) Make(c hal.Call, path string, t hal.FileType) error {
	w := h.w
	k := h.enter(callMake, path, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	errno = k.inKernel("mkdir "+path, func(by actor) syscall.Errno { return w.makePath(by, path, t, part) })
	if part || k.fault == FailFull {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// makePath makes a directory with its parents, or an empty file. With part, the last name is left out.
func (w *World) makePath(by actor, path string, t hal.FileType, part bool) syscall.Errno {
	if t != hal.TypeDirectory && t != hal.TypeFile {
		return syscall.EINVAL
	}
	if _, _, errno := w.walk(path, walkAll); errno != syscall.ENOENT {
		if errno == 0 {
			return syscall.EEXIST
		}
		return errno
	}
	if t == hal.TypeDirectory {
		for i := 1; i < len(path); i++ {
			if path[i] != '/' || path[i-1] == '/' {
				continue
			}
			if errno := w.makeOne(by, path[:i], hal.TypeDirectory, 0o755); errno != 0 && errno != syscall.EEXIST {
				return errno
			}
		}
	}
	if part {
		return 0
	}
	mode := uint32(0o755)
	if t == hal.TypeFile {
		mode = 0o644
	}
	return w.makeOne(by, strings.TrimRight(path, "/"), t, mode)
}

// makeOne makes one name, as a process of the host does.
func (w *World) makeOne(by actor, path string, t hal.FileType, mode uint32) syscall.Errno {
	dir, name, errno := w.walk(path, walkParent)
	switch {
	case errno != 0:
		return errno
	case name == "" || dir.n.child(name) != nil:
		return syscall.EEXIST
	case dir.n.gone:
		return syscall.ENOENT
	case dir.m.isReadOnly():
		return syscall.EROFS
	case len(name) > nameMax:
		return syscall.ENAMETOOLONG
	}
	w.link(by, dir, name, dir.n.newChild(t, mode))
	return 0
}

// removeOne removes one name, as a process of the host does.
func (w *World) removeOne(by actor, path string) syscall.Errno {
	dir, name, errno := w.walk(path, walkParent)
	if errno != 0 {
		return errno
	}
	if name == "" {
		return syscall.EBUSY
	}
	return w.unlink(by, dir, name)
}
