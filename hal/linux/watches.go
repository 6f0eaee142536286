package linux

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/volnode/volnode/hal"
)

// watches is hal.Watches.
type watches struct {
	host  *Host
	index *mountIndex
	// rescanEvery is how often a directory is looked at without a notice: inotify(7) loses what happens in a directory
	// before it is watched.
	rescanEvery time.Duration
	places      *places
	short       *shortage
}

// notifier posts f to the owner, at most one at a time: while one waits to run, another change adds nothing.
type notifier struct {
	runtime *owner
	waiting atomic.Bool
	f       func()
}

func (n *notifier) post() {
	if n.waiting.Swap(true) {
		return
	}
	n.runtime.Post(func() {
		n.waiting.Store(false) // before f looks: what changes while it looks is posted again
		n.f()
	})
}

// tableNews is the changes of the mount table that no subscriber knows yet.
type tableNews struct {
	*notifier
	mu   sync.Mutex
	at   []string
	some bool // at is all of it
}

func (n *tableNews) add(at []string) {
	n.mu.Lock()
	if at == nil || len(n.at) > mostNews {
		n.at, n.some = nil, false
	} else if n.some {
		n.at = append(n.at, at...)
	}
	n.mu.Unlock()
	n.post()
}

// mostNews is how many paths are kept for an owner who does not come to hear them.
const mostNews = 1 << 16

// take returns the news, nil if anything may have changed; false if there are none: an earlier call returned those of
// this wake-up.
func (n *tableNews) take() (at []string, isAny bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, isAny = n.at, len(n.at) > 0 || !n.some
	n.at, n.some = nil, true
	slices.Sort(at)
	return slices.Compact(at), isAny
}

// MountTable follows the kernel's mount events (fanotify(7), FAN_REPORT_MNT) and POLLPRI of /proc/self/mountinfo
// (proc_pid_mountinfo(5)), and lives with the latter alone where there are no events. The poll is followed in any case:
// it also reports a remount and mount_setattr(2), which have no event.
//
// NB: neither reports a new propagation type given by mount(2), as by mount --make-shared. A remount at the very time
// of a mount or an unmount counts as a part of that, and has no report of its own.
func (w *watches) MountTable(f func(at []string)) {
	news := &tableNews{}
	news.notifier = &notifier{runtime: w.host.runtime, f: func() {
		if at, isAny := news.take(); isAny {
			f(at)
		}
	}}
	w.index.subscribe(news.add)
	w.host.watch(func() {
		for !w.host.stopped() {
			if t, err := openTableNotices(w.index.queue()); err == nil {
				w.followMounts(t, news)
				t.close()
				continue
			}
			// Out of descriptors, or no /proc: a notice that may be for nothing is better than none.
			news.add(nil)
			w.host.pause(lookAgain)
		}
	})
}

// solveAfter is how long a change that the poll has reported may wait for the event that explains it. The kernel
// queues the event a moment after.
const solveAfter = 20 * time.Millisecond

// followMounts reports at the start that anything may have changed. Then it updates the index at each wake-up, which
// may be for nothing. All of them go through one Read, since a wake-up between two would be lost.
func (w *watches) followMounts(t *tableNotices, news *tableNews) {
	isFirst := true
	awaitPoll(t.set, w.host.stop, func(uintptr) bool {
		isPuzzled, err := w.index.update()
		if isPuzzled {
			w.host.pause(solveAfter)
			w.index.giveUp()
		}
		if isFirst || err != nil { // what has changed is not known
			news.add(nil)
		}
		isFirst = false
		return false
	})
}

func (h *Host) stopped() bool {
	select {
	case <-h.stop:
		return true
	default:
		return false
	}
}

// pause waits for d, or less if the host is closed.
func (h *Host) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-h.stop:
	}
}

// follower looks at a directory, whenever something may have changed in it, until the host is closed.
type follower struct {
	watches *watches
	// watch returns the directories to watch. It is asked before each inspection, since which exist changes.
	watch func() []string
	// look looks. noticed is false for an inspection made without a notice.
	look func(noticed bool)
	// cares reports whether a notice about path is worth a look.
	cares func(path string) bool
	// mounted has a token when the mount table has changed; isOther reports whether that is worth a look. Both may be
	// nil.
	mounted chan struct{}
	isOther func() bool
}

func (f *follower) run() {
	stop := f.watches.host.stop
	ticker := time.NewTicker(f.watches.rescanEvery)
	defer ticker.Stop()
	notify := &fsnotify.Watcher{} // tells nothing: while no other is to be had, the rescan is all there is
	defer func() {
		if notify.Events != nil {
			_ = notify.Close()
		}
	}()
	noticed := true // the first inspection counts as one: the start is a change
	for {
		var err error
		if notify.Events == nil {
			var w *fsnotify.Watcher
			if w, err = fsnotify.NewWatcher(); err == nil {
				notify = w
			}
		}
		if notify.Events != nil {
			err = f.rewatch(notify)
		}
		f.watches.short.has(f, err)
		f.look(noticed)
		if noticed, err = f.wait(notify, ticker, stop); err != nil {
			return
		}
	}
}

var errStopped = errors.New("stopped")

// wait returns after a notice worth a look, with the rest of what came with it taken, or when a rescan is due.
func (f *follower) wait(notify *fsnotify.Watcher, ticker *time.Ticker, stop <-chan struct{}) (noticed bool, err error) {
	for {
		select {
		case e := <-notify.Events:
			if !f.cares(e.Name) {
				continue
			}
			f.drain(notify, stop)
			return true, nil
		case <-notify.Errors: //nolint:errcheck // after any error, such as IN_Q_OVERFLOW, anything may have happened
			f.drain(notify, stop)
			return true, nil
		case <-f.mounted:
			if f.isOther() {
				return true, nil
			}
		case <-ticker.C:
			return false, nil
		case <-stop:
			return false, errStopped
		}
	}
}

// Notices come one by one. One look serves all notices up to the next silence, but it waits no longer than drainMost.
const (
	drainSilence = 50 * time.Millisecond
	drainMost    = 500 * time.Millisecond
)

// drain takes what comes until a silence.
func (f *follower) drain(notify *fsnotify.Watcher, stop <-chan struct{}) {
	end := time.NewTimer(drainMost)
	defer end.Stop()
	silence := time.NewTimer(drainSilence)
	defer silence.Stop()
	for {
		select {
		case <-notify.Events:
		case <-notify.Errors: //nolint:errcheck // the inspection that follows is for whatever it says
		case <-silence.C:
			return
		case <-end.C:
			return
		case <-stop:
			return
		}
		silence.Reset(drainSilence)
	}
}

// rewatch watches what should be watched, until nothing more has come meanwhile: what was made between the look for it
// and the watch on its parent gives no notice. A watch ends by itself when its directory goes; Add on one that is
// watched changes nothing. An error is that of a limit.
func (f *follower) rewatch(notify *fsnotify.Watcher) (err error) {
	var dirs []string
	for range 10 { // whoever makes directories faster is found by the rescan
		now := f.watch()
		if slices.Equal(dirs, now) {
			break
		}
		for _, dir := range now {
			if e := notify.Add(dir); shortOf(e) != "" { // else it may be gone again
				err = e
			}
		}
		dirs = now
	}
	for _, dir := range notify.WatchList() {
		if !slices.Contains(dirs, dir) {
			_ = notify.Remove(dir)
		}
	}
	return err
}

// existing returns dir and its parent, or the nearest ancestor that exists: where a missing dir will show first.
func existing(dir string) []string {
	dirs := []string{}
	if isDir(dir) {
		dirs = append(dirs, dir)
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if isDir(up) {
			return append(dirs, up)
		}
		if up == "/" {
			return dirs
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var _ hal.Watches = (*watches)(nil)
