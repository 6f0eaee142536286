package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal"
)

// watchSet is what an incarnation watches.
type watchSet struct {
	table       []func(at []string)
	tableMarked bool     // a notice is under way
	tableVague  bool     // which does not say where
	tableAt     []string // where the table has changed since the last one arrived
	dirs        []*dirWatch
	sockets     []*socketWatch
	paths       []*pathWatch
}

type pathWatch struct {
	path   string
	f      func()
	marked bool // a notice is under way
	ended  bool
}

type dirWatch struct {
	path   string
	f      func()
	marked bool
	names  []string // that have changed since somebody asked
	isAny  bool     // and more
}

type socketWatch struct {
	dir string
	f   func(hal.SocketEvent)
	// isTold of what was there at the start. That comes before all else, and has in it what came meanwhile.
	isTold bool
}

const (
	noticeMost     = 200 * time.Millisecond
	noticeLateMost = 30 * time.Second
)

var (
	siteTable = newSite("watch.mount-table")
	// siteTablePaths is whether a notice says where the table has changed.
	siteTablePaths = newSite("watch.mount-table.paths")
	siteDirectory  = newSite("watch.directory")
	// siteDirectoryNames is whether it is known which names in a directory have changed.
	siteDirectoryNames = newSite("watch.directory.names")
	siteSockets        = newSite("watch.plugin-sockets")
	sitePath           = newSite("watch.path")
)

// notify runs f on the owner of inc after a drawn time, sometimes twice.
func (w *World) notify(inc *incarnation, at *site, object string, f func()) {
	if inc.dead {
		return
	}
	h := &host{w, inc}
	wait := w.time(at, object, fastest, noticeMost)
	if w.happens(NoticeLate, at, object) {
		wait = w.time(at, object, time.Second, noticeLateMost)
	}
	w.sched.at(w.sched.now.Add(wait), at.hash, inc, func() { h.post(f) })
	if w.happens(NoticeDoubled, at, object) {
		wait += w.time(at, object, fastest, noticeLateMost)
		w.sched.at(w.sched.now.Add(wait), at.hash, inc, func() { h.post(f) })
	}
}

// watching returns the incarnation whose watches are to be told, nil if none lives.
func (w *World) watching() *incarnation {
	if w.AgentLives() {
		return w.inc
	}
	return nil
}

// tableChanged tells the watches of the mount table that a mount has come or gone at a path. Changes until the notice
// arrives are merged into it. One that arrives a second time, with nothing new, says that anything may have changed.
func (w *World) tableChanged(path string) {
	inc := w.watching()
	if inc == nil || len(inc.watches.table) == 0 {
		return
	}
	watches := &inc.watches
	watches.tableAt = append(watches.tableAt, path)
	if watches.tableMarked {
		return
	}
	watches.tableMarked = true
	watches.tableVague = w.happens(NoticeVague, siteTablePaths, "")
	w.notify(inc, siteTable, "", func() {
		at := watches.tableAt
		if slices.Sort(at); watches.tableVague {
			at = nil
		}
		watches.tableMarked, watches.tableVague, watches.tableAt = false, false, nil
		for _, f := range watches.table {
			f(slices.Compact(at))
		}
	})
}

// nameChanged tells the watches of directories and plugin sockets.
func (w *World) nameChanged(dir location, name string, k *node, isNew bool) {
	inc := w.watching()
	if inc == nil || len(inc.watches.dirs)+len(inc.watches.sockets)+len(inc.watches.paths) == 0 {
		return
	}
	if !isNew && len(inc.watches.paths) > 0 {
		w.pathGone(inc, w.pathTo(dir, name))
	}
	if len(inc.watches.dirs) > 0 {
		dirChanged(w, inc, w.mounts.spell(dir), name)
	}
	if k.isDir() {
		return
	}
	for _, s := range inc.watches.sockets {
		if isIn(w.mounts.spell(dir), s.dir) {
			w.socketNotice(inc, s, w.pathTo(dir, name))
		}
	}
}

// pathGone tells those that a directory led to.
func (w *World) pathGone(inc *incarnation, dir string) {
	for _, p := range inc.watches.paths {
		if p.marked || p.ended || !isIn([]byte(p.path), dir) {
			continue
		}
		p.marked = true
		w.notify(inc, sitePath, p.path, func() {
			p.marked = false
			if !p.ended {
				p.f()
			}
		})
	}
}

// isIn says whether a path is dir or lies below it.
func isIn(path []byte, dir string) bool {
	return len(path) >= len(dir) && string(path[:len(dir)]) == dir &&
		(len(path) == len(dir) || path[len(dir)] == '/' || dir == "/")
}

// contentChanged tells the watches of the directory that the file is in. A path that ends in a slash says that anything
// in it may have changed.
func (w *World) contentChanged(path string) {
	if inc := w.watching(); inc != nil && len(inc.watches.dirs) > 0 {
		at := strings.LastIndexByte(path, '/')
		dirChanged(w, inc, path[:max(at, 0)], path[at+1:])
	}
}

func dirChanged[Path string | []byte](w *World, inc *incarnation, dir Path, name string) {
	for _, d := range inc.watches.dirs {
		if d.path != string(dir) {
			continue
		}
		if name == "" {
			d.isAny = true
		} else if !d.isAny {
			d.names = append(d.names, name)
		}
		if !d.marked {
			d.marked = true
			w.notify(inc, siteDirectory, d.path, func() {
				d.marked = false
				d.f()
			})
		}
	}
}

// socketNotice tells of what is at path when the notice arrives.
func (w *World) socketNotice(inc *incarnation, s *socketWatch, path string) {
	w.notify(inc, siteSockets, path, func() {
		if s.isTold {
			s.f(w.socketAt(path))
		}
	})
}

func (w *World) socketAt(path string) hal.SocketEvent {
	e := hal.SocketEvent{Path: path}
	at, _, errno := w.walk(path, walkNoLastLink)
	if errno != 0 {
		return e
	}
	e.Present = at.n.kind == hal.TypeSocket
	if e.Present {
		e.Made = int64(at.n.inode)
	} else {
		e.Problem = "not a socket but a " + at.n.kind.String()
	}
	return e
}

type hostWatches struct{ *host }

func (h hostWatches) MountTable(f func(at []string)) {
	if !h.inc.dead {
		h.inc.watches.table = append(h.inc.watches.table, f)
	}
}

func (h hostWatches) Path(path string, f func()) (end func()) {
	watches := &h.inc.watches
	p := &pathWatch{path: path, f: f}
	if !h.inc.dead {
		watches.paths = append(watches.paths, p)
	}
	return func() {
		p.ended = true
		watches.paths = slices.DeleteFunc(watches.paths, func(o *pathWatch) bool { return o == p })
	}
}

func (h hostWatches) PluginSockets(dir string, f func(hal.SocketEvent)) {
	if h.inc.dead {
		return
	}
	s := &socketWatch{dir: dir, f: f}
	h.inc.watches.sockets = append(h.inc.watches.sockets, s)
	w, n := h.w, h.w.makeDirs(dir).n
	if s.isTold = len(n.kids) == 0; s.isTold {
		return
	}
	w.notify(h.inc, siteSockets, dir, func() {
		s.isTold = true
		all := w.sockets(nil, n, dir)
		slices.SortStableFunc(all, func(a, b hal.SocketEvent) int { return cmp.Compare(a.Made, b.Made) })
		for _, e := range all {
			s.f(e)
		}
	})
}

// sockets appends all that stands below a directory to a list.
func (w *World) sockets(to []hal.SocketEvent, n *node, path string) []hal.SocketEvent {
	for _, k := range n.kids {
		if k.isDir() {
			to = w.sockets(to, k, path+"/"+k.name)
		} else {
			to = append(to, w.socketAt(path+"/"+k.name))
		}
	}
	return to
}

// Directory is as inotify(7): a change is in the queue before the call that makes it returns, however late somebody
// looks there. The queue may overflow.
func (h hostWatches) Directory(dir string, f func()) (changed func() (names []string, isAny bool)) {
	d := &dirWatch{path: dir, f: f, marked: true, isAny: true}
	changed = func() (names []string, isAny bool) {
		slices.Sort(d.names)
		names, isAny = slices.Compact(d.names), d.isAny
		d.names, d.isAny = nil, false
		if isAny || len(names) > 0 && h.w.happens(NoticeVague, siteDirectoryNames, dir) {
			return nil, true
		}
		return names, false
	}
	if h.inc.dead {
		return changed
	}
	h.inc.watches.dirs = append(h.inc.watches.dirs, d)
	h.w.notify(h.inc, siteDirectory, dir, func() {
		d.marked = false
		d.f()
	})
	return changed
}
