package fleet

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
)

// This file is coverage-guided exploration: a share of a hunt's schedules are not what their seeds make, but variations
// of schedules that met faults in states in which none had met them before.

const (
	// guidedOf is how many seeds of each block are guided: its last ones.
	guidedOf = 24
	// freshOf is one in how many of those is a schedule of its own seed, so that there is always something new to vary.
	freshOf = 8
	// mostParents is how many schedules are kept to be varied, the newest, and mostLayers how often in a row.
	mostParents, mostLayers = 512, 12
	// fewParents is how many there must be: before, what is new is easily found by chance.
	fewParents = 128
	// mostEvents is how long a schedule may be that is varied, about five times the usual: variations take after it,
	// and the longest would take the time of many others.
	mostEvents = 7000
)

// IsGuided: in a hunt that is guided, the schedule of this seed is.
func IsGuided(seed uint64) bool { return seed%BlockSeeds >= BlockSeeds-guidedOf }

// layer makes one in so many choices, by the hash of their ids.
type layer struct {
	seed  sim.Seeded
	every uint64
}

// varied makes the choices of a seed, of which others make some: the last layer that makes a choice counts. The first
// one makes all.
type varied []layer

func (v varied) of(id sim.ID) sim.Seeded {
	for _, l := range slices.Backward(v) {
		x := (id.Hash() ^ uint64(l.seed)*0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
		if (x>>32)%l.every == 0 {
			return l.seed
		}
	}
	return v[0].seed
}

// Pick implements sim.Chooser.
func (v varied) Pick(id sim.ID, weights []uint32) int { return v.of(id).Pick(id, weights) }

// Between implements sim.Chooser.
func (v varied) Between(id sim.ID, lo, hi int64) int64 { return v.of(id).Between(id, lo, hi) }

// asCase is a schedule by its choices alone. Its world is that of the first layer's seed.
func (v varied) asCase(h *scenarios.Hunter) cases.Case {
	c := cases.Case{Seed: uint64(v[0].seed)}
	seen := cases.SurveyOf(c, v)
	h.Rerun(c, scenarios.Watch{Chooser: seen})
	return cases.Case{Still: true, Keep: append(cases.SetupOf(c.Seed).Settings(), seen.Chose...)}
}

// guide varies schedules. The runs of a hunt that are guided take their turns in the order of their seeds, whoever runs
// them, so that what they do is a function of the hunt's seeds.
type guide struct {
	mu      sync.Mutex
	moved   sync.Cond
	tickets uint64 // that were given out
	turn    uint64 // the ticket whose run is under way, or comes next
	all     *coverage.Coverage
	parents []varied
	few     int // as fewParents
}

func newGuide() *guide {
	g := &guide{all: coverage.New(), few: fewParents}
	g.moved.L = &g.mu
	return g
}

// ticket is the place of a run in the order.
func (g *guide) ticket() uint64 {
	g.tickets++
	return g.tickets - 1
}

// run runs the schedule of a seed when its turn has come.
func (g *guide) run(h *scenarios.Hunter, seed, ticket uint64) scenarios.Result {
	g.mu.Lock()
	for g.turn != ticket {
		g.moved.Wait()
	}
	g.mu.Unlock()
	v := g.vary(seed)
	is := cases.SetupOf(uint64(v[0].seed))
	res := h.Run(scenarios.Schedule{Seed: seed, Setup: &is, Chooser: v, Cover: true})
	if res.Violation != nil {
		c := v.asCase(h)
		res.Case = &c
	}
	g.learn(v, res)
	g.mu.Lock()
	g.turn++
	g.mu.Unlock()
	g.moved.Broadcast()
	return res
}

// vary makes a schedule of a seed.
func (g *guide) vary(seed uint64) varied {
	own := varied{{sim.Seeded(seed), 1}}
	if seed%freshOf == 0 || len(g.parents) < g.few {
		return own
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	age := int(draw.ExpFloat64() * float64(len(g.parents)) / 4) // the newest know the least
	parent := g.parents[max(len(g.parents)-1-age, 0)]
	return append(slices.Clone(parent), layer{sim.Seeded(seed), 4 << draw.IntN(4)})
}

// learn keeps a schedule that has reached something new.
func (g *guide) learn(v varied, res scenarios.Result) {
	if g.all.Add(res.Coverage) == 0 || len(v) == mostLayers || res.Events > mostEvents {
		return
	}
	if len(g.parents) == mostParents {
		g.parents = slices.Delete(g.parents, 0, 1)
	}
	g.parents = append(g.parents, v)
}
