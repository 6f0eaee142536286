package judges

import (
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// startMost is how long a start may take: what hangs on a device or on a server is in its way no more than in that of
// an operation on something else.
const startMost = 2 * time.Minute

// slowMost is how long a call takes at most that is slow.
const slowMost = time.Minute

// starts is L6 for a start that does not end: neither is it over, nor has it failed.
func starts(r *world.Run, life uint32, after time.Duration) {
	try := r.Tries
	r.W.After(after, "somebody looks whether the agent has started", func() {
		if r.W.Life() != life || !r.W.AgentLives() || r.M == nil || r.Told >= life || r.Tries > try {
			return
		}
		more := max(r.W.StalledUntil().Add(startMost).Sub(r.W.Now()), time.Duration(r.Slowed)*slowMost)
		if r.Slowed = 0; more > 0 { // it was stopped meanwhile, or had to wait for its disk
			starts(r, life, more)
			return
		}
		r.Fail("L6", "start", "agent", "a start is not over after "+startMost.String()+", and has not failed")
	})
}

// begins is a start that begins.
func begins(r *world.Run) {
	r.Slowed = 0
	starts(r, r.W.Life(), startMost)
}

// SlowsStart counts slow calls for no rung, such as a start makes.
func SlowsStart(r *world.Run, i sim.Injected) {
	if i.Fault == sim.Slow && i.Key == "" {
		r.Slowed++
	}
}

// retryMost is how long it takes at most until a start that has failed is tried again.
const retryMost = 30 * time.Second

// TellsOfStart hears how a start has ended. One that has failed is tried again.
func TellsOfStart(r *world.Run, e engine.Event) {
	switch e.(type) {
	case engine.Started, engine.StartRefused:
		r.Judges("L6")
		r.Told, r.Tries = r.W.Life(), r.Tries+1
	case engine.StartFailed:
		r.Tries++
		starts(r, r.W.Life(), retryMost+startMost)
	}
}
