package minimise

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// planted are violations that are none: each needs several things to come together.
var planted = map[string]func(scenarios.View) bool{
	"a pod comes up in the second boot after a death of the agent in it": func(v scenarios.View) bool {
		return strings.HasSuffix(string(v.World().BootID()), "2") && v.World().Life() >= 3 && v.World().AgentLives() &&
			len(v.World().Published()) > 0
	},
	"two pods share a volume while a call for another is late": func(v scenarios.View) bool {
		late := false
		for _, a := range v.World().Active() {
			late = late || a.Deadline != 0 && v.World().Now() > a.Deadline
		}
		return late && len(v.World().Published()) >= 2 && len(v.World().Staged()) == 1
	},
	"three lives of the agent, and a volume is staged and published nowhere": func(v scenarios.View) bool {
		return v.World().Life() >= 4 && len(v.World().Staged()) > 0 && len(v.World().Published()) == 0
	},
}

// TestPlantedViolationsShrink: what is left of any failing seed fits on a screen, and nothing of it can go.
func TestPlantedViolationsShrink(t *testing.T) {
	for name, holds := range planted {
		t.Run(name, func(t *testing.T) {
			h := scenarios.NewHunter()
			h.Check = func(v scenarios.View) {
				if holds(v) {
					v.Fail("canary", "canary", "agent", name)
				}
			}
			for seed, found := uint64(1), 0; found < 2; seed++ {
				if h.Run(scenarios.Schedule{Seed: seed}).Violation == nil {
					continue
				}
				found++
				s, _ := Shrink(h, seed, 0)
				require.NotNil(t, s)
				require.LessOrEqual(t, len(s.Case.Choices()), fewChoices, "seed %d", seed)
				require.Equal(t, 3, s.Equal)
				require.LessOrEqual(t, strings.Count(Explain(h, s).Text(), "\n"), 35)
				for i, k := range s.Case.Keep {
					if !removable(k) {
						continue
					}
					less := s.Case
					less.Keep = append(append([]cases.Kept(nil), s.Case.Keep[:i]...), s.Case.Keep[i+1:]...)
					require.Nil(t, h.Rerun(less, scenarios.Watch{}).Violation, "seed %d: choice %s could go", seed,
						s.Case.Keep[i].ID)
				}
			}
		})
	}
}

// TestUnsteadyRunsAreToldSo: a run that is another one when it is replayed is not said to break nothing, and is not
// shrunk for minutes either.
func TestUnsteadyRunsAreToldSo(t *testing.T) {
	for name, canary := range map[string]func(runs int, v scenarios.View){
		"fails only when it is run first": func(runs int, v scenarios.View) {
			if runs == 1 && len(v.World().Published()) > 0 {
				v.Fail("canary", "canary", "agent", "a volume is published in the first run")
			}
		},
		"fails only when it is replayed": func(runs int, v scenarios.View) {
			if runs > 1 && len(v.World().Published()) > 0 {
				v.Fail("canary", "canary", "agent", "a volume is published in a replay")
			}
		},
		"fails each time, in another way": func(runs int, v scenarios.View) {
			if len(v.World().Published()) > 0 {
				v.Fail("canary", "canary", "agent", strings.Repeat("again ", runs))
			}
		},
		"breaks nothing, and is another one each time": func(runs int, v scenarios.View) {
			if _, there := v.World().Exists("/srv/mark"); !there && len(v.World().Published()) > 0 {
				v.World().MakeDir("/srv/mark")
				v.World().StallAgent(time.Duration(runs) * time.Second)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, isScenario := range []bool{false, true} {
				h, runs := scenarios.NewHunter(), 0
				var last scenarios.View
				h.Check = func(v scenarios.View) {
					if v != last {
						last, runs = v, runs+1
					}
					canary(runs, v)
				}
				found, parts := Shrink(h, 1, 0)
				if isScenario {
					s, err := scenarios.Find("demo")
					require.NoError(t, err)
					runs = 0
					found, parts = ShrinkCase(h, cases.Case{Scenario: s, Still: true}, 0)
				}
				require.Nil(t, found)
				require.NotNil(t, parts)
				require.Less(t, runs, 20)
				require.NotEqual(t, parts.A, parts.B)
				require.Positive(t, parts.Line)
			}
		})
	}
}

// TestShrinkHonoursItsBudget: a schedule that takes long to shrink is told as it is by then, and still breaks the same.
func TestShrinkHonoursItsBudget(t *testing.T) {
	h := scenarios.NewHunter()
	holds := planted["two pods share a volume while a call for another is late"]
	h.Check = func(v scenarios.View) {
		if holds(v) {
			v.Fail("canary", "canary", "agent", "planted")
		}
	}
	seed := uint64(1)
	for h.Run(scenarios.Schedule{Seed: seed}).Violation == nil {
		seed++
	}
	whole, _ := Shrink(h, seed, 0)
	require.False(t, whole.StoppedEarly)
	cut, _ := Shrink(h, seed, time.Nanosecond)
	require.True(t, cut.StoppedEarly)
	require.Less(t, cut.Runs, 20)
	require.Greater(t, len(cut.Case.Choices()), len(whole.Case.Choices()))
	require.Equal(t, whole.Violation.Signature(), cut.Violation.Signature())
	require.Equal(t, 3, cut.Equal)
	require.Contains(t, Explain(h, cut).Text(), "stopped early")
}
