package mutants

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/verdict"
)

// TestMutantsFit: the sources have moved on if the old text of a mutant is not in its function exactly once.
func TestMutantsFit(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	all := slices.Concat(Table, Candidates)
	_, err = sourcesOf(root, all)
	require.NoError(t, err)
	names := map[string]bool{}
	for _, m := range all {
		require.NotEqual(t, m.Old, m.New)
		require.False(t, names[m.Name], m.Name)
		names[m.Name] = true
	}
	require.GreaterOrEqual(t, len(Table), 60)
}

// TestKillersAreThere: a key that names no mutant costs that mutant the whole catalogue.
func TestKillersAreThere(t *testing.T) {
	for name, k := range killers {
		require.True(t, slices.ContainsFunc(slices.Concat(Table, Candidates),
			func(m Mutant) bool { return m.Name == name }), name)
		if k.Scenario != "" {
			_, err := scenarios.Find(k.Scenario)
			require.NoError(t, err, name)
		}
		_, err := cases.ParseKeep(k.Keep)
		require.True(t, k.Keep == "" || err == nil, "%s: %v", name, err)
	}
}

// TestKillsShrink: what a mutant is killed by is told on one screen.
func TestKillsShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	lab := Lab{Root: root, CPU: time.Minute, Seed: 1, Full: true, Shrink: true}
	_, err = lab.Build(Table, t.TempDir())
	require.NoError(t, err)
	for i, m := range Table {
		switch m.Name {
		case "records of another boot are believed", "the intent is written after the effect",
			"told ready of what is not known to be up":
			o, err := lab.Try(m, i+1)
			require.NoError(t, err)
			require.True(t, o.Found, m.Name)
			require.LessOrEqual(t, o.Choices, 10, m.Name)
			require.LessOrEqual(t, o.Lines, 30, m.Name)
			require.Positive(t, o.Choices, m.Name)
		}
	}
}

// TestCaseOfAReplay: what a hunt tells is what shrinking is asked for, also if it is no seed's.
func TestCaseOfAReplay(t *testing.T) {
	kept, err := cases.ParseKeep("workload.pod@pod-1#0=1,csi.stage/fault@disk.example^vol-1#0=error-no-effect")
	require.NoError(t, err)
	for _, c := range []cases.Case{{Seed: 7}, {Still: true, Keep: kept}} {
		which := caseOf(c.Command("replay"))
		if c.Still {
			require.Equal(t, []string{"--keep", c.String()}, which)
		} else {
			require.Equal(t, []string{"--seed", "7"}, which)
		}
	}
}

// TestScenariosNameWhatCatchesThem: behind "caught by:" is a mutant or a property. That the mutant really fails the
// scenario is what volsim mutants sees.
func TestScenariosNameWhatCatchesThem(t *testing.T) {
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	for _, s := range all {
		require.NotEmpty(t, s.CaughtBy(), s.Name)
		for _, what := range s.CaughtBy() {
			isMutant := slices.ContainsFunc(Table, func(m Mutant) bool { return m.Name == what })
			isProperty := slices.ContainsFunc(verdict.Properties,
				func(p struct{ Code, Text string }) bool { return p.Code == what })
			require.True(t, isMutant || isProperty, "%s is caught by %q", s.Name, what)
		}
	}
}

// TestModels: every clause has its mutant, and many are models of bugs that others had.
func TestModels(t *testing.T) {
	issues := 0
	for _, m := range Table {
		require.NotEmpty(t, m.Law, m.Name)
		if strings.Contains(m.Law, "#") {
			issues++
		}
	}
	require.GreaterOrEqual(t, issues, 20)
	for name := range equivalent {
		require.True(t, slices.ContainsFunc(Table, func(m Mutant) bool { return m.Name == name }), name)
	}
	require.LessOrEqual(t, len(equivalent), 2)
}

func TestProgramThatHangsIsKilled(t *testing.T) {
	lab := Lab{CPU: -29500 * time.Millisecond, program: "sh"} // so that it may use one second
	for script, want := range map[string]bool{"while :; do :; done": true, "exit 1": false, "true": false} {
		cmd := lab.limited(0, "-c", script)
		_ = cmd.Run() // its status is what is looked at
		require.Equal(t, want, isKilled(cmd), script)
	}
}

func TestMutantWhoseTextIsGoneIsAnError(t *testing.T) {
	for _, m := range []Mutant{
		{In: "scenarios/mutants.isSame", Old: "no such text"},
		{In: "scenarios/mutants.isSame", Old: "return"}, // twice
		{In: "scenarios/mutants.isSame", Old: "// nothing but a comment"},
		{In: "scenarios/mutants.noSuch", Old: "return"},
		{In: "scenarios/nosuch.noSuch", Old: "return"},
	} {
		_, err := sourcesOf("../..", []Mutant{m})
		require.ErrorContains(t, err, "bring scenarios/mutants up to date", m)
	}
}

func TestTextsAreComparedByTheirTokens(t *testing.T) {
	function := "func f() {\n\tg(1, // one\n\t\th(2),\n\t)\n\tif a {\n\t\treturn\n\t}\n}"
	for _, old := range []string{
		"g(1, h(2))", "g(\n1,\nh(\n2,\n),\n)", "h(2)\n)\nif a {", "func f()", "// a comment\nif a { return }",
	} {
		from, to, err := Mutant{Old: old}.find([]byte(function))
		require.NoError(t, err, old)
		require.Less(t, from, to, old)
	}
	for _, old := range []string{"g(1, h(3))", "g(1 h(2))", "a b", "", "func", "i"} {
		_, _, err := Mutant{Old: old}.find([]byte(function))
		require.Equal(t, old == "func", err == nil, old)
	}
	m := Mutant{Old: "g(1, h(2))", New: "g(3)"}
	from, to, err := m.find([]byte(function))
	require.NoError(t, err)
	require.Equal(t, "func f() {\n\tg(3)\n\tif a {\n\t\treturn\n\t}\n}", function[:from]+m.New+function[to:])
}
