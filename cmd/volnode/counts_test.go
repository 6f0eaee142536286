package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
)

// A volume that is Blocked becomes Stuck, and one that is Stuck goes, without a line in the log: the status line
// follows them all the same.
func TestOnlyVolumesThatAreUpAreSettled(t *testing.T) {
	for _, state := range allConditions {
		isUp := state == engine.Ready || state == engine.Degraded
		volumes := []engine.VolumeStatus{{State: engine.Ready}, {State: state}}
		is := count(engine.Status{Pods: []engine.PodStatus{{Volumes: volumes}}})
		require.Equal(t, isUp, is.areSettled(), "%s", state)
	}
	require.True(t, count(engine.Status{}).areSettled())
}
