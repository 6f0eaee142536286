package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// agentWorld is a world whose agent is f, run on the owner of each incarnation.
func agentWorld(t *testing.T, c sim.Config, f func(hal.Host)) *sim.World {
	t.Helper()
	w := benign(t, c)
	w.SetAgent(f)
	w.StartAgent()
	return w
}

func TestOwnerRunsPostsInOrderAndTimersInTheirTime(t *testing.T) {
	var got []string
	w := agentWorld(t, sim.Config{}, func(h hal.Host) {
		start := h.Runtime.Now()
		h.Runtime.At(start.Add(2*time.Second), func() { got = append(got, "two") })
		h.Runtime.At(start.Add(time.Second), func() {
			require.Equal(t, start.Add(time.Second), h.Runtime.Now())
			got = append(got, "one")
		})
		h.Runtime.At(start-1, func() { got = append(got, "past") })
		h.Runtime.Post(func() { got = append(got, "a"); h.Runtime.Post(func() { got = append(got, "c") }) })
		h.Runtime.Post(func() { got = append(got, "b") })
	})
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, []string{"a", "b", "c", "past", "one", "two"}, got)
}

func TestTasksInterleaveAtCallsByTheTieBreak(t *testing.T) {
	orders := map[string]bool{}
	for tie := range uint64(50) {
		order := ""
		w := agentWorld(t, sim.Config{Tie: tie}, func(h hal.Host) {
			for _, name := range []string{"a", "b", "c"} {
				h.Runtime.Go(func() {
					_, _ = h.Tree.Stat(hal.Call{}, root)
					order += name
				})
			}
		})
		require.NoError(t, w.RunFor(time.Second))
		orders[order] = true
		if tie == 0 {
			require.Equal(t, "abc", order, "without a tie-break: first in, first out")
		}
	}
	require.Len(t, orders, 6)
}

func TestAwait(t *testing.T) {
	var ready func()
	var errs []error
	w := agentWorld(t, sim.Config{}, func(hal.Host) {})
	w.Go(func() {
		h := w.Host()
		errs = append(errs, h.Runtime.Await(nil, func(done func()) { ready = done })) //nolint:staticcheck // nil: never over
		errs = append(errs, h.Runtime.Await(w.Context(time.Second), func(func()) {}))
		c := w.Context(0)
		w.After(time.Second, "cancel", c.Cancel)
		errs = append(errs, h.Runtime.Await(context.WithValue(c, sim.Benign{}, 1), func(func()) {}))
		errs = append(errs, h.Runtime.Await(c, func(func()) { t.Error("registered after its end") }))
	})
	require.NoError(t, w.RunFor(time.Minute))
	require.Empty(t, errs)
	w.After(0, "ready", func() { ready(); ready() })
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, []error{nil, context.DeadlineExceeded, context.Canceled, context.Canceled}, errs)
	ready()
	require.NoError(t, w.RunFor(time.Minute))
}

func TestADeadTaskDoesNothing(t *testing.T) {
	var trail []string
	var h hal.Host
	w := agentWorld(t, sim.Config{}, func(host hal.Host) {
		h = host
		h.Runtime.Go(func() {
			defer func() {
				trail = append(trail, "unwound")
				defer func() { trail = append(trail, "deferred twice") }()
				_ = h.Tree.Mkdir(hal.Call{}, root+"/ghost", 0o755)
				trail = append(trail, "ghost")
			}()
			_ = h.Runtime.Await(nil, func(func()) {}) //nolint:staticcheck // nil: never over
			trail = append(trail, "went on")
		})
		h.Runtime.At(h.Runtime.Now().Add(time.Hour), func() { trail = append(trail, "timer") })
		h.Watches.MountTable(func([]string) { trail = append(trail, "watch") })
	})
	w.Restarts(false)
	require.NoError(t, w.RunFor(time.Second))
	w.KillAgent()
	h.Runtime.Post(func() { trail = append(trail, "post") })
	h.Runtime.Go(func() { trail = append(trail, "task") })
	w.MakeDir(root + "/m")
	require.Zero(t, w.BindMount(root, root+"/m", false))
	require.NoError(t, w.RunFor(2*time.Hour))
	require.Equal(t, []string{"unwound", "deferred twice"}, trail)
	_, ghost := w.Exists(root + "/ghost")
	require.False(t, ghost)
}

func TestAKilledTaskMayRecoverIfItEnds(t *testing.T) {
	w := sim.New(sim.Config{})
	w.SetAgent(func(h hal.Host) {
		h.Runtime.Go(func() {
			defer func() { _ = recover() }()
			_ = h.Runtime.Await(nil, func(func()) {}) //nolint:staticcheck // nil: never over
		})
	})
	w.StartAgent()
	require.NoError(t, w.RunFor(time.Second))
	w.KillAgent() // it ends at once: that is all that is asked
	w.Close()
}

func TestPanicsAreKeptWithTheirStack(t *testing.T) {
	for _, where := range []string{"task", "owner"} {
		w := agentWorld(t, sim.Config{}, func(h hal.Host) {
			if where == "owner" {
				boom()
			}
			h.Runtime.Go(boom)
		})
		err := w.RunFor(time.Minute)
		require.ErrorContains(t, err, "kaboom")
		require.ErrorContains(t, err, "scheduler_test.go")
	}
}

func boom() { panic("kaboom") }

func TestABlockingCallOnTheOwnerIsADefect(t *testing.T) {
	w := agentWorld(t, sim.Config{}, func(h hal.Host) { _, _ = h.Tree.Stat(hal.Call{}, root) })
	require.ErrorContains(t, w.RunFor(time.Minute), "tree.stat called outside a task")
}

func TestGoexitIsADefect(t *testing.T) {
	w := agentWorld(t, sim.Config{}, func(h hal.Host) {
		h.Runtime.Go(func() { (&testing.T{}).SkipNow() })
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = w.RunFor(time.Minute)
	}()
	<-ended
	require.ErrorContains(t, w.RunFor(time.Minute), "Goexit")
}

func TestACallPastItsDeadlineIsNotSent(t *testing.T) {
	w := benign(t, sim.Config{})
	h := w.Host()
	w.Do(func() {
		err := h.Tree.Mkdir(hal.Call{Deadline: h.Runtime.Now()}, root+"/x", 0o755)
		require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	})
	_, made := w.Exists(root + "/x")
	require.False(t, made)
}

func TestAStalledAgentGoesOnInOrder(t *testing.T) {
	w := benign(t, sim.Config{})
	h := w.Host()
	var order []string
	note := func(what string) func() { return func() { order = append(order, what) } }
	h.Runtime.At(h.Runtime.Now().Add(2*time.Second), note("second"))
	h.Runtime.At(h.Runtime.Now().Add(time.Second), note("first"))
	w.After(3*time.Second, "", note("world"))
	slept := hal.Instant(0)
	w.Go(func() {
		_ = h.Runtime.Await(w.Context(4*time.Second), func(func()) {})
		slept = w.Now()
		note("task")()
	})
	require.NoError(t, w.RunFor(time.Millisecond))
	began := w.Now()
	w.StallAgent(time.Minute)
	require.True(t, w.IsStalled())
	require.NoError(t, w.RunFor(59*time.Second))
	require.Equal(t, []string{"world"}, order)
	require.NoError(t, w.RunFor(2*time.Second))
	require.False(t, w.IsStalled())
	require.Equal(t, []string{"world", "task", "first", "second"}, order,
		"a timer is posted to the owner, a task goes on by itself")
	require.Equal(t, time.Minute, slept.Sub(began))
	w.StallAgent(time.Hour)
	w.KillAgent()
	require.False(t, w.IsStalled(), "the next life runs")
}
