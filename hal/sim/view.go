package sim

import (
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// View is what a container sees of a volume: a copy of what was at a path when the container started, in a mount
// namespace of its own. What becomes of the mount at that path does not reach it, and it keeps no mount of the agent's
// namespace busy (mount_namespaces(7), private propagation).
type View struct {
	w    *World
	at   location
	boot *boot
}

// OpenView is what a container that starts now finds at path.
func (w *World) OpenView(path string) (*View, syscall.Errno) {
	at, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return nil, errno
	case !at.n.isDir():
		return nil, syscall.ENOTDIR
	}
	return &View{w, at, w.boot}, 0
}

// file is a file in the view's directory, made if it is missing and creating is set.
func (v *View) file(name string, creating bool) (*node, syscall.Errno) {
	switch {
	case v.boot != v.w.boot || v.w.off:
		return nil, syscall.ESHUTDOWN // the container is gone with its boot
	case v.IsDead():
		if creating {
			v.at.m.conn.wrote()
		}
		return nil, v.at.m.conn.broken
	case creating && v.at.m.conn != nil && v.at.m.conn.isReadOnly():
		return nil, syscall.EROFS
	case creating && v.at.m.isReadOnly():
		return nil, syscall.EROFS
	}
	k := v.at.n.child(name)
	switch {
	case k != nil && k.file == nil:
		return nil, syscall.EISDIR
	case k == nil && (!creating || v.at.n.gone):
		return nil, syscall.ENOENT
	case k == nil:
		k = v.at.n.newChild(hal.TypeFile, 0o644)
		v.at.n.attach(name, k)
		v.w.persist(v.at.n, name, k)
	}
	return k, 0
}

// Write puts data at offset of a file in the directory, durable: as a container that syncs what it has written.
func (v *View) Write(name string, offset int64, data []byte) syscall.Errno {
	k, errno := v.file(name, true)
	if errno != 0 {
		return errno
	}
	end := max(k.file.size, offset+int64(len(data)))
	if errno := k.mayTake(inSectors(end) - inSectors(k.file.size)); errno != 0 {
		return errno
	}
	k.changed = v.w.sched.now
	k.file.size = end
	k.file.write(offset, data, 0, 0, false, &v.w.slabs)
	return 0
}

// Read is the content of a file in the directory.
func (v *View) Read(name string) ([]byte, syscall.Errno) {
	k, errno := v.file(name, false)
	if errno != 0 {
		return nil, errno
	}
	return k.file.read(), 0
}

// Root is what the view shows: the same for two views of one directory, and for no others. It can only be compared.
func (v *View) Root() any { return v.at.n }

// IsDead says whether what serves the filesystem has ended: everything in it answers ENOTCONN, ESTALE, or EIO.
func (v *View) IsDead() bool { return v.at.m.isDead() }

// IsHung says whether the filesystem's server is silent: a container that reads or writes there waits in the kernel.
func (v *View) IsHung() bool { return v.at.m.isSilent() }

// Files are the names of the files in the directory that begin with prefix, sorted.
func (v *View) Files(prefix string) []string {
	var names []string
	for _, k := range v.at.n.kids {
		if k.file != nil && strings.HasPrefix(k.name, prefix) {
			names = append(names, k.name)
		}
	}
	return names
}
