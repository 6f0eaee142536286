package minimise

import (
	"slices"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// This file asks whether a run is deterministic: whether the same case comes to the same trace, and to the same
// verdict, whenever it is run.

// replays is how often a case that breaks nothing is run again before it is taken at its word.
const replays = 10

// played is a run and its whole trace.
type played struct {
	scenarios.Result
	records []sim.Record
}

func play(h *scenarios.Hunter, c cases.Case, chooser sim.Chooser) played {
	var p played
	p.Result = h.Rerun(c, scenarios.Watch{
		Keep: true, Chooser: chooser,
		Done: func(w *sim.World) { p.records = slices.Clone(w.Trace().Records) },
	})
	return p
}

// lines is the trace, a line for each record, and what it breaks, if anything, as its last line.
func (p *played) lines() []string {
	lines := make([]string, 0, len(p.records)+1)
	for i := range p.records {
		lines = append(lines, string(p.records[i].AppendText(nil)))
	}
	if p.Violation != nil {
		lines = append(lines, "FAIL "+p.Violation.String())
	}
	return lines
}

// replay runs a case again, n times: every other time with a hunter that has run nothing, else with h. drawn makes the
// choices; nil is the case itself. It returns how many runs are equal to the first, and where the first that is not
// parts from it; nil if all are equal.
func replay(h *scenarios.Hunter, c cases.Case, drawn func() sim.Chooser, first *played, n int) (equal int,
	d *Difference,
) {
	for i := range n {
		who := h
		if i%2 == 0 {
			who = scenarios.NewHunter()
			who.Check = h.Check
		}
		again := play(who, c, made(drawn))
		if again.Hash == first.Hash && again.Events == first.Events && slices.Equal(again.verdict(), first.verdict()) {
			equal++
		} else if d == nil {
			d = parts(first, &again)
		}
	}
	return equal, d
}

func (p *played) verdict() []string {
	if p.Violation == nil {
		return nil
	}
	return []string{p.Violation.String()}
}

// parts is where two runs of one case part.
func parts(a, b *played) *Difference {
	d := Diff(a.lines(), b.lines())
	if d != nil {
		d.NameA, d.NameB = "the first run", "a replay"
	}
	return d
}

func made(drawn func() sim.Chooser) sim.Chooser {
	if drawn == nil {
		return nil
	}
	return drawn()
}
