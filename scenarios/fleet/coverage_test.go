package fleet

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/coverage"
)

func TestCoverageDoesNotChangeARun(t *testing.T) {
	h := scenarios.NewHunter()
	for seed := range uint64(40) {
		plain, covered := h.Run(scenarios.Schedule{Seed: seed}), h.Run(scenarios.Schedule{Seed: seed, Cover: true})
		require.Nil(t, plain.Coverage)
		require.Equal(t, plain.Hash, covered.Hash)
		require.Equal(t, plain.Events, covered.Events)
		sum := uint64(0)
		for _, n := range covered.Coverage.Faults {
			sum += n
		}
		require.Equal(t, covered.Faults, sum, "each fault is counted")
	}
}

func TestCoverageIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	var texts []string
	for _, workers := range []int{1, 3} {
		tally, failed := Fleet{Runs: 40, Seed: 1, Workers: workers, Cover: true}.Hunt()
		require.Nil(t, failed)
		require.Equal(t, []uint64{1, 3, 10, 30, 40}, schedulesOf(tally.Curve))
		text, err := json.Marshal(map[string]any{"coverage": tally.Coverage, "curve": tally.Curve})
		require.NoError(t, err)
		texts = append(texts, string(text))
	}
	require.Equal(t, texts[0], texts[1])
}

func schedulesOf(curve []Growth) []uint64 {
	all := make([]uint64, len(curve))
	for i, p := range curve {
		all[i] = p.Schedules
	}
	return all
}

func TestCoverageIsReadBack(t *testing.T) {
	tally, _ := Fleet{Runs: 30, Seed: 1, Workers: 1, Cover: true}.Hunt()
	text, err := json.Marshal(tally.Coverage)
	require.NoError(t, err)
	read := coverage.New()
	require.NoError(t, json.Unmarshal(text, read))
	require.Equal(t, tally.Coverage, read)
	require.Zero(t, read.Add(tally.Coverage), "nothing of it is new")
	require.Equal(t, uint64(60), read.Runs)
	require.Positive(t, coverage.New().Add(read))
	for _, bad := range []string{
		`{"tuples": {"nonsense": 1}}`, `{"faults": {"csi.stage: flies": 1}}`, `{"probes": {"": 1}}`,
		`{"transitions": {"a + b": 1}}`,
	} {
		require.Error(t, json.Unmarshal([]byte(bad), coverage.New()), bad)
	}
}

// TestEverythingIsReached hunts a fixed number of seeds and runs the catalogue: what they never reach has a reason, and
// what has one is not reached.
func TestEverythingIsReached(t *testing.T) {
	tally, failed := Fleet{Runs: 3000, Seed: 1, Workers: 2, Cover: true}.Hunt()
	require.Nil(t, failed)
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	for _, s := range all {
		tally.Coverage.Add(scenarios.Play{Scenario: s, Cover: true}.Run().Coverage)
	}
	for _, g := range tally.Coverage.Gaps() {
		if g.Why == "" {
			t.Errorf("%s is never reached: make the worlds reach it, or say in gaps.go why that can't be", g.Item)
		}
	}
	for _, g := range tally.Coverage.Refuted() {
		t.Errorf("%s is reached, and gaps.go says why that can't be: %s", g.Item, g.Why)
	}
	items := map[coverage.Item]bool{}
	for _, i := range coverage.Items() {
		require.False(t, items[i], "%s is listed twice", i)
		items[i] = true
	}
	for i := range coverage.Reasons {
		require.True(t, items[i], "gaps.go gives a reason for %s, which there is not", i)
	}
}
