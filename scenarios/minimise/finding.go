package minimise

import (
	"runtime/debug"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/verdict"
	"github.com/volnode/volnode/scenarios/world"
)

// FindingSchema is the version of Finding's JSON. A field that changes its meaning, or goes, makes a new one.
const FindingSchema = 1

// Finding is a failing run, shrunk and explained: all that a report shows of it.
type Finding struct {
	Schema int `json:"schema"` // FindingSchema
	// of the source that volsim was built of, with "+" for one with changes; "" if it is not known
	Commit    string `json:"commit"`
	Property  string `json:"property"`
	Signature string `json:"signature"` // property and site: what findings of one defect have in common
	Sentence  string `json:"sentence"`  // who did what, and why that is wrong
	Scenario  string `json:"scenario,omitempty"`
	// of a world that is no scenario; 0 also for a case that has none
	Seed uint64 `json:"seed"`
	// the seed that was asked for, if Seed is another that breaks the same
	InsteadOf uint64             `json:"insteadOf,omitempty"`
	Case      string             `json:"case"` // the value of the flag --keep that replays it
	Violation *verdict.Violation `json:"violation"`
	Subject   string             `json:"subject"` // the violation's object by its short name
	Choices   []Necessity        `json:"choices"` // what is left, in the order in which the run comes to it
	Total     int                `json:"total"`   // choices of the whole schedule
	Runs      int                `json:"runs"`    // that it took to shrink it
	Equal     int                `json:"equal"`   // of three replays, those whose trace is the same
	Lines     []Line             `json:"lines"`   // the timeline, up to the violation
	Frames    []Frame            `json:"frames"`  // one for each line, in their order
	Command   string             `json:"command"` // replays it
	// Difference is where replays part that are not equal; nil if all are.
	Difference *Difference `json:"difference,omitempty"`
	// StoppedEarly: the budget was used up before nothing more could go.
	StoppedEarly bool `json:"stoppedEarly,omitempty"`
	// CPU is the CPU time that shrinking took, in nanoseconds. It is the only field that is not a function of the case.
	CPU time.Duration `json:"cpuNanoseconds"`
}

// Necessity is one choice that is left, and what becomes of the run without it.
type Necessity struct {
	ID    string `json:"id"`   // site@object#nth
	Text  string `json:"text"` // for people
	Value int    `json:"value"`
	// Needed: without this choice the run does not fail in the same way.
	Needed bool `json:"needed"`
	// Without is "passes", or the signature that the run has without the choice.
	Without string `json:"without"`
}

// passes is the verdict of a run that breaks no property.
const passes = "passes"

// Frame is what the engine believed and what was true at one line of the timeline: once what happened there has taken
// effect.
type Frame struct {
	At    hal.Instant       `json:"at"`    // of the world's clock
	Line  int               `json:"line"`  // Line.Number
	Rungs []world.RungFrame `json:"rungs"` // in the order of their keys
}

// Explain replays a shrunk case and tells all of it; nil if it breaks nothing this time, as it is not deterministic. h
// is the hunter that it was shrunk with.
func Explain(h *scenarios.Hunter, s *Shrunk) *Finding {
	f, short := tell(h, s.Case)
	if f == nil {
		return nil
	}
	f.Total, f.Runs, f.Equal, f.CPU, f.Difference, f.InsteadOf = s.Choices, s.Runs, s.Equal, s.CPU,
		s.Difference, s.InsteadOf
	f.StoppedEarly = s.StoppedEarly
	for i, k := range s.Case.Keep {
		if !k.IsChoice() {
			continue
		}
		n := Necessity{
			ID: k.ID.String(), Text: short.text(s.Case, k), Value: int(k.Value), Needed: true,
			Without: passes,
		}
		if res := h.Rerun(s.Case.Without(i, i+1), scenarios.Watch{}); res.Violation != nil {
			n.Without = res.Violation.Signature()
			n.Needed = n.Without != f.Signature
		}
		f.Choices = append(f.Choices, n)
	}
	return f
}

// Tell runs a case and tells what it breaks, without what shrinking knows of it; nil if it breaks nothing.
func Tell(h *scenarios.Hunter, c cases.Case) *Finding {
	f, _ := tell(h, c)
	return f
}

func tell(h *scenarios.Hunter, c cases.Case) (*Finding, *names) {
	var n *names
	var records []sim.Record
	res := h.Rerun(c, scenarios.Watch{
		Keep: true, Done: func(w *sim.World) { records = w.Trace().Records },
		Ended: func(v scenarios.View) { n = namesOf(v.Labels()) },
	})
	v := res.Violation
	if v == nil {
		return nil, nil
	}
	f := &Finding{
		Schema: FindingSchema, Commit: Commit(), Property: v.Property, Signature: v.Signature(),
		Sentence: n.summary(c, v),
		Seed:     c.Seed, Case: c.String(),
		Violation: v, Subject: n.name(v.Object), Lines: timeline(records, n, v.Object), Command: c.Command("replay"),
	}
	if c.Scenario != nil {
		f.Scenario = c.Scenario.Name
	}
	f.Frames = frames(h, c, f.Lines)
	return f, n
}

// Commit is what the program was built of: the hash of a commit, with "+" behind it if sources were changed; "" if that
// is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}
