package core

import (
	"container/heap"

	"github.com/volnode/volnode/hal"
)

// timers holds the rungs that wait for an instant, each once, as a heap: first the earliest, of two the one with the lower key.
// Invariant: timers[r.slot-1] is r for each rung in it, and slot is 0 for all others.
type timers []*rung

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	return t[i].timer < t[j].timer || (t[i].timer == t[j].timer && t[i].Key < t[j].Key)
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = i+1, j+1
}

// Push is for [heap].
func (t *timers) Push(x any) {
	r, _ := x.(*rung)
	*t = append(*t, r)
	r.slot = len(*t)
}

// Pop is for [heap].
func (t *timers) Pop() any {
	last := len(*t) - 1
	r := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	r.slot = 0
	return r
}

// first returns the earliest instant, 0 if nothing waits.
func (t timers) first() hal.Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].timer
}

// set lets r wait for instant at, in place of what it waited for; 0 is for nothing.
func (t *timers) set(r *rung, at hal.Instant) {
	if r.timer == at {
		return
	}
	r.timer = at
	switch {
	case at == 0:
		heap.Remove(t, r.slot-1)
	case r.slot == 0:
		heap.Push(t, r)
	default:
		heap.Fix(t, r.slot-1)
	}
}

// due takes the first rung off if its instant has come; nil if it has not.
func (t *timers) due(now hal.Instant) *rung {
	if len(*t) == 0 || (*t)[0].timer > now {
		return nil
	}
	r := (*t)[0]
	t.set(r, 0)
	return r
}
