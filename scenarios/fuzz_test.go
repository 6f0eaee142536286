package scenarios

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
)

// FuzzSchedule has bytes decide what of a seed's choices happens: a byte for each, as vetoed has it, and all of them
// once there are no more bytes.
func FuzzSchedule(f *testing.F) {
	f.Add(uint64(1), []byte{})
	f.Add(uint64(5), []byte{0, 0, 1, 7, 0, 20, 1, 1, 9})
	f.Add(uint64(18), []byte{1, 0, 1, 0, 1, 0, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		c := cases.Case{Seed: seed % cases.MaxSeed}
		seen := cases.SurveyOf(c, vetoed{seed: sim.Seeded(c.Seed), isSlow: true, decide: func(sim.ID) uint8 {
			if len(data) == 0 {
				return 1
			}
			b := data[0]
			data = data[1:]
			return b
		}})
		if v := NewHunter().Rerun(c, Watch{Chooser: seen}).Violation; v != nil {
			c.Keep = slices.DeleteFunc(seen.Chose, func(k cases.Kept) bool { return k.Time })
			t.Fatalf("%s\nreplay: go run ./cmd/%s\nshrink: go run ./cmd/%s", v, c.Command("replay"),
				c.Command("shrink"))
		}
	})
}

func FuzzCoverage(f *testing.F) {
	covered := NewHunter().Run(Schedule{Seed: 5, Cover: true}).Coverage
	text, err := json.Marshal(covered)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"runs":1,"tuples":null,"faults":{"csi.stage: slow":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := coverage.New()
		if json.Unmarshal(text, c) != nil {
			return
		}
		printed, err := json.Marshal(c)
		require.NoError(t, err)
		again := coverage.New()
		require.NoError(t, json.Unmarshal(printed, again))
		require.Equal(t, c, again)
		c.Add(covered)
		again.Add(c)
	})
}
