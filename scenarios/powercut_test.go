package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
)

const (
	fewUnsynced   = 10 // choices of what a power cut leaves, of which all combinations are tried
	manySubsets   = 64 // that are drawn where there are more
	journalRounds = 30
	recordBytes   = 1200 // few records fill a file, and each spans sectors
)

// asRead keeps what is in doubt as it was read.
func asRead(r core.Record) core.Record { return r }

func acceptAll([]core.Record) error { return nil }

// journalCut writes batches to a journal, with a power cut at the nth call that changes something, and reads what is
// left.
type journalCut struct {
	disk    sim.Disk
	nth     int
	acked   map[hal.Key]core.Phase // what was durable when the power went
	pending map[hal.Key]core.Phase // and what was being written
	isCut   bool
}

func (j *journalCut) run(t *testing.T, chooser sim.Chooser) {
	calls := 0
	w := sim.New(sim.Config{
		Chooser: chooser, Profile: sim.Only(1<<15, sim.LostWrite), Disk: j.disk, RootDir: lang.RootDir,
		Script: func(_ sim.ID, possible []sim.Fault) sim.Fault {
			for _, f := range possible {
				if f == sim.PowerCut && !j.isCut {
					if calls++; calls == j.nth {
						j.isCut = true
						return f
					}
				}
			}
			return sim.NoFault
		},
	})
	defer w.Close()
	w.Restarts(false)
	j.acked, j.pending, j.isCut = map[hal.Key]core.Phase{}, map[hal.Key]core.Phase{}, false
	h := w.Host()
	w.Go(func() {
		log, _, err := journal.Open(&h, hal.Call{}, judges.JournalDir, journal.MinSize, asRead, acceptAll)
		require.NoError(t, err)
		for round := range journalRounds {
			key, phase := hal.Key(fmt.Sprintf("stage/%d", round%2)), core.Phase(1+round%2)
			line := core.Line{Key: key, Sync: true, Record: core.Record{
				Rung: core.Rung{Key: key, Kind: "csi.stage"}, Phase: phase, Boot: "b",
				Fingerprint: strings.Repeat("f", recordBytes),
			}}
			j.pending[key] = phase
			require.NoError(t, log.Append(&h, hal.Call{}, []core.Line{line}))
			j.acked[key] = phase
		}
	})
	require.NoError(t, w.RunFor(cases.Chaos))
	if !j.isCut {
		return
	}
	w.PowerOn()
	h = w.Host()
	w.Do(func() {
		_, loaded, err := journal.Open(&h, hal.Call{}, judges.JournalDir, journal.MinSize, asRead, acceptAll)
		require.NoError(t, err)
		found := map[hal.Key]core.Phase{}
		for _, r := range loaded.Records {
			found[r.Rung.Key] = r.Phase
		}
		if fmt.Sprint(found) != fmt.Sprint(j.pending) {
			require.Equal(t, j.acked, found,
				"%s disk, cut at call %d: what was synced is there, and of the rest all or nothing", j.disk, j.nth)
		}
	})
}

// TestJournalOverAllSubsetsOfAPowerCut cuts the power at each call of a short life of the journal. Where few changes
// are not synced, it tries every legal subset of them.
func TestJournalOverAllSubsetsOfAPowerCut(t *testing.T) {
	cuts, subsets := 0, 0
	for _, disk := range []sim.Disk{sim.DiskOrdered, sim.DiskEager, sim.DiskMinimal} {
		for nth := 1; ; nth++ {
			j := journalCut{disk: disk, nth: nth}
			all := &sim.Odometer{Inner: sim.Benign{}, Counts: sim.AtPowerCut}
			j.run(t, all)
			if !j.isCut {
				break
			}
			cuts++
			subsets++
			if all.Width() > fewUnsynced {
				for seed := range sim.Seeded(manySubsets) {
					j.run(t, seed)
					subsets++
				}
				continue
			}
			for all.Next() {
				j.run(t, all)
				subsets++
			}
		}
	}
	t.Logf("%d power cuts, %d states of the disk", cuts, subsets)
	require.Greater(t, cuts, 50)
	require.Greater(t, subsets, 1000)
}
