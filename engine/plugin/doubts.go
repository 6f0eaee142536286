package plugin

import (
	"slices"
	"strings"
)

// Doubts are the words of a driver that does not know what has become of what it has begun, in lower case. Exit codes
// 137 and 143 are a shell's for SIGKILL and SIGTERM; the codes in brackets are those of a driver that asked another
// server.
var Doubts = []string{
	"deadline", "timeout", "time-out", "time out", "timed out", "timing out", "cancel", "killed", "signal:", "sigkill",
	"sigterm", "terminated",
	"exit status 137", "exit status 143", "exit code 137", "exit code 143", "code = unavailable",
}

// longText is about how long a text may be before the HAL cuts it.
const longText = 512

// Doubtful reports whether the text of an answer leaves open whether its call has ended. A text can only add caution.
func Doubtful(text string) bool {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	isCut := len(text) > longText && strings.HasSuffix(text, "...")
	return text == "" || isCut || slices.ContainsFunc(Doubts, func(d string) bool { return strings.Contains(text, d) })
}
