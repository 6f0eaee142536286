package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/states"
)

// reached is one state that a run came to, and what it had in its trace by then.
type reached struct {
	state  states.State
	things []scenarios.Circumstance
	at     time.Duration
	record int
}

// TestEqualStatesGoOnAlike compares what follows two equal states of different runs: every call, effect and reply, and
// when. Nor do their circumstances differ.
func TestEqualStatesGoOnAlike(t *testing.T) {
	for _, name := range []string{
		"demo", "two_pods_share_a_volume", "power_cut_tears_the_journal",
		"driver_restarts_and_forgets_what_it_staged",
	} {
		s, err := scenarios.Find(name)
		require.NoError(t, err)
		compare, futures, things, equal := states.NewComparer(1), map[states.State]string{},
			map[states.State][]scenarios.Circumstance{}, 0
		play := func(n *node) []*node {
			f := newFinder(s, n, false)
			p := f.play()
			var all []reached
			p.Keep = true
			p.Passes = func(m scenarios.Moment) bool {
				if at, ok := m.State(compare); ok && f.isThrough() {
					all = append(all, reached{at, m.Circumstances(nil), m.At(), len(f.world.Trace().Records)})
				}
				return true
			}
			p.Done = func(w *sim.World) {
				for _, r := range all {
					future := futureOf(w.Trace().Records[r.record:], r.at)
					if known, ok := futures[r.state]; ok {
						require.Equal(t, known, future, "%s %s at %s", name, f.subject, r.at)
						require.ElementsMatch(t, things[r.state], r.things, "%s %s at %s", name, f.subject, r.at)
						equal++
					}
					futures[r.state], things[r.state] = future, r.things
				}
				f.rest()
			}
			require.Nil(t, p.Run().Violation)
			return f.found
		}
		for i, n := range play(rootNode()) {
			if i%3 == 0 && (!testing.Short() || i%5 == 0) {
				play(n)
			}
		}
		t.Logf("%s: %d states, %d met again", name, len(futures), equal)
		require.Greater(t, equal, 50, name)
	}
}

// futureOf tells records without what only counts: lives, generations of the journal.
func futureOf(records []sim.Record, since time.Duration) string {
	var b strings.Builder
	for _, r := range records {
		object := r.Object
		if strings.Contains(object, "journal") || strings.HasPrefix(r.What, "agent.") {
			object = ""
		}
		line := sim.Record{
			At: r.At.Add(-since), Mark: r.Mark, What: r.What, Object: object, Outcome: r.Outcome, Errno: r.Errno,
			Code: r.Code, Fault: r.Fault,
		}
		b.Write(append(line.AppendText(nil), '\n'))
	}
	return b.String()
}
