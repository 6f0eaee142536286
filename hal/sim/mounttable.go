package sim

import (
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// mount is one mount: a part of a superblock, attached at a place of another mount.
type mount struct {
	id        hal.MountID
	parent    *mount // nil for the root of the namespace
	point     *node  // in the parent
	root      *node  // what is seen there
	readOnly  bool
	options   []string // immutable once made
	shared    bool
	holders   int         // processes that have something open in it
	conn      *connection // of a filesystem that a process or a server serves, else nil
	isForeign bool        // nobody's volume: somebody on the node made it, or a driver that bound what was not its own
	children  []*mount
	path      string // from the namespace's root
	rootPath  string // of root in its superblock, as of rootSeen; "" if it was never asked for
	rootSeen  uint64 // superblock.moves
}

// mountTable is the mount table of the agent's namespace.
//
// NB: mounts carry the mark of a peer group, and nothing propagates between places of the table. It would show only
// where a mount is made on top of or below a mount whose peer stands elsewhere, which no driver here does. What is
// mounted in other namespaces: see namespace.go.
type mountTable struct {
	w    *World
	last hal.MountID // never reset in a boot; ids of different boots may be equal
	list []*mount    // in the order of their ids: parents before children, a stack bottom first
	base location    // the agent's root directory, nil node when not looked up

	spelt []byte // see spell
}

var defaultOptions = []string{"relatime"}

func newMountTable(w *World) *mountTable { return &mountTable{w: w} }

// reset makes the table of a fresh boot.
func (t *mountTable) reset() {
	for _, m := range t.list {
		if m.point != nil {
			m.point.mounts = nil
		}
	}
	t.list, t.last, t.base = nil, 0, location{}
	f := t.w.fs
	root := t.newMount(f.root.root)
	root.path = "/"
	t.list = append(t.list, root)
	for _, d := range [...]struct{ path, fsType string }{{"/dev", "devtmpfs"}, {"/run", "tmpfs"}} {
		at := t.w.makeDirs(d.path)
		sb := newSuperblock(f.anonymous(), d.fsType, d.fsType)
		t.attach(at, t.newMount(sb.root))
	}
}

// isReadOnly: nobody writes through it, as it is read-only itself or its filesystem is mounted so.
func (m *mount) isReadOnly() bool { return m.readOnly || m.root.sb.readOnly }

func (t *mountTable) newMount(root *node) *mount {
	t.last++
	return &mount{id: t.last, root: root, options: defaultOptions, shared: !t.w.config.Private}
}

func (t *mountTable) rootLocation() location {
	m := t.list[0]
	return t.top(location{m, m.root})
}

// baseLocation is the agent's root directory.
func (t *mountTable) baseLocation() location {
	if t.base.n == nil || t.base.n.gone {
		at, _, errno := t.w.walk(t.w.base, walkAll)
		if errno != 0 {
			return location{}
		}
		t.base = at
	}
	return t.base
}

// child returns the mount that stands on n as seen in m, nil if none.
func (t *mountTable) child(m *mount, n *node) *mount {
	for _, k := range n.mounts {
		if k.parent == m {
			return k
		}
	}
	return nil
}

// top follows the stack of mounts at a place.
func (t *mountTable) top(at location) location {
	for k := t.child(at.m, at.n); k != nil; k = t.child(at.m, at.n) {
		at = location{k, k.root}
	}
	return at
}

// up is "..".
func (t *mountTable) up(at location) location {
	for at.n == at.m.root {
		if at.m.parent == nil {
			return at
		}
		at = location{at.m.parent, at.m.point}
	}
	return t.top(location{at.m, at.n.parent})
}

// attach puts m on top of what is at a place, which must be the top of its stack.
func (t *mountTable) attach(at location, m *mount) {
	m.parent, m.point = at.m, at.n
	m.shared = m.shared && at.m.shared
	t.base = location{}
	m.path = t.pathOf(at)
	at.n.mounts = append(at.n.mounts, m)
	at.m.children = append(at.m.children, m)
	t.list = append(t.list, m)
}

// pathOf is the path of a place from the namespace's root.
func (t *mountTable) pathOf(at location) string {
	if at.n == at.m.root {
		return at.m.path
	}
	return string(t.spell(at))
}

// spell is pathOf in bytes that are valid until the next call.
func (t *mountTable) spell(at location) []byte {
	size := 0
	for n := at.n; n != at.m.root && n.parent != nil; n = n.parent {
		size += len(n.name) + 1
	}
	base := strings.TrimSuffix(at.m.path, "/")
	b := slices.Grow(t.spelt[:0], len(base)+size)[:len(base)+size]
	t.spelt = b
	copy(b, base)
	end := len(b)
	for n := at.n; n != at.m.root && n.parent != nil; n = n.parent {
		end -= len(n.name) + 1
		b[end] = '/'
		copy(b[end+1:], n.name)
	}
	if len(b) == 0 { // the root, or an unlinked node
		return append(b, '/')
	}
	return b
}

// detach takes m, which has no children, out of the table.
func (t *mountTable) detach(m *mount) {
	t.base = location{}
	same := func(k *mount) bool { return k == m }
	m.point.mounts = slices.DeleteFunc(m.point.mounts, same)
	m.parent.children = slices.DeleteFunc(m.parent.children, same)
	i, _ := slices.BinarySearchFunc(t.list, m.id, func(k *mount, id hal.MountID) int { return int(k.id) - int(id) })
	t.list = slices.Delete(t.list, i, i+1)
}

// moved renews the paths of mounts after a directory above them was renamed.
func (t *mountTable) moved() {
	t.base = location{}
	for _, m := range t.list {
		if m.parent != nil {
			m.path = t.pathOf(location{m.parent, m.point})
		}
	}
}

// stack returns the mounts at a path, bottom first. Links are not followed.
func (t *mountTable) stack(path string) []*mount { return t.appendStack(nil, path) }

// appendStack is stack, appended to all.
func (t *mountTable) appendStack(all []*mount, path string) []*mount {
	if path != "/" && !clean(path) {
		return all
	}
	dir, name := location{t.list[0], t.list[0].root}, ""
	if path != "/" {
		cut := lastSlash(path)
		links := 0
		at, _, errno := t.w.walkFrom(t.rootLocation(), path[:max(cut, 1)], walkNoLinks, &links)
		if errno != 0 {
			return all
		}
		dir, name = at, path[cut+1:]
	}
	if name == "" {
		for m := t.list[0]; m != nil; m = t.child(m, m.root) {
			all = append(all, m)
		}
		return all
	}
	n := dir.n.child(name)
	if n == nil {
		return all
	}
	for m := t.child(dir.m, n); m != nil; m = t.child(m, m.root) {
		all = append(all, m)
	}
	return all
}

// show is one line of the table.
func (m *mount) show() hal.Mount {
	h := hal.Mount{
		ID: m.id, Path: m.path, Root: m.showRoot(), Device: m.root.sb.dev, FSType: m.root.sb.fsType,
		Source:   m.root.sb.source,
		ReadOnly: m.isReadOnly(), Options: m.options, Shared: m.shared,
	}
	if m.conn != nil {
		h.Device, h.FSType = m.conn.dev, m.conn.fsType
		h.ReadOnlyFS, h.NoDevice = m.conn.isReadOnly(), !m.conn.hasDevice()
	}
	if m.parent != nil {
		h.Parent = m.parent.id
	}
	return h.AsNode()
}

// showRoot is the path of the mount's root in its superblock.
func (m *mount) showRoot() string {
	if m.rootPath == "" || m.rootSeen != m.root.sb.moves {
		m.rootPath, m.rootSeen = m.root.path(), m.root.sb.moves
	}
	return m.rootPath
}

// busy says whether an unmount answers EBUSY.
func (m *mount) busy() bool { return m.holders > 0 || len(m.children) > 0 || m.parent == nil }

// bind attaches a copy of a mount.
func (t *mountTable) bind(by actor, b hal.BindSpec, mode walkMode) syscall.Errno {
	m := &mount{}
	if !m.flag(b.Flags) {
		return syscall.EINVAL
	}
	from, _, errno := t.w.walk(b.Source, mode)
	if errno != 0 {
		return errno
	}
	to, _, errno := t.w.walk(b.Target, mode)
	switch {
	case errno != 0:
		return errno
	case from.n.isDir() != to.n.isDir():
		return syscall.EINVAL // move_mount(2)
	case from.n.gone || to.n.gone:
		return syscall.ENOENT
	}
	m = t.newMount(from.n)
	m.readOnly, m.options = from.m.readOnly, from.m.options
	m.flag(b.Flags)
	m.conn = from.m.conn
	m.shared = from.m.shared
	t.place(by, to, m)
	return 0
}

// bindSpec is a bind of others than the agent.
func bindSpec(source, target string, readOnly bool) hal.BindSpec {
	b := hal.BindSpec{Source: source, Target: target}
	if readOnly {
		b.Flags = []string{"ro"}
	}
	return b
}

// place attaches m and tells of it.
func (t *mountTable) place(by actor, at location, m *mount) {
	t.attach(at, m)
	t.w.tableChanged(m.path)
	if len(t.w.observe) > 0 {
		t.w.tell(by, Effect{Kind: EffectMount, Path: m.path, Mount: m.show(), Outcome: hal.Done})
	}
}

// unmount takes the top mount off a path. id 0 is any; else EINVAL if the top is another one.
func (t *mountTable) unmount(by actor, path string, id hal.MountID) syscall.Errno {
	stack := t.stack(path)
	if len(stack) == 0 {
		return syscall.EINVAL
	}
	m := stack[len(stack)-1]
	switch {
	case id != 0 && m.id != id:
		return syscall.EINVAL
	case m.busy():
		return syscall.EBUSY
	}
	t.detach(m)
	t.w.tableChanged(m.path)
	if len(t.w.observe) > 0 {
		t.w.tell(by, Effect{Kind: EffectUnmount, Path: m.path, Mount: m.show(), Outcome: hal.Done})
	}
	return 0
}
