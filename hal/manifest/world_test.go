package manifest

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// world is files, a clock that is moved by hand, and what has been delivered.
type world struct {
	t        *testing.T
	names    map[string]hal.Info
	data     map[string]string
	fail     map[string]error  // by operation and path
	during   map[string]func() // by operation and path: what happens before it
	synced   map[string]bool   // files whose content is durable
	loose    []renamed         // changes of names that are not durable, in order
	born     int64             // of the directory of manifests
	device   hal.Device        // it lies on
	mount    hal.MountID
	boot     hal.BootID
	now      hal.Instant
	ticks    int64 // of the clock of the cache's filesystem
	timers   []timer
	queue    []func()
	notice   func()
	missed   func()   // tells that names among the copies have changed
	edited   []string // names that have changed since somebody asked
	isAny    bool     // and more, of which nobody tells the names
	copied   []string // names among the copies that have changed since somebody asked
	isCopied bool     // and more
	// isAlwaysAny: nobody ever tells the names.
	isAlwaysAny bool
	cloud       hal.Cluster
	events      []string
	raw         []hal.ClusterEvent
	// crashAt: the agent dies once it has removed this path, or renamed something to it.
	crashAt string
	owner   Owner
	left    []string // uids of pods that have volumes on the node
	isBare  bool     // nothing of an earlier run is on the node
	gathers int      // how many copies without a form are put together
	// deathIn: the agent dies before its so many-th write from now on.
	deathIn int
	written int // changes of the cache so far
	calls   int // of Stat, List and Read
	bytes   int // that were written
}

// renamed is a name that stands for something else, or for nothing.
type renamed struct {
	at            string
	before, after named
	isContent     bool // the name stands for the same file, which is longer
}

type named struct {
	info hal.Info // zero: nothing has the name
	data string
}

type timer struct {
	at hal.Instant
	f  func()
}

const (
	dir   = "/etc/manifests"
	cache = "/var/cache"
)

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, boot: "boot", born: 7, mount: 3, names: map[string]hal.Info{}, data: map[string]string{},
		fail: map[string]error{}, during: map[string]func(){}, synced: map[string]bool{},
	}
	w.names[dir], w.names[path.Dir(cache)] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755},
		hal.Info{Type: hal.TypeDirectory}
	return w
}

// machine makes other bytes at each call, in all lives.
type machine struct{ hal.Machine }

var randoms uint8

func (*machine) Random() [16]byte {
	randoms++
	return [16]byte{randoms}
}

// start is a life of the agent: what it holds in memory is gone, the files are not.
func (w *world) start() *world {
	w.timers, w.queue, w.events, w.raw = nil, nil, nil, nil
	h := hal.Host{Runtime: runtime{w}, Machine: &machine{}, Tree: tree{w: w}, Files: files{w}, Watches: watches{w}}
	w.cloud = New(h, Options{
		Dir: dir, CacheDir: cache, NodeName: "node1", IsBare: func() bool { return w.isBare },
		gathers: w.gathers,
	})
	if w.left != nil {
		w.cloud.(*Cluster).o.LeftPods = func() []string { return slices.Clone(w.left) }
	}
	if w.owner != (Owner{}) {
		w.cloud.(*Cluster).o.Owner = func() Owner { return w.owner }
	}
	w.cloud.Watch(w.take)
	return w.pass(2 * time.Second)
}

// startBare is the first life of an agent, on a node on which nothing of an earlier one is.
func (w *world) startBare() *world {
	w.isBare = true
	w.start()
	w.isBare = false
	return w
}

func (w *world) take(e hal.ClusterEvent) {
	w.raw = append(w.raw, e)
	switch e := e.(type) {
	case hal.Changed:
		for _, o := range e.Removed {
			w.events = append(w.events, "removed "+hal.IdentityOf(o).String())
		}
		for _, o := range e.Applied {
			w.events = append(w.events, "applied "+hal.IdentityOf(o).String())
		}
	case hal.Synced:
		w.events = append(w.events, "synced")
	case hal.Trouble:
		if e.Problem == "" {
			e.Problem = "over"
		}
		w.events = append(w.events, "trouble "+e.Where+": "+e.Problem)
	}
}

func (w *world) put(name, text string) *world {
	w.names[dir+"/"+name] = hal.Info{Type: hal.TypeFile, Mode: 0o644}
	w.data[dir+"/"+name] = text
	return w.rings(name)
}

func (w *world) rm(name string) *world {
	delete(w.names, dir+"/"+name)
	return w.rings(name)
}

// changed says that anything may have changed.
func (w *world) changed() *world {
	w.isAny = true
	return w.rings()
}

func (w *world) rings(names ...string) *world {
	w.edited = append(w.edited, names...)
	if w.notice != nil {
		w.queue = append(w.queue, w.notice)
	}
	return w
}

// pass lets time go by, and all that happens in it happen.
func (w *world) pass(d time.Duration) *world {
	end := w.now.Add(d)
	for {
		for len(w.queue) > 0 {
			f := w.queue[0]
			w.queue = w.queue[1:]
			f()
		}
		slices.SortStableFunc(w.timers, func(a, b timer) int { return int(a.at - b.at) })
		if len(w.timers) == 0 || w.timers[0].at > end {
			w.now = end
			return w
		}
		w.now = max(w.now, w.timers[0].at)
		w.queue = append(w.queue, w.timers[0].f)
		w.timers = w.timers[1:]
	}
}

// expect says what has been delivered since it was asked last.
func (w *world) expect(events ...string) *world {
	w.t.Helper()
	require.Equal(w.t, strings.Join(events, "\n"), strings.Join(w.events, "\n"))
	w.events = nil
	return w
}

type runtime struct{ w *world }

func (r runtime) Now() hal.Instant           { return r.w.now }
func (r runtime) BootID() hal.BootID         { return r.w.boot }
func (r runtime) Post(f func())              { r.w.queue = append(r.w.queue, f) }
func (r runtime) At(t hal.Instant, f func()) { r.w.timers = append(r.w.timers, timer{t, f}) }
func (r runtime) Go(task func())             { r.w.queue = append(r.w.queue, task) }
func (r runtime) Await(_ context.Context, register func(func())) error {
	ended := false
	register(func() { ended = true })
	require.True(r.w.t, ended)
	return nil
}

type watches struct{ w *world }

func (x watches) Path(string, func()) (end func())            { return func() {} }
func (x watches) MountTable(func([]string))                   {}
func (x watches) PluginSockets(string, func(hal.SocketEvent)) {}

func (x watches) Directory(at string, f func()) (changed func() (names []string, isAny bool)) {
	ring, names, isAny := &x.w.notice, &x.w.edited, &x.w.isAny
	if at == cache {
		ring, names, isAny = &x.w.missed, &x.w.copied, &x.w.isCopied
	}
	*ring, *names, *isAny = f, nil, true
	x.w.queue = append(x.w.queue, f)
	return func() ([]string, bool) {
		all, isAll := slices.Sorted(slices.Values(*names)), *isAny || x.w.isAlwaysAny
		*names, *isAny = nil, false
		return slices.Compact(all), isAll
	}
}

func errno(op, at string, e syscall.Errno) error {
	return &hal.Error{Op: op, Object: at, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: e}
}

type tree struct {
	hal.Tree // manifests call no more of it than there is here
	w        *world
}

func (x tree) Mkdir(_ hal.Call, at string, mode uint32) error {
	if _, ok := x.w.names[at]; ok {
		return errno("mkdir", at, syscall.EEXIST)
	}
	x.w.names[at] = hal.Info{Type: hal.TypeDirectory, Mode: mode}
	return nil
}

func (x tree) Remove(_ hal.Call, at string) error {
	if err := x.w.fail["remove "+at]; err != nil {
		return err
	}
	x.w.writes()
	x.w.renames(at, named{})
	x.w.dies(at)
	return nil
}

func (w *world) stands(at string) named { return named{w.names[at], w.data[at]} }

func (w *world) give(at string, n named) {
	if w.names[at], w.data[at] = n.info, n.data; n.info == (hal.Info{}) {
		delete(w.names, at)
	}
}

// renames changes what a name stands for, durably once its directory is synced.
func (w *world) renames(at string, to named) {
	w.loose = append(w.loose, renamed{at, w.stands(at), to, false})
	w.give(at, to)
	w.tells(path.Base(at))
}

// tells of a change among the copies, if somebody asks for it.
func (w *world) tells(names ...string) *world {
	w.copied = append(w.copied, names...)
	if w.missed != nil {
		w.queue = append(w.queue, w.missed)
	}
	return w
}

// loses is somebody who removes files of the agent's.
func (w *world) loses(names ...string) *world {
	for _, name := range names {
		delete(w.names, cache+"/"+name)
	}
	return w.tells(names...)
}

// cutsPower takes back those changes of names that are not durable and whose bit is set, and what came upon them.
func (w *world) cutsPower(lost uint) {
	for i := len(w.loose) - 1; i >= 0; i-- {
		w.give(w.loose[i].at, w.loose[i].before)
	}
	isLost := map[string]bool{}
	for i, c := range w.loose {
		if isLost[c.at] = isLost[c.at] || lost>>i&1 == 1; !isLost[c.at] {
			w.give(c.at, c.after)
		}
	}
	w.loose = nil
}

// writes is called before each change of the cache.
func (w *world) writes() {
	w.written++
	if w.deathIn--; w.deathIn == 0 {
		panic("the agent dies")
	}
}

func (w *world) dies(at string) {
	if at == w.crashAt {
		panic("the agent dies")
	}
}

func (x tree) RemoveTree(hal.Call, string, int) (bool, error) {
	panic("manifests are never removed as a tree")
}

func (x tree) Rename(_ hal.Call, from, to string) error {
	x.w.writes()
	if x.w.names[from].Type == hal.TypeDirectory {
		for _, at := range slices.Sorted(maps.Keys(x.w.names)) {
			if rest, is := strings.CutPrefix(at, from+"/"); is {
				x.w.give(to+"/"+rest, x.w.stands(at))
				x.w.give(at, named{})
			}
		}
		x.w.synced[from] = true
	}
	require.True(x.w.t, x.w.synced[from], "%s gets the name %s before it is durable", from, to)
	x.w.renames(to, x.w.stands(from))
	delete(x.w.names, from)
	x.w.tells(path.Base(from))
	x.w.dies(to)
	return nil
}

// happens is what somebody does before a call.
func (w *world) happens(call string) {
	if f := w.during[call]; f != nil {
		f()
	}
}

func (x tree) List(_ hal.Call, at string) ([]hal.Entry, error) {
	x.w.calls++
	x.w.happens("list " + at)
	if err := x.w.fail["list "+at]; err != nil {
		return nil, err
	}
	if _, ok := x.w.names[at]; !ok {
		return nil, errno("list", at, syscall.ENOENT)
	}
	var all []hal.Entry
	for _, name := range slices.Sorted(maps.Keys(x.w.names)) {
		if path.Dir(name) == at {
			all = append(all, hal.Entry{Name: path.Base(name), Type: x.w.names[name].Type})
		}
	}
	return all, nil
}

func (x tree) Stat(_ hal.Call, at string) (hal.Info, error) {
	x.w.calls++
	x.w.happens("stat " + at)
	if err := x.w.fail["stat "+at]; err != nil {
		return hal.Info{}, err
	}
	info, ok := x.w.names[at]
	if !ok {
		return hal.Info{}, errno("stat", at, syscall.ENOENT)
	}
	if at == dir {
		info.Inode, info.Born, info.Device, info.Mount = 2, x.w.born, x.w.device, x.w.mount
	}
	return info, nil
}

type files struct{ w *world }

func (x files) Read(_ hal.Call, at string, limit int64) ([]byte, error) {
	x.w.calls++
	x.w.happens("read " + at)
	if err := x.w.fail["read "+at]; err != nil {
		return nil, err
	}
	if _, ok := x.w.names[at]; !ok {
		return nil, errno("read", at, syscall.ENOENT)
	}
	if int64(len(x.w.data[at])) > limit {
		return nil, errno("read", at, syscall.EFBIG)
	}
	return []byte(x.w.data[at]), nil
}

func (x files) Write(_ hal.Call, at string, data []byte, mode uint32) error {
	if err := x.w.fail["write "+at]; err != nil {
		return err
	}
	x.w.writes()
	x.w.bytes += len(data)
	delete(x.w.synced, at)
	x.w.ticks++
	x.w.names[at], x.w.data[at] = hal.Info{Type: hal.TypeFile, Mode: mode, Changed: x.w.ticks, Size: int64(len(data))},
		string(data)
	return nil
}

func (x files) ReadAt(hal.Call, string, int64, []byte) (int, error) { panic("never") }

// WriteAt appends. What it writes may get lost in part until it is durable, first its end.
func (x files) WriteAt(_ hal.Call, at string, offset int64, data []byte) error {
	if err := x.w.fail["append "+at]; err != nil {
		return err
	}
	if _, ok := x.w.names[at]; !ok {
		return errno("write", at, syscall.ENOENT)
	}
	x.w.bytes += len(data)
	x.w.writes()
	require.EqualValues(x.w.t, len(x.w.data[at]), offset)
	for _, part := range [][]byte{data[:len(data)/2], data[len(data)/2:]} {
		is := x.w.stands(at)
		was := is.info
		x.w.ticks++
		is.info.Changed, is.info.Size = x.w.ticks, was.Size+int64(len(part))
		x.w.loose = append(x.w.loose, renamed{at, named{was, is.data}, named{is.info, is.data + string(part)}, true})
		x.w.give(at, x.w.loose[len(x.w.loose)-1].after)
	}
	x.w.tells(path.Base(at))
	return nil
}

func (x files) Allocate(hal.Call, string, int64, uint32) error { panic("never") }
func (x files) Sync(_ hal.Call, at string) error {
	if err := x.w.fail["sync "+at]; err != nil {
		return err
	}
	x.w.synced[at] = true
	x.w.loose = slices.DeleteFunc(x.w.loose, func(c renamed) bool {
		return c.isContent && c.at == at || !c.isContent && path.Dir(c.at) == at
	})
	return nil
}
