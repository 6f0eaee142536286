package scenarios

import (
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine"
)

// LogLine is a line of the engine's log in the form in which volnode writes it, without the time.
func LogLine(l engine.Line) string {
	var b strings.Builder
	b.WriteString("level=" + [...]string{"INFO", "WARN", "ERROR"}[l.Level] + " msg=" + quoted(l.Message))
	for i := 0; i+1 < len(l.Fields); i += 2 {
		if l.Fields[i+1] != "" {
			b.WriteString(" " + l.Fields[i] + "=" + quoted(l.Fields[i+1]))
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
