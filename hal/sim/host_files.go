package sim

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

type hostFiles struct{ *host }

var (
	callRead     = newCallSite("files.read", hal.ClassFile, false)
	callReadAt   = newCallSite("files.read-at", hal.ClassFile, false)
	callWrite    = newCallSite("files.write", hal.ClassFile, true)
	callWriteAt  = newCallSite("files.write-at", hal.ClassFile, true)
	callAllocate = newCallSite("files.allocate", hal.ClassFile, true)
	callSync     = newCallSite("files.sync", hal.ClassFile, true)
)

func (h hostFiles) Read(c hal.Call, path string, limit int64) ([]byte, error) {
	k := h.enter(callRead, path, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	file, errno := h.w.readable(path, c.Inside)
	switch {
	case errno != 0:
	case file.size > limit:
		errno = syscall.EFBIG
	default:
		b := h.w.buffer(file.size)
		file.fill(b)
		return b, k.done(0)
	}
	return nil, k.done(errno)
}

// readable returns the content of a file that can be read.
func (w *World) readable(path string, in hal.Inside) (*content, syscall.Errno) {
	at, errno := w.open(path, in)
	denied := w.isDenied(path)
	switch {
	case errno != 0:
		return nil, errno
	case denied != 0:
		return nil, denied
	case at.n.isDir():
		return nil, syscall.EISDIR
	case at.n.kind == hal.TypeSocket:
		return nil, syscall.ENXIO
	case at.n.file == nil:
		return nil, syscall.EINVAL
	}
	return at.n.file, 0
}

func (h hostFiles) ReadAt(c hal.Call, path string, offset int64, b []byte) (int, error) {
	k := h.enter(callReadAt, path, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return 0, k.done(errno)
	}
	file, errno := h.w.readable(path, c.Inside)
	if errno == 0 && offset < 0 {
		errno = syscall.EINVAL
	}
	n := 0
	if errno == 0 && offset < file.size {
		n = copy(b, file.read()[offset:])
	}
	return n, k.done(errno)
}

func (h hostFiles) Write(c hal.Call, path string, data []byte, mode uint32) error {
	w := h.w
	k := h.enter(callWrite, path, c, &w.menus.file)
	if errno, ok := k.acts(); !ok && k.fault != NoSpace {
		return k.done(errno)
	}
	n, errno := k.create(path, mode)
	if errno != 0 {
		return k.done(errno)
	}
	w.empty(n)
	if k.fault == NoSpace { // a part is written, or nothing
		w.put(n, 0, data[:len(data)/2])
		return k.leave(syscall.ENOSPC, hal.Unknown)
	}
	w.put(n, 0, k.cut(data))
	k.written(path)
	return k.done(0)
}

// cut shortens what is written if the agent dies between open(2) with O_TRUNC and the end of write(2).
func (k *call) cut(data []byte) []byte {
	if k.crash != CrashAfter {
		return data
	}
	switch k.w.chooser.Pick(k.subject.id(k.site.amount), []uint32{2, 1, 1}) {
	case 1:
		return nil
	case 2:
		return data[:len(data)/2]
	}
	return data
}

// create opens a file, making it with mode if it is missing.
func (k *call) create(path string, mode uint32) (*node, syscall.Errno) {
	w := k.w
	dir, name, errno := w.beneath(path, k.c.Inside)
	if errno != 0 {
		return nil, errno
	}
	if name == "" {
		return nil, syscall.EISDIR
	}
	n := dir.n.child(name)
	if n == nil && dir.m.isReadOnly() {
		return nil, syscall.EROFS
	}
	if n == nil {
		n = dir.n.newChild(hal.TypeFile, mode)
		w.link(actor{call: k}, dir, name, n)
		return n, 0
	}
	at, errno := w.open(path, toChange(path, k.c.Inside))
	switch {
	case errno != 0:
		return nil, errno
	case at.n.isDir():
		return nil, syscall.EISDIR
	case at.n.file == nil:
		return nil, syscall.ENXIO
	case at.m.isReadOnly():
		return nil, syscall.EROFS
	}
	return at.n, 0
}

// toChange is in for a call that changes what is at a path: the mount point itself is a name of the filesystem below.
func toChange(path string, in hal.Inside) hal.Inside {
	if path == in.Path {
		return hal.Inside{}
	}
	return in
}

func (k *call) written(path string) {
	k.w.contentChanged(path)
	if len(k.w.observe) > 0 {
		k.w.tell(actor{call: k}, Effect{Kind: EffectWritten, Path: path, Outcome: hal.Done})
	}
}

func (h hostFiles) WriteAt(c hal.Call, path string, offset int64, data []byte) error {
	w := h.w
	k := h.enter(callWriteAt, path, c, &w.menus.file)
	errno, ok := k.acts()
	if offset < 0 && !k.expired {
		return k.done(syscall.EINVAL)
	}
	at, openErrno := location{}, syscall.Errno(0)
	if ok || k.fault == NoSpace {
		at, openErrno = w.open(path, toChange(path, c.Inside))
	}
	switch {
	case openErrno != 0:
		return k.done(openErrno)
	case at.n != nil && at.n.isDir():
		return k.done(syscall.EISDIR)
	case at.n != nil && at.n.file == nil:
		return k.done(syscall.ENXIO)
	case at.n != nil && at.m.isReadOnly():
		return k.done(syscall.EROFS)
	case at.n != nil && offset > at.n.file.size:
		return k.done(syscall.ERANGE)
	case k.fault == NoSpace && offset+int64(len(data)) > at.n.file.size:
		return k.done(syscall.ENOSPC)
	case !ok && k.fault != NoSpace: // EIO at write(2): nothing reached the page cache, or a part did
		return k.leave(errno, hal.Unknown)
	}
	if len(data) > pageSize { // what fits a page is written as a whole
		data = k.cut(data)
	}
	w.put(at.n, offset, data)
	k.written(path)
	return k.done(0)
}

func (h hostFiles) Allocate(c hal.Call, path string, size int64, mode uint32) error {
	w := h.w
	k := h.enter(callAllocate, path, c, &w.menus.file)
	if errno, ok := k.acts(); !ok && k.fault != NoSpace {
		return k.done(errno)
	}
	if size <= 0 {
		return k.done(syscall.EINVAL) // as fallocate(2)
	}
	n, errno := k.create(path, mode)
	if errno != 0 {
		return k.done(errno)
	}
	if k.fault == NoSpace { // the file was made, its blocks were not found
		return k.leave(syscall.ENOSPC, hal.Unknown)
	}
	if died := k.crash == CrashAfter && k.subject.nth&1 == 1; size > n.file.size && !died {
		w.resize(n, size)
	}
	k.written(path)
	return k.done(0)
}

func (h hostFiles) Sync(c hal.Call, path string) error {
	w := h.w
	k := h.enter(callSync, path, c, &w.menus.fsync)
	if errno, ok := k.acts(); !ok {
		return k.done(errno)
	}
	at, errno := w.open(path, c.Inside)
	if errno != 0 {
		return k.done(errno)
	}
	outcome := hal.Done
	if p := at.n.sb.pages; p != nil {
		if k.fault == SyncFails {
			outcome = hal.NotDone
			if at.n.file != nil {
				at.n.file.lose()
			}
		} else {
			p.sync(at.n)
		}
	}
	if len(w.observe) > 0 {
		w.tell(actor{call: &k}, Effect{Kind: EffectSynced, Path: path, Outcome: outcome})
	}
	if outcome != hal.Done {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(0)
}
