package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

func TestAHelperInTheKernelOutlivesTheAgentAndActs(t *testing.T) {
	w := benign(t, sim.Config{Chooser: newRecorded([]choice{
		{ID: sim.NewID("mounts.bind/fault", root+"/m", 0), Value: 3}, // hang
		{ID: sim.NewID("child.hang", "bind "+root+"/m", 0), Time: true, Value: int64(time.Minute)},
		{ID: sim.NewID("child.lives", "bind "+root+"/m", 0), Value: 1},
	}), Profile: sim.Everything()})
	w.MakeDir(root + "/m")
	var late []sim.Effect
	w.OnEffect(func(e sim.Effect) {
		if e.Kind == sim.EffectMount {
			late = append(late, e)
		}
	})
	w.Go(func() {
		_ = w.Host().Mounts.Bind(hal.Call{Op: 7, Key: "rung"}, hal.BindSpec{Source: root, Target: root + "/m"})
		t.Error("a dead task went on")
	})
	require.NoError(t, w.RunFor(time.Second))
	w.KillAgent()
	require.Len(t, w.Living(), 1)

	h := w.Host()
	var seen []hal.Child
	gone := hal.Instant(0)
	w.Do(func() {
		var err error
		seen, err = h.Children.Living(hal.Call{})
		require.NoError(t, err)
		h.Children.Gone(seen[0], func() { gone = w.Now() })
	})
	require.Equal(t, hal.Key("rung"), seen[0].Key)
	require.Empty(t, w.MountsAt(root+"/m"))
	require.NoError(t, w.RunFor(2*time.Minute))
	require.Len(t, w.MountsAt(root+"/m"), 1)
	require.Len(t, late, 1)
	require.True(t, late[0].Late)
	require.Equal(t, hal.OpID(7), late[0].Op)
	require.GreaterOrEqual(t, gone, late[0].At)
	require.Empty(t, w.Living())
}

func TestAHelperThatDiesWithTheAgentDoesNothing(t *testing.T) {
	w := benign(t, sim.Config{Chooser: newRecorded([]choice{
		{ID: sim.NewID("mounts.bind/fault", root+"/m", 0), Value: 3},
	}), Profile: sim.Everything()})
	w.MakeDir(root + "/m")
	w.Go(func() { _ = w.Host().Mounts.Bind(hal.Call{}, hal.BindSpec{Source: root, Target: root + "/m"}) })
	require.NoError(t, w.RunFor(time.Millisecond))
	require.Len(t, w.Living(), 1)
	w.KillAgent()
	require.Empty(t, w.Living())
	require.NoError(t, w.RunFor(time.Hour))
	require.Empty(t, w.MountsAt(root+"/m"))
}

func TestAHelperPastItsDeadlineMayStillAct(t *testing.T) {
	w := benign(t, sim.Config{Chooser: newRecorded([]choice{
		{ID: sim.NewID("hostpaths.make/fault", "/mnt/x", 0), Value: 5},
		{ID: sim.NewID("child.hang", "mkdir /mnt/x", 0), Time: true, Value: int64(time.Minute)},
	}), Profile: sim.Everything()})
	h := w.Host()
	w.Do(func() {
		err := h.HostPaths.Make(hal.Call{Deadline: h.Runtime.Now().Add(time.Second)}, "/mnt/x", hal.TypeDirectory)
		require.Equal(t, hal.Unknown, hal.OutcomeOf(err))
	})
	_, there := w.Exists("/mnt/x")
	require.False(t, there)
	require.NoError(t, w.RunFor(2*time.Minute))
	_, there = w.Exists("/mnt/x")
	require.True(t, there)
}
