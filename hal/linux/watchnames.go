package linux

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// nameQueue says which names of a directory have changed. It has an inotify(7) queue of its own, and reads it when it
// is asked: the kernel has put an event there before the call that made the change returns. So it misses no change that
// was made before the question, except those that inotify does not report. Where these are possible, the answer is that
// anything may have changed: on a filesystem that others change behind the kernel's back, and where a file has another
// name, by which it may be written. A rescan finds the others, such as those of mmap(2).
type nameQueue struct {
	dir   string
	short *shortage

	mu      sync.Mutex
	isAsked bool
	// isClosed: nothing is watched any more.
	isClosed bool
	fd       int    // of inotify, -1 without one
	watched  string // the directory that is watched, as where has it, "" for none
	isAny    bool
	names    map[string]bool // what has changed, and nobody has asked since
	is       contents        // as last reported
}

// contents tells two states of a directory apart, as far as names, inodes, sizes and times can.
type contents struct {
	names    map[string]nameState // "" is the directory if it can't be read
	hasLinks bool                 // a file has more than one name
}

// nameState changes when a name is replaced, written, or given another owner, mode or name.
type nameState struct {
	inode          uint64
	mode           fs.FileMode
	uid            uint32
	size           int64 // times alone don't tell apart what happens within a tick of the kernel's clock
	hasLinks       bool
	written, moved syscall.Timespec
	problem        string
}

func stateOfName(info fs.FileInfo) nameState {
	is := nameState{mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		is.inode, is.uid, is.size, is.hasLinks = st.Ino, st.Uid, st.Size, st.Nlink > 1
		is.written, is.moved = st.Mtim, st.Ctim
	}
	return is
}

func newNameQueue(dir string) *nameQueue {
	return &nameQueue{dir: dir, short: newShortage(nil), fd: -1, names: map[string]bool{}}
}

// contentsOf looks at a directory.
func contentsOf(dir string) contents {
	c := contents{names: map[string]nameState{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.names[""] = nameState{problem: err.Error()}
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			c.take(e.Name(), info)
		}
	}
	return c
}

func (c *contents) take(name string, info fs.FileInfo) {
	c.names[name] = stateOfName(info)
	st, ok := info.Sys().(*syscall.Stat_t)
	c.hasLinks = c.hasLinks || ok && st.Nlink > 1 && !info.IsDir()
}

// changed is what [hal.Watches] has of Directory.
func (q *nameQueue) changed() (names []string, isAny bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isAsked = true
	q.drain()
	if q.watched == "" || q.watched != where(q.dir) {
		q.begin()
	}
	names, isAny = slices.Sorted(maps.Keys(q.names)), q.isAny || q.watched == "" || q.is.hasLinks
	clear(q.names)
	q.isAny = false
	if isAny {
		q.is = contentsOf(q.dir)
		return nil, true
	}
	for _, name := range names {
		delete(q.is.names, name)
		if info, err := os.Lstat(filepath.Join(q.dir, name)); err == nil {
			q.is.take(name, info)
		}
	}
	return names, false
}

// begin watches the directory that is there now. What changed in it before is not known.
func (q *nameQueue) begin() {
	q.end()
	q.isAny = true
	var err error
	defer func() { q.short.has(q, err) }()
	at := where(q.dir)
	if q.isClosed || at == "" || !reportsAll(q.dir) {
		return
	}
	var fd int
	fd, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return
	}
	q.fd = fd
	const mask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB |
		unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	if _, err = unix.InotifyAddWatch(fd, q.dir, mask); err == nil && where(q.dir) == at {
		q.watched = at
	}
}

// end ends the watch.
func (q *nameQueue) end() {
	if q.fd >= 0 {
		unix.Close(q.fd)
	}
	q.fd, q.watched = -1, ""
}

// drain reads what is in the queue.
func (q *nameQueue) drain() {
	var buf [16 << 10]byte
	for q.fd >= 0 {
		n, err := unix.Read(q.fd, buf[:])
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return
		case err != nil || n <= 0:
			q.end()
			return
		}
		for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			rest = q.event(rest)
		}
	}
}

// event takes in the first struct inotify_event of buf: watch 4 bytes, mask 4, cookie 4, length of the name 4, the
// name.
func (q *nameQueue) event(buf []byte) (rest []byte) {
	mask := binary.NativeEndian.Uint32(buf[4:])
	size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
	name, _, _ := bytes.Cut(buf[unix.SizeofInotifyEvent:size], []byte{0})
	const over = unix.IN_IGNORED | unix.IN_UNMOUNT | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF
	if mask&over != 0 {
		q.watched = ""
	}
	if len(name) == 0 { // an overflow, or it is about the directory
		q.isAny = true
	} else {
		q.names[string(name)] = true
	}
	return buf[size:]
}

// isUsed reports whether somebody asks, who finds what a notice is about.
func (q *nameQueue) isUsed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.isAsked
}

// close ends all.
func (q *nameQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end()
	q.isClosed = true
}

// mayBeAny has the next answer be that anything may have changed.
func (q *nameQueue) mayBeAny() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isAny = true
}

// rescan looks at the directory, and reports whether it has changed. If inotify has not reported all
// changes, the next answer is that anything may have changed.
func (q *nameQueue) rescan() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := contentsOf(q.dir)
	q.drain() // after the inspection: what it has seen is reported by now
	isOther := q.isAsked && q.watched != where(q.dir)
	untold := func(name string) {
		isOther = true
		q.isAny = q.isAny || !q.names[name]
	}
	for name, is := range now.names {
		if was, ok := q.is.names[name]; !ok || was != is {
			untold(name)
		}
	}
	for name := range q.is.names {
		if _, ok := now.names[name]; !ok {
			untold(name)
		}
	}
	q.is = now
	return isOther
}

// local are the filesystems that nobody changes but by this kernel (statfs(2)).
var local = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC,
	unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
}

// reportsAll says whether inotify reports each change in a directory.
func reportsAll(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && slices.Contains(local, int64(st.Type))
}
