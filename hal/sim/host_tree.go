package sim

import (
	gopath "path"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

type hostTree struct{ *host }

var (
	callMkdir      = newCallSite("tree.mkdir", hal.ClassFile, true)
	callRemove     = newCallSite("tree.remove", hal.ClassFile, true)
	callRemoveTree = newCallSite("tree.remove-tree", hal.ClassFile, true)
	callRename     = newCallSite("tree.rename", hal.ClassFile, true)
	callChmod      = newCallSite("tree.chmod", hal.ClassFile, true)
	callChown      = newCallSite("tree.chown", hal.ClassFile, true)
	callSymlink    = newCallSite("tree.symlink", hal.ClassFile, true)
	callReadlink   = newCallSite("tree.readlink", hal.ClassFile, false)
	callList       = newCallSite("tree.list", hal.ClassFile, false)
	callStat       = newCallSite("tree.stat", hal.ClassFile, false)
)

func (h hostTree) Mkdir(c hal.Call, path string, mode uint32) error {
	w := h.w
	k := h.enter(callMkdir, path, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	dir, name, errno := w.beneath(path, c.Inside)
	switch {
	case errno != 0:
		return k.done(errno)
	case name == "" || dir.n.child(name) != nil:
		return k.done(syscall.EEXIST)
	case dir.m.isReadOnly():
		return k.done(syscall.EROFS)
	}
	n := dir.n.newChild(hal.TypeDirectory, mode&^modeSetID&0o7777|dir.n.mode&modeSetGID)
	w.link(actor{call: &k}, dir, name, n)
	if is := mode & 0o7777; n.mode != is { // mkdir(2) leaves that to chmod(2)
		if k.crash == CrashAfter && w.chooser.Pick(k.subject.id(k.site.amount), []uint32{1, 1}) == 1 {
			return k.done(0)
		}
		w.give(actor{call: &k}, n, path, n.withMode(is))
	}
	return k.done(0)
}

// beneathToRemove is beneath for unlink(2) and rmdir(2), which look whether they may write before they look for the
// name: in a directory that was removed there is none.
func (w *World) beneathToRemove(path string, in hal.Inside) (dir location, name string, errno syscall.Errno) {
	dir, name, errno = w.beneath(path, in)
	if errno == syscall.ENOENT && name != "" && dir.m.isReadOnly() {
		errno = syscall.EROFS
	}
	return dir, name, errno
}

func (h hostTree) Remove(c hal.Call, path string) error {
	w := h.w
	k := h.enter(callRemove, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	dir, name, errno := w.beneathToRemove(path, c.Inside)
	switch {
	case errno != 0:
	case name == "":
		errno = syscall.EBUSY
	default:
		errno = w.unlink(actor{call: &k}, dir, name)
	}
	return k.done(errno)
}

// What removing so many names, and more, takes for each.
const (
	manyNames = 1000
	perName   = 10 * time.Microsecond
)

func (h hostTree) RemoveTree(c hal.Call, path string, limit int) (more bool, err error) {
	w := h.w
	k := h.enter(callRemoveTree, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return false, k.done(errno)
	}
	dir, name, errno := w.beneathToRemove(path, c.Inside)
	switch {
	case limit < 1:
		return false, k.done(syscall.EINVAL)
	case errno == syscall.ENOENT:
		return false, k.done(0)
	case errno != 0:
		return false, k.done(errno)
	case name == "":
		return false, k.done(syscall.EBUSY)
	case dir.m.isReadOnly():
		return false, k.done(syscall.EROFS)
	}
	if k.crash == CrashAfter {
		limit = min(limit, int(w.chooser.Between(k.subject.id(k.site.amount), 0, 16)))
	}
	r := removal{w: w, by: actor{call: &k}, left: limit}
	isGone := r.remove(dir, name)
	if len(w.observe) > 0 && r.done > 0 {
		outcome := hal.Done
		if !isGone {
			outcome = hal.Unknown
		}
		w.tell(r.by, Effect{Kind: EffectRemovedTree, Path: path, Outcome: outcome})
	}
	if r.done > manyNames {
		k.sleep(time.Duration(r.done) * perName)
	}
	if r.done == 0 {
		return false, k.done(r.why)
	}
	return !isGone, k.done(0)
}

func (h hostTree) Rename(c hal.Call, oldPath, newPath string) error {
	w := h.w
	k := h.enter(callRename, oldPath, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	from, name, errno := w.beneath(oldPath, c.Inside)
	if errno != 0 {
		return k.done(errno)
	}
	to, newName, errno := w.beneath(newPath, c.Inside)
	switch {
	case errno != 0:
	case name == "" || newName == "":
		errno = syscall.EBUSY
	default:
		errno = w.rename(actor{call: &k}, from, name, to, newName)
	}
	return k.done(errno)
}

func (h hostTree) Chown(c hal.Call, path string, uid, gid int) error {
	w := h.w
	k := h.enter(callChown, path, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	at, errno := w.open(path, c.Inside)
	if errno == syscall.ELOOP && w.isLink(path, c.Inside) {
		at.n, errno = w.linkAt(path, c.Inside), 0
	}
	switch {
	case errno != 0:
		return k.done(errno)
	case at.m.isReadOnly():
		return k.done(syscall.EROFS)
	}
	w.give(actor{call: &k}, at.n, path, at.n.ownedBy(uid, gid))
	return k.done(0)
}

func (h hostTree) Chmod(c hal.Call, path string, mode uint32) error {
	w := h.w
	k := h.enter(callChmod, path, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	at, errno := w.open(path, c.Inside)
	switch {
	case errno == syscall.ELOOP && w.isLink(path, c.Inside): // O_DIRECTORY looks at the type first
		return k.done(syscall.ENOTDIR)
	case errno != 0:
		return k.done(errno)
	case !at.n.isDir():
		return k.done(syscall.ENOTDIR)
	case at.m.isReadOnly():
		return k.done(syscall.EROFS)
	}
	w.give(actor{call: &k}, at.n, path, at.n.withMode(mode&0o7777))
	return k.done(0)
}

func (h hostTree) Symlink(c hal.Call, target, path string) error {
	w := h.w
	k := h.enter(callSymlink, path, c, &w.menus.file)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	dir, name, errno := w.beneath(path, c.Inside)
	switch {
	case target == "":
		errno = syscall.ENOENT
	case len(target) >= pathMax:
		errno = syscall.ENAMETOOLONG
	case errno != 0:
	case name == "" || dir.n.child(name) != nil:
		errno = syscall.EEXIST
	case dir.m.isReadOnly():
		errno = syscall.EROFS
	}
	if errno != 0 {
		return k.done(errno)
	}
	link := dir.n.newChild(hal.TypeSymlink, 0o777)
	link.link = target
	w.link(actor{call: &k}, dir, name, link)
	return k.done(0)
}

func (h hostTree) Readlink(c hal.Call, path string) (string, error) {
	w := h.w
	k := h.enter(callReadlink, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return "", k.done(errno)
	}
	at, errno := w.open(path, c.Inside)
	switch {
	case errno == syscall.ELOOP && w.isLink(path, c.Inside):
		return w.linkAt(path, c.Inside).link, k.done(0)
	case errno == 0 && at.n != nil:
		errno = syscall.EINVAL
	}
	return "", k.done(errno)
}

func (h hostTree) List(c hal.Call, path string) ([]hal.Entry, error) {
	w := h.w
	k := h.enter(callList, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	at, errno := w.open(path, c.Inside)
	switch {
	case errno == syscall.ELOOP && w.isLink(path, c.Inside): // O_DIRECTORY looks at the type first
		return nil, k.done(syscall.ENOTDIR)
	case errno != 0:
		return nil, k.done(errno)
	case !at.n.isDir():
		return nil, k.done(syscall.ENOTDIR)
	case at.n.gone:
		return nil, k.done(syscall.ENOENT)
	}
	if errno := w.isDenied(path); errno != 0 {
		return nil, k.done(errno)
	}
	at.n.isUnread = false
	entries := make([]hal.Entry, len(at.n.kids))
	for i, kid := range at.n.kids {
		entries[i] = hal.Entry{Name: kid.name, Type: kid.kind}
	}
	return entries, k.done(0)
}

func (h hostTree) Stat(c hal.Call, path string) (hal.Info, error) {
	w := h.w
	k := h.enter(callStat, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return hal.Info{}, k.done(errno)
	}
	dir, name, errno := w.beneath(path, c.Inside)
	if path == c.Inside.Path {
		if at, _, isInside, why := w.inside(path, c.Inside); isInside {
			dir, name, errno = at, "", why
		}
	}
	if errno == syscall.ELOOP && path == w.config.MoreDir { // a link is in its place, and is told of
		dir, _, errno = w.walk(gopath.Dir(path), walkNoLinks)
		name = gopath.Base(path)
	}
	if errno != 0 {
		return hal.Info{}, k.done(errno)
	}
	n := dir.n
	info := hal.Info{MountPoint: name == "" && n == dir.m.root && dir.m.parent != nil}
	if name != "" {
		n = dir.n.child(name)
		if n == nil {
			return hal.Info{}, k.done(syscall.ENOENT)
		}
		if w.mounts.child(dir.m, n) != nil {
			return hal.Info{MountPoint: true}, k.done(0) // the rest could not be told without stepping onto the mount
		}
	}
	info.Type, info.Inode, info.Mode, info.UID, info.GID = n.kind, n.inode, n.mode, n.uid, n.gid
	info.Device, info.Born, info.Mount = n.sb.dev, n.born(), dir.m.id
	info.Changed = (int64(n.changed)/int64(tick) + 1) * int64(tick) // no clock shows 0, which is not known
	if n.file != nil {
		info.Size = n.file.size
	}
	return info, k.done(0)
}
