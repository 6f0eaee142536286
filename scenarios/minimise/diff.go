package minimise

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// Difference is where two traces part.
type Difference struct {
	Line    int      `json:"line"`            // the first that differs, from 1
	Before  []string `json:"before"`          // the last lines that are equal
	A       []string `json:"a"`               // from the first line that differs on; empty if that trace has ended
	B       []string `json:"b"`               // the same of the other
	NameA   string   `json:"nameA,omitempty"` // what the traces are called
	NameB   string   `json:"nameB,omitempty"`
	LengthA int      `json:"lengthA"` // of the traces
	LengthB int      `json:"lengthB"`
}

const (
	diffBefore = 5 // lines of context
	diffAfter  = 3
)

// Diff compares two traces line by line; nil if they are equal.
func Diff(a, b []string) *Difference {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) && n == len(b) {
		return nil
	}
	return &Difference{
		Line: n + 1, Before: slices.Clone(a[max(n-diffBefore, 0):n]), A: slices.Clone(a[n:min(n+diffAfter, len(a))]),
		B: slices.Clone(b[n:min(n+diffAfter, len(b))]), LengthA: len(a), LengthB: len(b),
	}
}

// Text is the difference as people read it.
func (d *Difference) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s and %s part at line %d\n", d.NameA, d.NameB, d.Line)
	tell := func(sign string, lines []string, length int) {
		for _, l := range lines {
			fmt.Fprintf(&b, "%s %s\n", sign, l)
		}
		if len(lines) == 0 {
			fmt.Fprintf(&b, "%s (it ends, after %d lines)\n", sign, length)
		}
	}
	for _, l := range d.Before {
		fmt.Fprintf(&b, "  %s\n", l)
	}
	tell("-", d.A, d.LengthA)
	tell("+", d.B, d.LengthB)
	return b.String()
}

// TraceOf is the trace of a case, a line for each record, and what it breaks, if anything, as its last line.
func TraceOf(h *scenarios.Hunter, c cases.Case, chooser sim.Chooser) []string {
	p := play(h, c, chooser)
	return p.lines()
}

// ReadTrace reads what volsim replay has written. The line with the counts is left out: it is of the whole run.
func ReadTrace(r io.Reader) ([]string, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	var lines []string
	for in.Scan() {
		if line := in.Text(); !strings.Contains(line, " HAL call") {
			lines = append(lines, line)
		}
	}
	return lines, in.Err()
}
