package rooms

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/scenarios/world"
)

// A source of the engine that scenarios do not know is one whose volumes no judge looks at.
func TestEverySourceHasARoom(t *testing.T) {
	var served, known []string
	for _, s := range kinds.All() {
		served = append(served, s.Name)
	}
	for _, m := range world.Rooms {
		known = append(known, m.Source.Name)
		require.NotEmpty(t, m.Words)
		require.True(t, m.Path != nil || m.Use != nil, m.Source.Name)
		require.False(t, len(m.Harms) > 0 && (m.HarmSite == "" || m.Hunted.Site == "" || m.Path == nil), m.Source.Name)
	}
	require.Equal(t, served, known)
}
