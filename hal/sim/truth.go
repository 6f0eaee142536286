package sim

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file is the truth, for those who judge: reading takes no time and changes nothing.

// Mounts is the mount table.
func (w *World) Mounts() []hal.Mount {
	table := make([]hal.Mount, len(w.mounts.list))
	for i, m := range w.mounts.list {
		table[i] = m.show()
	}
	return table
}

// MountsWithin is the mounts at a path and below it, in the order of their paths.
func (w *World) MountsWithin(path string) (shown []hal.Mount) {
	for _, m := range w.mounts.list {
		if isIn([]byte(m.path), path) {
			shown = append(shown, m.show())
		}
	}
	slices.SortStableFunc(shown, func(a, b hal.Mount) int { return strings.Compare(a.Path, b.Path) })
	return shown
}

// MountsAt is the stack of mounts at a path, bottom first.
func (w *World) MountsAt(path string) []hal.Mount {
	var few [4]*mount
	stack := w.mounts.appendStack(few[:0], path)
	if len(stack) == 0 {
		return nil
	}
	shown := make([]hal.Mount, len(stack))
	for i, m := range stack {
		shown[i] = m.show()
	}
	return shown
}

// Held is one path at which a driver holds a volume.
type Held struct {
	Driver, Volume, Path string
	ReadOnly             bool
	Group                string // that the driver has given the files to, "" for none
	Known                bool   // the driver remembers it
}

// Staged is what is staged: by effect, whether its driver remembers it or not.
func (w *World) Staged() []Held { return w.held(func(v *volume) []hold { return v.staged }) }

// Published is what is published.
func (w *World) Published() []Held { return w.held(func(v *volume) []hold { return v.published }) }

func (w *World) held(of func(*volume) []hold) []Held {
	var all []Held
	for _, b := range w.backends {
		for _, v := range b.volumes {
			for _, h := range of(v) {
				all = append(all, Held{b.name, v.handle, h.path, h.readOnly, h.group, h.mind != nil})
			}
		}
	}
	return all
}

// Forget has a driver remember a publish no more, as a person does with the driver's own tools. The truth stays.
func (w *World) Forget(published Held) {
	for _, b := range w.backends {
		for _, v := range b.volumes {
			if h := findHold(v.published, published.Path); h != nil && b.name == published.Driver &&
				v.handle == published.Volume {
				h.mind = nil
			}
		}
	}
}

// ActiveCall is an RPC that can still act.
type ActiveCall struct {
	Call                            uint64
	Driver, Method, Volume          string
	Staging, Target                 string
	Run                             uint32
	Op                              hal.OpID
	Key                             hal.Key
	Deadline                        hal.Instant // of the world's clock; 0 is none
	Started, Acted, Orphan, Awaited bool
}

// Active is the RPCs with effects that can still act, oldest first.
func (w *World) Active() []ActiveCall {
	var all []ActiveCall
	for _, r := range w.rpcs {
		if !r.effects {
			continue
		}
		all = append(all, ActiveCall{
			Call: r.id, Driver: r.d.name, Method: r.method, Volume: r.volume, Staging: r.staging, Target: r.target,
			Run: r.inc.number, Op: r.call.Op, Key: r.call.Key, Deadline: r.deadline,
			Started: r.state >= rpcStarted, Acted: r.state >= rpcActed, Orphan: r.orphan,
			Awaited: !r.task.done && r.task.parked == r.park,
		})
	}
	return all
}

// DriverState is a driver as it is.
type DriverState struct {
	Name, Endpoint, Socket, NodeID, Instance string
	Is                                       Personality
	Up                                       bool
	Accepted                                 bool // the agent told this life of it that it was taken
	Misregisters                             bool // its registrar says what can't be taken
	Hides                                    bool // what this life of it mounts does not reach the host
}

// Drivers is the drivers, in the order they were added. During an upgrade two of them have one name.
func (w *World) Drivers() []DriverState {
	all := make([]DriverState, len(w.drivers))
	for i, d := range w.drivers {
		all[i] = DriverState{
			d.name, d.endpoint, d.socket, d.nodeID, d.instance(), d.is, d.up, d.accepted,
			d.misregisters, d.isHidden,
		}
	}
	return all
}

// HoldsRetired says whether the agent is connected to a version of a driver that was retired: it may not have been told
// that its process has ended.
func (w *World) HoldsRetired(driver string) bool {
	inc := w.watching()
	return inc != nil && slices.ContainsFunc(inc.conns, func(c *conn) bool { return c.driver == driver && c.d.retired })
}

// Connections is the names under which the agent has connections to drivers.
func (w *World) Connections() []string {
	inc := w.watching()
	if inc == nil {
		return nil
	}
	names := make([]string, len(inc.conns))
	for i, c := range inc.conns {
		names[i] = c.driver
	}
	return names
}

// Registers says whether somebody listens at a registration socket.
func (w *World) Registers(socket string) bool {
	_, isRegistrar, errno := w.listener(socket)
	return errno == 0 && isRegistrar
}

// MadeBy is the endpoint of the driver that has made a socket, be it dead by now; "" if there is no such socket.
func (w *World) MadeBy(socket string) string {
	at, _, errno := w.walk(socket, walkNoLastLink)
	if errno != 0 || at.n.server == nil {
		return ""
	}
	return at.n.server.endpoint
}

func (d *driver) instance() string {
	return d.name + "/" + strconv.FormatUint(uint64(d.w.boot.number), 10) + "." +
		strconv.FormatUint(uint64(d.process), 10)
}

// VolumeDevice is the device number that a mount of a volume shows; false if there is no such volume.
func (w *World) VolumeDevice(driver, handle string) (hal.Device, bool) {
	v := w.mustDriver(driver).volume(handle)
	if v == nil {
		return hal.Device{}, false
	}
	return w.rootOf(v).sb.dev, true
}

// HasShown says whether the top mount at path shows the volume, be it deleted since.
func (w *World) HasShown(driver, handle, path string) bool {
	v := w.mustDriver(driver).everVolume(handle)
	return v != nil && w.shows(v, path) != nil
}

// Shows says whether the top mount at path shows the volume, or its device node is there.
func (w *World) Shows(driver, handle, path string) bool {
	v := w.mustDriver(driver).volume(handle)
	return v != nil && (w.shows(v, path) != nil || w.isNodeOf(v, path))
}

// IsDead says whether what is mounted at path has lost the process or the export that serves it, or its device.
func (w *World) IsDead(path string) bool {
	stack := w.mounts.stack(path)
	return len(stack) > 0 && stack[len(stack)-1].isDead()
}

// Living is the helper processes that have not ended.
func (w *World) Living() []hal.Child {
	var all []hal.Child
	for _, c := range w.children {
		all = append(all, hal.Child{PID: c.pid, Start: c.begun, Key: c.key, What: c.what, State: "D"})
	}
	return all
}

// look is walk for those who judge: they wait for no server.
func (w *World) look(path string, mode walkMode) (location, string, syscall.Errno) {
	w.isLooking = true
	at, name, errno := w.walk(path, mode)
	w.isLooking = false
	return at, name, errno
}

// Outlived is the helper processes that have outlived the agent that started them, and have not ended.
func (w *World) Outlived() []hal.Child {
	var all []hal.Child
	for _, c := range w.children {
		if c.owner == nil && c.run != w.lives {
			all = append(all, hal.Child{PID: c.pid, Start: c.begun, Key: c.key, What: c.what, State: "D"})
		}
	}
	return all
}

// WatchedPaths is the paths that the agent follows one by one, in the order in which it began to.
func (w *World) WatchedPaths() (all []string) {
	if inc := w.watching(); inc != nil {
		for _, p := range inc.watches.paths {
			all = append(all, p.path)
		}
	}
	return all
}

// Exists says what is at a path, following mounts; false if nothing.
func (w *World) Exists(path string) (hal.FileType, bool) {
	at, _, errno := w.look(path, walkNoLastLink)
	if errno != 0 {
		return hal.TypeOther, false
	}
	return at.n.kind, true
}

// Entries is the names in a directory, following mounts.
func (w *World) Entries(path string) []string {
	at, _, errno := w.look(path, walkAll)
	if errno != 0 {
		return nil
	}
	names := make([]string, len(at.n.kids))
	for i, k := range at.n.kids {
		names[i] = k.name
	}
	return names
}

// ReadFile is the content of a file; nil if there is none.
func (w *World) ReadFile(path string) []byte {
	at, _, errno := w.look(path, walkAll)
	if errno != 0 || at.n.file == nil {
		return nil
	}
	return at.n.file.read()
}

// Found is what a path leads to, all links and mounts followed; false if it leads nowhere.
func (w *World) Found(path string) (hal.Info, bool) {
	at, _, errno := w.look(path, walkAll)
	if errno != 0 {
		return hal.Info{}, false
	}
	info := hal.Info{
		Type: at.n.kind, Inode: at.n.inode, Mode: at.n.mode, UID: at.n.uid, GID: at.n.gid, Device: at.n.sb.dev,
		Mount: at.m.id, Born: at.n.born(),
	}
	if at.n.file != nil {
		info.Size = at.n.file.size
	}
	return info, true
}

// FileText is what was written to a file, without holes; "" if there is none.
func (w *World) FileText(path string) string {
	at, _, errno := w.look(path, walkAll)
	if errno != 0 || at.n.file == nil {
		return ""
	}
	return at.n.file.written()
}

// WriteFile makes a file with its directories, as somebody on the node would; what it writes is durable.
func (w *World) WriteFile(path string, data []byte) {
	dir := w.makeDirs(path[:lastSlash(path)])
	name := path[lastSlash(path)+1:]
	n := dir.n.child(name)
	if n == nil {
		n = dir.n.newChild(hal.TypeFile, 0o644)
		dir.n.attach(name, n)
		w.persist(dir.n, name, n)
		w.nameChanged(dir, name, n, true)
	}
	n.file, n.changed = &content{}, w.sched.now
	n.file.size = int64(len(data))
	n.file.write(0, data, 0, 0, false, &w.slabs)
	w.contentChanged(path)
}

// Fill has a container write so many names below a directory, as deep as it likes. They are counted and not kept.
func (w *World) Fill(path string, names int) syscall.Errno {
	at, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return errno
	case !at.n.isDir():
		return syscall.ENOTDIR
	case at.m.isReadOnly():
		return syscall.EROFS
	}
	if errno := at.n.mayTake(int64(names) * sectorSize); errno != 0 {
		return errno
	}
	at.n.bulk += names
	return 0
}

// Names counts the names below a directory, those of Fill included, and not what is mounted there.
func (w *World) Names(path string) int {
	at, _, errno := w.look(path, walkAll)
	if errno != 0 {
		return 0
	}
	return countNames(at.n)
}

func countNames(n *node) int {
	sum := n.bulk
	for _, k := range n.kids {
		sum += 1 + countNames(k)
	}
	return sum
}

// MakeDir makes a directory with its parents.
func (w *World) MakeDir(path string) { w.makeDirs(path) }

// MakeNode makes a name of any type, as mknod(2) by somebody on the node would.
func (w *World) MakeNode(path string, t hal.FileType) syscall.Errno {
	return w.makeOne(actor{}, path, t, 0o644)
}

// Find tells what a path leads to, as [hal.HostPaths] has it.
func (w *World) Find(path string) (hal.HostFile, syscall.Errno) { return w.find(path) }

// Symlink makes a symbolic link, as somebody on the node would.
func (w *World) Symlink(target, path string) error {
	dir, name, errno := w.walk(path, walkParent)
	switch {
	case errno != 0:
		return errno
	case name == "" || dir.n.child(name) != nil:
		return syscall.EEXIST
	case dir.n.gone:
		return syscall.ENOENT
	case dir.m.isReadOnly():
		return syscall.EROFS
	}
	k := dir.n.newChild(hal.TypeSymlink, 0o777)
	k.link = target
	w.link(actor{}, dir, name, k)
	return nil
}

// RemoveFile removes one name, as somebody on the node would.
func (w *World) RemoveFile(path string) syscall.Errno { return w.removeOne(actor{}, path) }

// SyncDirectory makes the names in a directory durable, as somebody on the node would.
func (w *World) SyncDirectory(path string) {
	if at, errno := w.open(path, hal.Inside{}); errno == 0 && at.n.sb.pages != nil {
		at.n.sb.pages.sync(at.n)
	}
}

// BindMount binds, as somebody on the node would.
func (w *World) BindMount(source, target string, readOnly bool) syscall.Errno {
	return w.mounts.bind(actor{}, bindSpec(source, target, readOnly), walkAll)
}

// UnmountTop unmounts the top mount at a path, as somebody on the node would.
func (w *World) UnmountTop(path string) syscall.Errno { return w.mounts.unmount(actor{}, path, 0) }

// Hold opens what is at path, as a process on the node would. The unmount of the mount it lies on answers EBUSY until
// release.
func (w *World) Hold(path string) (release func(), err error) {
	at, _, errno := w.walk(path, walkAll)
	if errno != 0 {
		return nil, errno
	}
	at.m.holders++
	return func() { at.m.holders-- }, nil
}

// Dir is the agent's root directory.
func (w *World) Dir() string { return w.base }

// Hash is a hash of the whole truth: tree, mounts, drivers. It is the same for equal worlds.
func (w *World) Hash() uint64 {
	h := hashTree(w.fs.root.root, uint64(w.boot.number))
	for _, sb := range w.fs.devices {
		h = fold(h ^ hashTree(sb.root, h))
	}
	for _, b := range w.blocks {
		h = b.hash(h)
	}
	h = w.hashFabric(h)
	for _, m := range w.mounts.list {
		h = fold(h ^ uint64(m.id) ^ hashString(m.path) ^ hashString(m.root.path())<<1)
	}
	for _, holds := range [...][]Held{w.Staged(), w.Published()} {
		for _, s := range holds {
			h = fold(h ^ hashString(s.Driver+"^"+s.Volume+" "+s.Path))
		}
	}
	return fold(h ^ uint64(len(w.rpcs)))
}

// Unsynced is how many changes of names and sizes a power cut may take back now.
func (w *World) Unsynced() int {
	return len(w.fs.root.pages.changes) - w.fs.root.pages.written(w.sched.now)
}

// Upcoming is something that will happen by itself.
type Upcoming struct {
	At   hal.Instant // of the world's clock
	Kind UpcomingKind
	Name uint64 // of what it is: the address of the code, if it is the agent's
}

// UpcomingKind is whose doing it is.
type UpcomingKind uint8

const (
	// UpcomingEvent: the world's, or a notice that the mount table has changed.
	UpcomingEvent UpcomingKind = iota
	// UpcomingTimer: a timer of the agent.
	UpcomingTimer
	// UpcomingTask: a task of the agent that has been started and has not run yet.
	UpcomingTask
)

// Upcoming is what will happen by itself, in its order; false if something is under way: a call, an RPC that may act, a
// helper, a death, or what the agent has been told and not yet taken up. With dies, it is what would happen if the
// agent died now.
func (w *World) Upcoming(dies bool) ([]Upcoming, bool) {
	s := w.sched
	isDead := dies || w.inc == nil || w.inc.dead
	if s.dying != nil || s.failure != nil || len(w.rpcs)+len(w.children) > 0 || !isDead && w.inc.drains {
		return nil, false
	}
	var events []event
	for i := range s.events.list {
		e := &s.events.list[i]
		switch {
		case e.inc != nil && (isDead || e.inc.dead), e.task != nil && (e.task.done || e.task.parked != e.park): // void
		case e.task != nil && e.task.w != nil, e.task == nil && e.inc != nil && !e.isTimer && e.name != siteTable.hash:
			return nil, false
		default:
			events = append(events, *e)
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	all := make([]Upcoming, len(events))
	for i, e := range events {
		switch {
		case e.task != nil:
			all[i] = Upcoming{e.at, UpcomingTask, codeOf(e.task.fn)}
		case e.isTimer:
			all[i] = Upcoming{e.at, UpcomingTimer, codeOf(e.run)}
		default:
			all[i] = Upcoming{e.at, UpcomingEvent, e.name}
		}
	}
	return all, true
}

// codeOf is the address of a function's code.
func codeOf(f func()) uint64 { return uint64(reflect.ValueOf(f).Pointer()) }
