package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
)

// TestEverySingleFault makes each choice that a run without faults comes to otherwise, one at a time: no fault breaks
// the model, each is met in the replay, and the agent goes on after it.
func TestEverySingleFault(t *testing.T) {
	run := func(c sim.Chooser) *sim.World {
		w := toyWorld(sim.Config{Chooser: c, Profile: sim.Everything()}, 1)
		require.NoError(t, w.RunFor(12*time.Second))
		return w
	}
	survey := &survey{Inner: sim.Benign{}}
	run(survey).Close()
	runs := 0
	for _, offer := range survey.Offers {
		for i := 1; i < offer.Indexes; i++ {
			c := newRecorded([]choice{{ID: offer.ID, Value: int64(i)}})
			w := run(c)
			require.Truef(t, c.Met(offer.ID), "%s=%d", offer.ID, i)
			w.Calm()
			require.NoErrorf(t, w.RunFor(10*time.Minute), "%s=%d", offer.ID, i)
			require.Truef(t, w.AgentLives(), "%s=%d", offer.ID, i)
			w.Close()
			runs++
		}
	}
	t.Logf("%d offers, %d runs", len(survey.Offers), runs)
	require.Greater(t, runs, 300)
}
