package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/verdict"
)

func TestCanariesAreFoundAndCountedApart(t *testing.T) {
	f := Fleet{Seed: 95, Runs: 110, Workers: 2, Canaries: true}
	var batches Sums
	f.Batch = func(b Batch) {
		require.Empty(t, b.Failed)
		batches.Add(b.Sums)
	}
	tally, failed := f.Hunt()
	require.Nil(t, failed)
	require.Empty(t, tally.Found)
	require.EqualValues(t, 110, tally.Schedules)
	require.EqualValues(t, 2, tally.Canaries, "100 and 200")
	require.EqualValues(t, 2, tally.Caught)
	require.Equal(t, tally.Sums, batches)
	require.Zero(t, tally.MissedCanaries())
}

func TestCanaryThatPassesIsMissed(t *testing.T) {
	var sums Sums
	sums.add(scenarios.Result{Canary: true})
	sums.add(scenarios.Result{Canary: true, Violation: &verdict.Violation{Property: scenarios.CanaryProperty}})
	sums.add(scenarios.Result{Canary: true, Violation: &verdict.Violation{Property: "S5"}})
	sums.add(scenarios.Result{})
	require.EqualValues(t, 1, sums.MissedCanaries())
	require.EqualValues(t, 2, sums.Canaries)
}
