package marker_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tables are the two files outside its own folders that a source touches, and what is put where: the imports, and the
// entry.
var tables = map[string][][2]string{
	"engine/plugin/kinds/kinds.go": {
		{`	"github.com/volnode/volnode/hal"` + "\n", `	"github.com/volnode/volnode/examples/marker"` + "\n"},
		{"hostpath.Source()", ", marker.Source()"},
	},
	"scenarios/rooms/rooms.go": {
		{`	"github.com/volnode/volnode/scenarios/world"` + "\n", `	"github.com/volnode/volnode/examples/marker/room"` + "\n"},
		{"hostpath.Room()", ", room.Room()"},
	},
}

// tree is volnode's source with the marker in its tables, and maybe with a defect in the marker.
type tree struct{ root, dir string }

func with(t *testing.T, defects map[string][2]string) *tree {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	tr := &tree{root, t.TempDir()}
	replace := map[string]string{}
	put := func(file, text string) {
		at := filepath.Join(tr.dir, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
		replace[filepath.Join(root, file)] = at
	}
	for file, all := range tables {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		is := string(text)
		for _, after := range all {
			require.Equal(t, 1, strings.Count(is, after[0]), "%s has %q", file, after[0])
			is = strings.Replace(is, after[0], after[0]+after[1], 1)
		}
		put(file, is)
	}
	for file, d := range defects {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), d[0]), "%s has %q", file, d[0])
		put(file, strings.Replace(string(text), d[0], d[1], 1))
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(tr.dir, "overlay.json"), overlay, 0o600))
	return tr
}

// run runs a command in the tree, with all that go builds built of it.
func (tr *tree) run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = tr.root
	cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+filepath.Join(tr.dir, "overlay.json"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// volsim builds volsim and returns its path.
func (tr *tree) volsim(t *testing.T) string {
	t.Helper()
	program := filepath.Join(tr.dir, "volsim")
	out, err := tr.run("go", "build", "-o", program, "./cmd/volsim")
	require.NoError(t, err, out)
	return program
}

const story = `# A pod has a volume with a marker, and the agent is killed and comes back.
# caught by: S14

pod default/web uses marker:hello

at 0s apply all
within 30s expect pod default/web ready
at 1m kill agent for 10s
within 1m expect pod default/web ready
after 1s delete pod default/web
within 1m expect pod default/web gone
`

// TestASourceTakesPart adds a source in two lines, and has all look at it that looks at volnode's own.
func TestASourceTakesPart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds volnode and volsim again")
	}
	tr := with(t, nil)
	volsim := tr.volsim(t)
	file := filepath.Join(tr.dir, "a_marker_is_set_up.txt")
	require.NoError(t, os.WriteFile(file, []byte(story), 0o600))
	t.Run("scenario", func(t *testing.T) {
		out, err := tr.run(volsim, "run", file)
		require.NoError(t, err, out)
	})
	t.Run("exhaust", func(t *testing.T) {
		out, err := tr.run(volsim, "exhaust", file)
		require.NoError(t, err, out)
		require.Greater(t, number(t, out, `(\d+) run `), 50, "cases with a fault: %s", out)
	})
	t.Run("hunt", func(t *testing.T) {
		out, err := tr.run(volsim, "hunt", "--runs", "1000")
		require.NoError(t, err, out)
	})
	t.Run("conformance", func(t *testing.T) {
		out, err := tr.run("go", "test", "-count=1", "-v", "-run", "TestVolumesConform", "./scenarios/rooms")
		require.NoError(t, err, out)
		if os.Geteuid() == 0 {
			require.Contains(t, out, "PASS: TestVolumesConform/a_volume_with_a_marker")
		}
	})
	t.Run("kill matrix", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("needs root")
		}
		out, err := tr.run("go", "test", "-count=1", "-v", "./e2e/killmatrix", "-rungs", "marker/", "-volume",
			`flexVolume: {driver: "example.com/marker", options: {text: hello}}`)
		require.NoError(t, err, out)
		require.Greater(t, number(t, out, `(\d+) kills`), 20, out)
	})
}

// TestDefectsOfASourceAreFound: what its author may get wrong, volsim finds.
func TestDefectsOfASourceAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds volsim again")
	}
	const file = "examples/marker/marker.go"
	for name, c := range map[string]struct{ before, after, property string }{
		"an error after an effect means that nothing was done": {
			`return op.Unknown("set up, but`, `return op.NotDone("set up, but`, "S8",
		},
		"a marker that is lost is as good as one that is there": {
			`Fingerprint: "a directory without a marker"`, `Fingerprint: o.Fingerprint`, "S14",
		},
		"a start does not look for volumes": {
			"s.found = append(s.found, [2]string{uid, name})", "", "L1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := with(t, map[string][2]string{file: {c.before, c.after}})
			out, err := tr.run(tr.volsim(t), "hunt", "--runs", "3000")
			require.Error(t, err, out)
			require.Contains(t, out, "FAIL "+c.property+" ")
		})
	}
}

func number(t *testing.T, text, pattern string) int {
	t.Helper()
	is := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, is, "%s in %s", pattern, text)
	n, err := strconv.Atoi(is[1])
	require.NoError(t, err)
	return n
}
