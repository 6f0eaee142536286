package journal

import (
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// disk is a small model of directories and files: what is written is seen at once, and durable after a sync; a power
// cut keeps of each sector any of its versions since then, and of the changes of names any. A sync that fails drops
// what it should have written, and the next succeeds.
type disk struct {
	hal.Tree // the journal calls no more of it than there is here

	names   map[string]*inode // as seen
	durable map[string]*inode
	changes []map[string]*inode // of names since the last sync of their directory; nil takes a name away
	quota   int64               // bytes allocated at most; 0 is no limit
	read    int64               // bytes that were read
	boot    hal.BootID

	calls []string
	// fault is asked before each call; it returns the errno of the call, or panics.
	fault func(n int, call string) syscall.Errno
}

type inode struct {
	dir     bool
	mode    uint32
	data    []byte
	synced  []byte
	pending []write
}

type write struct {
	at   int64
	data []byte
}

// died is what a call panics with when the agent dies in it.
type died struct{}

func newDisk() *disk {
	root := &inode{dir: true}
	return &disk{names: map[string]*inode{"/r": root}, durable: map[string]*inode{"/r": root}}
}

func (d *disk) host() *hal.Host { return &hal.Host{Tree: d, Files: d, Runtime: boot{id: d.boot}} }

type boot struct {
	hal.Runtime
	id hal.BootID
}

func (b boot) BootID() hal.BootID { return b.id }

func (d *disk) call(op, p string) error {
	d.calls = append(d.calls, op+" "+path.Base(p))
	if d.fault != nil {
		if errno := d.fault(len(d.calls), op); errno != 0 {
			return d.error(op, p, errno)
		}
	}
	return nil
}

func (d *disk) error(op, p string, errno syscall.Errno) error {
	return &hal.Error{Op: op, Object: p, Class: hal.ClassFile, Errno: errno}
}

func (d *disk) change(names map[string]*inode) {
	d.changes = append(d.changes, names)
	apply(d.names, names)
}

func apply(names, changes map[string]*inode) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if changes[name] == nil {
			delete(names, name)
		} else {
			names[name] = changes[name]
		}
	}
}

func (d *disk) Mkdir(_ hal.Call, p string, mode uint32) error {
	if err := d.call("mkdir", p); err != nil {
		return err
	}
	if d.names[p] != nil {
		return d.error("mkdir", p, syscall.EEXIST)
	}
	if d.names[path.Dir(p)] == nil {
		return d.error("mkdir", p, syscall.ENOENT)
	}
	d.change(map[string]*inode{p: {dir: true, mode: mode}})
	return nil
}

func (d *disk) Remove(_ hal.Call, p string) error {
	if err := d.call("remove", p); err != nil {
		return err
	}
	if d.names[p] == nil {
		return d.error("remove", p, syscall.ENOENT)
	}
	d.change(map[string]*inode{p: nil})
	return nil
}

func (d *disk) RemoveTree(hal.Call, string, int) (bool, error) {
	panic("not a call of the journal")
}

func (d *disk) Rename(_ hal.Call, from, to string) error {
	if err := d.call("rename", from); err != nil {
		return err
	}
	if d.names[from] == nil {
		return d.error("rename", from, syscall.ENOENT)
	}
	d.change(map[string]*inode{from: nil, to: d.names[from]})
	return nil
}

func (d *disk) List(_ hal.Call, p string) ([]hal.Entry, error) {
	if err := d.call("list", p); err != nil {
		return nil, err
	}
	var out []hal.Entry
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if path.Dir(name) == p {
			is := hal.TypeFile
			if d.names[name].dir {
				is = hal.TypeDirectory
			}
			out = append(out, hal.Entry{Name: path.Base(name), Type: is})
		}
	}
	return out, nil
}

func (d *disk) Stat(_ hal.Call, p string) (hal.Info, error) {
	if err := d.call("stat", p); err != nil {
		return hal.Info{}, err
	}
	if d.names[p] == nil {
		return hal.Info{}, d.error("stat", p, syscall.ENOENT)
	}
	return hal.Info{Type: hal.TypeFile, Size: int64(len(d.names[p].data))}, nil
}

func (d *disk) ReadAt(_ hal.Call, p string, offset int64, b []byte) (int, error) {
	if err := d.call("read at", p); err != nil {
		return 0, err
	}
	if d.names[p] == nil {
		return 0, d.error("read", p, syscall.ENOENT)
	}
	data := d.names[p].data
	return copy(b, data[min(offset, int64(len(data))):]), nil
}

func (d *disk) Read(_ hal.Call, p string, limit int64) ([]byte, error) {
	if err := d.call("read", p); err != nil {
		return nil, err
	}
	f := d.names[p]
	if f == nil {
		return nil, d.error("read", p, syscall.ENOENT)
	}
	if int64(len(f.data)) > limit {
		return nil, d.error("read", p, syscall.EFBIG)
	}
	d.read += int64(len(f.data))
	return slices.Clone(f.data), nil
}

func (d *disk) Write(hal.Call, string, []byte, uint32) error { panic("not a call of the journal") }

func (d *disk) WriteAt(_ hal.Call, p string, offset int64, data []byte) error {
	err := d.call("write", p)
	f := d.names[p]
	if f == nil {
		return d.error("write", p, syscall.ENOENT)
	}
	if offset > int64(len(f.data)) {
		return d.error("write", p, syscall.ERANGE)
	}
	if offset+int64(len(data)) > int64(len(f.data)) {
		panic("a write outside of what was allocated")
	}
	if err != nil {
		data = data[:len(data)/2/8*8]
	}
	f.pending = append(f.pending, write{offset, slices.Clone(data)})
	copy(f.data[offset:], data)
	return err
}

func (d *disk) Allocate(_ hal.Call, p string, size int64, mode uint32) error {
	if err := d.call("allocate", p); err != nil {
		return err
	}
	f := d.names[p]
	if f == nil {
		f = &inode{mode: mode}
		d.change(map[string]*inode{p: f})
	}
	used := size - int64(len(f.data))
	for _, other := range d.names {
		used += int64(len(other.data))
	}
	if d.quota > 0 && size > int64(len(f.data)) && used > d.quota {
		return d.error("allocate", p, syscall.ENOSPC)
	}
	f.data = append(f.data, make([]byte, max(size-int64(len(f.data)), 0))...)
	return nil
}

func (d *disk) Sync(_ hal.Call, p string) error {
	err := d.call("sync", p)
	f := d.names[p]
	if f == nil {
		return d.error("sync", p, syscall.ENOENT)
	}
	if f.dir {
		if err == nil {
			d.durable, d.changes = maps.Clone(d.names), nil
		}
		return err
	}
	if err == nil {
		f.synced = grown(f.synced, len(f.data))
		for _, w := range f.pending {
			copy(f.synced[w.at:], w.data)
		}
	}
	f.pending = nil
	return err
}

func grown(b []byte, size int) []byte {
	return append(slices.Clone(b), make([]byte, max(size-len(b), 0))...)
}

// cut is the disk after the power was cut. choose returns a number below n.
func (d *disk) cut(choose func(n int) int) *disk {
	after := &disk{names: maps.Clone(d.durable), quota: d.quota, boot: d.boot + "+"}
	for _, change := range d.changes {
		if choose(2) == 1 {
			apply(after.names, change)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.names)) {
		if f := after.names[name]; !f.dir {
			data := f.cut(choose)
			after.names[name] = &inode{mode: f.mode, data: data, synced: slices.Clone(data)}
		}
	}
	after.durable = maps.Clone(after.names)
	return after
}

func (f *inode) cut(choose func(n int) int) []byte {
	if len(f.synced) == 0 && choose(3) == 0 {
		return make([]byte, choose(2)*len(f.data)/2)
	}
	data := grown(f.synced, len(f.data))
	for at := 0; at < len(data) && len(f.pending) > 0; at += sectorSize {
		end := min(at+sectorSize, len(data))
		touched := slices.DeleteFunc(slices.Clone(f.pending), func(w write) bool {
			return w.at >= int64(end) || w.at+int64(len(w.data)) <= int64(at)
		})
		if len(touched) == 0 {
			continue
		}
		for _, w := range touched[:choose(len(touched)+1)] {
			from, to := max(int64(at), w.at), min(int64(end), w.at+int64(len(w.data)))
			copy(data[from:to], w.data[from-w.at:to-w.at])
		}
	}
	return data
}

// restart is the disk as another run of the agent finds it.
func (d *disk) restart() *disk {
	d.fault, d.calls = nil, nil
	return d
}

// files returns the names below the journal's directory.
func (d *disk) files() []string {
	var out []string
	for name := range d.names {
		if strings.HasPrefix(name, testDir+"/") {
			out = append(out, path.Base(name))
		}
	}
	slices.Sort(out)
	return out
}
