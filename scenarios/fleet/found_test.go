package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/verdict"
)

func TestHuntThatKeepsGoingHasTheLowestSeedOfEachSignature(t *testing.T) {
	c := &campaign{}
	for _, f := range []struct {
		seed uint64
		site string
	}{{9, "a"}, {4, "b"}, {7, "a"}, {8, "a"}} {
		c.note(scenarios.Result{Seed: f.seed, Violation: &verdict.Violation{Property: "S8", Site: f.site}})
	}
	found := c.now().Found
	require.Len(t, found, 2)
	require.Equal(t, Found{
		Signature: "S8 b", Seed: 4, Schedules: 1,
		Violation: &verdict.Violation{Property: "S8", Site: "b"},
	},
		found[0])
	require.Equal(t, Found{
		Signature: "S8 a", Seed: 7, Schedules: 3,
		Violation: &verdict.Violation{Property: "S8", Site: "a"},
	},
		found[1])
}
