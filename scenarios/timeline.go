package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// Line is one line of a timeline.
type Line struct {
	Number int         `json:"number"`
	At     hal.Instant `json:"at"`
	Lane   string      `json:"lane"`
	Sign   string      `json:"sign"`
	Event  string      `json:"event"`
	Cause  int         `json:"cause,omitempty"` // the number of the line that led to it
	Record uint64      `json:"record"`          // of the trace
}

// longest is how many lines a timeline has.
const longest = 24

// Timeline tells a run for people: what was asked of the cluster, which faults there were, what the drivers and the agent did to volumes. Lines that
// have to do with subject, a rung or a path of the violation, stay if there are too many.
func Timeline(records []sim.Record, subject string) []Line {
	related := relatedTo(subject)
	for level := 0; ; level++ {
		lines := tell(records, related, level)
		if len(lines) <= longest {
			return lines
		}
		if level == 2 {
			cut := lines[len(lines)-longest:]
			return cut
		}
	}
}

// relatedTo returns what the records of a rung's volume, or of a pod, have in their object.
func relatedTo(subject string) []string {
	var words []string
	_, rest, ok := strings.Cut(subject, "/")
	if !ok {
		return nil
	}
	volume, _, _ := strings.Cut(rest, "/")
	words = append(words, volume)
	for _, part := range strings.Split(subject, "/") {
		if len(part) == 36 || strings.HasPrefix(part, "pod-") {
			words = append(words, part)
		}
	}
	return words
}

// tell makes lines. Level 0 tells all that changes something, 1 what is related, 2 no replies.
func tell(records []sim.Record, related []string, level int) []Line {
	var lines []Line
	numbers := map[uint64]int{}
	for i := range records {
		r := &records[i]
		event, sign := eventOf(r, level)
		if event == "" || level > 0 && !isRelated(r, related) {
			continue
		}
		l := Line{Number: len(lines) + 1, At: r.At, Lane: laneOf(r), Sign: sign, Event: event, Cause: numbers[r.Cause], Record: r.ID}
		lines = append(lines, l)
		numbers[r.ID] = l.Number
		if r.Mark == sim.MarkReply && r.Cause != 0 {
			numbers[r.Cause] = l.Number
		}
	}
	return lines
}

func isRelated(r *sim.Record, related []string) bool {
	if r.Mark == sim.MarkEvent && !strings.HasPrefix(r.What, "cluster.") {
		return true
	}
	for _, word := range related {
		if strings.Contains(r.Object, word) {
			return true
		}
	}
	return false
}

// told are the calls that a timeline shows.
var told = map[string]string{
	"csi.stage": "stage", "csi.unstage": "unstage", "csi.publish": "publish", "csi.unpublish": "unpublish",
	"mounts.mount": "mount", "mounts.bind": "bind", "mounts.unmount": "umount", "tree.remove-tree": "remove tree",
}

func eventOf(r *sim.Record, level int) (event, sign string) {
	verb := told[r.What]
	switch {
	case r.Mark == sim.MarkEvent:
		return strings.ReplaceAll(r.What, ".", " ") + " " + shorten(r.Object), "."
	case r.Mark == sim.MarkFault:
		return "fault at " + r.What + ": " + r.Fault.String(), "!"
	case verb == "" && r.What == "child.acted":
		return "a helper acts: " + shorten(r.Object), "*"
	case verb == "":
		return "", ""
	case r.Mark == sim.MarkCall && level < 2:
		return fmt.Sprintf("#%d %s is called", r.Op, verb), ">"
	case r.Mark == sim.MarkEffect:
		event = fmt.Sprintf("#%d %s acts", r.Op, verb)
		if r.Code != hal.CodeOK {
			event += ", " + r.Code.String()
		}
		return event, "*"
	case r.Mark == sim.MarkReply:
		event = fmt.Sprintf("#%d %s: %s", r.Op, verb, r.Outcome)
		if r.Code != hal.CodeOK {
			event += ", " + r.Code.String()
		}
		return event, "<"
	}
	return "", ""
}

// laneOf is the object that a record is about.
func laneOf(r *sim.Record) string {
	switch {
	case strings.HasPrefix(r.What, "cluster."):
		return "api"
	case r.Mark == sim.MarkEvent:
		lane, _, _ := strings.Cut(r.What, ".")
		return lane
	}
	return shorten(r.Object)
}

// shorten leaves of paths what tells them apart.
func shorten(object string) string {
	object = strings.ReplaceAll(object, rootDir+"/", "")
	object = strings.NewReplacer("-0000-4000-8000-", "…", "/volumes/kubernetes.io~csi/", "…", "/volumes/kubernetes.io~", "…").Replace(object)
	if head, tail, ok := strings.Cut(object, "plugins/kubernetes.io/csi/"); ok && len(tail) > 64 {
		object = head + "csi…" + tail[len(tail)-20:]
	}
	return object
}

// Report prints a failure as people read it.
func Report(v *Violation, seed uint64, s *Shrunk, lines []Line, command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "FAIL %s %s   %s\n", v.Property, v.Site, shorten(v.Object))
	fmt.Fprintf(&b, "     %s\n", shorten(firstLine(v.Story)))
	if s != nil {
		fmt.Fprintf(&b, "     seed %d, %d of %d choices left after %d runs, %d of 3 replays equal\n", seed, len(s.Case.Choices()), s.Choices, s.Runs, s.Equal)
	}
	for _, l := range lines {
		cause := ""
		if l.Cause != 0 {
			cause = fmt.Sprintf("   <= %d", l.Cause)
		}
		fmt.Fprintf(&b, "%3d %12.6fs  %-30.30s %s %s%s\n", l.Number, float64(l.At)/1e9, l.Lane, l.Sign, l.Event, cause)
	}
	fmt.Fprintf(&b, "    %12.6fs  %-30.30s x %s is broken\n", float64(v.At)/1e9, shorten(v.Object), v.Property)
	fmt.Fprintf(&b, "replay: %s\n", command)
	return b.String()
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

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
