package deletions_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// newer is how many bytes of entries come after one before it may go: the file that becomes the older one has about as
// many.
const newer = deletions.MaxFile * 3 / 4

// told is the entries of a world, in the order in which they were written.
type told struct {
	volumes []string
	lengths []int
	stays   map[string]bool // the log was durable with them: a deletion may have begun, or they are beside one that has
	unread  bool            // the file could not be read, and what a failed sync has left there can't be written again
}

// lost returns an entry that must be in the log, and is not.
func (m *told) lost(there map[string]bool) string {
	after := 0
	for i := len(m.volumes) - 1; i >= 0 && after < newer; i-- {
		if v := m.volumes[i]; m.stays[v] && !there[v] {
			return v
		}
		after += m.lengths[i]
	}
	return ""
}

// said is what files of the log say, though the agent may not be able to read them.
func said(w *sim.World, files ...string) map[string]bool {
	all := map[string]bool{}
	for _, file := range files {
		for _, e := range deletions.Parse(w.ReadFile(file)) {
			all[e.Volume] = true
		}
	}
	return all
}

// TestNoOrderOfFailuresLosesAnEntry has agents die, writes and syncs fail and the power go at any call: what the log
// said as it was durable, it says from then on.
func TestNoOrderOfFailuresLosesAnEntry(t *testing.T) {
	file, seeds := deletions.File(dir), uint64(1000)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		w := sim.New(sim.Config{
			Chooser: sim.Seeded(seed), Disk: sim.DiskOrdered + sim.Disk(seed%3),
			Profile: sim.Only(1<<(7+seed%4), sim.FailNone, sim.NoSpace, sim.SyncFails, sim.LostWrite, sim.CrashBefore,
				sim.CrashAfter, sim.PowerCut),
		})
		w.Restarts(false)
		m, n := told{stays: map[string]bool{}}, uint32(0)
		w.OnFault(func(i sim.Injected) { m.unread = m.unread || i.Site == "files.read/fault" && i.Object == file })
		draw := func(values int64) int64 {
			n++
			return sim.Seeded(seed).Between(sim.NewID("test", "", n), 0, values-1)
		}
		for range 8 {
			h := w.Host()
			w.Do(func() { m.lives(w, &h, draw) })
			require.Empty(t, m.lost(said(w, file+".1", file)), "seed %d: an entry is lost as an agent has ended", seed)
			if draw(2) == 0 {
				w.CutPower()
				require.Empty(t, m.lost(said(w, file+".1", file)), "seed %d: an entry is lost with the power", seed)
			}
		}
		w.Close()
	}
}

// lives is an agent that starts, and deletes this and that.
func (m *told) lives(w *sim.World, h *hal.Host, draw func(int64) int64) {
	l, _ := deletions.Open(h, hal.Call{}, dir)
	for range 1 + draw(4) {
		entries := make([]deletions.Entry, 1+draw(3))
		for i := range entries {
			length := []int{10, 300, 1000, 400_000}[max(0, draw(200)-196)]
			entries[i] = deletions.Entry{Volume: fmt.Sprint("v", len(m.volumes)), Cause: strings.Repeat("c", length)}
			m.volumes, m.lengths = append(m.volumes, entries[i].Volume), append(m.lengths, length)
		}
		m.unread = false
		if _, err := l.Append(h, hal.Call{}, entries, nil); err != nil {
			continue
		}
		for _, e := range entries {
			m.stays[e.Volume] = true
		}
		if !m.unread {
			for volume := range said(w, deletions.File(dir)) { // the order does not matter
				m.stays[volume] = true
			}
		}
	}
}
