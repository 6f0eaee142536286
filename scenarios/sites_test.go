package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
)

// offering notes which faults are offered at which site.
type offering struct {
	sim.Seeded
	at map[coverage.FaultAt]bool
}

func (o offering) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	for _, f := range faults[1:] {
		o.at[coverage.FaultAt{Site: sim.SiteOf(id.Site), Fault: f}] = true
	}
	return faults[o.Pick(id, weights)]
}

// TestSitesAreWhatWorldsOffer compares the list of sites with the choices that worlds are seen to make.
func TestSitesAreWhatWorldsOffer(t *testing.T) {
	offered, listed := map[coverage.FaultAt]bool{}, map[coverage.FaultAt]bool{}
	h := NewHunter()
	for seed := range uint64(200) {
		is := cases.SetupOf(seed)
		is.Profile = sim.Uniform()
		h.Run(Schedule{Seed: seed, Setup: &is, Chooser: offering{sim.Seeded(seed), offered}})
	}
	reached := map[string]bool{}
	for at := range offered {
		reached[at.Site] = true
	}
	for _, s := range sim.Sites() {
		for _, f := range s.Faults() {
			listed[coverage.FaultAt{Site: s.Name, Fault: f}] = true
			// Only the mount of a network filesystem can fail with its whole effect, and this engine makes none.
			if f == sim.FailFull && s.Name == "mounts.mount" {
				continue
			}
			if reached[s.Name] && !offered[coverage.FaultAt{Site: s.Name, Fault: f}] {
				t.Errorf("hal/sim/sites.go lists %s, and no world offers it", coverage.FaultAt{Site: s.Name, Fault: f})
			}
		}
	}
	for at := range offered {
		require.True(t, listed[at], "worlds offer %s, and hal/sim/sites.go does not list it", at)
	}
}
