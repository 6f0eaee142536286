package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// A large world is a hunt's with more in it: the same checks hold, and what is beyond the listed volumes is used.
func TestLarge(t *testing.T) {
	h := NewHunter()
	more := 0
	for seed := uint64(1); seed <= 12; seed++ {
		setup := cases.Large(seed)
		res := h.Run(Schedule{Seed: seed, Setup: &setup, Ended: func(v View) {
			r := v.r
			for _, p := range r.List {
				for i := cases.HuntVolumes; i < setup.Volumes; i++ {
					if v := world.VolumeAt(i); p.Driver == v.Driver && p.Volume == v.Handle && p.IsPublish {
						more++
					}
				}
			}
		}})
		require.Nil(t, res.Violation, "seed %d: %v", seed, res.Violation)
	}
	require.Greater(t, more, 12, "publishes of the volumes that only large worlds have")
}
