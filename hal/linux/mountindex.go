package linux

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// mountIndex knows the paths of the mounts in this process's mount namespace. What a question costs grows with what
// has changed since the last one and with its answer, not with the table.
//
// It is filled by one reading of the table, and kept by mount events (fanotify(7), FAN_REPORT_MNT). The kernel queues
// an event before the call that made the change returns. So who empties the queue before it looks sees each change
// that had ended when it asked. An overflow has all read again.
//
// Without events (before Linux 6.15, or where they are refused) a poll of /proc/self/mountinfo says whether anything
// has changed, and then all is read again. One reading serves all who asked before it began.
type mountIndex struct {
	// openEvents opens a queue of mount events, or says why there is none.
	openEvents func() (queue int, err error)
	// old is set once the kernel is seen to lack statmount(2): before Linux 6.8.
	// NB: mount ids are then those of /proc/self/mountinfo, which the kernel uses again once a mount is gone.
	old atomic.Bool
	// read counts the entries of the mount table that were read, one by one or all of them.
	read atomic.Uint64

	begun atomic.Uint64 // readings of the whole table

	mu          sync.Mutex
	isOpen      bool
	isClosed    bool
	events      int    // the queue, -1 without
	info        int    // /proc/self/mountinfo, to be polled by the index alone: a poll takes the news away; -1 without
	done        uint64 // which reading was the last that has ended well
	isFilled    bool   // what follows is of the present, but for what the queue or the poll reports
	byID        map[hal.MountID]*mountPoint
	root        *mountPoint
	table       map[hal.MountID]hal.Mount // without events: as they were read
	isPuzzled   bool                      // the poll has reported a change, and the queue none yet
	isLost      bool                      // there were events, and no subscriber knows
	subscribers []func(at []string)

	waiting atomic.Int64 // those who wait for a reading of the whole table
	shared  []hal.Mount  // the last one, for those of them who asked before it began
}

func newMountIndex() *mountIndex {
	return &mountIndex{openEvents: openMountEvents, events: -1, info: -1, root: &mountPoint{}}
}

// open opens the queue of events and the poll, once.
func (x *mountIndex) open() {
	if x.isOpen || x.isClosed {
		return
	}
	x.isOpen = true
	if info, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		x.info = info
	}
	queue, err := x.openEvents()
	if err != nil {
		x.events = -1
		// Another error, as of a process out of descriptors, may pass.
		x.isOpen = errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS)
		if !x.isOpen {
			x.shut()
		}
		return
	}
	x.events = queue
}

// queue returns the queue of mount events, -1 without. It is filled if it can be.
func (x *mountIndex) queue() int {
	_, _ = x.update() // subscribers get its failure when they ask again
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.events
}

// shut closes the queue of events and the poll.
func (x *mountIndex) shut() {
	for _, fd := range []int{x.events, x.info} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	x.events, x.info, x.isFilled = -1, -1, false
}

func (x *mountIndex) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shut()
	x.isClosed = true
}

// subscribe has f called at each change: the paths at which mounts have come or gone, nil if anything may have changed.
// f must not ask the index.
func (x *mountIndex) subscribe(f func(at []string)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.subscribers = append(x.subscribers, f)
}

// notify calls the subscribers.
func (x *mountIndex) notify(at []string) {
	for _, f := range x.subscribers {
		f(at)
	}
}

// notifyPaths reports some paths, if there are any.
func (x *mountIndex) notifyPaths(at []string) {
	if len(at) > 0 {
		slices.Sort(at)
		x.notify(slices.Compact(at))
	}
}

// update brings the index up to date, and reports what has changed. isPuzzled: the poll has reported a change that no
// event has explained yet.
func (x *mountIndex) update() (isPuzzled bool, err error) {
	asked := x.begun.Load()
	x.mu.Lock()
	defer x.mu.Unlock()
	err = x.bring(asked)
	return x.isPuzzled, err
}

// giveUp reports that anything may have changed, if no event has explained a change that the poll has reported.
func (x *mountIndex) giveUp() {
	if isPuzzled, err := x.update(); err != nil || !isPuzzled {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.isPuzzled = false
	x.notify(nil)
}

// bring brings the index up to date with what had changed when so many readings had begun.
func (x *mountIndex) bring(asked uint64) error {
	x.open()
	switch {
	case x.isFilled && x.events >= 0:
		return x.follow()
	case x.isFilled && (x.done > asked || x.info >= 0 && !x.polled()):
		return nil
	}
	_, err := x.readAll()
	return err
}

// polled reports whether the table has changed since the last call, or may have.
func (x *mountIndex) polled() bool {
	if x.info < 0 {
		return false
	}
	changed, err := mountsChanged(x.info)
	return changed || err != nil
}

// within returns the mounts at a path and below it, in the order of their paths, a stack bottom first.
func (x *mountIndex) within(path string) ([]hal.Mount, error) {
	asked := x.begun.Load()
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.bring(asked); err != nil {
		return nil, err
	}
	var found []hal.Mount
	r := reader{count: &x.read}
	for _, id := range x.root.within(path) {
		m, ok := x.table[id]
		if !x.old.Load() {
			state, err := r.statmount(uint64(id))
			if err == unix.ENOENT {
				continue // it has gone just now
			}
			if err != nil {
				return nil, err
			}
			if state.mask&statmountSBSource == 0 { // it never changes, so that of the reading is right
				state.Source = m.Source
			}
			m, ok = state.Mount, isWithin(state.Path, path) // a directory above it may have been renamed
		}
		if ok {
			found = append(found, m)
		}
	}
	return inStacks(found), nil
}

// inStacks orders mounts by path, a stack bottom first.
func inStacks(mounts []hal.Mount) []hal.Mount {
	slices.SortStableFunc(mounts, func(a, b hal.Mount) int { return strings.Compare(a.Path, b.Path) })
	return parentsFirst(mounts)
}

// saw records mounts that somebody has seen and relies on: once a mount is gone before its event is taken, nobody knows
// where it was. It reports a mount that has gone by now at once.
func (x *mountIndex) saw(mounts []hal.Mount) {
	if len(mounts) == 0 || x.old.Load() { // then they are from a reading of the whole table
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.isFilled {
		x.isLost = x.isOpen
		return
	}
	r := reader{count: &x.read}
	for _, m := range mounts {
		if x.byID[m.ID] != nil {
			continue
		}
		if _, err := r.pointOf(uint64(m.ID)); err != nil {
			x.notify([]string{m.Path})
			continue
		}
		x.put(m.ID, m.Path)
		if x.table != nil {
			x.table[m.ID] = m
		}
	}
}

// renamed has the mounts below a path that has got another name be where they are by now.
func (x *mountIndex) renamed(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := reader{count: &x.read}
	for _, id := range x.root.within(path) {
		x.take(id)
		now, err := r.pointOf(uint64(id))
		if err == nil {
			x.put(id, now)
		} else if err != unix.ENOENT {
			x.isFilled = false
		}
	}
}

// lies tells which mounts are at a path and below it, of those that are cared about, as the index has it.
func (x *mountIndex) lies(path string, cares func(path string) bool) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	text := ""
	for _, id := range x.root.within(path) {
		if at := x.byID[id].path(); at == path || cares(at) {
			text += fmt.Sprintf(" %d:%s", id, at)
		}
	}
	return text
}

// all reads the whole table, or shares a reading that began after the question.
func (x *mountIndex) all() ([]hal.Mount, error) {
	x.waiting.Add(1)
	asked := x.begun.Load()
	x.mu.Lock()
	defer x.mu.Unlock()
	waiting := x.waiting.Add(-1)
	x.open()
	table, err := x.shared, error(nil)
	if x.done <= asked {
		if table, err = x.readAll(); err != nil {
			return nil, err
		}
		waiting = x.waiting.Load() // a later caller asks for a later reading
	}
	x.shared = nil
	if waiting > 0 {
		x.shared = slices.Clone(table)
	}
	return table, nil
}

// readAll reads the whole table, and fills the index with it.
func (x *mountIndex) readAll() ([]hal.Mount, error) {
	number := x.begun.Add(1)
	x.isFilled = false
	x.polled() // from here on it reports what this reading may not see
	table, err := x.readTable()
	if err != nil {
		return nil, err
	}
	before := x.table
	x.replace(table)
	if x.events >= 0 {
		if table, err = x.catchUp(table); err != nil {
			return nil, err
		}
	} else if before != nil {
		x.notifyPaths(differences(before, x.table))
	}
	x.isFilled, x.done = true, number
	if x.isLost {
		x.isLost = false
		x.notify(nil)
	}
	return table, nil
}

// replace makes the index again.
func (x *mountIndex) replace(table []hal.Mount) {
	x.root, x.byID, x.table = &mountPoint{}, make(map[hal.MountID]*mountPoint, len(table)), nil
	if x.events < 0 {
		x.table = make(map[hal.MountID]hal.Mount, len(table))
	}
	for _, m := range table {
		x.put(m.ID, m.Path)
		if x.table != nil {
			x.table[m.ID] = m
		}
	}
}

// put notes the path of a mount.
func (x *mountIndex) put(id hal.MountID, path string) {
	at := x.root.find(path, true)
	at.mounts = append(at.mounts, id)
	x.byID[id] = at
}

// take forgets the path of a mount. It returns the path, "" if it was not known.
func (x *mountIndex) take(id hal.MountID) (path string) {
	at := x.byID[id]
	if at == nil {
		return ""
	}
	path = at.path()
	at.drop(id)
	delete(x.byID, id)
	return path
}

// follow takes the events that have come, and reports them.
func (x *mountIndex) follow() error {
	changed := x.polled() // before the events: it may report one that is about to be queued, and none that was
	_, isAny, err := x.takeEvents()
	if isAny {
		x.isPuzzled = false
	} else if changed {
		x.isPuzzled = true
	}
	if err == errOverflow {
		_, err = x.readAll()
	}
	return err
}

// errOverflow: events were lost.
var errOverflow = errors.New("the queue of mount events has overflowed")

// takeEvents takes in what is in the queue. touched is the mounts that it is about.
func (x *mountIndex) takeEvents() (touched []hal.MountID, isAny bool, err error) {
	var changed []string
	r := reader{count: &x.read}
	err = drain(x.events, func(e mountEvent) error {
		isAny = true
		paths, ids, err := x.apply(&r, e)
		changed, touched = append(changed, paths...), append(touched, ids...)
		return err
	})
	if err != nil {
		x.isFilled = false // what was taken and not taken in is lost
		x.isLost = true
	}
	x.notifyPaths(changed)
	return touched, isAny, err
}

// apply takes one event in. It returns the paths at which something has come or gone, and the mounts.
func (x *mountIndex) apply(r *reader, e mountEvent) (paths []string, ids []hal.MountID, err error) {
	if e.isOverflow {
		return nil, nil, errOverflow
	}
	ids = []hal.MountID{e.id}
	if from := x.byID[e.id]; e.isAttach && from != nil { // it was moved, and what is below it with it
		ids = from.all(nil)
	}
	for _, id := range ids {
		if path := x.take(id); path != "" {
			paths = append(paths, path)
		}
		if !e.isAttach {
			continue
		}
		path, err := r.pointOf(uint64(id))
		switch {
		case err == unix.ENOENT || err == nil && path == "":
			// It has gone again, which another event tells; or it is outside of this process's root.
		case err != nil:
			return paths, ids, err
		default:
			x.put(id, path)
			paths = append(paths, path)
		}
	}
	return paths, ids, nil
}

// catchUp brings a table that was just read to one instant: it reads what the queue reports again, until the queue
// reports nothing more.
func (x *mountIndex) catchUp(table []hal.Mount) ([]hal.Mount, error) {
	var byID map[hal.MountID]hal.Mount
	r := reader{count: &x.read}
	for range tableReads {
		touched, isAny, err := x.takeEvents()
		switch {
		case err == errOverflow:
			return nil, because(syscall.EAGAIN, err.Error())
		case err != nil:
			return nil, err
		case !isAny && byID == nil:
			return table, nil
		case !isAny:
			byAge := func(a, b hal.Mount) int { return cmp.Compare(a.ID, b.ID) }
			return parentsFirst(slices.SortedFunc(maps.Values(byID), byAge)), nil
		case byID == nil:
			byID = make(map[hal.MountID]hal.Mount, len(table))
			for _, m := range table {
				byID[m.ID] = m
			}
		}
		for _, id := range touched {
			delete(byID, id)
			if x.byID[id] == nil {
				continue
			}
			state, err := r.statmount(uint64(id))
			if err == nil {
				byID[id] = state.Mount
			} else if err != unix.ENOENT {
				return nil, err
			}
		}
	}
	return nil, because(syscall.EAGAIN, fmt.Sprintf("the mount table changed after each of %d readings", tableReads))
}
