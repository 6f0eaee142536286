package core

import "github.com/volnode/volnode/hal"

// timers holds the rungs that wait for an instant, each once, as a binary heap: first the earliest, of two the one with
// the lower key. Invariant: timers[r.slot-1] is of r for each rung in it, and slot is 0 for all others.
type timers []timer

// timer is what a rung waits for.
type timer struct {
	at hal.Instant // when it is due
	r  *rung       // whose it is
}

// first returns the earliest instant, 0 if nothing waits.
func (t timers) first() hal.Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].at
}

// of returns what r waits for, 0 for nothing.
func (t timers) of(r *rung) hal.Instant {
	if r.slot == 0 {
		return 0
	}
	return t[r.slot-1].at
}

// due takes the first rung off if its instant has come; nil if it has not.
func (t *timers) due(now hal.Instant) *rung {
	if len(*t) == 0 || (*t)[0].at > now {
		return nil
	}
	r := (*t)[0].r
	t.remove(r)
	return r
}

// set lets r wait for instant at, in place of what it waited for; 0 is for nothing.
func (t *timers) set(r *rung, at hal.Instant) {
	switch {
	case t.of(r) == at:
		return
	case at == 0:
		t.remove(r)
		return
	case r.slot == 0:
		*t = append(*t, timer{r: r})
		r.slot = int32(len(*t))
	}
	(*t)[r.slot-1].at = at
	t.fix(r)
}

func (t *timers) remove(r *rung) {
	last := (*t)[len(*t)-1].r
	t.swap(int(r.slot)-1, int(last.slot)-1)
	(*t)[len(*t)-1] = timer{}
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
	return t[i].at < t[j].at || (t[i].at == t[j].at && t[i].r.Key < t[j].r.Key)
}

func (t timers) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].r.slot, t[j].r.slot = int32(i+1), int32(j+1)
}
