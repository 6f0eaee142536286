package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

func stormy(t *testing.T) *run {
	w := sim.New(sim.Config{RootDir: lang.RootDir})
	t.Cleanup(w.Close)
	return newRun(w, engine.Config{NoRuntime: true})
}

func TestWorldWithoutEndIsAStorm(t *testing.T) {
	r := stormy(t)
	var loop func()
	loop = func() { r.w.After(time.Nanosecond, "loop", loop) }
	loop()
	require.False(t, r.until(hal.Instant(time.Hour)))
	require.Equal(t, "L7 storm", r.violation.Signature())
}

func TestCallThatIsRepeatedWithoutBackoffIsAStorm(t *testing.T) {
	r := stormy(t)
	p := &place{key: "csi.stage/d^v", volume: "v"}
	for i := range mostRequests {
		at := hal.Instant(i) * hal.Instant(500*time.Millisecond)
		r.repeated(p, &sim.Effect{Method: stage, At: at})
		r.repeated(p, &sim.Effect{Method: unstage, At: at})
	}
	require.Nil(t, r.violation)
	r.repeated(p, &sim.Effect{Method: stage, At: hal.Instant(stormWindow)})
	require.Equal(t, "L7 storm of NodeStageVolume", r.violation.Signature())
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
			p := &place{key: "csi.stage/d^v", volume: "v"}
			if c.first > 0 {
				r.paces(p, &sim.Effect{Method: stage, At: 1})
			}
			for i := range c.calls {
				at := hal.Instant(c.first) + hal.Instant(i+1)*hal.Instant(c.wait)
				if c.isNews {
					r.changedAt = at - 1
				}
				if r.violation == nil {
					r.paces(p, &sim.Effect{Method: stage, At: at})
				}
			}
			require.Equal(t, c.isFast, r.violation != nil)
		})
	}
}
