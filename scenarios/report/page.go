package report

import (
	_ "embed" // the page's texts
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/mutants"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
	//go:embed page.js
	scriptText string
)

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Results is what a command came to. What is empty is left out of reports.
type Results struct {
	Title    string
	Command  string // that made it
	Commit   string // of the source; "" if that is not known
	Tally    *fleet.Tally
	Hunts    int               // that Tally is the sum of; 0 for one
	Families map[string]uint64 // how many schedules of each family were run
	Curve    []fleet.Growth    // of coverage; of a sample of the schedules
	Stories  []Story
	Mutants  []mutants.Outcome
	Failures []Failure
	// Interrupted: a signal ended the hunt.
	Interrupted bool
}

// Story is one scenario that was run.
type Story struct {
	Name, Title string
	Broken      string   // the signature of what is broken; "" for nothing
	Stale       []string // what in it was not met
	Events      uint64
	Calls       uint64
}

// Passes is the verdict of a scenario in which nothing is wrong.
const Passes = "passes"

// Verdict is one word for it, or the signature of what is broken.
func (s Story) Verdict() string {
	switch {
	case s.Broken != "":
		return s.Broken
	case len(s.Stale) > 0:
		return "stale"
	}
	return Passes
}

// fact is one number of the summary.
type fact struct{ Name, Value string }

// pageData is what the template shows.
type pageData struct {
	Results
	Broken  bool
	Verdict string
	Facts   []fact
	Cards   []card
	Growth  *curve    // nil if there is none
	Others  []Failure // that were not shrunk
	Style   template.CSS
	Script  template.JS
}

// WritePage writes a report for people: one HTML file that needs nothing but itself.
func (p Results) WritePage(out io.Writer) error {
	d := pageData{
		Results: p, Growth: newCurve(p.Curve), Facts: p.facts(), Style: template.CSS(styleText),
		Script: template.JS(scriptText),
	}
	for _, f := range p.Failures {
		if f.Finding == nil {
			d.Others = append(d.Others, f)
			continue
		}
		d.Cards = append(d.Cards, newCard("finding-"+strconv.Itoa(len(d.Cards)+1), f.Finding))
	}
	d.Broken, d.Verdict = p.verdict()
	return pageTemplate.Execute(out, d)
}

func (p Results) verdict() (isBroken bool, text string) {
	wrong, stale := 0, 0
	for _, m := range p.Mutants {
		if m.IsWrong() {
			wrong++
		}
	}
	for _, s := range p.Stories {
		if len(s.Stale) > 0 {
			stale++
		}
	}
	switch {
	case len(p.Failures) > 0:
		return true, Count(len(p.Failures), "failure")
	case stale > 0:
		return true, Count(stale, "scenario") + " stale"
	case wrong > 0:
		return true, fmt.Sprintf("%d of %s survived, or killed against a proof", wrong, Count(len(p.Mutants), "mutant"))
	case len(p.Mutants) > 0:
		return false, "Every mutant was killed, save those that are proven equivalent"
	case p.Interrupted:
		return false, "No property was broken before a signal ended the hunt"
	}
	return false, "Every property holds"
}

func (p Results) facts() []fact {
	var all []fact
	if t := p.Tally; t != nil {
		all = append(all,
			fact{"Schedules", grouped(t.Schedules)},
			fact{"Schedules per CPU second", fmt.Sprintf("%.0f", t.PerCPU(t.Schedules))},
			fact{"Events", grouped(t.Events)},
			fact{"HAL calls", grouped(t.Calls)},
			fact{"Faults", fmt.Sprintf("%s (%.1f per schedule)", grouped(t.Faults), t.Per(t.Faults))},
			fact{"Crashes", fmt.Sprintf("%s (%.2f per schedule)", grouped(t.Crashes), t.Per(t.Crashes))},
			fact{"Canaries found", canariesOf(t.Sums)},
			fact{"CPU time", fmt.Sprintf("%.1f s", t.CPU.Seconds())},
			fact{"Time", fmt.Sprintf("%.1f s", t.Elapsed.Seconds())},
		)
	}
	if p.Hunts > 1 {
		all = append(all, fact{"Hunts", strconv.Itoa(p.Hunts)})
	}
	version := p.Commit
	if version == "" {
		version = "not known"
	}
	return append(all, fact{"Version", version})
}

// canariesOf tells how many schedules that had to fail did.
func canariesOf(t fleet.Sums) string {
	if t.Canaries == 0 {
		return "none planted"
	}
	return fmt.Sprintf("%d of %d", t.Caught, t.Canaries)
}

// Count is a number of things, with the right plural.
func Count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "sh") {
		what += "e"
	}
	return fmt.Sprint(n) + " " + what + "s"
}

// grouped is a number with a thin gap after each three digits.
func grouped(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}
