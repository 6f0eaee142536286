package core_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// workOfOne is what core looks at as one more pod comes and goes beside so many that stay, while somebody waits for the
// end of all.
func workOfOne(t *testing.T, pods int) core.Work {
	t.Helper()
	c := core.New(core.Start{Now: 1, Boot: "b"})
	now, isWoken := hal.Instant(1), false
	step := func(e core.Event) {
		queue := []core.Event{e}
		for len(queue) > 0 {
			now++
			batch := c.Step(now, queue[0])
			queue, isWoken = queue[1:], isWoken || len(batch.Wake) > 0
			for _, op := range batch.Start {
				res := core.Result{Outcome: hal.Done, Fingerprint: op.Fingerprint}
				if op.Verb == core.SetUp {
					res.Fingerprint = "m"
				}
				queue = append(queue, core.Completed{Op: op.ID, Result: res})
			}
		}
	}
	comes := func(uid core.PodUID) {
		v := volume{name: string(uid), kinds: []string{"publish", "stage"}, driver: "d"}
		step(core.Wanted{Pod: uid, Rungs: v.rungs(uid), Complete: true})
	}
	goes := func(uid core.PodUID) {
		step(core.Unwanted{Pod: uid})
		step(core.Gone{Pod: uid})
	}
	step(core.AllSynced{})
	for i := range pods {
		comes(core.PodUID(strconv.Itoa(i)))
	}
	step(core.Await{Waiter: 1, For: core.AllGone})
	before := c.Work()
	comes("one")
	goes("one")
	after := c.Work()
	require.False(t, isWoken)
	for i := range pods {
		goes(core.PodUID(strconv.Itoa(i)))
	}
	require.True(t, isWoken)
	return core.Work{
		Rungs: after.Rungs - before.Rungs, Places: after.Places - before.Places,
		Waiters: after.Waiters - before.Waiters,
	}
}

// What core looks at for one pod does not depend on how many others there are, also while somebody waits until nothing
// is left.
func TestWorkForOnePodIsItsOwn(t *testing.T) {
	require.Equal(t, workOfOne(t, 3), workOfOne(t, 300))
}
