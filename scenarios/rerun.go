package scenarios

import (
	"slices"
	"strconv"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
)

// This file runs cases.

// Watch is who looks at the run of a case; each of them may be nil.
type Watch struct {
	Keep bool // the trace's records
	Log  func(engine.Entry)
	Done func(*sim.World)
	// Effect is told of each effect at its instant.
	Effect func(sim.Effect)

	// Chooser makes the choices in place of the case; nil is the case.
	Chooser sim.Chooser

	probe   func(*run)
	ended   func(*run) // sees the run before its world is closed
	isShort bool       // the run ends before calm
}

// Rerun runs a case.
func (h *Hunter) Rerun(c Case, o Watch) Result {
	if o.Chooser == nil {
		o.Chooser = c.Chooser()
	}
	if c.Scenario != nil {
		res := c.Play(Play{
			Choices: o.Chooser, Keep: o.Keep, Log: o.Log, Done: o.Done, Watch: o.Effect, probe: o.probe, ended: o.ended,
		}).Run()
		return Result{
			Violation: res.Violation, Events: res.Events, Calls: res.Calls, Faults: res.Faults, Crashes: res.Crashes,
			Hash: res.Hash, Lasted: res.Lasted,
		}
	}
	is := c.setup()
	return h.Run(Schedule{
		Seed: c.Seed, Setup: &is, Chooser: o.Chooser, Keep: o.Keep, Log: o.Log, Done: o.Done, Watch: o.Effect,
		probe: o.probe, ended: o.ended,
		isShort: o.isShort,
	})
}

// Play is a play of the case's scenario, with all else as in p.
func (c Case) Play(p Play) Play {
	p.Scenario, p.IsSteady = c.Scenario, c.isSteady()
	p.IsVaried = len(c.Choices()) > 0 || p.IsSteady
	if gone := c.leftOut(); len(gone) > 0 {
		p.leaves = func(line int) bool { return slices.Contains(gone, line) }
	}
	return p
}

const siteWithout = "hunt.without-line" // leaves a line of a scenario out

func withoutLine(line int) Kept {
	return Kept{ID: sim.NewID(siteWithout, strconv.Itoa(line), 0), Value: 1}
}

// leftOut is the lines of the scenario that the case leaves out.
func (c Case) leftOut() []int {
	var lines []int
	for _, k := range c.Keep {
		if line, err := strconv.Atoi(k.ID.Object); err == nil && k.ID.Site == siteWithout {
			lines = append(lines, line)
		}
	}
	return lines
}

// menuKey is a set of faults.
type menuKey [4]uint64

func keyOf(faults []sim.Fault) menuKey {
	var k menuKey
	for _, f := range faults {
		k[f/64] |= 1 << (f % 64)
	}
	return k
}

func (k menuKey) has(f sim.Fault) bool { return k[f/64]>>(f%64)&1 != 0 }

// span is a time that a run could have chosen.
type span struct {
	id sim.ID
	hi int64 // above the shortest
}

// survey is what a run chose, and what it could have chosen otherwise.
type survey struct {
	*Keeper
	inner sim.Chooser
	chose []Kept // all that was not benign, in the order in which the run came to it
	// byMenu is where each menu of faults was laid out, menus the menu of each such choice by the hash of its id.
	byMenu map[menuKey][]sim.ID
	menus  map[uint64]menuKey
	spans  []span
}

// surveyOf makes the choices of a case and notes them. inner is who makes them; nil is the case itself.
func surveyOf(c Case, inner sim.Chooser) *survey {
	s := &survey{Keeper: c.Chooser(), inner: inner, byMenu: map[menuKey][]sim.ID{}, menus: map[uint64]menuKey{}}
	if inner == nil {
		s.inner = s.Keeper
	}
	return s
}

// Pick implements sim.Chooser.
func (s *survey) Pick(id sim.ID, weights []uint32) int {
	i := s.inner.Pick(id, weights)
	if i != 0 {
		s.chose = append(s.chose, Kept{ID: id, Value: int64(i)})
	}
	return i
}

// PickFault implements sim.FaultChooser.
func (s *survey) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	key := keyOf(faults)
	s.menus[id.Hash()] = key
	s.byMenu[key] = append(s.byMenu[key], id)
	var f sim.Fault
	if c, ok := s.inner.(sim.FaultChooser); ok {
		f = c.PickFault(id, faults, weights)
	} else {
		f = faults[s.inner.Pick(id, weights)]
	}
	if f != sim.NoFault {
		s.chose = append(s.chose, Kept{ID: id, Fault: f})
	}
	return f
}

// Between implements sim.Chooser.
func (s *survey) Between(id sim.ID, lo, hi int64) int64 {
	v := s.inner.Between(id, lo, hi)
	if v != lo {
		s.chose = append(s.chose, Kept{ID: id, Value: v - lo, Time: true})
	}
	s.spans = append(s.spans, span{id, hi - lo})
	return v
}
