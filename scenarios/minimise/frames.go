package minimise

import (
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// This file is belief beside truth at each line of a timeline.

// frames replays a case and looks at each rung as soon as the event of the world is over that made the record of a
// line.
func frames(h *scenarios.Hunter, c cases.Case, lines []Line) []Frame {
	all := make([]Frame, 0, len(lines))
	h.Rerun(c, scenarios.Watch{Probe: func(v scenarios.View) {
		for len(all) < len(lines) && lines[len(all)].Record <= v.World().Trace().Len() {
			l := lines[len(all)]
			all = append(all, Frame{At: l.At, Line: l.Number, Rungs: v.Rungs()})
		}
	}})
	return all
}
