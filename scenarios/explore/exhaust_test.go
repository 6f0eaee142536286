package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
)

// TestCatalogueWithEveryFault is a part of what make exhaust does in full.
func TestCatalogueWithEveryFault(t *testing.T) {
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	if testing.Short() {
		all = all[:4]
	}
	done := Exhaust{Scenarios: all, Depth: 1, Workers: 2, All: true}.Run()
	last := done[len(done)-1]
	require.False(t, last.Failed(), "%v %v\n%s", last.Violation, last.Stale, last.Case.Command("replay"))
	require.Len(t, done, len(all))
	sum := Total(done)
	require.Equal(t, sum.Generated, sum.Run)
	require.Greater(t, sum.Run, uint64(200*len(all)))
}

// TestSameOutcomeWithAnyNumberOfWorkers compares what is found, not when.
func TestSameOutcomeWithAnyNumberOfWorkers(t *testing.T) {
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	e := Exhaust{Scenarios: all[:3], Depth: 1, Workers: 1}
	want := e.Run()
	e.Workers = 3
	require.Equal(t, want, e.Run())
}

// TestBudgetChangesTheOrderAlone has time for all: the same combinations come up, in another order.
func TestBudgetChangesTheOrderAlone(t *testing.T) {
	s, err := scenarios.Find("pod_asks_for_what_is_not_served")
	require.NoError(t, err)
	e := Exhaust{Scenarios: []*scenarios.Scenario{s}, Depth: 2, All: true}
	want := e.Run()
	require.Greater(t, want[0].Run, uint64(500))
	e.Budget = time.Hour
	require.Equal(t, want, e.Run())
}
