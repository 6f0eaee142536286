package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// markConcurrent has pods want volumes of their own, each of the actor that its name begins with.
type markConcurrent struct {
	c    *core.Core
	now  hal.Instant
	runs []core.Op
}

func newCrowd(limit int) *markConcurrent {
	return &markConcurrent{c: core.New(core.Start{Now: 1, Boot: "b", InFlight: limit}), now: 1}
}

func (w *markConcurrent) step(e core.Event) {
	w.runs = append(w.runs, w.c.Step(w.now, e).Start...)
}

func (w *markConcurrent) wants(pod, actor string, volumes int) {
	var rungs []core.Rung
	for i := range volumes {
		rungs = append(rungs, core.Rung{
			Key: hal.Key(fmt.Sprintf("%s/%s/%d", actor, pod, i)), Kind: "k",
			Pod: core.PodUID(pod), Actor: actor,
		})
	}
	w.step(core.Wanted{Pod: core.PodUID(pod), Rungs: rungs, Complete: true})
}

// ends ends the operation that began first.
func (w *markConcurrent) ends() core.Op {
	op := w.runs[0]
	w.runs = w.runs[1:]
	w.step(core.Completed{Op: op.ID, Result: core.Result{Outcome: hal.Done, Fingerprint: "f"}})
	return op
}

func TestOperationsOfOneActorAreBounded(t *testing.T) {
	w := newCrowd(0)
	for i := range 300 {
		w.wants(fmt.Sprint("p", i), "disk", 1)
	}
	require.Len(t, w.runs, core.MaxInFlight)
	w.wants("q", "", 1)
	require.Len(t, w.runs, core.MaxInFlight+1, "another actor's do not wait")
	for range 200 {
		w.ends()
		require.LessOrEqual(t, len(w.runs), core.MaxInFlight+1)
	}
	for len(w.runs) > 0 {
		w.ends()
	}
	for i := range 300 {
		require.True(t, w.c.Ready(core.PodUID(fmt.Sprint("p", i))))
	}
}

func TestWhatHangsKeepsNobodyWaitingForLong(t *testing.T) {
	w := newCrowd(2)
	for i := range 5 {
		w.wants(fmt.Sprint("p", i), "disk", 1)
	}
	require.Len(t, w.runs, 2)
	for _, running := range []int{4, 5} { // none of them ends
		w.now = w.c.NextWake()
		require.NotZero(t, w.now)
		w.step(core.Wake{})
		require.Len(t, w.runs, running)
	}
	require.Equal(t, hal.Instant(1).Add(2*time.Second), w.now)
	require.Zero(t, w.c.NextWake())
	for len(w.runs) > 0 {
		w.ends()
	}
	w.wants("q", "disk", 3)
	require.Len(t, w.runs, 2, "what has ended late is not counted twice")
}

func TestPodWithManyVolumesTakesTurns(t *testing.T) {
	w := newCrowd(1)
	w.wants("large", "disk", 50)
	w.wants("small", "disk", 1)
	w.ends()
	w.ends()
	require.Equal(t, core.PodUID("small"), w.ends().Pod, "after one that ran and one that waited first")
}

func TestWhoIsNotWantedAnyMoreLosesItsTurn(t *testing.T) {
	w := newCrowd(1)
	w.wants("a", "disk", 1)
	w.wants("b", "disk", 1)
	w.wants("c", "disk", 1)
	w.step(core.Unwanted{Pod: "b"})
	w.step(core.Gone{Pod: "b"})
	w.ends()
	require.Equal(t, core.PodUID("c"), w.runs[0].Pod)
}

func TestPlanPassesOverWhoIsNotWantedAnyMore(t *testing.T) {
	w := newCrowd(1)
	for _, pod := range []string{"a", "b", "c", "d"} {
		w.wants(pod, "disk", 1)
	}
	w.step(core.Unwanted{Pod: "b"})
	w.step(core.Gone{Pod: "b"})
	require.Equal(t, []string{"#1 setup disk/a/0", "#2 setup disk/c/0", "#3 setup disk/d/0"}, names(w.c.Plan()))
	require.Equal(t, core.PodUID("a"), w.ends().Pod, "planning did nothing")
	require.Equal(t, core.PodUID("c"), w.ends().Pod)
}
