package fleet

import (
	"slices"

	"github.com/volnode/volnode/scenarios/coverage"
)

// Growth is a point of the curve of coverage: how much was reached after some schedules, in the order of their seeds.
type Growth struct {
	Schedules   uint64 `json:"schedules"`
	Tuples      int    `json:"tuples"`
	Transitions int    `json:"transitions"`
	Decisions   int    `json:"decisions"`
	Probes      int    `json:"probes"`
}

// growing adds coverage up in the order in which seeds were begun, whoever is ready first.
type growing struct {
	all   *coverage.Coverage
	begun []uint64
	ready map[uint64]*coverage.Coverage
	curve []Growth
}

func newGrowing() *growing {
	return &growing{all: coverage.New(), ready: map[uint64]*coverage.Coverage{}}
}

// awaits: a seed is begun.
func (g *growing) awaits(seed uint64) { g.begun = append(g.begun, seed) }

// add takes in what a seed has reached.
func (g *growing) add(seed uint64, c *coverage.Coverage) {
	g.ready[seed] = c
	for len(g.begun) > 0 && g.ready[g.begun[0]] != nil {
		g.all.Add(g.ready[g.begun[0]])
		delete(g.ready, g.begun[0])
		g.begun = g.begun[1:]
		if isPoint(g.all.Runs) {
			g.curve = append(g.curve, growth(g.all))
		}
	}
}

// isPoint: the curve has points at 1, 3, 10, 30, 100 and so on.
func isPoint(runs uint64) bool {
	for runs > 10 && runs%10 == 0 {
		runs /= 10
	}
	return runs == 1 || runs == 3 || runs == 10
}

func growth(c *coverage.Coverage) Growth {
	return Growth{c.Runs, len(c.Tuples), len(c.Transitions), len(c.Decisions), len(c.Probes)}
}

// told is the curve up to the last schedule.
func (g *growing) told() []Growth {
	if n := len(g.curve); g.all.Runs == 0 || n > 0 && g.curve[n-1].Schedules == g.all.Runs {
		return g.curve
	}
	return append(slices.Clone(g.curve), growth(g.all))
}
