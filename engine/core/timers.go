package core

import "github.com/volnode/volnode/hal"

// timers holds the rungs that wait for an instant, each once, as a binary heap: first the earliest, of two the one with the lower key.
// Invariant: timers[r.slot-1] is r for each rung in it, and slot is 0 for all others.
type timers []*rung

// first returns the earliest instant, 0 if nothing waits.
func (t timers) first() hal.Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].timer
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

// set lets r wait for instant at, in place of what it waited for; 0 is for nothing.
func (t *timers) set(r *rung, at hal.Instant) {
	if r.timer == at {
		return
	}
	r.timer = at
	switch {
	case at == 0:
		t.remove(r)
	case r.slot == 0:
		*t = append(*t, r)
		r.slot = int32(len(*t))
		t.fix(r)
	default:
		t.fix(r)
	}
}

func (t *timers) remove(r *rung) {
	last := (*t)[len(*t)-1]
	t.swap(int(r.slot)-1, int(last.slot)-1)
	(*t)[len(*t)-1] = nil
	*t = (*t)[:len(*t)-1]
	r.slot = 0
	if last != r {
		t.fix(last)
	}
}

// fix moves r to where it belongs.
func (t timers) fix(r *rung) {
	i := int(r.slot) - 1
	for i > 0 && t.less(i, (i-1)/2) {
		t.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t) && t.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}

func (t timers) less(i, j int) bool {
	return t[i].timer < t[j].timer || (t[i].timer == t[j].timer && t[i].Key < t[j].Key)
}

func (t timers) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = int32(i+1), int32(j+1)
}
