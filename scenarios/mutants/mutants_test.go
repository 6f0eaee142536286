package mutants

import (
	"path/filepath"
	"testing"
	"time"

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

// TestKillsShrink: what a mutant is killed by is told on one screen.
func TestKillsShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("builds three programs")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	lab := Lab{Root: root, Dir: t.TempDir(), CPU: time.Minute, Seed: 1, Workers: 2, Shrink: true}
	for i, m := range Table {
		switch m.Name {
		case "records of another boot are believed", "the intent is written after the effect", "told ready of what is not known to be up":
			o, err := lab.Hunt(m, i)
			require.NoError(t, err)
			require.True(t, o.Killed, m.Name)
			require.LessOrEqual(t, o.Choices, 10, m.Name)
			require.LessOrEqual(t, o.Lines, 30, m.Name)
			require.Positive(t, o.Choices, m.Name)
		}
	}
}

func TestProgramThatHangsIsKilled(t *testing.T) {
	lab := Lab{CPU: -29500 * time.Millisecond} // so that it may use one second
	require.True(t, isKilled(lab.limited("sh", "-c", "while :; do :; done").Run()))
	require.False(t, isKilled(lab.limited("sh", "-c", "exit 1").Run()))
	require.NoError(t, lab.limited("true").Run())
}

func TestMutantWhoseTextIsGoneIsAnError(t *testing.T) {
	_, err := Mutant{Name: "stale", File: "mutants_test.go", Old: "no such text " + "anywhere"}.Mutate(".")
	require.ErrorContains(t, err, "bring scenarios/mutants/table.go up to date")
}
