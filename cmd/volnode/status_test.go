package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
)

func TestStatusOfADaemonThatStarts(t *testing.T) {
	require.Equal(t, "n1  starting: volnode has not read the node yet; the state of its volumes is not known",
		headline(engine.Status{Node: "n1", Starting: true}))
}

// The first line counts a stage that no pod has, for which somebody may wait.
func TestTheFirstLineCountsStagesWithoutAPod(t *testing.T) {
	s := engine.Status{Synced: true, Rungs: []engine.RungStatus{{Key: "csi.stage/d^v", State: engine.Uncertain}}}
	require.Contains(t, headline(s), "  1 stage without a pod")
	s.Pods = []engine.PodStatus{{Volumes: []engine.VolumeStatus{{Keys: []hal.Key{"csi.stage/d^v"}}}}}
	require.NotContains(t, headline(s), "without a pod")
}
