package core

import "github.com/volnode/volnode/hal"

// timers is a binary heap of instants, with lazy removal: a rung whose timer has moved is rung once too often, which costs one decision.
type timers []timer

type timer struct {
	at  hal.Instant
	key hal.Key
}

func (a timer) before(b timer) bool { return a.at < b.at || (a.at == b.at && a.key < b.key) }

func (t timers) first() hal.Instant {
	if len(t) == 0 {
		return 0
	}
	return t[0].at
}

func (t *timers) push(at hal.Instant, key hal.Key) {
	h := append(*t, timer{at, key})
	i := len(h) - 1
	for i > 0 && h[i].before(h[(i-1)/2]) {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		i = (i - 1) / 2
	}
	*t = h
}

// due takes the first timer off if its instant has come.
func (t *timers) due(now hal.Instant) (hal.Key, bool) {
	h := *t
	if len(h) == 0 || h[0].at > now {
		return "", false
	}
	key := h[0].key
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*t = h
	return key, true
}

// arm makes sure that r is decided on again at instant at, or before.
func (c *Core) arm(r *rung, at hal.Instant) {
	if at == 0 || (r.timer != 0 && r.timer <= at) {
		return
	}
	r.timer = at
	c.timers.push(at, r.Key)
}
