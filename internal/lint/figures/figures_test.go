package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The figures of a small tree are as counted by hand.
func TestFiguresOfASmallTree(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/tree")))
	word := "hu" + "sk" // a test says no retired word itself
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("\nthe "+word+"\n"), 0o600))

	all, err := Of(dir, true)
	require.NoError(t, err)
	values := map[string]string{}
	for _, f := range all {
		values[f.Name] = f.Value
	}
	bare := "engine/core/core.go:11 rung.isDirty, engine/core/core.go:11 rung.isHeld, " +
		"engine/manager.go:9 VolumeManager.busy"
	const back = "1: engine/op/op.go to engine/plugin/hostpath"
	const code = "57: engine 41, hal 1, scenarios 1, cmd 14"
	const noDecide = "not measured: engine/core has no function decide"
	require.Equal(t, map[string]string{
		"one CSI volume's life: files run":                                           "3: engine 3, hal 0 (and hal/sim 0)",
		"one CSI volume's life: lines of code run":                                   "11: engine 11, hal 0 (and hal/sim 0)",
		"one CSI volume's life: lines of code that a node without pods does not run": "5: engine 5, hal 0 (and hal/sim 0)",
		"one CSI volume's life: calls of core's reconcile for each rung":             "1.0",
		"one CSI volume's life: calls of core's decide for each rung":                noDecide,
		"files outside its package that name csi":                                    "1: engine 1",
		"files outside its package that name emptydir":                               "0",
		"files outside its package that name hostpath":                               "2: engine 2",
		"imports that run back, in engine and scenarios":                             back,
		"files that call each other in a circle, engine":                             "2, 2 of 2 in engine",
		"files that call each other in a circle, scenarios":                          "0",
		"methods of engine.VolumeManager":                                            "2, 1 of them exported",
		"bools on the rung of engine/core":                                           "2",
		"exported names without a comment":                                           "1: engine/end.go:10 Alone",
		"fields of state in engine and engine/core without a comment":                "3: " + bare,
		"lines of code without comments":                                             code,
		"lines of code without comments, tests":                                      "0",
		"lines of a function, 90th percentile":                                       "6",
		"lines of a function, maximum":                                               "6: cmd/volsim/main.go: main",
		"lines over 120 columns, Go":                                                 "0",
		"lines over 120 columns, prose of *.md":                                      "1",
		"retired words":                                                              "1: notes.md:2 " + word,
	}, values)

	var out strings.Builder
	require.NoError(t, Print(&out, all))
	require.Equal(t, len(all), strings.Count(out.String(), "\n"))
}

// A tree whose engine does not compile still has the figures that are counted from its text.
func TestFiguresOfATreeThatDoesNotCompile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/tree")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "engine/more.go"), []byte("package engine\n\nvar x = missing\n"),
		0o600))
	all, err := Of(dir, true)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, Print(&out, all))
	require.Contains(t, out.String(), "undefined: missing")
	require.Regexp(t, `methods of engine.VolumeManager +2, 1 of them exported\n`, out.String())

	_, err = Of(t.TempDir(), false)
	require.ErrorContains(t, err, "go.mod")
}

func TestCircles(t *testing.T) {
	require.Equal(t, [][]string{{"c", "d", "e"}, {"a", "b"}}, circles(map[string][]string{
		"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c", "f"}, "f": nil, "g": {"a"},
	}))
}
