package core

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/hal"
)

func TestTimersComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h timers
		rungs := make([]*rung, 6)
		for i := range rungs {
			rungs[i] = &rung{identity: identity{Rung: Rung{Key: hal.Key(rune('a' + i))}}}
		}
		for range rapid.IntRange(0, 40).Draw(t, "sets") {
			h.set(rapid.SampledFrom(rungs).Draw(t, "rung"), hal.Instant(rapid.IntRange(0, 9).Draw(t, "at")))
		}
		var waiting []*rung
		for _, r := range rungs {
			require.Equal(t, h.of(r) != 0, r.slot != 0)
			if h.of(r) != 0 {
				waiting = append(waiting, r)
			}
		}
		slices.SortStableFunc(waiting, func(a, b *rung) int { return int(h.of(a) - h.of(b)) })
		for _, r := range waiting {
			at := h.of(r)
			require.Equal(t, at, h.first())
			require.Nil(t, h.due(at-1))
			require.Same(t, r, h.due(at))
			require.Zero(t, h.of(r))
		}
		require.Zero(t, h.first())
		require.Nil(t, h.due(10))
	})
}

func TestBackoff(t *testing.T) {
	nominal := []time.Duration{
		500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		32 * time.Second, 64 * time.Second,
		backoffMax, backoffMax, backoffMax,
	}
	differ := false
	for _, key := range []hal.Key{"stage/a", "stage/b", "publish/a/p"} {
		var b, again backoff
		for i, want := range nominal {
			now := hal.Instant(i) * hal.Instant(time.Hour)
			b.fail(now, key, SetUp, false)
			again.fail(now, key, SetUp, false)
			wait := b.until.Sub(now)
			require.LessOrEqual(t, wait, want)
			require.Greater(t, wait, want-want/10-1)
			require.Equal(t, again, b, "the jitter is a hash of key, verb and attempt")
			differ = differ || wait != nominal[i]
		}
		require.Equal(t, len(nominal), b.attempts)
	}
	require.True(t, differ)

	var a, b, c backoff
	a.fail(0, "stage/a", SetUp, false)
	b.fail(0, "stage/b", SetUp, false)
	c.fail(0, "stage/a", TearDown, false)
	require.NotEqual(t, a.until, b.until, "rungs that failed together do not retry together")
	require.NotEqual(t, a.until, c.until)

	var h backoff
	h.hold(0, "stage/a", SetUp)
	require.InDelta(t, float64(backoffMax), float64(h.until), float64(backoffMax)/10+1)
}

// A rung that is decided on again and again does not fill the heap with timers.
func TestTimersDoNotPileUp(t *testing.T) {
	c := New(Start{Now: 1, Boot: "b"})
	c.Step(1, AllSynced{})
	spec := Rung{Key: "publish", Kind: "publish", Pod: "p", Want: []Param{{"token", "", OnChangeRefresh}}}
	c.Step(1, Wanted{Pod: "p", Rungs: []Rung{spec}, Complete: true})
	day := hal.Instant(24 * time.Hour)
	c.Step(1, Completed{Op: 1, Result: Result{Outcome: hal.Done, RefreshBy: day}})
	for i := range 1000 {
		spec.Want = []Param{{"token", string(rune('a' + i)), OnChangeRefresh}}
		now := c.now
		b := c.Step(now, Wanted{Pod: "p", Rungs: []Rung{spec}, Complete: true})
		require.Len(t, b.Start, 1)
		c.Step(now, Completed{Op: b.Start[0].ID, Result: Result{Outcome: hal.NotDone}})
		b = c.Step(c.NextWake(), Wake{})
		require.Len(t, b.Start, 1)
		c.Step(c.now, Completed{Op: b.Start[0].ID, Result: Result{Outcome: hal.Done, RefreshBy: day}})
	}
	require.Len(t, c.timers, 1)
}
