package core

import (
	"slices"

	"github.com/volnode/volnode/hal"
)

// plight holds the fields that only few rungs use at a time: what went wrong with them, or is in their way. It is a
// separate struct because it is half of the size of a rung.
type plight struct {
	isShared bool // Invariant: all other fields are zero. All rungs without a plight of their own point to it.

	// seen is what was at the path before the first intent, "" for nothing. Invariant: it says nothing unless
	// inspected.
	seen     string
	reason   string // why the last operation was not Done, or the rung was lost. Invariant: for people, free of secrets.
	denied   bool   // Invariant: an actor said that it is not there, and no setup or inspection has confirmed it since.
	panicked bool   // Invariant: the last operation ended in a panic of its verb.
	lost     string // why the rung was lost. Invariant: "" unless it is Unknown since; for people.
	short    string // what is missing, "" for nothing. Invariant: of the last Done setup; for people.
	// refreshBy is when its setup must be repeated, 0 for never. Invariant: of the last Done setup.
	refreshBy hal.Instant
	// expires is from when on it is not as wanted, 0 for never. Invariant: of the last Done setup.
	expires hal.Instant
	// refused: the rung may differ from made, so core repeats the refresh even if made is wanted again. Invariant: a
	// refresh with other parameters was not Done since the last Done.
	refused bool
	// remade: what is at the path may be what a refresh has made. Invariant: one ended Unknown since the rung was last
	// confirmed.
	remade   bool
	calls    []call       // calls without a known end. Invariant: each has a bound; expireCalls removes it at its bound.
	answered *[2]answered // calls that ended with an error: answered.go. Invariant: those of setups, then of teardowns.
	child    string       // a helper that may still act, for people; "" is none. Invariant: it is of an earlier run.

	// When to try again.

	up    backoff // Invariant: no Inspect, SetUp or Refresh begins before its until, but for those of down.
	down  backoff // Invariant: no TearDown begins before its until, and no Inspect for one: see paceOf.
	falls backoff // between rebuilds: see fall. Invariant: it is zero unless the rung has fallen.

	droppedBelow []hal.Key // Invariant: the part of Below that it drops once it is gone.
	vacates      []string  // Invariant: the part of Places that it drops once it is gone.
	rivals       []*rung   // Invariant: the rungs of other volumes that own one of its Places, sorted by key.
}

// own returns a plight of r that may be changed, because no other rung shares it.
func (r *rung) own() *plight {
	if r.isShared {
		r.plight = &plight{}
	}
	return r.plight
}

// disown drops a plight in which all is zero again.
func (c *Core) disown(r *rung) {
	if r.plight.isOver() {
		r.plight = c.none
	}
}

func (p *plight) isOver() bool {
	return p.seen == "" && p.reason == "" && p.lost == "" && p.short == "" && p.refreshBy == 0 && p.expires == 0 &&
		!p.refused && !p.remade && !p.denied && !p.panicked &&
		len(p.calls) == 0 && p.child == "" && (p.answered == nil || *p.answered == [2]answered{}) &&
		p.up == (backoff{}) && p.down == (backoff{}) && p.falls == (backoff{}) &&
		len(p.droppedBelow)+len(p.vacates)+len(p.rivals) == 0
}

func (r *rung) setReason(reason string) {
	if r.reason != reason {
		r.own().reason = reason
	}
}

// endsLoss notes that r is not lost any more.
func (r *rung) endsLoss() {
	if r.lost != "" {
		r.own().lost = ""
	}
}

// confirms notes that r is there, as its fingerprint says, whatever an actor has said.
func (r *rung) confirms() {
	if r.denied || r.remade {
		p := r.own()
		p.denied, p.remade = false, false
	}
}

func (r *rung) setSeen(fingerprint string) {
	if r.seen != fingerprint {
		r.own().seen = fingerprint
	}
}

// lacks notes what is missing on a rung that is up, when its setup must be repeated, and when it expires.
func (r *rung) lacks(short string, refreshBy, expires hal.Instant) {
	if r.short != short || r.refreshBy != refreshBy || r.expires != expires {
		p := r.own()
		p.short, p.refreshBy, p.expires = short, refreshBy, expires
	}
}

// panics notes whether the last operation ended in a panic of its verb.
func (r *rung) panics(is bool) {
	if r.panicked != is {
		r.own().panicked = is
	}
}

// refuses notes whether a refresh with other parameters was not done since the last Done.
func (r *rung) refuses(is bool) {
	if r.refused != is {
		r.own().refused = is
	}
}

// keepsAll: r drops nothing of Below and Places.
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
