package wording

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestTab: wherever a tab is in an indentation, its own line is named; no other error is taken for one.
func TestTab(t *testing.T) {
	for text, want := range map[string]string{
		"\ta: 1\n":                      "line 1: ",
		"a: 1\nb:\n\tc: 1\n":            "line 3: ",
		"a: 1\nb:\n  c: 1\n\td: 2\n":    "line 4: ",
		"a:\n  - x: 1\n  \ty: 2\n":      "line 3: ",
		"a:\n\t- x\n":                   "line 2: ",
		"a: |\n  x\n \ty\nb: 1\n":       "line 3: ",
		"a: 1\n---\nb: 2\nc:\n\td: 1\n": "line 5: ",
	} {
		said, is := Tab([]byte(text), parse(text))
		require.True(t, is, "%q: %v", text, parse(text))
		require.Contains(t, said, want+"a tab is in the indentation", "%q", text)
	}
	for _, text := range []string{"a: 1\n", "a: @x\n", "a: [1\n", "a: 1\n\tb", "a: 1\nb: `x`\n"} {
		if said, is := Tab([]byte(text), parse(text)); is {
			require.Contains(t, text, "\t", said)
		}
	}
	_, is := Tab([]byte("\ta"), errors.New("mapping values are not allowed in this context"))
	require.False(t, is)
}

// parse reads all documents of a text.
func parse(text string) error {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		if err := decoder.Decode(new(yaml.Node)); err != nil {
			return err
		}
	}
}
