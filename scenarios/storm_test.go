package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

func stormy(t *testing.T) *world.Run {
	w := sim.New(sim.Config{RootDir: lang.RootDir})
	t.Cleanup(w.Close)
	return newRun(w, engine.Config{NoRuntime: true})
}

func TestWorldWithoutEndIsAStorm(t *testing.T) {
	r := stormy(t)
	var loop func()
	loop = func() { r.W.After(time.Nanosecond, "loop", loop) }
	loop()
	require.False(t, r.Until(hal.Instant(time.Hour)))
	require.Equal(t, "L7 storm", r.Violation.Signature())
}

func TestCallThatIsRepeatedWithoutBackoffIsAStorm(t *testing.T) {
	r := stormy(t)
	p := &world.Place{Key: "csi.stage/d^v", Volume: "v"}
	for i := range world.MostRequests {
		at := hal.Instant(i) * hal.Instant(500*time.Millisecond)
		r.Repeated(p, &sim.Effect{Method: world.Stage, At: at})
		r.Repeated(p, &sim.Effect{Method: world.Unstage, At: at})
	}
	require.Nil(t, r.Violation)
	r.Repeated(p, &sim.Effect{Method: world.Stage, At: hal.Instant(world.StormWindow)})
	require.Equal(t, "L7 storm of NodeStageVolume", r.Violation.Signature())
}

func TestCallAtAShortPaceForEverIsAStorm(t *testing.T) {
	for name, c := range map[string]struct {
		wait   time.Duration
		calls  int
		isNews bool // something changes before each call
		isFast bool
		first  time.Duration // how long before them a call was made that was done
	}{
		"once in 4 s for ten minutes":                  {4 * time.Second, 150, false, false, 0},
		"once in 4 s for ever":                         {4 * time.Second, 200, false, true, 0},
		"once in 4 s for ten minutes, after long rest": {4 * time.Second, 150, false, false, 3 * time.Minute},
		"once in 4 s for ten minutes, after no rest":   {4 * time.Second, 185, false, true, 2 * time.Minute},
		"once in 4 s for ever, after long rest":        {4 * time.Second, 200, false, true, 3 * time.Minute},
		"once in a second":                             {time.Second, 30, false, true, 0},
		"once in a second, each after news":            {time.Second, 59, true, false, 0},
		"once in two minutes for ever":                 {2 * time.Minute, 200, false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := stormy(t)
			p := &world.Place{Key: "csi.stage/d^v", Volume: "v"}
			if c.first > 0 {
				dealings.Paces(r, p, &sim.Effect{Method: world.Stage, At: 1})
			}
			for i := range c.calls {
				at := hal.Instant(c.first) + hal.Instant(i+1)*hal.Instant(c.wait)
				if c.isNews {
					r.ChangedAt = at - 1
				}
				if r.Violation == nil {
					dealings.Paces(r, p, &sim.Effect{Method: world.Stage, At: at})
				}
			}
			require.Equal(t, c.isFast, r.Violation != nil)
		})
	}
}
