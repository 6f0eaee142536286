// Package memory is a host that is memory alone: every call succeeds at once, and nothing is kept. What the engine
// costs on it is the engine's own cost. Benchmarks and tests of cost use it; hal/sim is the host to find faults on.
package memory

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
)

// Host holds what was made: directories, files, mounts. All methods may be called from any goroutine.
type Host struct {
	runtime hal.Runtime
	objects []any
	drivers []string

	mu     sync.Mutex
	nodes  map[string]*node
	fresh  []node // to be made next: one allocation serves many
	mounts map[string][]hal.Mount
	serial uint64
	counts Counts
	// noticed is told of changes of the mount table.
	noticed func(at []string)
}

// node is a file or a directory. It is one object, so that what a host allocates is little beside what the engine does.
type node struct {
	info                hal.Info
	data                []byte
	size                int64 // of a file; what is beyond data is zeros, for which no memory is taken
	name                string
	link                string // of a symbolic link
	first, before, next *node  // what is in a directory, and what is beside it there
}

// New returns a host with a root directory, a cluster of these objects, and CSI drivers of these names, which have the
// capability to stage.
func New(runtime hal.Runtime, rootDir string, objects []any, drivers ...string) *Host {
	h := &Host{
		runtime: runtime, objects: objects, drivers: drivers, nodes: map[string]*node{},
		mounts: map[string][]hal.Mount{},
	}
	h.nodes["/"] = &node{info: hal.Info{Type: hal.TypeDirectory}}
	h.makeAll(rootDir)
	return h
}

// HAL returns the interfaces.
func (h *Host) HAL() hal.Host {
	return hal.Host{
		Runtime: h.runtime, Machine: machine{}, Mounts: mounts{h}, Tree: tree{h}, Files: files{h},
		HostPaths: hostPaths{h}, Images: images{h}, Flex: flexDrivers{}, Repositories: repositories{h}, Quotas: quotas{h},
		Blocks:       blocks{},
		ISCSI:        san{},
		SCSI:         san{},
		Multipath:    multipath{},
		FC:           fc{},
		Children:     children{},
		Registration: registration{}, Drivers: connections{}, CSIIdentity: identity{}, CSINode: csiNode{h},
		Cluster: cluster{h.objects}, Watches: watches{h},
	}
}

// Counts is what was asked of a host.
type Counts struct {
	Calls uint64 // of Mounts, Tree, Files, HostPaths and CSINode
}

// Counts returns what was asked so far.
func (h *Host) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// MountForeign has somebody mount at a path.
func (h *Host) MountForeign(at string) {
	h.mu.Lock()
	h.mount(hal.Mount{Path: at, FSType: "ext4"})
	h.mu.Unlock()
	if h.noticed != nil {
		h.runtime.Post(func() { h.noticed([]string{at}) })
	}
}

// begin begins a call, which its caller ends by unlocking mu.
func (h *Host) begin() *Host {
	h.mu.Lock()
	h.counts.Calls++
	return h
}

// above is path.Dir of a clean path.
func above(at string) string { return at[:max(strings.LastIndexByte(at, '/'), 1)] }

func (h *Host) makeAll(dir string) {
	if h.nodes[dir] == nil {
		h.makeAll(above(dir))
		h.make(dir, hal.TypeDirectory)
	}
}

// make enters a name whose parent exists.
func (h *Host) make(at string, t hal.FileType) *node {
	h.serial++
	if len(h.fresh) == 0 {
		h.fresh = make([]node, 256)
	}
	n := &h.fresh[0]
	h.fresh = h.fresh[1:]
	n.info = hal.Info{Type: t, Inode: h.serial}
	h.enter(at, n)
	return n
}

func (h *Host) enter(at string, n *node) {
	h.nodes[at] = n
	in := h.nodes[above(at)]
	n.name, n.before, n.next = at[strings.LastIndexByte(at, '/')+1:], nil, in.first
	if in.first != nil {
		in.first.before = n
	}
	in.first = n
}

func (h *Host) take(at string) {
	n := h.nodes[at]
	if n.before != nil {
		n.before.next = n.next
	} else {
		h.nodes[above(at)].first = n.next
	}
	if n.next != nil {
		n.next.before = n.before
	}
	delete(h.nodes, at)
}

// takeAll takes a name with what is below it.
func (h *Host) takeAll(at string) {
	for below := h.nodes[at].first; below != nil; below = below.next {
		h.takeAll(at + "/" + below.name)
	}
	h.take(at)
}

// failures are what calls end with. Nobody reads of which object.
var failures = map[syscall.Errno]error{
	syscall.EEXIST: failure(syscall.EEXIST), syscall.ENOENT: failure(syscall.ENOENT),
	syscall.ENOTEMPTY: failure(syscall.ENOTEMPTY),
	syscall.EBUSY:     failure(syscall.EBUSY), syscall.EFBIG: failure(syscall.EFBIG),
	syscall.EINVAL: failure(syscall.EINVAL),
}

func failure(errno syscall.Errno) error {
	return &hal.Error{Op: "call", Object: "memory", Outcome: hal.NotDone, Errno: errno}
}

type files struct{ *Host }

func (f files) Read(_ hal.Call, at string, limit int64) ([]byte, error) {
	defer f.begin().mu.Unlock()
	n := f.nodes[at]
	switch {
	case n == nil:
		return nil, failures[syscall.ENOENT]
	case n.size > limit:
		return nil, failures[syscall.EFBIG]
	}
	return append(make([]byte, 0, n.size), n.data...)[:n.size], nil
}

func (f files) ReadAt(_ hal.Call, at string, offset int64, b []byte) (int, error) {
	defer f.begin().mu.Unlock()
	n := f.nodes[at]
	if n == nil {
		return 0, failures[syscall.ENOENT]
	}
	return copy(b, append(make([]byte, 0, n.size), n.data...)[min(offset, n.size):n.size]), nil
}

func (f files) Write(_ hal.Call, at string, data []byte, _ uint32) error {
	defer f.begin().mu.Unlock()
	n, err := f.open(at)
	if err == nil {
		n.data, n.size = slices.Clone(data), int64(len(data))
	}
	return err
}

// open returns a file, made if it is missing.
func (f files) open(at string) (*node, error) {
	if n := f.nodes[at]; n != nil {
		return n, nil
	}
	if f.nodes[above(at)] == nil {
		return nil, failures[syscall.ENOENT]
	}
	return f.make(at, hal.TypeFile), nil
}

func (f files) WriteAt(_ hal.Call, at string, offset int64, data []byte) error {
	defer f.begin().mu.Unlock()
	n := f.nodes[at]
	if n == nil {
		return failures[syscall.ENOENT]
	}
	if end := int(offset) + len(data); end > len(n.data) {
		if end > cap(n.data) {
			n.data = slices.Grow(n.data, end) // twice as much, for what is written next
		}
		n.data = append(n.data, make([]byte, end-len(n.data))...)
	}
	copy(n.data[offset:], data)
	n.size = max(n.size, int64(len(n.data)))
	return nil
}

func (f files) Allocate(_ hal.Call, at string, size int64, _ uint32) error {
	defer f.begin().mu.Unlock()
	n, err := f.open(at)
	if err == nil {
		n.size = max(n.size, size)
	}
	return err
}

func (f files) Sync(_ hal.Call, at string) error {
	defer f.begin().mu.Unlock()
	if f.nodes[at] == nil {
		return failures[syscall.ENOENT]
	}
	return nil
}

type hostPaths struct{ *Host }

func (p hostPaths) Find(_ hal.Call, at string) (hal.HostFile, error) {
	defer p.begin().mu.Unlock()
	n := p.nodes[at]
	if n == nil {
		return hal.HostFile{}, nil
	}
	return hal.HostFile{Exists: true, Type: n.info.Type, Path: at, Root: at, Inode: n.info.Inode, Born: n.info.Born}, nil
}

func (hostPaths) Count(hal.Call, string) (hal.Usage, error) { return hal.Usage{}, nil }

func (hostPaths) Usage(hal.Call, string) (hal.Usage, error) { return hal.Usage{}, nil }

func (p hostPaths) Cached(c hal.Call, at string) (hal.HostFile, error) { return p.Find(c, at) }

func (p hostPaths) Make(_ hal.Call, at string, t hal.FileType) error {
	defer p.begin().mu.Unlock()
	p.makeAll(above(at))
	if p.nodes[at] == nil {
		p.make(at, t)
	}
	return nil
}

type images struct{ *Host }

// Unpack makes an image without files.
func (i images) Unpack(_ hal.Call, reference, dir string) error {
	defer i.begin().mu.Unlock()
	i.makeAll(dir + "/" + hal.ImageFiles)
	n := i.make(dir+"/"+hal.ImageDigest, hal.TypeFile)
	n.data, n.size = []byte(reference), int64(len(reference))
	return nil
}

type repositories struct{ *Host }

// Clone makes a repository without files.
func (r repositories) Clone(_ hal.Call, of hal.Repository) error {
	defer r.begin().mu.Unlock()
	if r.nodes[of.Dir] != nil {
		return failures[syscall.EEXIST]
	}
	r.makeAll(of.Dir)
	return nil
}

type quotas struct{ *Host }

// Limit limits nothing, and says that it does.
func (q quotas) Limit(_ hal.Call, at string, _ int64, project uint32) (uint32, error) {
	defer q.begin().mu.Unlock()
	n := q.nodes[at]
	switch {
	case n == nil:
		return 0, failures[syscall.ENOENT]
	case project == 0:
		project = hal.FirstProject + uint32(n.info.Inode)%(hal.LastProject-hal.FirstProject)
	}
	return project, nil
}

func (quotas) Usage(hal.Call, string) (hal.Usage, error) { return hal.Usage{}, nil }

func (q quotas) Lift(hal.Call, string, uint32) error {
	defer q.begin().mu.Unlock()
	return nil
}

type mounts struct{ *Host }

func (m mounts) Table(hal.Call) ([]hal.Mount, error) {
	defer m.begin().mu.Unlock()
	all := []hal.Mount{{ID: 1, Path: "/", Root: "/", Device: hal.Device{Major: 8, Minor: 1}, FSType: "ext4"}}
	for _, at := range slices.Sorted(maps.Keys(m.mounts)) {
		all = append(all, m.mounts[at]...)
	}
	return all, nil
}

func (m mounts) At(_ hal.Call, at string) ([]hal.Mount, error) {
	defer m.begin().mu.Unlock()
	return slices.Clone(m.mounts[at]), nil
}

func (m mounts) Within(_ hal.Call, at string) ([]hal.Mount, error) {
	defer m.begin().mu.Unlock()
	all := m.within(nil, at, m.nodes[at])
	slices.SortStableFunc(all, func(a, b hal.Mount) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// within appends the mounts at and below a path. What is mounted is mounted on a directory or a file that exists.
func (h *Host) within(to []hal.Mount, at string, n *node) []hal.Mount {
	to = append(to, h.mounts[at]...)
	if n == nil {
		return to
	}
	for below := n.first; below != nil; below = below.next {
		to = h.within(to, strings.TrimSuffix(at, "/")+"/"+below.name, below)
	}
	return to
}

func (m mounts) Mount(_ hal.Call, n hal.NewMount) error {
	defer m.begin().mu.Unlock()
	m.mount(hal.Mount{Path: n.Target, FSType: n.FSType, Source: n.Source})
	return nil
}

func (m mounts) Bind(_ hal.Call, b hal.BindSpec) error {
	defer m.begin().mu.Unlock()
	m.mount(hal.Mount{Path: b.Target, FSType: "ext4", Source: b.Source})
	stack := m.mounts[b.Target]
	top := &stack[len(stack)-1]
	top.Device, top.Root, top.ReadOnly = hal.Device{}, b.Source, slices.Contains(b.Flags, "ro")
	return nil
}

func (h *Host) mount(n hal.Mount) {
	h.serial++
	n.ID, n.Parent, n.Root, n.Device = hal.MountID(h.serial), 1, "/", hal.Device{Minor: uint32(h.serial)}
	h.mounts[n.Path] = append(h.mounts[n.Path], n)
}

func (m mounts) Unmount(_ hal.Call, at string, _ hal.MountID) error {
	defer m.begin().mu.Unlock()
	return m.unmount(at)
}

func (h *Host) unmount(at string) error {
	stack := h.mounts[at]
	switch len(stack) {
	case 0:
		return failures[syscall.EINVAL]
	case 1:
		delete(h.mounts, at)
	default:
		h.mounts[at] = stack[:len(stack)-1]
	}
	return nil
}

type machine struct{}

func (machine) ID() string       { return strings.Repeat("1", 32) }
func (machine) Random() [16]byte { return [16]byte{1} }

func (machine) Date() string { return "2026-01-01T00:00:00Z" }

type children struct{}

func (children) Living(hal.Call) ([]hal.Child, error) { return nil, nil }
func (children) Gone(_ hal.Child, f func())           { f() }

type cluster struct{ objects []any }

func (c cluster) Watch(f func(hal.ClusterEvent)) {
	f(hal.Changed{Source: "manifest", Applied: c.objects})
	f(hal.Synced{Source: "manifest"})
}

func (cluster) Pod(hal.Call, string, string, string) (*corev1.Pod, error) { return &corev1.Pod{}, nil }

func (cluster) ConfigMap(hal.Call, string, string) (map[string]string, error) { return nil, nil }

func (cluster) TrustBundle(hal.Call, string) (hal.TrustBundle, error) { return hal.TrustBundle{}, nil }

func (cluster) Secret(hal.Call, string, string) (hal.Secret, error) {
	return hal.NewSecret(nil), nil
}

type watches struct{ *Host }

func (w watches) MountTable(f func([]string)) { w.noticed = f }

func (watches) Directory(string, func()) (changed func() (names []string, isAny bool)) {
	return func() ([]string, bool) { return nil, true }
}
func (watches) Path(string, func()) func() { return func() {} }
func (w watches) PluginSockets(dir string, f func(hal.SocketEvent)) {
	for i, name := range w.drivers {
		f(hal.SocketEvent{Path: dir + "/" + name + ".sock", Present: true, Made: int64(i + 1)})
	}
}
