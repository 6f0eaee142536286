package wording

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrong(t *testing.T) {
	for _, text := range []string{
		"", "the name is empty", `driver "a.b" is not registered; registered: none`, "open /a: no such file or directory", "mode 0600 (or less)",
	} {
		require.Empty(t, Wrong(text), text)
	}
	for _, text := range []string{
		"is empty or ", "is empty or", "volume  is Stuck", `pod "" is gone`, "%!s(int=3) is it", "why: ", "why:", "a: ; volnode tries again", "is <nil>",
		"registered: ", "versions []", "one, , three", "it is empty or; write a name", " a", "call ()",
	} {
		require.NotEmpty(t, Wrong(text), text)
	}
}
