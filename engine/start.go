package engine

import (
	"path"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

const (
	startRetry    = time.Second
	startRetryMax = 30 * time.Second
)

// node is what a start reads of the node.
type node struct {
	journal *journal.Journal
	loaded  journal.Loaded
	start   core.Start
	strays  plugin.Discovery
}

// start reads the node, beside the owner, until it could be read; then core begins. What can't be read is not taken for absent: the start waits.
func (m *VolumeManager) start() {
	m.h.Runtime.Go(func() {
		n, err := m.read()
		m.h.Runtime.Post(func() {
			if err != nil {
				m.why = reason("start", err)
				m.starts++
				m.log(LevelError, "start failed, will be tried again", "error", err.Error())
				wait := min(startRetry<<min(m.starts-1, 5), startRetryMax)
				m.h.Runtime.At(m.h.Runtime.Now().Add(wait), m.start)
				return
			}
			m.why = ""
			m.begin(n)
		})
	})
}

// read runs as a task.
func (m *VolumeManager) read() (n node, err error) {
	c := hal.Call{}
	for _, dir := range m.dirs() {
		if err := m.h.Tree.Mkdir(c, dir, dirMode(dir)); err != nil && !hal.Is(err, syscall.EEXIST) {
			return n, err
		}
	}
	if n.journal, n.loaded, err = journal.Open(&m.h, c, m.journalDir(), m.cfg.JournalBytes); err != nil {
		return n, err
	}
	table, err := m.h.Mounts.Table(c)
	if err != nil {
		return n, err
	}
	n.start = core.Start{Boot: m.h.Runtime.BootID(), Records: n.loaded.Records}
	// One reading of the table serves the looks of all records.
	h := m.h
	h.Mounts = tableOnce{Mounts: m.h.Mounts, stacks: stacksOf(table)}
	for _, rec := range n.loaded.Records {
		op := core.Op{Verb: core.Look, Key: rec.Rung.Key, Kind: rec.Rung.Kind, Params: rec.Rung.Want, Facts: rec.Facts, Fingerprint: rec.Fingerprint}
		if res := run(&h, op); res.Outcome == hal.Done {
			n.start.Found = append(n.start.Found, core.Found{Key: rec.Rung.Key, Fingerprint: res.Fingerprint})
		}
	}
	if n.strays, err = plugin.Discover(&h, c, m.cfg.RootDir); err != nil {
		return n, err
	}
	n.start.Strays = m.straysOf(n)
	children, err := m.h.Children.Living(c)
	if err != nil {
		return n, err
	}
	for _, child := range children {
		n.start.Children = append(n.start.Children, core.ChildSeen{Key: child.Key, What: childText(child)})
		m.h.Children.Gone(child, func() { m.step(core.ChildGone{Key: child.Key}) })
	}
	return n, nil
}

// begin makes core from what was read and lets the world in.
func (m *VolumeManager) begin(n node) {
	m.journal = n.journal
	n.start.Now = m.h.Runtime.Now()
	m.core = core.New(n.start)
	m.tell(n)
	m.mend()
	m.h.Cluster.Watch(m.clusterEvent)
	m.h.Watches.PluginSockets(m.registryDir(), m.socketEvent)
	m.h.Watches.MountTable(m.tableChanged)
	early := m.early
	m.early = nil
	m.step(core.Wake{})
	for _, e := range early {
		m.step(e)
	}
	m.tableChanged()
}

// tell logs what a start found.
func (m *VolumeManager) tell(n node) {
	for _, d := range n.loaded.Damages {
		m.damage = append(m.damage, d.String())
		m.log(LevelError, "journal damaged", "damage", d.String())
	}
	for _, s := range n.strays.Unknown {
		m.log(LevelWarn, "left alone: not recognised", "path", s.Path, "why", s.Why)
	}
	m.strays = n.strays.Unknown
	m.log(LevelInfo, "started", "records", itoa(len(n.start.Records)), "strays", itoa(len(n.start.Strays)), "children", itoa(len(n.start.Children)))
}

// straysOf gives the rungs found without a record the limits of their drivers.
func (m *VolumeManager) straysOf(n node) []core.Rung {
	rungs := n.strays.Rungs
	for i, r := range rungs {
		if r.Actor == "" {
			continue
		}
		d := m.driverConfig(r.Actor)
		rungs[i].Limits = core.Limits{Climb: d.Climb, Descend: d.Descend, Settle: d.Settle, ActsAfterReply: d.ActsAfterReply}
	}
	return rungs
}

func dirMode(dir string) uint32 {
	switch path.Base(dir) {
	case "volnode", "journal":
		return 0o700
	default:
		return 0o750
	}
}

// tableOnce answers At from one reading of the mount table.
type tableOnce struct {
	hal.Mounts
	stacks map[string][]hal.Mount
}

func (t tableOnce) At(_ hal.Call, path string) ([]hal.Mount, error) { return t.stacks[path], nil }

// stacksOf groups a table by mount point, each stack bottom first.
func stacksOf(table []hal.Mount) map[string][]hal.Mount {
	stacks := make(map[string][]hal.Mount, len(table))
	for _, mount := range table {
		stacks[mount.Path] = append(stacks[mount.Path], mount)
	}
	return stacks
}
