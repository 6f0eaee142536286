package core

import (
	"slices"

	"github.com/volnode/volnode/hal"
)

// plight is what only few rungs have at a time: what went wrong with them, or is in their way. It is half of what a
// rung knows.
type plight struct {
	isShared bool // Invariant: all else is zero. It is the one of all rungs that have none of their own.

	seen      string // what was at the path before the first intent
	reason    string // why it is as it is
	short     string
	refreshBy hal.Instant
	// a refresh with other parameters was not done since the last Done: what it was made with need not hold any more,
	// also if that is wanted again
	refused  bool
	calls    []call
	answered *[2]answered // of setups and of teardowns, nil for none: see fence.go
	child    string       // a helper of an earlier run that may still act

	// When to try again.
	up    backoff // of Look, Setup and Refresh
	down  backoff // of Tear down
	falls backoff // how long core waits before it makes r again: see fall

	droppedBelow []hal.Key // of Below: it is not to stand on them any more, once it is gone
	vacates      []string  // of Places: they are not its own any more, once it is gone
	rivals       []*rung   // of other volumes, that own one of its Places; sorted by key
}

// own is the plight of r, to be changed: no other rung has it.
func (r *rung) own() *plight {
	if r.isShared {
		r.plight = &plight{}
	}
	return r.plight
}

// disown gives back a plight that has passed.
func (c *Core) disown(r *rung) {
	if r.plight.isOver() {
		r.plight = c.none
	}
}

func (p *plight) isOver() bool {
	return p.seen == "" && p.reason == "" && p.short == "" && p.refreshBy == 0 && !p.refused && len(p.calls) == 0 &&
		p.child == "" && (p.answered == nil || *p.answered == [2]answered{}) && p.up == (backoff{}) && p.down == (backoff{}) &&
		p.falls == (backoff{}) &&
		len(p.droppedBelow)+len(p.vacates)+len(p.rivals) == 0
}

func (r *rung) setReason(reason string) {
	if r.reason != reason {
		r.own().reason = reason
	}
}

func (r *rung) setSeen(fingerprint string) {
	if r.seen != fingerprint {
		r.own().seen = fingerprint
	}
}

// lacks notes what is missing on a rung that is up, and when its setup must be repeated.
func (r *rung) lacks(short string, refreshBy hal.Instant) {
	if r.short != short || r.refreshBy != refreshBy {
		p := r.own()
		p.short, p.refreshBy = short, refreshBy
	}
}

// refuses notes whether a refresh with other parameters was not done since the last Done.
func (r *rung) refuses(is bool) {
	if r.refused != is {
		r.own().refused = is
	}
}

// keepsAll: r goes on standing on all of Below, at all of Places.
func (r *rung) keepsAll() {
	if len(r.droppedBelow)+len(r.vacates) > 0 {
		p := r.own()
		p.droppedBelow, p.vacates = nil, nil
	}
}

// clone copies all but what refers to other rungs.
func (p *plight) clone() *plight {
	if p.isShared {
		return p
	}
	c := *p
	c.rivals, c.calls = nil, slices.Clone(c.calls)
	if c.answered != nil {
		answered := *c.answered
		c.answered = &answered
	}
	return &c
}
