package scenarios_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/explore"
	"github.com/volnode/volnode/scenarios/lang"
)

const storyOfAStage = `# a volume comes up and stays
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a
at 0s apply all
within 1m expect pod default/web ready
after 1m expect pod default/web ready
`

// plant gives the agent of a scenario a defect: after so many deaths it leaves a file behind among those
// of the pods. How often it has died it keeps on the disk, as an agent would have to.
func plant(deaths int) func(scenarios.View) {
	return func(v scenarios.View) {
		w := v.World()
		name := "life-" + strconv.FormatUint(uint64(w.Life()), 10)
		if _, isKnown := w.Exists("/srv/" + name); v.IsCalm() || w.Life() == 1 || isKnown {
			return
		}
		w.MakeDir("/srv/" + name)
		if len(w.Entries("/srv")) == deaths {
			w.WriteFile("/var/lib/volnode/pods/left/file", nil)
		}
	}
}

// TestExhaustFindsPlantedDefects: one that takes a fault and one that takes two are found by the same choices, whether
// or not runs are cut short; and by as many, if further faults are told once in like circumstances.
func TestExhaustFindsPlantedDefects(t *testing.T) {
	for deaths := 1; deaths <= 2; deaths++ {
		find := func(e explore.Exhaust) explore.Exhausted {
			s, err := scenarios.Parse("stage.txt", storyOfAStage)
			require.NoError(t, err)
			e.Check = plant(deaths)
			e.Scenarios = []*lang.Scenario{s}
			done := e.Run()
			require.Len(t, done, 1)
			return done[0]
		}
		if deaths > 1 {
			less := find(explore.Exhaust{Depth: deaths - 1, Exact: true})
			require.False(t, less.Failed())
			require.Positive(t, less.Cut)
		}
		all, exact := find(explore.Exhaust{Depth: deaths, All: true}), find(explore.Exhaust{Depth: deaths, Exact: true})
		rough := find(explore.Exhaust{Depth: deaths})
		require.NotNil(t, all.Violation)
		require.Equal(t, "L1", all.Violation.Property)
		require.Equal(t, all.Violation, exact.Violation)
		require.Equal(t, all.Case.String(), exact.Case.String())
		require.Zero(t, all.Pruned+all.Cut)
		require.LessOrEqual(t, exact.Events, all.Events)
		require.NotNil(t, rough.Violation)
		require.Equal(t, all.Violation.Signature(), rough.Violation.Signature())
		require.Less(t, rough.Run, 2*exact.Run,
			"the defect is in the first pairs, and each way has an order of its own")

		for _, found := range []explore.Exhausted{exact, rough} {
			faults := slices.DeleteFunc(slices.Clone(found.Case.Keep),
				func(c cases.Kept) bool { return c.Fault == sim.NoFault })
			require.Len(t, faults, deaths, found.Case)
			again := scenarios.PlayOf(found.Case, scenarios.Play{
				Choices: found.Case.Chooser(),
				Check:   plant(deaths),
			}).Run()
			require.Equal(t, found.Violation, again.Violation)
			require.Contains(t, found.Case.Command("replay"), "--keep '")
		}
		t.Logf("%d runs, %d exact, %d of all: %s", rough.Run, exact.Run, all.Run, rough.Case)
	}
}
