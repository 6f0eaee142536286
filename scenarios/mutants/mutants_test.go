package mutants

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMutantsFit: the sources have moved on if the old text of a mutant is not in its file exactly once.
func TestMutantsFit(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, m := range Table {
		_, err := m.Mutate(root)
		require.NoError(t, err)
		require.NotEqual(t, m.Old, m.New)
		require.False(t, names[m.Name], m.Name)
		names[m.Name] = true
	}
	require.GreaterOrEqual(t, len(Table), 12)
}

func TestMutantWhoseTextIsGoneIsAnError(t *testing.T) {
	_, err := Mutant{Name: "stale", File: "mutants_test.go", Old: "no such text " + "anywhere"}.Mutate(".")
	require.ErrorContains(t, err, "bring scenarios/mutants/table.go up to date")
}
