package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal"
)

// drift compares the mount table with what core believes, each time the table has changed.
type drift struct {
	reading bool
	since   uint64             // the last step of core when the reading began
	blocked map[hal.Key]string // what stood at the place of each Blocked rung at the last reading, and below it
	again   bool               // it changed while it was read
	due     hal.Instant        // of the next reading without a notice; 0 is none

	base    hal.MountID        // on which the root directory was at the start
	covers  []core.Cover       // the mounts of others that hide places of volumes
	below   map[hal.Key]string // what others have mounted below a volume
	watched map[hal.Key]func() // ends the watch of a rung's directory
}

// driftRetry is the wait after a table that could not be read.
const driftRetry = time.Second

// tableEvery is how often the table is read without a notice while volumes are up: of a filesystem that turns read-only by itself, or loses its device,
// the kernel gives none.
const tableEvery = 2 * time.Minute

// coveredRetry is the wait while a mount hides what is to be looked at.
const coveredRetry = 30 * time.Second

func (m *VolumeManager) tableChanged() {
	if m.drift.reading {
		m.drift.again = true
		return
	}
	m.drift.reading, m.drift.since = true, m.core.Seq()
	m.h.Runtime.Go(func() {
		table, err := m.h.Mounts.Table(hal.Call{})
		m.h.Runtime.Post(func() { m.tableRead(table, err) })
	})
}

func (m *VolumeManager) tableRead(table []hal.Mount, err error) {
	since := m.drift.since
	m.drift.reading = false
	if err != nil {
		m.h.Runtime.At(m.h.Runtime.Now().Add(driftRetry), m.tableChanged)
		return
	}
	m.mindStrangers(table)
	m.readsAgain()
	tops := make(map[string]*hal.Mount, len(table))
	for i := range table {
		tops[table[i].Path] = &table[i] // a stack is listed bottom first
	}
	for _, e := range append(m.differing(tops, since), m.appeared(tops, since)...) {
		m.log(LevelWarn, "changed behind our back", "rung", string(e.Key), "found", e.Fingerprint)
		m.step(e)
	}
	for _, key := range m.unblocked(tops) {
		m.step(core.Stirred{Key: key})
	}
	// Of what has come to stand since the reading began it says nothing for certain, and there may be no other notice: what differs is read again.
	if now := m.core.Seq(); now > since && len(m.differing(tops, now))+len(m.appeared(tops, now)) > 0 {
		m.drift.again = true
	}
	if m.drift.again {
		m.drift.again = false
		m.tableChanged()
	}
}

// readsAgain plans the next reading without a notice.
func (m *VolumeManager) readsAgain() {
	if now := m.h.Runtime.Now(); m.drift.due <= now && m.core.HasMounts() {
		at := now.Add(tableEvery)
		m.drift.due = at
		m.h.Runtime.At(at, func() {
			if m.drift.due == at {
				m.tableChanged()
			}
		})
	}
}

// differing returns the standing rungs that were a mount and are not that mount any more, and the emptyDirs on which something was mounted. What a
// mount above hides is as it was.
func (m *VolumeManager) differing(tops map[string]*hal.Mount, since uint64) []core.Observed {
	var events []core.Observed
	m.core.Standing(since, func(key hal.Key, made []core.Param, fingerprint string) {
		at := core.Value(made, "path")
		_, isCovered := m.core.CoverOf(key)
		if at == "" || isCovered {
			return
		}
		mount, ok := tops[at]
		if !strings.HasPrefix(fingerprint, "mount ") && (!ok || !strings.HasPrefix(string(key), string(emptydir.Kind)+"/")) {
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

// appeared returns the rungs that were down, and at or below whose place something is mounted now: an effect of a call that was answered
// with an error.
func (m *VolumeManager) appeared(tops map[string]*hal.Mount, since uint64) []core.Observed {
	var events []core.Observed
	m.core.Remembered(since, func(key hal.Key, params []core.Param) {
		at := core.Value(params, "path")
		for _, mounted := range slices.Sorted(maps.Keys(tops)) {
			if at != "" && (mounted == at || strings.HasPrefix(mounted, at+"/")) {
				events = append(events, core.Observed{Key: key, Fingerprint: tops[mounted].Fingerprint(), Since: since})
				break
			}
		}
	})
	return events
}

// unblocked returns the Blocked rungs at whose places something else stands than at the last reading.
func (m *VolumeManager) unblocked(tops map[string]*hal.Mount) []hal.Key {
	var changed []hal.Key
	blocked := map[hal.Key]string{}
	m.core.Blocked(func(key hal.Key, params []core.Param) {
		found := ""
		if mount, ok := tops[core.Value(params, "path")]; ok {
			found = mount.Fingerprint()
		}
		found += m.drift.below[key]
		before, known := m.drift.blocked[key]
		if known && before != found {
			changed = append(changed, key)
		}
		blocked[key] = found
	})
	m.drift.blocked = blocked
	return changed
}

func childText(c hal.Child) string {
	return fmt.Sprintf("pid %d (state %s) of an earlier run: %s", c.PID, c.State, c.What)
}

func itoa(n int) string { return strconv.Itoa(n) }
