package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/verdict"
)

// This file is JUnit's XML, as continuous integration reads it: a test case for each property in each family of
// schedules, and in each scenario.

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the results as JUnit XML. The text of a failure is its timeline and the command that replays it.
func (p Results) WriteJUnit(out io.Writer) error {
	all := junitSuites{Name: p.Title, Time: "0"}
	if p.Tally != nil {
		all.Time = fmt.Sprintf("%.3f", p.Tally.Elapsed.Seconds())
		for _, family := range fleet.Families {
			all.add(p.familySuite(family))
		}
	}
	for _, s := range p.Stories {
		all.add(p.storySuite(s))
	}
	if len(p.Mutants) > 0 {
		all.add(p.mutantSuite())
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

func (all *junitSuites) add(s junitSuite) {
	s.Tests, s.Time = len(s.Cases), "0"
	for _, c := range s.Cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	all.Suites = append(all.Suites, s)
	all.Tests += s.Tests
	all.Failures += s.Failures
}

func (p Results) familySuite(family string) junitSuite {
	s := junitSuite{Name: "hunt." + family}
	isRun := p.Families[family] > 0
	for _, property := range verdict.Properties {
		if property.Code == "expect" { // only scenarios expect anything
			continue
		}
		c := junitCase{Class: s.Name, Name: property.Code + ": " + property.Text, Time: "0"}
		if !isRun {
			c.Skipped = &junitSkipped{"no schedule of this family was run"}
		}
		for _, f := range p.Failures {
			if f.Violation.Property == property.Code && f.Scenario == "" && fleet.FamilyOf(f.Seed) == family {
				c.fail(f)
			}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

func (p Results) storySuite(story Story) junitSuite {
	s := junitSuite{Name: "scenario." + story.Name}
	for _, property := range verdict.Properties {
		c := junitCase{Class: s.Name, Name: property.Code + ": " + property.Text, Time: "0"}
		for _, f := range p.Failures {
			if f.Violation.Property == property.Code && f.Scenario == story.Name {
				c.fail(f)
			}
		}
		s.Cases = append(s.Cases, c)
	}
	fresh := junitCase{Class: s.Name, Name: "its faults are met", Time: "0"}
	if len(story.Stale) > 0 {
		fresh.Failure = &junitFailure{"stale", "the scenario is stale", strings.Join(story.Stale, "\n")}
	}
	s.Cases = append(s.Cases, fresh)
	return s
}

func (p Results) mutantSuite() junitSuite {
	s := junitSuite{Name: "mutants"}
	for _, m := range p.Mutants {
		c := junitCase{Class: s.Name, Name: m.Name, Time: fmt.Sprintf("%.3f", m.CPU.Seconds())}
		switch {
		case m.IsWrong() && m.Killed:
			c.Failure = &junitFailure{m.Verdict(), "it is listed as equivalent to the engine", m.Row()}
		case m.IsWrong():
			c.Failure = &junitFailure{
				m.Verdict(), fmt.Sprintf("no property was broken in %d schedules", m.Seeds),
				m.Row(),
			}
		case !m.Killed:
			c.Skipped = &junitSkipped{"equivalent to the engine: " + m.Proof}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// fail adds a failure to a case.
func (c *junitCase) fail(f Failure) {
	c.Skipped = nil
	if c.Failure == nil {
		c.Failure = &junitFailure{Type: f.Violation.Property, Message: f.Sentence()}
	}
	c.Failure.Text += f.text()
}

// Sentence says what is wrong.
func (f Failure) Sentence() string {
	if f.Finding == nil {
		return f.Violation.Story
	}
	return f.Finding.Sentence
}

// text is the timeline, and the command that replays it.
func (f Failure) text() string {
	if f.Finding == nil {
		return fmt.Sprintf("%s\nreplay: %s\n", f.Violation, f.Replay())
	}
	return f.Finding.Text()
}
