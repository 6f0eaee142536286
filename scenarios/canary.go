package scenarios

import (
	"github.com/volnode/volnode/scenarios/world"
)

// CanaryProperty is what a canary breaks.
const CanaryProperty = "canary"

// canaryEvery is how many schedules of a hunt with canaries there are for each of them.
const canaryEvery = 100

// IsCanary: in a hunt with canaries, the schedule of this seed must fail.
func IsCanary(seed uint64) bool { return seed%canaryEvery == 0 }

// breaksCalm is the defect of a canary. It is the judge's: no calm may come.
func breaksCalm(r *world.Run) {
	if r.Stop {
		r.Fail(CanaryProperty, "calm", "", "this schedule is a canary: it must fail")
	}
}

// IsCaught: the canary has failed as it must.
func (r Result) IsCaught() bool { return r.Violation != nil && r.Violation.Property == CanaryProperty }
