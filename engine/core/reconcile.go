package core

import (
	"github.com/volnode/volnode/hal"
)

// decision is what reconcile wants of one rung: an operation, or to wait, for a reason, perhaps until an instant.
type decision struct {
	act   bool
	drop  bool // nothing of it is left and nobody wants it
	verb  Verb
	why   why
	on    hal.Key     // what why speaks of
	until hal.Instant // when time alone may change the decision; 0 is never
}

func act(v Verb, w why) decision               { return decision{act: true, verb: v, why: w} }
func idle(w why) decision                      { return decision{why: w} }
func waitOn(w why, on hal.Key) decision        { return decision{why: w, on: on} }
func waitUntil(w why, at hal.Instant) decision { return decision{why: w, until: at} }

func earlier(a, b hal.Instant) hal.Instant {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// reconcile decides on every marked rung until nothing is left to decide. Rungs are taken in the order of their keys, round by round.
func (c *Core) reconcile() {
	for len(c.dirty) > 0 {
		round := c.dirty
		c.dirty = nil
		sortByKey(round)
		for _, r := range round {
			r.isDirty = false
			if c.rungs[r.Key] == r {
				c.decide(r)
			}
		}
	}
}

// decide acts on one rung.
func (c *Core) decide(r *rung) {
	c.lapse(r, never)
	c.release(r)
	r.next = c.next(r)
	switch {
	case r.next.act:
		c.start(r, r.next.verb)
	case r.next.drop:
		c.remove(r)
		return
	}
	at := r.next.until
	for _, k := range r.calls {
		at = earlier(at, k.until)
	}
	c.arm(r, at)
}

// next is the decision table. It changes nothing.
func (c *Core) next(r *rung) decision {
	if r.op != nil {
		return idle(whyInFlight)
	}
	if r.child != "" {
		return idle(whyChild)
	}
	switch want := c.desire(r); {
	case want == held:
		return idle(whyHeld)
	case want == wanted && !c.yields(r):
		return c.nextUp(r)
	default:
		return c.nextDown(r, want)
	}
}

// nextUp decides on a wanted rung.
func (c *Core) nextUp(r *rung) decision {
	change := c.change(r)
	if (change == OnChangeRebuild || r.negate) && r.state != Absent {
		return c.nextRebuild(r)
	}
	switch r.state {
	case Present:
		return c.nextStanding(r, change)
	case Unknown:
		if r.bound(Descend) != 0 {
			// Only the same descent may be sent until its end; the climb waits.
			return c.try(r, Descend, whyDescentOpen)
		}
		if r.trusted {
			return c.try(r, Look, whyUnknown)
		}
	case Absent:
		if at := r.bound(Descend); at != 0 {
			return waitUntil(whyDescentOpen, at)
		}
	}
	if d, ok := c.foundation(r); !ok {
		return d
	}
	if r.Intent && !r.looked {
		return c.try(r, Look, whyWanted)
	}
	return c.try(r, Climb, whyWanted)
}

// nextStanding decides on a wanted rung that is up and need not be made anew.
func (c *Core) nextStanding(r *rung, change OnChange) decision {
	due := r.refreshBy != 0 && r.refreshBy <= c.now
	if change != OnChangeRefresh && r.short == "" && !due {
		return decision{why: whyReady, until: r.refreshBy}
	}
	if d, ok := c.foundation(r); !ok {
		return d
	}
	return c.try(r, Refresh, whyRefresh)
}

// nextRebuild decides on a wanted rung that must go down before it can be what is wanted. Nothing is torn down under a live container.
func (c *Core) nextRebuild(r *rung) decision {
	if c.live(r) {
		if r.negate {
			return idle(whyDenied)
		}
		return idle(whyRebuildHeld)
	}
	if on, ok := c.uncovered(r); !ok {
		return waitOn(whyStoodOn, on)
	}
	return c.try(r, Descend, whyRebuild)
}

// nextDown decides on a rung that must be down, or may not stand at present.
func (c *Core) nextDown(r *rung, want desire) decision {
	if on, ok := c.uncovered(r); !ok {
		return waitOn(whyStoodOn, on)
	}
	if r.state != Absent {
		return c.try(r, Descend, whyUnwanted)
	}
	if at := r.bound(Climb); at != 0 {
		return waitUntil(whyClimbOpen, at)
	}
	if !r.purged {
		return c.try(r, Descend, whySecondDescent)
	}
	if at := r.bound(Descend); at != 0 {
		return waitUntil(whyDescentOpen, at)
	}
	if want == wanted {
		return idle(whyYields)
	}
	return decision{drop: true}
}

// try starts v unless its backoff, a neighbour's operation or a serial actor stands against it.
func (c *Core) try(r *rung, v Verb, w why) decision {
	if v == Descend && !c.synced {
		return idle(whyNotSynced)
	}
	if wait := r.backoff(v); wait.until > c.now {
		return waitUntil(whyBackoff, wait.until)
	}
	for _, b := range c.below(r) {
		if b.op != nil || (b.child != "" && v != Look) {
			return waitOn(whyNeighbour, b.Key)
		}
	}
	for _, a := range c.upon[r.Key] {
		if a.op != nil || (a.child != "" && v != Look) {
			return waitOn(whyNeighbour, a.Key)
		}
	}
	if c.serial[r.Actor] && v != Look {
		for _, o := range c.volumes[r.Volume] {
			if o != r && o.op != nil && o.op.Verb != Look {
				return waitOn(whySerial, o.Key)
			}
		}
	}
	return act(v, w)
}

// foundation reports whether enough of what r stands on is up, and stays.
func (c *Core) foundation(r *rung) (decision, bool) {
	need, up := r.Need, 0
	if need == 0 {
		need = len(r.Below)
	}
	missing := hal.Key("")
	for _, key := range r.Below {
		b := c.rungs[key]
		if b != nil && b.state == Present && c.firm(b) {
			up++
		} else if missing == "" {
			missing = key
		}
	}
	if up < need {
		return waitOn(whyBelow, missing), false
	}
	return decision{}, true
}

// firm reports whether a standing rung will stay as it is: it is not to be made anew, nor due for a refresh that has not failed yet.
func (c *Core) firm(b *rung) bool {
	switch c.change(b) {
	case OnChangeRebuild:
		return false
	case OnChangeRefresh:
		return !b.negate && b.up.attempts > 0
	default:
		return !b.negate
	}
}

// uncovered reports whether all that stand on r are Absent for good, and names the first that is not.
func (c *Core) uncovered(r *rung) (hal.Key, bool) {
	for _, a := range c.upon[r.Key] {
		if !a.isGone() {
			return a.Key, false
		}
	}
	return "", true
}

// yields reports whether a wanted rung must go, or stay, down for another's sake: something below it is made anew, or another rung holds the claim.
func (c *Core) yields(r *rung) bool {
	if r.Exclusive != "" {
		if o := c.owner(r.Exclusive); o != nil && o != r {
			return !c.live(r)
		}
	}
	for _, b := range c.below(r) {
		rebuild := b.state != Absent && (b.negate || c.change(b) == OnChangeRebuild)
		if (rebuild && !b.negate && !c.live(b)) || c.yields(b) {
			return true
		}
	}
	return false
}

// owner returns the rung that an exclusive claim belongs to: the one that was up, else the oldest intent; nil if none is anything but gone.
func (c *Core) owner(claim string) *rung {
	var first *rung
	for _, r := range c.claims[claim] {
		if r.isGone() {
			continue
		}
		if first == nil || (r.wasUp && !first.wasUp) || (r.wasUp == first.wasUp && r.seq < first.seq) {
			first = r
		}
	}
	return first
}

// change returns what the difference between how r was made and what is wanted asks for. What r stands on is one of its parameters.
func (c *Core) change(r *rung) OnChange {
	if r.state == Absent {
		return OnChangeKeep
	}
	worst := OnChangeKeep
	for _, w := range r.Want {
		if Value(r.made, w.Name) != w.Value && (worst == OnChangeKeep || w.OnChange == OnChangeRebuild) {
			worst = w.OnChange
		}
	}
	if worst == OnChangeRebuild {
		return worst
	}
	for _, g := range r.generation {
		if b := c.rungs[g.Key]; b != nil && b.state == Present && b.fingerprint != g.Fingerprint {
			return OnChangeRebuild
		}
	}
	return worst
}
