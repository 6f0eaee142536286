package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// drift compares the mount table with what core believes: all of it at the start and every so often, and where it has
// changed each time it has.
type drift struct {
	// What is to be read next: all of the table, or what is at some paths and below them, sorted.
	isAll bool
	news  []string

	reading bool
	at      []string             // what is being read; nil is all
	since   uint64               // the last step of core when the reading began
	blocked map[hal.Key]inTheWay // what was at the place of each Blocked rung when it was read last
	due     hal.Instant          // of the next reading of all without a notice; 0 is none

	base    hal.MountID        // on which the root directory was at the start
	lost    []core.Cover       // what has the root directory be another one
	strange []stranger         // what others have mounted below the root directory, by path
	covers  []core.Cover       // the mounts of others that hide places of volumes
	below   map[hal.Key]string // what others have mounted below a volume
	watched map[hal.Key]func() // ends the watch of a rung's directory
}

// inTheWay is what is at the place of a rung, and what others have mounted below it.
type inTheWay struct{ top, below string }

// driftRetry is the wait after a table that could not be read.
const driftRetry = time.Second

// tableEvery is how often the table is read without a notice while volumes are up: of a filesystem that turns read-only
// by itself, or loses its device, the kernel gives none.
const tableEvery = 2 * time.Minute

// coveredRetry is the wait while a mount hides what is to be looked at.
const coveredRetry = 30 * time.Second

// tableChanged has what has come and gone at some paths compared, or everything if they are nil.
func (m *VolumeManager) tableChanged(at []string) {
	m.readLater(at)
	m.readTable()
}

// readTable reads what is to be read next, unless a reading is under way.
func (m *VolumeManager) readTable() {
	d := &m.drift
	if d.reading {
		return
	}
	at := m.concerning(d.news)
	if d.isAll {
		at = nil
	} else if len(at) == 0 {
		d.news = nil
		return
	}
	d.isAll, d.news = false, nil
	d.reading, d.at, d.since = true, at, m.core.Seq()
	m.h.Runtime.Go(func() {
		table, err := m.mountsAt(at)
		m.h.Runtime.Post(func() { m.tableRead(table, err) })
	})
}

// concerning returns those of some sorted paths at which a mount may concern a volume, without those below another
// one. A mount on what leads to the root directory concerns everything: then it returns nil, and all is to be read.
func (m *VolumeManager) concerning(paths []string) []string {
	root := m.cfg.RootDir
	concerned := paths[:0:0]
	for _, at := range paths {
		switch {
		case at == root || at == "/" || isBelow(root, at):
			m.drift.isAll = true
			return nil
		case (isBelow(at, root) || m.core.IsPlace(at)) && !isAmong(at, concerned):
			concerned = append(concerned, at)
		}
	}
	return concerned
}

// mountsAt reads the mounts at some paths and below them, nil for all, a stack bottom first.
func (m *VolumeManager) mountsAt(paths []string) ([]hal.Mount, error) {
	if paths == nil {
		return m.h.Mounts.Table(hal.Call{})
	}
	var all []hal.Mount
	for _, at := range paths {
		found, err := m.h.Mounts.Within(hal.Call{}, at)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (m *VolumeManager) tableRead(table []hal.Mount, err error) {
	at, since := m.drift.at, m.drift.since
	m.drift.reading, m.drift.at = false, nil
	if err != nil {
		m.readLater(at)
		m.h.Runtime.At(m.h.Runtime.Now().Add(driftRetry), m.readTable)
		return
	}
	changed := m.mindStrangers(at, table)
	m.readsAgain()
	tops := make(map[string]*hal.Mount, len(table))
	for i := range table {
		tops[table[i].Path] = &table[i] // a stack is listed bottom first
	}
	// What an answered call has brought over another volume is told before that volume is found covered: else it would
	// come up on top.
	for _, e := range append(m.appeared(at, tops, table, since), m.differing(at, tops, since)...) {
		m.log(LevelWarn, "volume changed by someone else", "rung", string(e.Key), "found", e.Fingerprint)
		step(&m.port, e)
	}
	for _, key := range m.unblocked(at, tops, changed) {
		step(&m.port, core.Unblocked{Key: key})
	}
	// Of what has come to stand since the reading began it says nothing for certain, and there may be no other notice:
	// what differs is read again.
	if now := m.core.Seq(); now > since && len(m.differing(at, tops, now))+len(m.appeared(at, tops, table, now)) > 0 {
		m.readLater(at)
	}
	m.readTable()
}

// readLater has something be read next, or all if it is nil.
func (m *VolumeManager) readLater(at []string) {
	d := &m.drift
	if d.isAll = d.isAll || at == nil; d.isAll {
		d.news = nil
		return
	}
	d.news = append(slices.Clone(d.news), at...)
	slices.Sort(d.news)
	d.news = slices.Compact(d.news)
}

// readsAgain plans the next reading without a notice.
func (m *VolumeManager) readsAgain() {
	if now := m.h.Runtime.Now(); m.drift.due <= now && m.core.HasMounts() {
		at := now.Add(tableEvery)
		m.drift.due = at
		m.h.Runtime.At(at, func() {
			if m.drift.due == at {
				m.tableChanged(nil)
			}
		})
	}
}

// differing returns the rungs that are up, were a mount and are not that mount any more, and those without one on which
// something was mounted that matters. What a mount above hides is as it was.
func (m *VolumeManager) differing(paths []string, tops map[string]*hal.Mount, since uint64) []core.Observed {
	var events []core.Observed
	m.core.EachPresent(paths, since, func(key hal.Key, made []core.Param, fingerprint string) {
		at := plugin.PathOf(made)
		_, isCovered := m.core.CoverOf(key)
		if at == "" || isCovered {
			return
		}
		mount, ok := tops[at]
		if !strings.HasPrefix(fingerprint, "mount ") && (!ok || !m.mindsMount(key)) {
			return
		}
		if ok && mount.Is(fingerprint) {
			return
		}
		found := ""
		if ok {
			found = mount.Fingerprint()
		}
		events = append(events, core.Observed{Key: key, Fingerprint: found, Since: since})
	})
	return events
}

// mindsMount reports whether a mount matters at the place of a rung that is up without one: over an emptyDir, or if a
// call of ours may have brought it. Once that can't be any more, a start would take it for another's.
func (m *VolumeManager) mindsMount(key hal.Key) bool {
	kind, _, _ := strings.Cut(string(key), "/")
	b, _ := m.core.Belief(key)
	return m.cfg.VolumeSources.IsDirectory(core.Kind(kind)) || b.SetUpOpen != 0
}

// appeared returns the rungs that were down, and at or below whose place something is mounted now: an effect of a call
// that was answered with an error.
func (m *VolumeManager) appeared(paths []string, tops map[string]*hal.Mount, table []hal.Mount, since uint64,
) []core.Observed {
	var events []core.Observed
	var mounted []string
	m.core.Remembered(paths, since, func(key hal.Key, at, beside string) {
		if at == "" {
			return
		}
		if beside != "" {
			i := slices.IndexFunc(table, func(mount hal.Mount) bool { return mount.Path == at && !mount.Was(beside) })
			if i >= 0 {
				events = append(events, core.Observed{Key: key, Fingerprint: table[i].Fingerprint(), Since: since})
			}
			return
		}
		if mounted == nil {
			mounted = slices.Sorted(maps.Keys(tops))
		}
		i, is := slices.BinarySearch(mounted, at)
		if !is {
			i, _ = slices.BinarySearch(mounted, at+"/")
		}
		if is || i < len(mounted) && isBelow(mounted[i], at) {
			events = append(events, core.Observed{Key: key, Fingerprint: tops[mounted[i]].Fingerprint(), Since: since})
		}
	})
	return events
}

// unblocked returns the Blocked rungs in whose way something else is than when it was read last: at some paths and
// below them, nil for all, and those below which something has come or gone.
func (m *VolumeManager) unblocked(paths []string, tops map[string]*hal.Mount, changed []hal.Key) []hal.Key {
	before := m.drift.blocked
	if paths == nil {
		m.drift.blocked = map[hal.Key]inTheWay{}
	}
	var unblocked []hal.Key
	note := func(key hal.Key, now inTheWay) {
		if was, known := before[key]; known && was != now {
			unblocked = append(unblocked, key)
		}
		m.drift.blocked[key] = now
	}
	for _, key := range changed {
		if was, known := before[key]; known && paths != nil {
			note(key, inTheWay{was.top, m.drift.below[key]})
		}
	}
	m.core.Blocked(paths, func(key hal.Key, at string) {
		now := inTheWay{below: m.drift.below[key]}
		if mount, ok := tops[at]; ok {
			now.top = mount.Fingerprint()
		}
		note(key, now)
	})
	return unblocked
}

func childText(c hal.Child) string {
	return fmt.Sprintf("helper of an earlier run still runs: pid %d (state %s): %s", c.PID, c.State, c.What)
}

func itoa(n int) string { return strconv.Itoa(n) }
