package scenarios

import (
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine"
)

// LogLine is a line of the engine's log in the form in which volnode writes it, without the time.
func LogLine(e engine.Entry) string {
	var b strings.Builder
	b.WriteString("level=" + [...]string{"INFO", "WARN", "ERROR"}[e.Level] + " msg=" + quoted(e.Message))
	for i := 0; i+1 < len(e.Fields); i += 2 {
		if e.Fields[i+1] != "" {
			b.WriteString(" " + e.Fields[i] + "=" + quoted(e.Fields[i+1]))
		}
	}
	return b.String()
}

// quoted is how slog's text handler writes a value.
func quoted(value string) string {
	if strings.ContainsAny(value, " =\"\n\t") {
		return strconv.Quote(value)
	}
	return value
}
