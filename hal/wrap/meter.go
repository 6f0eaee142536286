package wrap

import (
	"maps"
	"sync"

	"github.com/volnode/volnode/hal"
)

// Counts is what was asked of a host, and what it took to answer.
type Counts struct {
	Calls   map[string]uint64 // by Site.Name
	Mounts  uint64            // entries of the mount table that were read
	Names   uint64            // entries of directories that were read
	Files   uint64            // files that were read
	Read    uint64            // bytes of them
	ReadOf  map[string]uint64 // and how many of each, by path
	Written uint64            // bytes that were written
	Tasks   uint64            // the most tasks that ran at once since the last Counts
}

// Sum is the number of calls of all kinds.
func (c Counts) Sum() (n uint64) {
	for _, k := range c.Calls {
		n += k
	}
	return n
}

// Meter counts what is asked of a host. All methods may be called from any goroutine.
type Meter struct {
	mu     sync.Mutex
	counts Counts
	tasks  uint64 // that run
}

// Metered returns h with a meter in it.
func Metered(h hal.Host) (hal.Host, *Meter) {
	m := &Meter{counts: Counts{Calls: map[string]uint64{}, ReadOf: map[string]uint64{}}}
	h.Runtime, h.Mounts, h.Tree, h.Files = meteredRuntime{h.Runtime, m}, meteredMounts{h.Mounts, m},
		meteredTree{h.Tree, m}, meteredFiles{h.Files, m}
	return Host(h, func(s Site, _ hal.Call, do func() error) error {
		m.add(func(c *Counts) { c.Calls[s.Name]++ })
		return do()
	}), m
}

// Counts returns what was counted so far.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Calls, c.ReadOf, m.counts.Tasks = maps.Clone(c.Calls), maps.Clone(c.ReadOf), m.tasks
	return c
}

func (m *Meter) add(to func(*Counts)) {
	m.mu.Lock()
	to(&m.counts)
	m.mu.Unlock()
}

type meteredRuntime struct {
	hal.Runtime
	m *Meter
}

func (r meteredRuntime) Go(task func()) {
	r.m.add(func(c *Counts) {
		r.m.tasks++
		c.Tasks = max(c.Tasks, r.m.tasks)
	})
	r.Runtime.Go(func() {
		defer r.m.add(func(*Counts) { r.m.tasks-- })
		task()
	})
}

type meteredMounts struct {
	hal.Mounts
	m *Meter
}

func (w meteredMounts) count(all []hal.Mount, err error) ([]hal.Mount, error) {
	w.m.add(func(c *Counts) { c.Mounts += uint64(len(all)) })
	return all, err
}

func (w meteredMounts) Table(c hal.Call) ([]hal.Mount, error) { return w.count(w.Mounts.Table(c)) }
func (w meteredMounts) At(c hal.Call, at string) ([]hal.Mount, error) {
	return w.count(w.Mounts.At(c, at))
}

func (w meteredMounts) Within(c hal.Call, at string) ([]hal.Mount, error) {
	return w.count(w.Mounts.Within(c, at))
}

type meteredTree struct {
	hal.Tree
	m *Meter
}

func (w meteredTree) List(c hal.Call, at string) ([]hal.Entry, error) {
	all, err := w.Tree.List(c, at)
	w.m.add(func(c *Counts) { c.Names += uint64(len(all)) })
	return all, err
}

type meteredFiles struct {
	hal.Files
	m *Meter
}

func (w meteredFiles) Read(c hal.Call, at string, limit int64) ([]byte, error) {
	data, err := w.Files.Read(c, at, limit)
	w.read(at, len(data))
	return data, err
}

func (w meteredFiles) ReadAt(c hal.Call, at string, offset int64, b []byte) (int, error) {
	n, err := w.Files.ReadAt(c, at, offset, b)
	w.read(at, n)
	return n, err
}

func (w meteredFiles) read(at string, n int) {
	w.m.add(func(c *Counts) {
		c.Files, c.Read = c.Files+1, c.Read+uint64(n)
		c.ReadOf[at] += uint64(n)
	})
}

func (w meteredFiles) Write(c hal.Call, at string, data []byte, mode uint32) error {
	w.m.add(func(c *Counts) { c.Written += uint64(len(data)) })
	return w.Files.Write(c, at, data, mode)
}

func (w meteredFiles) WriteAt(c hal.Call, at string, offset int64, data []byte) error {
	w.m.add(func(c *Counts) { c.Written += uint64(len(data)) })
	return w.Files.WriteAt(c, at, offset, data)
}
