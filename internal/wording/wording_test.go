package wording

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrong(t *testing.T) {
	for _, text := range []string{
		"", "the name is empty", `driver "a.b" is not registered; registered: none`,
		"open /a: no such file or directory", "mode 0600 (or less)",
	} {
		require.Empty(t, Wrong(text), text)
	}
	for _, text := range []string{
		"is empty or ", "is empty or", "volume  is Stuck", `pod "" is gone`, "%!s(int=3) is it", "why: ", "why:",
		"a: ; volnode tries again", "is <nil>",
		"registered: ", "versions []", "one, , three", "it is empty or; write a name", " a", "call ()",
	} {
		require.NotEmpty(t, Wrong(text), text)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"describe", "plan", "run", "status", "wait"}
	for word, want := range map[string]string{
		"rnu": "run", "statsu": "status", "descirbe": "describe", "desc": "describe", "WAIT": "wait", "wiat": "wait",
		"fly": "", "": "", "xxxxxxxx": "",
	} {
		require.Equal(t, want, Nearest(word, names), word)
	}
	require.Equal(t, "; did you mean run?", Meant("rnu", names))
	require.Equal(t, "; there are: describe, plan, run, status, wait", Meant("fly", names))
	require.Empty(t, Meant("fly", nil))
}
