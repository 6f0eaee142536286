package linux

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// Directory watches dir and what holds it, so that dir may come, go and be replaced.
func (w *watches) Directory(dir string, f func()) (changed func() (names []string, isAny bool)) {
	n, names := &notifier{runtime: w.host.runtime, f: f}, newNameQueue(dir)
	names.short = w.short
	follow := &follower{
		watches: w,
		watch:   func() []string { return existing(dir) },
		cares: func(path string) bool { // about dir, a name in it, or what leads to it
			return path == dir || filepath.Dir(path) == dir || strings.HasPrefix(dir, path+"/")
		},
		look: func(noticed bool) {
			if noticed && names.isUsed() || names.rescan() || noticed {
				n.post()
			}
		},
	}
	w.minds(follow, dir)
	isOther := follow.isOther
	follow.isOther = func() bool {
		is := isOther()
		if is {
			names.mayBeAny()
		}
		return is
	}
	w.host.watch(func() {
		follow.run()
		names.close()
	})
	return names.changed
}

// minds has a follower look once a mount has come or gone over its directory, over what leads there, or over something
// that it cares about.
func (w *watches) minds(f *follower, dir string) {
	f.mounted = make(chan struct{}, 1)
	lies := func() string { return where(dir) + w.index.lies(dir, f.cares) }
	w.index.subscribe(func(at []string) {
		matters := func(path string) bool { return isWithin(dir, path) || isWithin(path, dir) && f.cares(path) }
		if at != nil && !slices.ContainsFunc(at, matters) {
			return
		}
		select {
		case f.mounted <- struct{}{}:
		default: // the token that is there will do
		}
	})
	_, _ = w.index.update() // if that fails, the next rescan finds what it would tell
	before := lies()
	f.isOther = func() bool {
		was := before
		before = lies()
		return before != was
	}
}

// isWithin reports whether path is dir or below it.
func isWithin(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// where says which directory a path leads to: its filesystem, inode and mount.
func where(dir string) string {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, unix.AT_STATX_DONT_SYNC, unix.STATX_INO|unix.STATX_MNT_ID, &st) != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d %d %d", st.Dev_major, st.Dev_minor, st.Ino, st.Mnt_id)
}

// PluginSockets keeps what it last reported of each path, and reports the differences. It leaves out names that begin
// with a dot, and directories.
func (w *watches) PluginSockets(dir string, f func(hal.SocketEvent)) {
	s := &sockets{dir: dir, reported: map[string]nameState{}, tell: func(e hal.SocketEvent) {
		w.host.runtime.Post(func() { f(e) })
	}}
	follow := &follower{
		watches: w,
		watch:   s.directories,
		cares:   func(path string) bool { return !strings.HasPrefix(filepath.Base(path), ".") },
		look:    func(bool) { s.scan() },
	}
	w.minds(follow, dir)
	w.host.watch(follow.run)
}

type sockets struct {
	dir      string
	reported map[string]nameState // by path
	tell     func(hal.SocketEvent)
}

// directories makes dir if missing and returns it, what lies below it, and what holds it.
func (s *sockets) directories() []string {
	_ = os.MkdirAll(s.dir, 0o750) // if that fails, the next look tries again, and finds nothing
	dirs := existing(s.dir)
	s.walk(func(path string, info fs.FileInfo) {
		if info.IsDir() && path != s.dir {
			dirs = append(dirs, path)
		}
	})
	return dirs
}

// walk visits what lies below dir and follows no link. What vanishes meanwhile is left out.
func (s *sockets) walk(visit func(path string, info fs.FileInfo)) (complete bool) {
	complete = true
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			complete = complete && os.IsNotExist(err)
			return nil
		}
		if path != s.dir && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			complete = complete && os.IsNotExist(err)
			return nil
		}
		visit(path, info)
		return nil
	})
	return complete
}

func (s *sockets) scan() {
	seen, news := map[string]bool{}, []hal.SocketEvent{}
	complete := s.walk(func(path string, info fs.FileInfo) {
		if info.IsDir() {
			return
		}
		seen[path] = true
		problem, known := socketProblem(path, info)
		if !known {
			return // the next inspection tells; a descriptor that can't be had is no fault of the socket's
		}
		now := stateOfName(info)
		now.problem = problem
		if s.reported[path] != now {
			s.reported[path] = now
			e := hal.SocketEvent{Path: path, Present: problem == "", Problem: problem}
			if e.Present {
				e.Made = info.ModTime().UnixNano() // of a socket: the instant of its bind(2)
			}
			news = append(news, e)
		}
	})
	slices.SortStableFunc(news, func(a, b hal.SocketEvent) int { return cmp.Compare(a.Made, b.Made) })
	for _, e := range news {
		s.tell(e)
	}
	if !complete {
		return // a directory that can't be read is not an empty one
	}
	for path := range s.reported {
		if !seen[path] {
			delete(s.reported, path)
			s.tell(hal.SocketEvent{Path: path})
		}
	}
}

// socketProblem says why what is at path is not taken for a registration socket, "" if it is; not known if it can't
// be looked at now.
func socketProblem(path string, info fs.FileInfo) (problem string, known bool) {
	if info.Mode()&fs.ModeSymlink != 0 {
		return "is a symbolic link, which is not followed", true
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return "is not a socket", true
	}
	socket, err := openSocket(path)
	switch errno := errnoOf(err); {
	case err == nil:
		unix.Close(socket)
		return "", true
	case errno == syscall.EMFILE || errno == syscall.ENFILE || errno == syscall.ENOMEM || errno == syscall.EINTR ||
		errno == syscall.ENOENT:
		return "", false
	}
	return err.Error(), true
}
