package regressions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
)

// TestRegressions runs each stored case: it is clean, and still comes to all that it was stored for.
func TestRegressions(t *testing.T) {
	all, err := All()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, r := range all {
		t.Run(r.Name, func(t *testing.T) {
			res, err := r.Run(scenarios.NewHunter(), scenarios.Watch{})
			require.NoError(t, err)
			require.Nil(t, res.Violation, "go run ./cmd/volsim run %s", r.Name)
			require.Empty(t, res.Stale, "STALE: the world has moved under the case; docs/volsim.md, \"A case that "+
				"is kept\", says how it is made again")
			again, err := r.Run(scenarios.NewHunter(), scenarios.Watch{})
			require.NoError(t, err)
			require.Equal(t, res.Hash, again.Hash)
		})
	}
}

func TestRegressionThatIsNotMetIsStale(t *testing.T) {
	r := &Regression{
		Schema: Schema, Name: "r",
		Choices: []string{
			"workload.pod@pod-1#0=1", "csi.stage/fault@disk.example^vol-1#0=refused",
			"csi.stage/fault@disk.example^vol-1#7=refused",
		},
	}
	res, err := r.Run(scenarios.NewHunter(), scenarios.Watch{})
	require.NoError(t, err)
	require.Nil(t, res.Violation)
	require.Equal(t, []string{"csi.stage/fault@disk.example^vol-1#7=refused"}, res.Stale)
	r.Choices[1] = "csi.stage/fault@disk.example^vol-1#0=power-cut" // no call can meet that
	r.Unreached = r.Choices[2:]
	res, err = r.Run(scenarios.NewHunter(), scenarios.Watch{})
	require.NoError(t, err)
	require.Equal(t, r.Choices[1:2], res.Stale)
}

func TestRegressionIsReadAsItIsWritten(t *testing.T) {
	r := &Regression{
		Schema: Schema, Name: "r", Story: "s < t", Found: "f", Signature: "S8 x",
		Choices: []string{"workload.pod@pod-1#0=1"},
	}
	text, err := r.Text()
	require.NoError(t, err)
	again, err := Parse("a/r.json", text)
	require.NoError(t, err)
	require.Equal(t, r, again)
	for want, bad := range map[string]string{
		"schema 2":                  `{"schema":2,"name":"r","choices":["a.b=1"]}`,
		"its name is \"q\"":         `{"schema":1,"name":"q","choices":["a.b=1"]}`,
		"it has no choices":         `{"schema":1,"name":"r"}`,
		"has no value":              `{"schema":1,"name":"r","choices":["a.b"]}`,
		"unknown field":             `{"schema":1,"name":"r","choice":["a.b=1"]}`,
		"there is no scenario":      `{"schema":1,"name":"r","scenario":"no_such_story"}`,
		"is no fault, index or tim": `{"schema":1,"name":"r","choices":["a.b=late-ish"]}`,
	} {
		_, err := Parse("a/r.json", []byte(bad))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "a/r.json")
	}
}

// TestWhatAFindingIsFrom: a case that hangs on no seed is not told to be of seed 0.
func TestWhatAFindingIsFrom(t *testing.T) {
	for want, f := range map[string]*minimise.Finding{"demo": {Scenario: "demo"}, "seed 7": {Seed: 7}, "the case": {}} {
		require.Equal(t, want, f.From())
	}
	require.Equal(t, "volsim shrink", New("r", &minimise.Finding{}, cases.Case{}, nil).Found)
	require.Equal(t, "volsim shrink --seed 7", New("r", &minimise.Finding{Seed: 7}, cases.Case{}, nil).Found)
}

func TestDiffShowsTheFirstLineThatDiffers(t *testing.T) {
	require.Nil(t, minimise.Diff([]string{"a", "b"}, []string{"a", "b"}))
	d := minimise.Diff([]string{"a", "b", "c", "d"}, []string{"a", "b", "x"})
	require.Equal(t, 3, d.Line)
	require.Equal(t, []string{"a", "b"}, d.Before)
	require.Equal(t, []string{"c", "d"}, d.A)
	require.Equal(t, []string{"x"}, d.B)
	d = minimise.Diff([]string{"a"}, []string{"a", "b"})
	d.NameA, d.NameB = "one", "two"
	require.Equal(t, "one and two part at line 2\n  a\n- (it ends, after 1 lines)\n+ b\n", d.Text())
}

// TestScenarioShrinks: of a scenario that fails with a choice of its own, what it can do without goes, and the rest is
// told with its command.
func TestScenarioShrinks(t *testing.T) {
	s, err := scenarios.Parse("own.txt", `# Of two pods one is enough, and of two faults none is needed.
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a
pod default/second uses vol-a
fault csi.stage refused
at 0s apply all
at 1m kill agent
`)
	require.NoError(t, err)
	h := scenarios.NewHunter()
	h.Check = func(v scenarios.View) {
		if len(v.World().Published()) > 0 && v.World().Life() > 1 {
			v.Fail("canary", "canary", "agent", "a second life of the agent with a volume published")
		}
	}
	kept, err := cases.ParseKeep("csi.publish/fault@nothing#0=late")
	require.NoError(t, err)
	found, _ := minimise.ShrinkCase(h, cases.Case{Scenario: s, Still: true, Keep: kept}, 0)
	require.NotNil(t, found)
	require.Empty(t, found.Case.Choices())
	require.Contains(t, found.Case.LeftOut(), 6)
	f := minimise.Explain(h, found)
	require.Equal(t, "own", f.Scenario)
	require.Contains(t, f.Command, "volsim replay own.txt --keep '")
	require.Contains(t, f.Text(), "canary is broken")
}

func FuzzParseRegression(f *testing.F) {
	entries, err := files.ReadDir(".")
	require.NoError(f, err)
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		require.NoError(f, err)
		f.Add(e.Name(), text)
	}
	f.Add("r.json", []byte(`{"schema":1,"name":"r","scenario":"demo","choices":[],"unreached":[]} `))
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		r, err := Parse(file, text)
		if err != nil {
			require.ErrorContains(t, err, file)
			return
		}
		printed, err := r.Text()
		require.NoError(t, err)
		again, err := Parse(file, printed)
		require.NoError(t, err, "printed: %s", printed)
		second, err := again.Text()
		require.NoError(t, err)
		require.Equal(t, string(printed), string(second))
	})
}
