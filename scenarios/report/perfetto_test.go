package report

import (
	"bytes"
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
)

// traced is what the trace format says of one schedule, and its trace.
func traced(t *testing.T, seed uint64) (events []traceEvent, records []sim.Record) {
	var tracer Tracer
	var out bytes.Buffer
	scenarios.NewHunter().Run(scenarios.Schedule{
		Seed: seed, Keep: true, Watch: tracer.Effect,
		Done: func(w *sim.World) {
			records = w.Trace().Records
			require.NoError(t, tracer.Write(&out, records))
		},
	})
	var file struct {
		Unit   string       `json:"displayTimeUnit"`
		Events []traceEvent `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &file))
	require.Equal(t, "ms", file.Unit)
	return file.Events, records
}

// TestTraceKeepsTheRulesOfItsFormat looks at the structure that "Trace Event Format" asks for.
func TestTraceKeepsTheRulesOfItsFormat(t *testing.T) {
	phases := map[string]int{}
	for seed := uint64(1); seed <= 40; seed++ {
		events, _ := traced(t, seed)
		named := map[int]bool{}
		open := map[string][]string{} // async spans by id, innermost last
		flows := map[string]bool{}
		slices := map[string]int{} // at lane and time
		last := new(big.Rat)
		for _, e := range events {
			if e.Phase == "X" {
				slices[e.TS.String()+string(rune(e.TID))]++
			}
		}
		for _, e := range events {
			phases[e.Phase]++
			require.Equal(t, pid, e.PID)
			require.NotEmpty(t, e.Name)
			at, ok := new(big.Rat).SetString(e.TS.String())
			require.True(t, ok)
			require.GreaterOrEqual(t, at.Cmp(last), 0, "seed %d: time goes back at %+v", seed, e)
			last = at
			switch e.Phase {
			case "M":
				named[e.TID] = true
			case "b":
				require.NotEmpty(t, e.ID)
				open[e.ID] = append(open[e.ID], e.Name)
			case "n":
				require.NotEmpty(t, open[e.ID], "seed %d: a point of no span: %+v", seed, e)
			case "e":
				spans := open[e.ID]
				require.NotEmpty(t, spans, "seed %d: an end without a beginning: %+v", seed, e)
				require.Equal(t, spans[len(spans)-1], e.Name, "seed %d: spans cross", seed)
				open[e.ID] = spans[:len(spans)-1]
			case "s", "f":
				require.Positive(t, slices[e.TS.String()+string(rune(e.TID))], "an arrow that is bound to no slice")
				require.Equal(t, e.Phase == "f", flows[e.ID])
				flows[e.ID] = e.Phase == "s"
			case "X":
				require.NotNil(t, e.Dur)
			case "i":
				require.Equal(t, "t", e.Scope)
			case "C":
				for _, n := range e.Args {
					require.GreaterOrEqual(t, n, 0.0, "seed %d: %s", seed, e.Name)
				}
				continue
			default:
				t.Fatalf("phase %q", e.Phase)
			}
			require.True(t, named[e.TID], "lane %d has no name", e.TID)
		}
		for id, spans := range open {
			require.Empty(t, spans, "seed %d: %s has no end", seed, id)
		}
		for id, waits := range flows {
			require.False(t, waits, "seed %d: arrow %s leads nowhere", seed, id)
		}
	}
	for _, phase := range []string{"M", "b", "n", "e", "s", "f", "X", "i", "C"} {
		require.Positive(t, phases[phase], phase)
	}
	require.Equal(t, phases["b"], phases["e"])
	require.Equal(t, phases["s"], phases["f"])
}

func TestTraceHasEachCallAndFault(t *testing.T) {
	events, records := traced(t, 3)
	want, got := map[sim.Mark]int{}, map[sim.Mark]int{}
	for _, r := range records {
		want[r.Mark]++
	}
	for _, e := range events {
		switch {
		case e.Phase == "b" && e.Args["object"] != nil:
			got[sim.MarkCall]++
		case e.Phase == "i" && e.Cat == "fault":
			got[sim.MarkFault]++
		case e.Phase == "i":
			got[sim.MarkEvent]++
		}
	}
	for _, m := range []sim.Mark{sim.MarkCall, sim.MarkFault, sim.MarkEvent} {
		require.Equal(t, want[m], got[m], "mark %d", m)
	}
}
