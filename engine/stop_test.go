package engine_test

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// untilUnpublish is a driver's node service with which the manager is told to stop while a volume is unpublished.
type untilUnpublish struct {
	hal.CSINode
	stop func()
}

func (u untilUnpublish) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	u.stop()
	return u.CSINode.Unpublish(c, driver, r)
}

// What was decided while the manager stops is not begun, and the journal does not say that it may have been: the next
// run would have to wait for the end of a call that was never sent.
func TestStopLeavesNoIntentOfWhatWasNotBegun(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.SetAgent(func(h hal.Host) {
		if b.w.Life() == 2 {
			h.CSINode = untilUnpublish{h.CSINode, func() { b.m.Stop() }}
		}
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
	b.w.Cluster.Delete(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, 1, b.status().Journal.Records, "the stage's: %+v", b.status().Rungs)

	b.w.KillAgent()
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State, "%+v", b.status().Rungs)
}
