package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// A host may tell of its pods as soon as there is a manager, before the node has been read.
func TestPodsAddedBeforeTheStart(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.SetAgent(func(h hal.Host) {
		b.m = engine.New(h, b.cfg)
		b.m.PodAdded(pod("kept", "a"))
		b.m.PodAdded(pod("gone", "a"))
		b.m.PodRemoved("uid-gone")
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(10 * time.Minute)
	s := b.status()
	require.Len(t, s.Pods, 1)
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s.Pods)
}
