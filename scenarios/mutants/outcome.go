package mutants

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is what became of one mutant.
type Outcome struct {
	Name   string `json:"name"`
	Law    string `json:"law"`
	Killed bool   `json:"killed"`
	Proof  string `json:"equivalent,omitempty"` // why nothing can kill it
	// that was broken: by the hunt, else by the first of the scenarios
	Property  string   `json:"property,omitempty"`
	Site      string   `json:"site,omitempty"`
	Scenarios []string `json:"scenarios,omitempty"` // of the catalogue that fail with it
	Found     bool     `json:"found"`               // by a hunt
	Seeds     uint64   `json:"seeds"`               // that were hunted
	// that killed it; 0 for none, and for a schedule that the hunt varied
	Seed    uint64        `json:"seed,omitempty"`
	CPU     time.Duration `json:"cpuNanoseconds"` // of the catalogue and the hunt
	Hunt    time.Duration `json:"huntNanoseconds"`
	Choices int           `json:"choices,omitempty"` // of the shrunk case; 0 is not shrunk
	Lines   int           `json:"lines,omitempty"`   // in which it is told

	number int
}

// kill notes what a mutant is killed by, the first time.
func (o *Outcome) kill(property, site string) {
	if o.Killed = true; o.Property == "" {
		o.Property, o.Site = property, site
	}
}

// IsWrong reports whether the outcome is not what it should be: a mutant that lives, or one whose proof does not hold.
func (o Outcome) IsWrong() bool { return o.Killed == (o.Proof != "") }

// Verdict is one word for it.
func (o Outcome) Verdict() string {
	switch {
	case o.Killed:
		return "killed"
	case o.Proof != "":
		return "equivalent"
	}
	return "survived"
}

const row = "%-10s %-60s %-38s %-34s %8s %-40s %7s %7s %5s"

// Header is the titles of the columns of a [Outcome.Row].
func Header() string {
	return fmt.Sprintf(row, "VERDICT", "MUTANT", "LAW, ISSUE", "BY", "SEEDS", "SCENARIO", "CPU-S", "CHOICES", "LINES")
}

// Row is one line of the kill table.
func (o Outcome) Row() string {
	by, seeds := "", "-"
	switch {
	case o.Killed:
		by = o.Property + " at " + o.Site
		if o.Property == "expect" {
			by = o.Property // its site is a statement of the scenario
		}
	case o.Proof != "":
		by = o.Proof
	}
	if o.Seeds > 0 {
		seeds = fmt.Sprint(o.Seeds)
		if o.Killed && !o.Found {
			seeds = ">" + seeds
		}
	}
	scenario := "-"
	if len(o.Scenarios) > 0 {
		scenario = o.Scenarios[0]
		if n := len(o.Scenarios) - 1; n > 0 {
			scenario = fmt.Sprintf("%d, %s", n+1, scenario)
		}
	}
	return fmt.Sprintf(row, o.Verdict(), o.Name, o.Law, by, seeds, short(scenario, 40),
		fmt.Sprintf("%.1f", o.CPU.Seconds()), number(o.Choices), number(o.Lines))
}

func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:most-1] + "…"
}

// number is n, "-" for 0.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// Summary is the line below the table. build is the CPU time that the build took.
func Summary(all []Outcome, build time.Duration) string {
	var killed, scenario, equivalents int
	var cpu time.Duration
	var choices, lines []int
	for _, o := range all {
		cpu += o.CPU
		switch {
		case o.Killed && !o.Found:
			scenario++
			killed++
		case o.Killed:
			killed++
		case o.Proof != "":
			equivalents++
		}
		if o.Choices > 0 {
			choices, lines = append(choices, o.Choices), append(lines, o.Lines)
		}
	}
	text := fmt.Sprintf("%d mutants: %d killed, %d of them by the catalogue alone; %d equivalent; %d survived; %.0f "+
		"CPU-seconds, and %.0f to build",
		len(all), killed, scenario, equivalents, len(all)-killed-equivalents, cpu.Seconds(), build.Seconds())
	if len(choices) > 0 {
		text += fmt.Sprintf("; shrunk: median %d choices in %d lines", median(choices), median(lines))
	}
	return text
}

func median(of []int) int {
	of = slices.Sorted(slices.Values(of))
	return of[(len(of)-1)/2]
}

// Unkept returns what the scenarios promise and the outcomes do not bear out: promises are mutants by the scenario that
// says it catches them. A mutant that was not tried is not judged.
func Unkept(promises map[string][]string, all []Outcome) []string {
	var unkept []string
	for _, o := range all {
		for _, scenario := range promises[o.Name] {
			if !slices.Contains(o.Scenarios, scenario) {
				unkept = append(unkept, fmt.Sprintf(
					"scenario %s says that it catches the mutant %q, and passes with it", scenario, o.Name))
			}
		}
	}
	slices.SortFunc(unkept, strings.Compare)
	return unkept
}
