package sim

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// ranks is the order of what happens at one instant by priorities, which are drawn once for each thread of control: one
// is ahead of another all the time, and not now and then, until it falls behind all others. With d-1 falls it finds
// each defect that d orderings make, with a probability that has a bound: PCT (Burckhardt et al., "A Randomized
// Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010).
//
// So that much happens at one instant, nothing happens between two milliseconds.
type ranks struct {
	steps  []uint64 // the steps at which whatever is next falls, ascending
	fallen []uint64 // for each fall so far the chain; 0 if it fell again later
}

// horizon is within how many steps all falls are: a hunt's schedule has about as many.
const horizon = 1 << 11

// newRanks draws the falls from tie.
func newRanks(depth int, tie uint64) *ranks {
	if depth <= 0 {
		return nil
	}
	r := &ranks{}
	for i := range depth - 1 {
		r.steps = append(r.steps, mix(tie+uint64(i))%horizon)
	}
	slices.Sort(r.steps)
	return r
}

// falls says whether what is next at this step falls.
func (r *ranks) falls(step uint64) bool {
	if len(r.steps) == 0 || r.steps[0] > step {
		return false
	}
	r.steps = r.steps[1:]
	return true
}

// fall puts a chain behind all others, with what is queued of it, which keeps its own order.
func (r *ranks) fall(queue *eventQueue) {
	chain := queue.list[0].chain()
	if i := slices.Index(r.fallen, chain); i >= 0 {
		r.fallen[i] = 0
	}
	r.fallen = append(r.fallen, chain)
	for i := range queue.list {
		if e := &queue.list[i]; e.chain() == chain {
			e.key = r.of(0, chain)
		}
	}
	queue.sort()
}

// of is the key of a chain's events.
func (r *ranks) of(tie, chain uint64) uint64 {
	if i := slices.Index(r.fallen, chain); i >= 0 {
		return 1<<63 | uint64(i)
	}
	return mix(tie^chain) >> 1
}

// chain is the thread of control that an event is part of: a task, or all that has one name.
func (e *event) chain() uint64 {
	if e.task != nil {
		return e.task.id
	}
	return e.name
}

func roundUp(t hal.Instant) hal.Instant {
	const grain = hal.Instant(time.Millisecond)
	return (t + grain - 1) / grain * grain
}
