package scenarios

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
)

func TestCatalogueRunsClean(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 20)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			res := RunScenario(s, false, nil, nil)
			require.Nil(t, res.Violation, "go run ./cmd/volsim run %s", s.Name)
			require.Empty(t, res.Stale)
			again := RunScenario(s, false, nil, nil)
			require.Equal(t, res.Hash, again.Hash, "a scenario always runs the same")
		})
	}
}

func TestMain(m *testing.M) {
	// What rapid finds is replayed by a command.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestReplayIsTheSameByteForByte(t *testing.T) {
	traces := map[string]bool{}
	for range 3 {
		NewHunter().Run(Schedule{Seed: 7, Keep: true, Done: func(w *sim.World) { traces[w.Trace().String()] = true }})
	}
	require.Len(t, traces, 1)
}

// TestCaseIsTheSeedsRun: what a seed chose, kept with its setup and its times, is the same run without the seed.
func TestCaseIsTheSeedsRun(t *testing.T) {
	h := NewHunter()
	for seed := range uint64(64) {
		seen := cases.SurveyOf(cases.Case{Seed: seed}, sim.Seeded(seed))
		want := h.Rerun(cases.Case{Seed: seed}, Watch{Chooser: seen})
		c := cases.Case{Still: true, Keep: append(cases.SetupOf(seed).Settings(), seen.Chose...)}
		kept, err := cases.ParseKeep(c.String())
		require.NoError(t, err)
		got := h.Rerun(cases.Case{Still: true, Keep: kept}, Watch{})
		require.Equal(t, want.Hash, got.Hash, "seed %d", seed)
	}
}
