package wording

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTab: wherever a tab is in an indentation, its own line is named; no other error is taken for one.
func TestTab(t *testing.T) {
	for text, want := range map[string]string{
		"\ta: 1\n":                           "line 1: ",
		"a: 1\nb:\n\tc: 1\n":                 "line 3: ",
		"a: 1\nb:\n  c: 1\n\td: 2\n":         "line 4: ",
		"a:\n  - x: 1\n  \ty: 2\n":           "line 3: ",
		"a:\n\t- x\n":                        "line 2: ",
		"a:\n-\tx: 1\n":                      "line 2: ",
		"a:\n- x: 1\n-\tx: 2\n":              "line 3: ",
		"a: |\n  x\n \ty\nb: 1\n":            "line 3: ",
		"a: 1\n\t\nb: 2\n":                   "line 2: ",
		"a: 1\n---\nb: 2\nc:\n\td: 1\n":      "line 5: ",
		"a: |\n  all:\n  \tcc x\nb:\n\tc: 1": "line 5: ",
	} {
		said, is := Tab([]byte(text))
		require.True(t, is, "%q", text)
		require.Contains(t, said, want+"a tab is in the indentation", "%q", text)
	}
	for _, text := range []string{
		"", "a: 1\n", "a: @x\n", "a: [1\n", "a:\t@x\n", "a: |\n  x\n  \ty\nb: [1\n", "a: \"x\n\ty\" z\n",
		"a: {\n\tb: ]\n", "\x00",
	} {
		said, is := Tab([]byte(text))
		require.False(t, is, "%q: %s", text, said)
	}
}
