package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// turns has two tasks that both go on at each of many instants, and returns how often the one that is ahead changes.
func turns(t *testing.T, tie uint64, depth int) (changes int) {
	w := New(Config{Tie: tie, Depth: depth})
	defer w.Close()
	var order []int
	for id := range 2 {
		w.Go(func() {
			task := w.sched.current
			for range 1200 {
				w.sched.wake(w.sched.now.Add(time.Microsecond), uint64(w.sched.steps), task)
				w.sched.park()
				order = append(order, id)
			}
		})
	}
	require.NoError(t, w.RunFor(time.Minute))
	require.Len(t, order, 2400)
	for i := 2; i < len(order); i += 2 {
		require.NotEqual(t, order[i], order[i+1], "both go on at each instant")
		if order[i] != order[i-2] {
			changes++
		}
	}
	return changes
}

func TestRanksKeepTheirOrder(t *testing.T) {
	most := map[int]int{}
	for tie := range uint64(40) {
		require.Zero(t, turns(t, tie+1, 1))
		for depth := 2; depth <= 4; depth++ {
			n := turns(t, tie+1, depth)
			require.Less(t, n, depth)
			most[depth] = max(most[depth], n)
		}
	}
	require.Equal(t, map[int]int{2: 1, 3: 2, 4: 3}, most, "in some order every fall is a change")
	require.Greater(t, turns(t, 1, 0), 100, "without ranks one is ahead now and then")
}

func TestTimesAreRoundedUp(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: 0, 1: time.Millisecond, time.Millisecond: time.Millisecond, time.Millisecond + 1: 2 * time.Millisecond,
	} {
		require.Equal(t, hal.Instant(want), roundUp(hal.Instant(given)))
	}
}
