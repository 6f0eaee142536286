package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// planted are violations that are none: each needs several things to come together.
var planted = map[string]func(*run) bool{
	"a pod comes up in the second boot after a death of the agent in it": func(r *run) bool {
		return strings.HasSuffix(string(r.w.BootID()), "2") && r.w.Life() >= 3 && r.w.AgentLives() && len(r.w.Published()) > 0
	},
	"two pods share a volume while a call for another is late": func(r *run) bool {
		late := false
		for _, a := range r.w.Active() {
			late = late || a.Deadline != 0 && r.w.Now() > a.Deadline
		}
		return late && len(r.w.Published()) >= 2 && len(r.w.Staged()) == 1
	},
	"three lives of the agent, and a volume is staged and published nowhere": func(r *run) bool {
		return r.w.Life() >= 4 && len(r.w.Staged()) > 0 && len(r.w.Published()) == 0
	},
}

// TestPlantedViolationsShrink: what is left of any failing seed fits on a screen, and nothing of it can go.
func TestPlantedViolationsShrink(t *testing.T) {
	for name, holds := range planted {
		t.Run(name, func(t *testing.T) {
			h := NewHunter()
			h.canary = func(r *run) {
				if holds(r) {
					r.fail("canary", "canary", "agent", name)
				}
			}
			for seed, found := uint64(1), 0; found < 2; seed++ {
				if h.Run(Schedule{Seed: seed}).Violation == nil {
					continue
				}
				found++
				s := Shrink(h, seed)
				require.NotNil(t, s)
				require.LessOrEqual(t, len(s.Case.Choices()), fewChoices, "seed %d", seed)
				require.Equal(t, 3, s.Equal)
				require.LessOrEqual(t, strings.Count(Explain(h, s).Text(), "\n"), 35)
				for i, k := range s.Case.Keep {
					if !removable(k) {
						continue
					}
					less := s.Case
					less.Keep = append(append([]Kept(nil), s.Case.Keep[:i]...), s.Case.Keep[i+1:]...)
					require.Nil(t, h.Rerun(less, Watch{}).Violation, "seed %d: choice %s could go", seed, s.Case.Keep[i].ID)
				}
			}
		})
	}
}
