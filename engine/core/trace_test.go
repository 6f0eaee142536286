package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A stage stands without a record, and the journal has no room for its ladder: the end of the climb that was not begun writes no record, which might fit
// and would have the next climb ask for no room.
func TestATraceAsksForRoomAgain(t *testing.T) {
	rungs := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}.rungs("p")
	c := core.New(core.Start{Now: 1, Boot: "b", Strays: rungs[1:]})
	now := hal.Instant(1)
	step := func(e core.Event) core.Batch { now++; return c.Step(now, e) }
	b := step(core.AllSynced{})
	step(core.Wanted{Pod: "p", Rungs: rungs, Complete: true})
	for len(b.Start) > 0 && b.Start[0].Verb == core.Look {
		b = step(core.Completed{Op: b.Start[0].ID, Result: core.Result{Outcome: hal.Done, Fingerprint: "m"}})
	}
	require.Equal(t, core.Climb, b.Start[0].Verb)
	require.NotZero(t, b.Lines[0].Room)
	refused := core.Refused{Ops: []hal.OpID{b.Start[0].ID}, Keys: []hal.Key{b.Start[0].Key}, Reason: "no room"}
	require.Empty(t, step(refused).Lines)
}
