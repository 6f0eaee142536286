package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
)

const (
	atlasFile  = "../docs/fault-atlas.md"
	atlasBegin = "<!-- sites -->\n"
	atlasEnd   = "<!-- end of sites -->\n"
	// atlasEnv has the test write the part of the atlas that is made from the simulator.
	atlasEnv = "SCENARIOS_TEST_ATLAS"
)

// TestAtlasIsTrue compares the fault atlas with the simulator's own list of faults and sites.
func TestAtlasIsTrue(t *testing.T) {
	data, err := os.ReadFile(atlasFile)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(data), atlasBegin)
	require.True(t, ok)
	was, tail, ok := strings.Cut(rest, atlasEnd)
	require.True(t, ok)
	want := atlasSites()
	if os.Getenv(atlasEnv) != "" {
		require.NoError(t, os.WriteFile(atlasFile, []byte(head+atlasBegin+want+atlasEnd+tail), 0o644))
	} else {
		require.Equal(t, want, was, "%s=1 go test ./scenarios -run TestAtlasIsTrue writes it", atlasEnv)
	}
	for _, f := range sim.Faults() {
		require.Contains(t, head, "`"+f.String()+"`", "no code of the atlas has the fault %q", f)
	}
	for code := 1; code <= 33; code++ {
		require.Contains(t, head, fmt.Sprintf("| F%02d |", code))
	}
}

func atlasSites() string {
	var b strings.Builder
	b.WriteString("| site | class | faults |\n|---|---|---|\n")
	for _, s := range sim.Sites() {
		class := "event of the world"
		if s.IsCall {
			class = s.Class.String()
		}
		if s.Writes {
			class += ", changes something"
		}
		var faults []string
		for _, f := range s.Faults() {
			faults = append(faults, f.String())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name, class, strings.Join(faults, " · "))
	}
	return b.String()
}
