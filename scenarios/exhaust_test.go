package scenarios_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/explore"
)

const storyOfAStage = `# a volume comes up and stays
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a
at 0s apply all
within 1m expect pod default/web ready
after 1m expect pod default/web ready
`

// TestExhaustFindsPlantedDefects: one that takes a fault and one that takes two are found by the same choices, whether or not runs are cut short.
func TestExhaustFindsPlantedDefects(t *testing.T) {
	for deaths := 1; deaths <= 2; deaths++ {
		find := func(depth int, all bool) explore.Exhausted {
			s, err := scenarios.Parse("stage.txt", storyOfAStage)
			require.NoError(t, err)
			s.Plant(deaths)
			done := explore.Exhaust{Scenarios: []*scenarios.Scenario{s}, Depth: depth, Workers: 1, All: all}.Run()
			require.Len(t, done, 1)
			return done[0]
		}
		if deaths > 1 {
			less := find(deaths-1, false)
			require.False(t, less.Failed())
			require.Positive(t, less.Cut)
		}
		all, pruned := find(deaths, true), find(deaths, false)
		require.NotNil(t, all.Violation)
		require.Equal(t, all.Violation, pruned.Violation)
		require.Equal(t, "L1", pruned.Violation.Property)
		require.Equal(t, all.Case.String(), pruned.Case.String())
		require.Zero(t, all.Pruned+all.Cut)
		require.LessOrEqual(t, pruned.Events, all.Events)

		again := pruned.Case.Play(scenarios.Play{Choices: pruned.Case.Chooser()}).Run()
		require.NotNil(t, again.Violation)
		require.Contains(t, pruned.Case.Command("replay"), "--keep '")
		t.Logf("%d runs, %d without: %s", pruned.Run, all.Run, pruned.Case)
	}
}
