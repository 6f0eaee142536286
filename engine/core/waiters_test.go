package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Who waits for nothing to be left waits for a pod, too, that comes while the pods are going for which it began to
// wait.
func TestWhoWaitsForAllWaitsForWhoComes(t *testing.T) {
	c := core.New(core.Start{Now: 1, Boot: "b"})
	now := hal.Instant(1)
	var woken []core.Waiter
	var step func(e core.Event)
	step = func(e core.Event) {
		now++
		b := c.Step(now, e)
		woken = append(woken, b.Wake...)
		for _, o := range b.Start {
			step(core.Completed{Op: o.ID, Result: core.Result{Outcome: hal.Done, Fingerprint: "m"}})
		}
	}
	comes := func(name string) {
		rungs := volume{name: name, kinds: []string{"publish", "stage"}, driver: "d"}.rungs(core.PodUID(name))
		step(core.Wanted{Pod: core.PodUID(name), Rungs: rungs, Complete: true})
	}
	goes := func(uid core.PodUID) {
		step(core.Unwanted{Pod: uid})
		step(core.Gone{Pod: uid})
	}
	step(core.AllSynced{})
	comes("a")
	step(core.Await{Waiter: 1, For: core.AllGone})
	comes("b")
	goes("a")
	require.Empty(t, woken)
	goes("b")
	require.Equal(t, []core.Waiter{1}, woken)
}
