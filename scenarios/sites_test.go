package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
)

// offering notes which faults are offered at which site.
type offering struct {
	sim.Seeded
	at map[FaultAt]bool
}

func (o offering) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	for _, f := range faults[1:] {
		o.at[FaultAt{sim.SiteOf(id.Site), f}] = true
	}
	return faults[o.Pick(id, weights)]
}

// TestSitesAreWhatWorldsOffer compares the list of sites with the choices that worlds are seen to make.
func TestSitesAreWhatWorldsOffer(t *testing.T) {
	offered, listed := map[FaultAt]bool{}, map[FaultAt]bool{}
	h := NewHunter()
	for seed := range uint64(200) {
		is := setupOf(seed)
		is.Profile = sim.Uniform()
		h.Run(Schedule{Seed: seed, Setup: &is, Chooser: offering{sim.Seeded(seed), offered}})
	}
	reached := map[string]bool{}
	for at := range offered {
		reached[at.Site] = true
	}
	for _, s := range sim.Sites() {
		for _, f := range s.Faults() {
			listed[FaultAt{s.Name, f}] = true
			// Only the mount of a network filesystem can fail with its whole effect, and this engine makes none.
			if f == sim.FailFull && s.Name == "mounts.mount" {
				continue
			}
			if reached[s.Name] && !offered[FaultAt{s.Name, f}] {
				t.Errorf("hal/sim/sites.go lists %s, and no world offers it", FaultAt{s.Name, f})
			}
		}
	}
	for at := range offered {
		require.True(t, listed[at], "worlds offer %s, and hal/sim/sites.go does not list it", at)
	}
}
