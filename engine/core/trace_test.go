package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A stage stands without a record, and the journal has no room for its ladder: the end of the setup that was not begun
// writes no record, which might fit and would have the next setup ask for no room.
func TestATraceAsksForRoomAgain(t *testing.T) {
	rungs := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}.rungs("p")
	c := core.New(core.Start{Now: 1, Boot: "b", Orphans: rungs[1:]})
	now := hal.Instant(1)
	step := func(e core.Event) core.Batch { now++; return c.Step(now, e) }
	b := step(core.AllSynced{})
	step(core.Wanted{Pod: "p", Rungs: rungs, Complete: true})
	for len(b.Start) > 0 && b.Start[0].Verb == core.Inspect {
		b = step(core.Completed{Op: b.Start[0].ID, Result: core.Result{Outcome: hal.Done, Fingerprint: "m"}})
	}
	require.Equal(t, core.SetUp, b.Start[0].Verb)
	require.NotZero(t, b.Lines[0].Room)
	refused := core.Refused{Ops: []hal.OpID{b.Start[0].ID}, Keys: []hal.Key{b.Start[0].Key}, Reason: "no room"}
	require.Empty(t, step(refused).Lines)
}

// What stands below a rung and has no record has one before the rung goes, whether or not the rung has its own: the
// names of the rung may be all that tells of it.
func TestWhatIsBelowIsRecordedBeforeARungGoes(t *testing.T) {
	rungs := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}.rungs("p")
	for name, start := range map[string]core.Start{
		"the rung has no record": {Orphans: rungs},
		"the rung has one, and what is below has none": {
			Orphans: rungs[1:], Records: []core.Record{{Rung: rungs[0], Phase: core.Leaving, Boot: "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			start.Now, start.Boot = second, "b"
			c := core.New(start)
			c.Step(second, core.Gone{Pod: "p"})
			b := c.Step(second, core.AllSynced{})
			for len(b.Start) > 0 && b.Start[0].Verb == core.Inspect {
				b = c.Step(second, done(b.Start[0].ID, "mount"))
			}
			require.Equal(t, "teardown publish/a/p", b.Start[0].String()[len("#0 "):])
			require.Len(t, b.Lines, 2)
			require.Equal(t, rungs[1].Key, b.Lines[0].Key)
			require.True(t, b.Lines[0].Sync)
			require.Equal(t, core.Leaving, b.Lines[0].Record.Phase)
		})
	}
}
