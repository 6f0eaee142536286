package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirstWalk: what README.md and docs/volsim.md show of the first walk is what a newcomer sees, and what breaks the
// engine there finds its line.
func TestFirstWalk(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", path))
		require.NoError(t, err)
		return string(text)
	}
	readme, manual := read("README.md"), strings.ReplaceAll(read("docs/volsim.md"), "\n    ", "\n")
	_, story, _ := strings.Cut(readme, "cat > stage_late.txt <<'EOF'\n")
	story, _, found := strings.Cut(story, "EOF\n")
	require.True(t, found)
	require.Contains(t, manual, story)

	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("stage_late.txt", []byte(story), 0o600))
	status, stdout, stderr := volsim("run", "stage_late.txt")
	require.Zero(t, status, stderr)
	require.Contains(t, manual, stdout)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Contains(t, readme, "\n"+lines[len(lines)-1]+"\n")
}

// TestFirstWalkBreaksTheEngine: the sed of README.md changes one line of the engine, and what README.md shows of the
// broken engine is what a newcomer sees.
func TestFirstWalkBreaksTheEngine(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	const script = "/e.Reply != hal.ReplyStatus:/{n;s/hal.Unknown, fenced: true/hal.NotDone/}"
	require.Contains(t, string(readme), "sed -i '"+script+"' engine/plugin/csi/outcome.go")
	file, err := filepath.Abs("../../engine/plugin/csi/outcome.go")
	require.NoError(t, err)
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	before, behind, found := strings.Cut(string(source), "e.Reply != hal.ReplyStatus:\n")
	require.True(t, found)
	line, rest, _ := strings.Cut(behind, "\n")
	require.Contains(t, line, "hal.Unknown, fenced: true")
	_, story, _ := strings.Cut(string(readme), "cat > stage_late.txt <<'EOF'\n")
	story, _, _ = strings.Cut(story, "EOF\n")

	dir := t.TempDir()
	put := func(name, text string) string {
		at := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
		return at
	}
	broken := put("outcome.go", before+"e.Reply != hal.ReplyStatus:\n"+
		strings.Replace(line, "hal.Unknown, fenced: true", "hal.NotDone", 1)+"\n"+rest)
	overlay := put("overlay.json", fmt.Sprintf(`{"Replace": {%q: %q}}`, file, broken))
	bin := filepath.Join(dir, "volsim")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	put("stage_late.txt", story)
	run := exec.CommandContext(t.Context(), bin, "run", "stage_late.txt")
	run.Dir = dir
	told, err := run.Output()
	require.Error(t, err)
	var shown strings.Builder
	for line := range strings.Lines(string(told)) {
		if !strings.Contains(line, "level=") {
			shown.WriteString(line)
		}
	}
	require.Contains(t, string(readme), "```\n"+shown.String()+"```\n")
}
