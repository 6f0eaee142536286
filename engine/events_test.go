package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// An operation that changes the node is an event at its end; at the debug level every start is one too.
func TestOperationsAreEvents(t *testing.T) {
	for _, level := range []engine.Level{engine.LevelDebug, engine.LevelInfo, engine.LevelWarn} {
		b := newBench(t, sim.Personality{})
		var started []hal.OpID
		var ended []core.Verb
		b.cfg.EventLevel = level
		b.cfg.Happening = func(e engine.Event) {
			require.GreaterOrEqual(t, e.Line().Level, level)
			switch e := e.(type) {
			case engine.OperationStarted:
				started = append(started, e.Op)
			case engine.OperationEnded:
				require.Equal(t, hal.Done, e.Outcome)
				require.Positive(t, e.Took)
				if level == engine.LevelDebug {
					require.Contains(t, started, e.Op)
				}
				ended = append(ended, e.Verb)
			}
		}
		b.w.KillAgent()
		b.w.StartAgent()
		b.w.Cluster.Apply(pod("web", "a"))
		b.run(time.Minute)
		setUps := len(slices.DeleteFunc(slices.Clone(ended), func(v core.Verb) bool { return v != core.SetUp }))
		switch level {
		case engine.LevelDebug:
			require.Len(t, started, len(ended))
			require.Equal(t, 2, setUps)
		case engine.LevelInfo:
			require.Empty(t, started)
			require.Equal(t, []core.Verb{core.SetUp, core.SetUp}, ended)
		default:
			require.Empty(t, ended)
		}
	}
}
