package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// hunted is how many seeds a test run hunts: about ten seconds.
const hunted = 2000

func TestHunt(t *testing.T) {
	f := Fleet{Runs: hunted, Seed: 1, Workers: 2}
	if testing.Short() {
		f.Runs = hunted / 4
	}
	tally, failed := f.Hunt()
	if failed != nil {
		t.Fatalf("%s\nreplay: go run ./cmd/volsim replay --seed %d", failed.Violation, failed.Seed)
	}
	require.GreaterOrEqual(t, tally.Per(tally.Calls), 300.0, "HAL calls per schedule")
	require.GreaterOrEqual(t, tally.Per(tally.Faults), 3.0, "faults per schedule")
	require.GreaterOrEqual(t, tally.Per(tally.Crashes), 0.5, "crashes per schedule")
}
