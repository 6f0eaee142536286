package main

import (
	"os"
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

// TestFirstWalkBreaksTheEngine: the sed of README.md changes one line of the engine.
func TestFirstWalkBreaksTheEngine(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	const script = "/e.Reply != hal.ReplyStatus:/{n;s/hal.Unknown, fenced: true/hal.NotDone/}"
	require.Contains(t, string(readme), "sed -i '"+script+"' engine/plugin/csi/outcome.go")
	source, err := os.ReadFile("../../engine/plugin/csi/outcome.go")
	require.NoError(t, err)
	_, behind, found := strings.Cut(string(source), "e.Reply != hal.ReplyStatus:\n")
	require.True(t, found)
	line, _, _ := strings.Cut(behind, "\n")
	require.Contains(t, line, "hal.Unknown, fenced: true")
}
