package linux

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// places follows the names that lead to paths: one inotify(7) instance for all, a watch for each directory on the way,
// none on the directories themselves, in which containers work. Where there is no watch, as fs.inotify.max_user_watches
// is reached, and for what happens just before there is one, all paths are looked at every rescanEvery.
type places struct {
	host *Host

	mu    sync.Mutex
	queue *os.File
	fd    int // of queue, -1 without one
	// unopened is why there is no queue.
	unopened error
	// unwatched: there is no inotify instance to be had, for tests.
	unwatched bool
	dirs      map[string]*watchedDir
	byWatch   map[int32]*watchedDir
	all       map[*watchedPath]bool
}

// watchedDir is a directory on the way to watched paths.
type watchedDir struct {
	path    string
	watch   int32                     // -1 is none
	isShort bool                      // there is none because of a limit, and it is tried again
	names   map[string][]*watchedPath // those that a name in it leads to
}

type watchedPath struct {
	path   string
	is     inode // what it was when it was looked at last
	notice *notifier
	ended  atomic.Bool
}

func (w *watches) Path(path string, f func()) (end func()) {
	p := w.places
	watched := &watchedPath{path: path, notice: &notifier{runtime: w.host.runtime}}
	watched.notice.f = func() {
		if !watched.ended.Load() {
			f()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.begin(w.rescanEvery)
	}
	p.all[watched] = true
	var err error
	p.eachStep(path, func(dir, name string) {
		d := p.dirs[dir]
		if d == nil {
			d = &watchedDir{path: dir, watch: -1, names: map[string][]*watchedPath{}}
			p.dirs[dir] = d
		}
		if d.watch < 0 {
			err = cmp.Or(p.add(d), err)
		}
		d.names[name] = append(d.names[name], watched)
	})
	if err != nil { // else others may be short still
		w.short.has(p, err)
	}
	watched.is = inodeAt(path)
	return func() { p.forget(watched) }
}

// begin opens the queue; without one there is the rescan alone.
func (p *places) begin(rescanEvery time.Duration) {
	p.dirs, p.byWatch, p.all = map[string]*watchedDir{}, map[int32]*watchedDir{}, map[*watchedPath]bool{}
	p.fd = -1
	p.host.watch(func() {
		for !p.host.stopped() {
			p.host.pause(rescanEvery)
			p.rewatch()
			p.rescan()
		}
	})
	p.open()
}

// open opens the queue, if that can be; without one there is the rescan alone.
func (p *places) open() {
	if p.unwatched || p.fd >= 0 {
		return
	}
	if p.fd, p.unopened = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); p.unopened == nil {
		p.queue = os.NewFile(uintptr(p.fd), "inotify") // Fd of it would make it block
		p.host.watch(p.follow)
	}
}

// rewatch tries again to watch what limits have kept from being watched.
func (p *places) rewatch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open()
	err := p.unopened
	for _, d := range p.dirs {
		if err == nil && d.isShort { // one that fails speaks for all
			err = p.add(d)
		}
	}
	p.host.watches.short.has(p, err)
}

// eachStep calls f with each directory that leads to path, from the root directory on, and the name in it.
func (p *places) eachStep(path string, f func(dir, name string)) {
	for at := path; at != p.host.options.RootDir && len(at) > len(p.host.options.RootDir); at = filepath.Dir(at) {
		f(filepath.Dir(at), filepath.Base(at))
	}
}

// add watches a directory. An error is that of a limit.
func (p *places) add(d *watchedDir) error {
	if p.fd < 0 {
		d.isShort = true
		return p.unopened
	}
	const mask = unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW
	watch, err := unix.InotifyAddWatch(p.fd, d.path, mask)
	if d.isShort = shortOf(err) != ""; d.isShort {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // what is not there needs no watch
	}
	// One directory has one watch: by another path, as after a rename, it is the same.
	if other := p.byWatch[int32(watch)]; other != nil && other != d {
		other.watch = -1
		p.tell(other, "")
	}
	d.watch = int32(watch)
	p.byWatch[d.watch] = d
	return nil
}

func (p *places) forget(w *watchedPath) {
	if w.ended.Swap(true) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, w)
	p.eachStep(w.path, func(dir, name string) {
		d := p.dirs[dir]
		if d == nil {
			return
		}
		if at := slices.Index(d.names[name], w); at >= 0 {
			d.names[name] = slices.Delete(d.names[name], at, at+1)
		}
		if len(d.names[name]) == 0 {
			delete(d.names, name)
		}
		if len(d.names) > 0 {
			return
		}
		delete(p.dirs, dir)
		p.drop(d)
	})
}

// drop ends the watch of a directory.
func (p *places) drop(d *watchedDir) {
	if d.watch >= 0 {
		delete(p.byWatch, d.watch)
		_, _ = unix.InotifyRmWatch(p.fd, uint32(d.watch)) // it may have ended by itself, with its directory
		d.watch = -1
	}
}

// tell posts to those that a name in d leads to, "" for all.
func (p *places) tell(d *watchedDir, name string) {
	for n, led := range d.names {
		if name != "" && n != name {
			continue
		}
		for _, w := range led {
			w.notice.post()
		}
	}
}

func (p *places) follow() {
	go func() { // a read that waits ends with the queue
		<-p.host.stop
		_ = p.queue.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := p.queue.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			rest = p.event(rest)
		}
		p.mu.Unlock()
	}
}

// event takes in the first struct inotify_event of buf: watch 4 bytes, mask 4, cookie 4, length of the name 4, the
// name.
func (p *places) event(buf []byte) (rest []byte) {
	watch, mask := int32(binary.NativeEndian.Uint32(buf)), binary.NativeEndian.Uint32(buf[4:])
	size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[12:]))
	name, _, _ := bytes.Cut(buf[unix.SizeofInotifyEvent:size], []byte{0})
	d := p.byWatch[watch]
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		for w := range p.all {
			w.notice.post()
		}
	case d == nil:
	case mask&unix.IN_IGNORED != 0: // the directory is gone
		delete(p.byWatch, watch)
		d.watch = -1
		p.tell(d, "")
	case len(name) > 0 && len(d.names[string(name)]) > 0:
		p.tell(d, string(name))
		// What is watched below that name is not what will be found there.
		moved := d.path + "/" + string(name)
		for path, below := range p.dirs {
			if path == moved || strings.HasPrefix(path, moved+"/") {
				p.drop(below)
			}
		}
	}
	return buf[size:]
}

// rescan looks at all paths. The inspection is at the local filesystem of the root directory, as that of each start.
func (p *places) rescan() {
	p.mu.Lock()
	all := maps.Clone(p.all)
	p.mu.Unlock()
	for w := range all {
		if is := inodeAt(w.path); is != w.is {
			w.is = is
			w.notice.post()
		}
	}
}

// inode is what is at a path, mounts included, or why that is not known.
type inode struct {
	number uint64
	born   int64
	err    error // an errno
}

func inodeAt(path string) inode {
	var st unix.Statx_t
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	if err := unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return inode{err: err}
	}
	return inode{number: st.Ino, born: bornAt(&st)}
}
