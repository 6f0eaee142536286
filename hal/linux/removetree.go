package linux

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

const (
	// openDirs is how many directories of the tree one step keeps open.
	openDirs = 24
	// direntBytes is how much of each open directory one step holds in memory.
	direntBytes = 8 << 10
)

// RemoveTree walks with directory handles and reaches each name from the handle of its directory, so the length of
// paths does not matter. A step down is an openat2(2) with RESOLVE_NO_XDEV and RESOLVE_NO_SYMLINKS: it meets a mount or
// a link that came a moment ago, and stops there.
//
// Memory and descriptors depend neither on depth nor on width. A directory deeper than openDirs is moved up to the top
// of the tree, which makes the tree flat; where that is not possible, the oldest handle is closed, and the next step
// begins at the top again.
func (t *tree) RemoveTree(c hal.Call, path string, limit int) (more bool, err error) {
	err = t.host.within(c, hal.ClassFile, "remove tree", path, func() error {
		if limit < 1 {
			return failure(hal.ClassFile, "remove tree", path,
				because(syscall.EINVAL, fmt.Sprintf("a limit of %d names", limit)))
		}
		parent, name, err := t.host.openParent(path, c.Inside)
		if err == unix.ENOENT {
			return nil
		}
		if err != nil {
			return failure(hal.ClassFile, "remove tree", path, err)
		}
		defer unix.Close(parent)
		r := removal{path: path, left: limit, frames: make([]frame, 0, openDirs)}
		defer r.close()
		if more, err = r.run(parent, name); err != nil {
			return failure(hal.ClassFile, "remove tree", path, err)
		}
		return nil
	})
	return more, err
}

// removal is one step of a RemoveTree.
type removal struct {
	path   string
	left   int     // names that may still be removed, moved up or passed over
	done   int     // names that were removed or moved up
	frames []frame // the directories that are open, from the top of the tree down
	spare  [][]byte
	why    error // the first reason for which a name was passed over
	stays  bool  // nothing is moved up, as on a filesystem that refuses it: tests
}

// frame is one open directory of the tree.
type frame struct {
	parent  int    // the handle that name is in; not this frame's to close
	name    string // in parent
	fd      int
	buf     []byte
	rest    []byte // what was read and not yet looked at
	changed bool   // since the directory was last read from its beginning
	passed  bool   // something in it was passed over
	isCut   bool   // parent is closed
}

// run reports whether anything is left after a step that has removed something. A step that could remove nothing fails.
func (r *removal) run(parent int, name string) (more bool, err error) {
	r.take(nil, parent, name, unix.DT_UNKNOWN)
	for isCut := false; len(r.frames) > 0 && r.left > 0 && !isCut; {
		top := &r.frames[len(r.frames)-1]
		name, kind, err := top.next()
		switch {
		case err != nil:
			r.pass(top, "", err)
			r.leave(top)
		case name != "":
			r.take(top, top.fd, name, kind)
		case top.isCut:
			isCut = true // what it is in is closed: the next step begins at the top
		default:
			r.leave(top)
		}
	}
	switch {
	case r.why != nil && r.done == 0:
		return false, r.why
	case r.why != nil || len(r.frames) > 0:
		return true, nil //nolint:nilerr // something was removed: it is tried again
	}
	return false, nil
}

// take removes a name, or enters it if it is a directory that holds something.
func (r *removal) take(in *frame, dir int, name string, kind byte) {
	err := r.attempt(in, dir, name, func() error { return removeName(dir, name, kind) })
	switch err {
	case nil:
		r.count(in)
		return
	case unix.ENOENT:
		return
	case unix.ENOTEMPTY, unix.EEXIST:
	default:
		r.pass(in, name, err)
		return
	}
	if len(r.frames) == openDirs {
		if r.moveUp(in, name) {
			return
		}
		r.cut()
		in = &r.frames[len(r.frames)-1]
	}
	fd, err := openat2(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolveBelow)
	switch err {
	case nil:
		r.frames = append(r.frames, frame{parent: dir, name: name, fd: fd, buf: r.buffer()})
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP: // it is not what it was a moment ago: the directory is read again
	default:
		r.pass(in, name, err)
	}
}

// removeName removes a name that is no directory, or an empty directory: else ENOTEMPTY.
func removeName(dir int, name string, kind byte) error {
	if kind != unix.DT_DIR {
		if err := unix.Unlinkat(dir, name, 0); err != unix.EISDIR {
			return err
		}
	}
	return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
}

// attempt repeats what was refused once, if a flag of the file or of its directory was the reason and could be cleared.
func (r *removal) attempt(in *frame, dir int, name string, do func() error) error {
	err := do()
	if err != unix.EPERM && err != unix.EACCES {
		return err
	}
	cleared := in != nil && clearFlags(in.fd)
	if clearFlagsAt(dir, name) || cleared {
		return do()
	}
	return err
}

// leave removes the directory that was read to its end, or reads it again: names that come or go while a directory is
// read may be left out (readdir(3)).
func (r *removal) leave(top *frame) {
	above := (*frame)(nil)
	if len(r.frames) > 1 {
		above = &r.frames[len(r.frames)-2]
	}
	if top.passed {
		if above != nil {
			above.passed = true
		}
		r.pop()
		return
	}
	err := r.attempt(above, top.parent, top.name,
		func() error { return unix.Unlinkat(top.parent, top.name, unix.AT_REMOVEDIR) })
	switch {
	case err == nil:
		r.count(above)
		r.pop()
	case err == unix.ENOENT || err == unix.ENOTDIR:
		r.pop() // somebody else has removed or replaced it
	case (err == unix.ENOTEMPTY || err == unix.EEXIST) && top.changed:
		if _, err = unix.Seek(top.fd, 0, unix.SEEK_SET); err == nil {
			top.changed, top.rest = false, nil
			return
		}
		fallthrough
	default:
		name := top.name
		r.pop()
		r.pass(above, name, err)
	}
}

// count notes that a name of the directory went.
func (r *removal) count(in *frame) {
	r.done++
	r.left--
	if in != nil {
		in.changed = true
	}
}

// pass leaves a name, or with "" the directory itself, and notes why.
func (r *removal) pass(in *frame, name string, err error) {
	r.left--
	if in != nil {
		in.passed = true
	}
	if r.why != nil {
		return
	}
	at := r.at(name)
	switch {
	case err == unix.EXDEV, err == unix.EBUSY && in != nil && isMountPoint(in.fd, name), err == unix.EBUSY && in == nil:
		err = because(syscall.EBUSY, "a mount is on "+at)
	case err == unix.EPERM || err == unix.EACCES:
		err = because(errnoOf(err), at+": "+err.Error()+": look at its attributes with lsattr(1)")
	default:
		err = because(errnoOf(err), at+": "+err.Error())
	}
	r.why = err
}

func isMountPoint(dir int, name string) bool {
	_, err := statAt(dir, name)
	return err == unix.EXDEV
}

// longestPath bounds a path in an error.
const longestPath = 400

// at is the path of a name in the directory that is open last. Containers choose names: what can't be printed is
// quoted.
func (r *removal) at(name string) string {
	at := r.path
	for i := 1; i < len(r.frames); i++ {
		if r.frames[i].isCut {
			at += "/..."
		}
		at += "/" + printable(r.frames[i].name)
	}
	if name != "" && len(r.frames) > 0 {
		at += "/" + printable(name)
	}
	if len(at) > longestPath {
		at = at[:longestPath/2] + "..." + at[len(at)-longestPath/2:]
	}
	return strings.ToValidUTF8(at, "?")
}

func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// moveUp moves a directory to the top of the tree, under a name that nothing else has.
func (r *removal) moveUp(in *frame, name string) bool {
	if r.stays {
		return false
	}
	top := &r.frames[0]
	fresh := fmt.Sprintf(".deep.%016x", rand.Uint64())
	err := r.attempt(in, in.fd, name, func() error { return unix.Renameat(in.fd, name, top.fd, fresh) })
	if err != nil {
		return false
	}
	r.count(in)
	top.changed = true
	return true
}

// cut makes room for one more open directory: the oldest below the top is closed.
func (r *removal) cut() {
	old := r.frames[1]
	_ = unix.Close(old.fd)
	r.spare = append(r.spare, old.buf)
	r.frames = append(r.frames[:1], r.frames[2:]...)
	r.frames[1].isCut = true
}

func (r *removal) pop() {
	top := r.frames[len(r.frames)-1]
	_ = unix.Close(top.fd)
	r.spare = append(r.spare, top.buf)
	r.frames = r.frames[:len(r.frames)-1]
}

func (r *removal) close() {
	for len(r.frames) > 0 {
		r.pop()
	}
}

func (r *removal) buffer() []byte {
	if len(r.spare) == 0 {
		return make([]byte, direntBytes)
	}
	buf := r.spare[len(r.spare)-1]
	r.spare = r.spare[:len(r.spare)-1]
	return buf
}

// next returns the next name of a directory, "" at its end.
func (f *frame) next() (name string, kind byte, err error) {
	for {
		if len(f.rest) == 0 {
			n, err := unix.Getdents(f.fd, f.buf)
			if err != nil && err != unix.ENOENT { // ENOENT: somebody else has removed it
				return "", 0, err
			}
			if n <= 0 {
				return "", 0, nil
			}
			f.rest = f.buf[:n]
		}
		name, kind, f.rest = dirent(f.rest)
		if name != "." && name != ".." {
			return name, kind, nil
		}
	}
}

// The flags of ioctl_iflags(2) that keep a name from going. Containers may set them if they have CAP_LINUX_IMMUTABLE.
const protecting = unix.STATX_ATTR_IMMUTABLE | unix.STATX_ATTR_APPEND

// clearFlags reports whether the file had one of those flags and has none now.
func clearFlags(fd int) bool {
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if err != nil || flags&protecting == 0 {
		return false
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, int(flags&^protecting)) == nil
}

// clearFlagsAt is clearFlags for a name. It opens directories and files with one name alone: to open a device may do
// anything, and a file that has another name may be somebody's who protects it there.
func clearFlagsAt(dir int, name string) bool {
	info, err := statAt(dir, name)
	if err != nil || info.Type != hal.TypeDirectory && info.Type != hal.TypeFile {
		return false
	}
	fd, err := openat2(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0, resolveBelow)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false
	}
	isDir, isFile := st.Mode&unix.S_IFMT == unix.S_IFDIR, st.Mode&unix.S_IFMT == unix.S_IFREG
	return (isDir || isFile && st.Nlink == 1) && clearFlags(fd)
}
