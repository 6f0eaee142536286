package minimise

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
)

// found shrinks and explains a schedule that breaks a planted property.
func found(t *testing.T, name string) (*scenarios.Hunter, *Shrunk, *Finding) {
	h := scenarios.NewHunter()
	holds := planted[name]
	require.NotNil(t, holds)
	h.Check = func(v scenarios.View) {
		if holds(v) {
			v.Fail("canary", "canary", "agent", name)
		}
	}
	seed := uint64(1)
	for h.Run(scenarios.Schedule{Seed: seed}).Violation == nil {
		seed++
	}
	s, _ := Shrink(h, seed, 0)
	require.NotNil(t, s)
	return h, s, Explain(h, s)
}

func TestFindingHasAFrameForEachLine(t *testing.T) {
	_, s, f := found(t, "two pods share a volume while a call for another is late")
	require.NotEmpty(t, f.Lines)
	require.Len(t, f.Frames, len(f.Lines))
	for i, frame := range f.Frames {
		require.Equal(t, f.Lines[i].Number, frame.Line)
		require.Equal(t, f.Lines[i].At, frame.At)
		for _, rung := range frame.Rungs {
			require.NotEmpty(t, rung.Key)
			require.Contains(t, []string{"up", "down"}, rung.True)
		}
	}
	require.Len(t, f.Choices, len(s.Case.Choices()))
	for _, c := range f.Choices {
		require.True(t, c.Needed, c.ID)
	}
	text, err := json.Marshal(f)
	require.NoError(t, err)
	var again Finding
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, *f, again)
}
