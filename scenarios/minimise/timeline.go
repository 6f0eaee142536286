package minimise

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
const longest = 20

// timeline tells a run for people: what was asked of the cluster, which faults there were, what the drivers and the
// agent did to volumes. If that is too much, lines go that have nothing to do with the subject, a rung or a path of the
// violation, then calls that went well, then the oldest.
func timeline(records []sim.Record, n *names, subject string) []Line {
	t := teller{records: records, names: n, subject: n.name(subject)}
	for level := range 4 {
		lines := t.tell(level)
		if len(lines) <= longest {
			return lines
		}
	}
	lines := t.tell(3)
	lines = lines[len(lines)-longest:]
	first := lines[0].Number
	for i := range lines {
		lines[i].Number -= first - 1
		lines[i].Cause = max(lines[i].Cause-first+1, 0)
	}
	return lines
}

// teller makes the lines of a timeline.
type teller struct {
	records []sim.Record
	names   *names
	subject string
	level   int
	lines   []Line
	of      map[uint64]int    // the number of the line that tells of a record
	open    map[string]uint64 // the record of the last call of a site about an object
	last    map[string]int    // the number of the last line about something
}

// tell makes lines. Level 0 tells all that changes something, 1 what is related, 2 no calls that went as usual, 3 only
// faults and ends.
func (t *teller) tell(level int) []Line {
	t.level, t.lines, t.of, t.last = level, nil, map[uint64]int{}, map[string]int{}
	t.open = map[string]uint64{}
	isBegun := false
	for i := range t.records {
		r := &t.records[i]
		isBegun = isBegun || r.What == "agent.started"
		event, sign := t.event(r)
		if event == "" || !isBegun || level > 0 && !t.isRelated(r) {
			continue
		}
		t.add(r, event, sign)
	}
	return t.lines
}

// callOf names the call that a record is of.
func callOf(r *sim.Record) string {
	site, _, _ := strings.Cut(r.What, "/")
	return site + " " + r.Object
}

// add adds a line, or makes a call, its effect and its reply one line if nothing comes between them.
func (t *teller) add(r *sim.Record, event, sign string) {
	lane := t.laneOf(r)
	if r.Mark == sim.MarkCall {
		t.open[callOf(r)] = r.ID
	}
	if n := len(t.lines); n > 0 && t.of[r.Cause] == n && (r.Mark == sim.MarkEffect || r.Mark == sim.MarkReply) &&
		t.lines[n-1].Lane == lane &&
		t.lines[n-1].Sign != "!" && r.Fault == sim.NoFault {
		l := &t.lines[n-1]
		l.Sign, l.Event, l.Record = sign, event, r.ID
		t.of[r.ID] = n
		return
	}
	l := Line{
		Number: len(t.lines) + 1, At: r.At, Lane: lane, Sign: sign, Event: event, Cause: t.cause(r, lane),
		Record: r.ID,
	}
	t.lines = append(t.lines, l)
	t.of[r.ID] = l.Number
	if call := t.open[callOf(r)]; r.Mark == sim.MarkFault && call != 0 {
		t.of[call] = l.Number // what becomes of the call is the fault's doing
	}
	t.last[lane] = l.Number
	if r.Mark == sim.MarkEvent {
		t.last[r.What], t.last[t.names.name(r.Object)] = l.Number, l.Number
	}
}

// cause is the number of the line that led to a record: the call of an effect or a reply, the fault of a death, the end
// of a life before a new one, and for a call what was heard or done last about its pod or its volume.
func (t *teller) cause(r *sim.Record, lane string) int {
	if n := t.of[r.Cause]; n != 0 {
		return n
	}
	if n := t.of[t.open[callOf(r)]]; r.Mark == sim.MarkFault && n != 0 {
		return n
	}
	switch {
	case r.What == "agent.started":
		return max(t.last["agent.died"], t.last["node.booted"])
	case r.What == "node.booted":
		return t.last["node.died"]
	case r.What == "agent.died" || r.What == "node.died":
		if n := len(t.lines); n > 0 && t.lines[n-1].Sign == "!" {
			return n
		}
		return 0
	case r.What == "driver.up":
		return t.last["driver.down"]
	case r.Mark == sim.MarkEvent:
		return 0
	}
	volume, pod, _ := strings.Cut(lane, "@")
	n := max(t.last[lane], t.last["agent.started"])
	if pod != "" {
		return max(n, t.last["pod "+pod], t.last[volume])
	}
	for _, owner := range t.names.owners[volume] {
		n = max(n, t.last["pod "+owner], t.last[volume+"@"+owner])
	}
	return n
}

// isRelated: it is about the volume or the pod of the subject, or about everything.
func (t *teller) isRelated(r *sim.Record) bool {
	if r.Mark == sim.MarkEvent && !strings.HasPrefix(r.What, "cluster.") {
		return !strings.HasPrefix(r.What, "driver.") || t.level < 3
	}
	volume, pod, _ := strings.Cut(t.subject, "@")
	object := t.names.name(r.Object)
	if strings.HasPrefix(r.What, "cluster.") {
		name := strings.TrimPrefix(object, "pod ")
		return name == pod || name == t.subject || strings.HasPrefix(t.subject, name+"/") ||
			slices.Contains(t.names.owners[volume], name) || t.isGeneral()
	}
	about, _, _ := strings.Cut(object, "@")
	return about == volume || object == t.subject || pod != "" && strings.HasSuffix(object, "@"+pod) ||
		r.Mark == sim.MarkFault || t.isGeneral()
}

// isGeneral: the subject is no rung and no pod, so everything may have to do with it.
func (t *teller) isGeneral() bool {
	return !strings.ContainsAny(t.subject, ":@/") && t.names.owners[t.subject] == nil &&
		!strings.Contains(t.subject, "pod")
}

// told are the calls that a timeline shows.
var told = map[string]string{
	"csi.stage": "stage", "csi.unstage": "unstage", "csi.publish": "publish", "csi.unpublish": "unpublish",
	"mounts.mount": "mount", "mounts.bind": "bind", "mounts.unmount": "unmount", "tree.remove-tree": "remove tree",
}

func (t *teller) event(r *sim.Record) (event, sign string) {
	verb := told[r.What]
	switch {
	case r.Mark == sim.MarkEvent:
		return t.happened(r), "."
	case r.Mark == sim.MarkFault:
		return t.names.faultText(r.Fault, sim.ID{Site: r.What, Object: r.Object}), "!"
	case verb == "" && r.What == "child.acted":
		return "a helper acts", "*"
	case verb == "":
		return "", ""
	case r.Mark == sim.MarkCall && t.level < 2:
		return fmt.Sprintf("#%d %s is called", r.Op, verb), ">"
	case r.Mark == sim.MarkEffect && (t.level < 2 || r.Fault != sim.NoFault):
		return fmt.Sprintf("#%d %s acts", r.Op, verb) + codeOf(r), "*"
	case r.Mark == sim.MarkReply && (t.level < 3 || r.Outcome != hal.Done):
		return fmt.Sprintf("#%d %s: %s", r.Op, verb, r.Outcome) + codeOf(r), "<"
	}
	return "", ""
}

func codeOf(r *sim.Record) string {
	switch {
	case r.Code != hal.CodeOK:
		return ", " + r.Code.String()
	case r.Errno != 0:
		return ", " + r.Errno.Error()
	}
	return ""
}

// happened is an event of the world.
func (t *teller) happened(r *sim.Record) string {
	object := t.names.name(r.Object)
	switch r.What {
	case "agent.started":
		return "the agent starts, life " + object
	case "agent.died":
		return "the agent dies"
	case "node.booted":
		return "the node boots"
	case "node.died":
		return "the node goes down: " + object
	case "driver.up", "driver.down", "driver.replaced":
		if r.What == "driver.up" && t.last["driver.down"] == 0 && r.At < hal.Instant(time.Second) {
			return "" // as usual
		}
		return strings.TrimPrefix(r.What, "driver.")
	}
	who, verb, _ := strings.Cut(r.What, ".")
	if who == "cluster" {
		return object + " is " + verb
	}
	return strings.TrimSpace(strings.ReplaceAll(verb, "-", " ") + " " + object)
}

// laneOf is what a record is about.
func (t *teller) laneOf(r *sim.Record) string {
	switch {
	case strings.HasPrefix(r.What, "cluster."):
		return "api"
	case strings.HasPrefix(r.What, "driver.") && r.Mark == sim.MarkEvent:
		return r.Object
	case r.Mark == sim.MarkEvent:
		lane, _, _ := strings.Cut(r.What, ".")
		return lane
	}
	return t.names.name(r.Object)
}

// Text prints a finding as people read it.
func (f *Finding) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "FAIL %s\n", f.Signature)
	for _, line := range wrapped(f.Sentence, textWidth-5) {
		fmt.Fprintf(&b, "     %s\n", line)
	}
	lane, event := len("lane"), 0
	for _, l := range f.Lines {
		lane, event = max(lane, len(l.Lane)), max(event, len(l.Event))
	}
	lane = min(lane, widestLane)
	event = min(event, textWidth-lane-30)
	for _, l := range f.Lines {
		cause := ""
		if l.Cause != 0 {
			cause = fmt.Sprintf("<= %d", l.Cause)
		}
		line := fmt.Sprintf("%3d %12.6fs  %-*s %s %-*s  %s", l.Number, float64(l.At)/1e9, lane, ending(l.Lane, lane),
			l.Sign, event, l.Event, cause)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(&b, "    %12.6fs  %-*s x %s is broken\n", float64(f.Violation.At)/1e9, lane,
		ending(f.Subject, lane), f.Property)
	if f.Runs > 0 {
		f.tellChoices(&b)
	}
	if f.Difference != nil {
		b.WriteString(f.Difference.Text())
	}
	fmt.Fprintf(&b, "replay: %s\n", f.Command)
	return b.String()
}

// From is what was shrunk or explained: a scenario by its name, a seed, or a case that has none.
func (f *Finding) From() string {
	switch {
	case f.Scenario != "":
		return f.Scenario
	case f.Seed != 0:
		return fmt.Sprintf("seed %d", f.Seed)
	}
	return "the case"
}

func (f *Finding) tellChoices(b *strings.Builder) {
	from := f.From()
	if f.InsteadOf != 0 {
		from += fmt.Sprintf(", which breaks the same as seed %d and comes down to less", f.InsteadOf)
	}
	left := fmt.Sprintf("%d of %d choices left", len(f.Choices), f.Total)
	switch {
	case f.Total == 0:
		left = "nothing in it is left to chance, so no choice can go;"
	case len(f.Choices) == 0:
		left = fmt.Sprintf("none of its %d choices is needed;", f.Total)
	}
	fmt.Fprintf(b, "%s: %s after %d runs in %.1f s of CPU, %d of 3 replays equal\n", from, left, f.Runs,
		f.CPU.Seconds(), f.Equal)
	if f.StoppedEarly {
		b.WriteString("stopped early, as --budget was used up: this is the smallest case so far\n")
	}
	for _, c := range f.Choices {
		fmt.Fprintf(b, "  without %q: %s\n", c.Text, c.Without)
	}
}

const (
	textWidth  = 120
	widestLane = 34
)

// ending is the end of a name that is too long: there is what tells names apart.
func ending(name string, width int) string {
	if len(name) <= width {
		return name
	}
	return "…" + name[len(name)-width+1:]
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
