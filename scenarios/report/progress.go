package report

import (
	"fmt"
	"io"
	"time"

	"github.com/volnode/volnode/scenarios/fleet"
)

// between is the time between two lines of progress that is not shown on a terminal.
const between = 10 * time.Second

// Progress shows how far a hunt is: on a terminal one line that is written over, else a line each ten seconds.
type Progress struct {
	Out   io.Writer
	Width int // of the terminal, in columns; 0 is no terminal
	Fleet fleet.Fleet

	told   time.Duration // when the last line was
	tuples int           // as it told
	shown  bool          // a line is on the terminal
}

// Tell shows how things stand.
func (p *Progress) Tell(t fleet.Tally) {
	line := p.line(t)
	if p.Width > 0 {
		fmt.Fprintf(p.Out, "\r\x1b[K%.*s", p.Width-1, line)
		p.shown = true
		if t.Elapsed-p.told >= between {
			p.told, p.tuples = t.Elapsed, tuples(t)
		}
		return
	}
	if t.Elapsed-p.told >= between {
		p.told = t.Elapsed
		fmt.Fprintln(p.Out, line)
		p.tuples = tuples(t)
	}
}

// Close takes the line off the terminal.
func (p *Progress) Close() {
	if p.shown {
		fmt.Fprint(p.Out, "\r\x1b[K")
		p.shown = false
	}
}

// tuples is how many states have met a fault, in the schedules that were looked at.
func tuples(t fleet.Tally) int {
	if n := len(t.Curve); n > 0 {
		return t.Curve[n-1].Tuples
	}
	return 0
}

func (p *Progress) line(t fleet.Tally) string {
	line := fmt.Sprintf("%5.0fs %9d schedules %6.0f/s %6.1f faults %5.2f crashes", t.Elapsed.Seconds(), t.Schedules,
		float64(t.Schedules)/max(t.Elapsed.Seconds(), 1e-9), t.Per(t.Faults), t.Per(t.Crashes))
	if n := tuples(t); n > 0 {
		line += fmt.Sprintf("  coverage %d (+%d)", n, n-p.tuples)
	}
	if left, ok := p.left(t); ok {
		line += fmt.Sprintf("  %s left", left.Round(time.Second))
	}
	return line
}

// left is how long the hunt goes on, if it goes on like this: until the first of what it was given is used up.
func (p *Progress) left(t fleet.Tally) (time.Duration, bool) {
	done := float64(t.Next-p.Fleet.Seed) / float64(max(p.Fleet.Runs, 1))
	if p.Fleet.Budget > 0 {
		done = max(done, t.Elapsed.Seconds()/p.Fleet.Budget.Seconds())
	}
	if p.Fleet.CPU > 0 {
		done = max(done, t.CPU.Seconds()/p.Fleet.CPU.Seconds())
	}
	if done <= 0 || t.Elapsed <= 0 {
		return 0, false
	}
	return time.Duration(float64(t.Elapsed) * max(1/min(done, 1)-1, 0)), true
}
