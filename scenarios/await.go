package scenarios

import (
	"slices"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is how a play waits for what a scenario expects.

// awaitSteadily lets an expectation become true. It is looked at whenever all is done that is done at one instant.
// What happens puts off the end of its time, unless something was tried so often that it is tried again and again.
func (t *scenario) awaitSteadily() {
	patience := t.end.Sub(t.W.Now())
	t.actedOn = map[string]int{}
	defer func() { t.actedOn = nil }()
	for t.does(t.step) != "" && t.R.Violation == nil && t.W.Now() < t.end {
		if t.hasActed && !despairs(t.R) {
			t.end = t.W.Now().Add(patience)
		}
		t.hasActed = false
		goal := t.end
		if next, ok := t.W.Next(); ok {
			goal = min(goal, next)
		}
		if !t.R.Until(goal) {
			return
		}
	}
}

// mostRepeats is how many effects on one path put off the end of a wait: a file of the agent's own that can't be
// written is tried for ever. The deletion of a large directory takes fewer.
const mostRepeats = 1_000

// mostRenewals is the same in a world in which publishes are repeated for ever.
const mostRenewals = 100

// despair is how often something is tried before its waits get no longer: core's backoff.
const despair = 8

// despairs reports whether the agent tries something for so long that its waits get no longer.
func despairs(r *world.Run) bool {
	return r.Alive() && slices.ContainsFunc(r.Core.View(), func(v core.View) bool { return v.Attempts >= despair })
}

// await lets an expectation become true.
func (t *scenario) await(end hal.Instant) {
	if t.play.IsSteady {
		t.awaitSteadily()
		return
	}
	for {
		why := t.does(t.step)
		switch {
		case why == "" || t.R.Violation != nil:
			return
		case t.W.Now() >= end:
			t.fail(why)
			return
		}
		if !t.R.Until(t.nextLook(end)) {
			return // an engine that has failed answers no more questions
		}
	}
}

// looksEach is how often an expectation is looked at that may become true.
const looksEach = 100 * time.Millisecond

// nextLook is when to look again: not before something has happened, as nothing becomes true by itself.
func (t *scenario) nextLook(end hal.Instant) hal.Instant {
	wait := looksEach
	if next, ok := t.W.Next(); !ok {
		return end
	} else if idle := next.Sub(t.W.Now()); idle > wait {
		wait = (idle + looksEach - 1) / looksEach * looksEach
	}
	return min(end, t.W.Now().Add(wait))
}
