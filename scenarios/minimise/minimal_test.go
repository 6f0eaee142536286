package minimise

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// TestShrinkIsMinimal shrinks a schedule whose property is broken on purpose: by a check that no pod is ever ready.
func TestShrinkIsMinimal(t *testing.T) {
	h := scenarios.NewHunter()
	h.Check = func(v scenarios.View) {
		for _, p := range v.Running() {
			if p == "default/pod-3" {
				v.Fail("canary", "canary", p, "pod-3 is ready")
			}
		}
	}
	seed := uint64(1)
	for h.Run(scenarios.Schedule{Seed: seed}).Violation == nil {
		seed++
	}
	s, _ := Shrink(h, seed, 0)
	require.NotNil(t, s)
	require.LessOrEqual(t, len(s.Case.Choices()), 3, "%v", s.Case)
	for i, k := range s.Case.Keep {
		if !removable(k) {
			continue
		}
		less := s.Case
		less.Keep = append(append([]cases.Kept(nil), s.Case.Keep[:i]...), s.Case.Keep[i+1:]...)
		require.Nil(t, h.Rerun(less, scenarios.Watch{}).Violation, "choice %s could go", s.Case.Keep[i].ID)
	}
	require.LessOrEqual(t, strings.Count(Explain(h, s).Text(), "\n"), 30)
	kept, err := cases.ParseKeep(s.Case.String())
	require.NoError(t, err)
	require.Len(t, kept, len(s.Case.Keep))
}
