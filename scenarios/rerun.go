package scenarios

import (
	"slices"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file runs cases.

// Watch is who looks at the run of a case; each of them may be nil.
type Watch struct {
	Keep bool // the trace's records
	Log  func(engine.Line)
	Done func(*sim.World)
	// Effect is told of each effect at its instant.
	Effect func(sim.Effect)

	// Chooser makes the choices in place of the case; nil is the case.
	Chooser sim.Chooser

	Probe   func(View) // looks at the run after each event
	Ended   func(View) // sees the run before its world is closed
	IsShort bool       // the run ends before calm
}

// Rerun runs a case.
func (h *Hunter) Rerun(c cases.Case, o Watch) Result {
	if o.Chooser == nil {
		o.Chooser = c.Chooser()
	}
	if c.Scenario != nil {
		res := PlayOf(c, Play{
			Choices: o.Chooser, Keep: o.Keep, Log: o.Log, Done: o.Done, Watch: o.Effect, Check: h.Check,
			Probe: o.Probe, Ended: o.Ended,
		}).Run()
		return Result{
			Violation: res.Violation, Events: res.Events, Calls: res.Calls, Faults: res.Faults, Crashes: res.Crashes,
			Hash: res.Hash, Lasted: res.Lasted,
		}
	}
	is := c.Setup()
	return h.Run(Schedule{
		Seed: c.Seed, Setup: &is, Chooser: o.Chooser, Keep: o.Keep, Log: o.Log, Done: o.Done, Watch: o.Effect,
		Probe: o.Probe, Ended: o.Ended,
		IsShort: o.IsShort,
	})
}

// PlayOf is a play of the case's scenario, with all else as in p.
func PlayOf(c cases.Case, p Play) Play {
	p.Scenario, p.IsSteady = c.Scenario, c.IsSteady()
	p.IsVaried = len(c.Choices()) > 0 || p.IsSteady
	if gone := c.LeftOut(); len(gone) > 0 {
		p.leaves = func(line int) bool { return slices.Contains(gone, line) }
	}
	return p
}

// RunScenario runs a scenario. log reads the engine's log up to the end of the timeline, done sees the world before it
// is closed; either may be nil.
func RunScenario(s *lang.Scenario, keep bool, log func(engine.Line), done func(*sim.World)) StoryResult {
	return Play{Scenario: s, Keep: keep, Log: log, Done: done}.Run()
}
