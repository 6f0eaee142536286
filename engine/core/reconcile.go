package core

import (
	"fmt"
	"slices"

	"github.com/volnode/volnode/hal"
)

// decision is what core does next about one rung: it starts an operation, or waits, for a reason, perhaps until an
// instant.
type decision struct {
	act  bool // an operation starts now
	drop bool // forget the rung: it has left nothing, and nobody wants it
	// isWanted: the rung was wanted when this was decided. One that was not, and waits for those above it, asks nobody
	// to give way.
	isWanted  bool
	isStalled bool        // it is wanted, and waits for more than time and the ends of operations
	verb      Verb        // of that operation
	why       why         // it waits
	on        hal.Key     // the rung, or the other thing, that why names; "" for none
	until     hal.Instant // when time alone may change the decision; 0 is never
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

const maxRounds = 10000

// reconcile decides on every marked rung until nothing is left to decide. Rungs are taken in the order of their keys,
// round by round.
//
// Each round has a cause in the round before: an operation that starts, a fence that ends, a rung that goes. A ladder
// is a few rungs high, so after maxRounds the decisions loop for ever. The panic is better than an agent that hangs
// here without a message.
func (c *Core) reconcile() {
	for rounds := 0; len(c.dirty) > 0 || c.admit(); rounds++ {
		if rounds > maxRounds {
			panic(fmt.Sprintf("core: no rest after %d rounds: %d rungs to decide on, the first %s", rounds,
				len(c.dirty), c.dirty[0].Key))
		}
		round := c.dirty
		c.dirty, c.round = c.round[:0], round
		sortByKey(round)
		c.vetAll(round)
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
	c.work.Rungs++
	c.decided = append(c.decided, r.Key)
	c.expireCalls(r, never)
	c.release(r)
	before := r.next
	r.next = c.next(r)
	if r.next.act && !c.mayBegin(r) {
		r.next = idle(whyTurn)
	}
	r.next.isStalled = c.waitsForSomebody(r)
	if r.next != before {
		for _, a := range c.above[r.Key] {
			c.mark(a) // whether it may be set up depends on r
		}
		if r.next.why == whySibling {
			c.mark(c.rungs[r.next.on])
		}
	}
	c.stalls(r, before)
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
	at = earlier(earlier(at, r.remembers(SetUp)), r.remembers(TearDown))
	c.timers.set(r, at)
}

// next decides about a rung. It starts nothing while another's mount hides the place, because the operation would act
// on that mount. It starts nothing either before volnode could read the place.
func (c *Core) next(r *rung) decision {
	d := c.choose(r)
	if r.veiled && (d.act || d.drop) {
		name, _ := c.veil(r)
		return waitOn(whyHidden, hal.Key(name))
	}
	if d.act {
		if name, is := c.unknownUser(r, d.verb); is {
			return waitOn(whyHidden, hal.Key(name))
		}
	}
	if d.act {
		if cover, is := c.cover(r); is {
			return waitOn(whyCovered, hal.Key(cover.Until))
		}
	}
	return d
}

// choose is the decision table. It changes nothing.
func (c *Core) choose(r *rung) decision {
	if r.op != nil {
		return idle(whyInFlight)
	}
	if r.child != "" {
		return idle(whyChild)
	}
	if c.sweeps(r) && r.isGone() {
		return c.try(r, Inspect, whyAnswered)
	}
	switch want := c.desire(r); {
	case want == held && (c.runs(r) || !r.isGone() && !c.givesWay(r)):
		return idle(whyHeld)
	case want == wanted && !c.mustDefer(r):
		if d, ok := c.claim(r); !ok {
			return d
		}
		if d, ok := c.alone(r); !ok {
			return d.as(want)
		}
		return c.nextUp(r).as(want)
	default:
		return c.nextDown(r, want).as(want)
	}
}

// nextUp decides on a wanted rung.
func (c *Core) nextUp(r *rung) decision {
	change := c.change(r)
	if (change == OnChangeRebuild || r.mustUndo()) && r.state != Absent {
		return c.nextRebuild(r)
	}
	switch r.state {
	case Present:
		return c.nextPresent(r, change)
	case Unknown:
		if r.bound(TearDown) != 0 {
			// Until the teardown ends, only the same teardown may be sent; the setup waits. Under live containers core
			// does not repeat it either: the record of that teardown may be wrong.
			if _, ok := c.uncovered(r); !ok || c.live(r) {
				return waitUntil(whyTearDownOpen, r.bound(TearDown))
			}
			return c.try(r, TearDown, whyTearDownOpen)
		}
		if r.trust == reconfirmable {
			return c.try(r, Inspect, whyUnknown)
		}
	case Absent:
		if at := r.bound(TearDown); at != 0 {
			return waitUntil(whyTearDownOpen, at)
		}
		if r.trust == letGo {
			if d, ok := c.uncovered(r); !ok {
				return d
			}
			return c.try(r, TearDown, whyLetGo)
		}
	}
	if r.Awaits != "" {
		return idle(whyAwaits)
	}
	if d, ok := c.foundation(r); !ok {
		if r.state == Unknown && slices.Contains(r.droppedBelow, d.on) && !c.live(r) {
			return c.nextDropBelow(r)
		}
		return d
	}
	if r.Intent && !r.inspected && !r.foundOnDisk {
		return c.try(r, Inspect, whyWanted)
	}
	return c.try(r, SetUp, whyWanted)
}

// nextPresent decides on a wanted rung that is up and needs no rebuild.
func (c *Core) nextPresent(r *rung, change OnChange) decision {
	due := r.refreshBy != 0 && r.refreshBy <= c.now
	if change == OnChangeKeep && r.short == "" && !due {
		return decision{why: whyReady, until: r.refreshBy}
	}
	if d, ok := c.foundation(r); !ok {
		return d
	}
	if r.Looks && change == OnChangeKeep && r.short == "" {
		return c.try(r, Inspect, whyRefresh)
	}
	return c.try(r, Refresh, whyRefresh)
}

// nextRebuild decides on a wanted rung that must go down before it can be as wanted. Core tears down nothing under a
// live container.
func (c *Core) nextRebuild(r *rung) decision {
	if c.live(r) {
		switch {
		case r.trust == reconfirmable && r.bound(TearDown) == 0:
			return c.try(r, Inspect, whyUnknown)
		case r.trust == failed:
			return idle(whyFailedHeld)
		case r.mustUndo():
			return idle(whyDenied)
		case r.isVoid():
			return idle(whyVoidHeld)
		}
		return waitOn(whyRebuildHeld, hal.Key(c.differs(r)))
	}
	if d, ok := c.uncovered(r); !ok {
		return d
	}
	return c.takeDown(r, whyRebuild)
}

// nextDropBelow decides on a wanted rung whose record names a dependency that it does not want any more: after a
// reboot, a driver that has come back without staging makes no stage. The rung goes down as recorded, and comes up as
// wanted.
func (c *Core) nextDropBelow(r *rung) decision {
	if d, ok := c.uncovered(r); !ok {
		return d
	}
	return c.takeDown(r, whyDropsBelow)
}

// nextDown decides on a rung that must be down, or that must not be up at present.
func (c *Core) nextDown(r *rung, want desire) decision {
	if d, ok := c.uncovered(r); !ok {
		return d
	}
	if r.state != Absent {
		return c.takeDown(r, whyUnwanted)
	}
	if at := r.bound(SetUp); at != 0 {
		return waitUntil(whySetUpOpen, at)
	}
	if r.trust != clean {
		return c.try(r, TearDown, whySecondTearDown)
	}
	if at := r.bound(TearDown); at != 0 {
		return waitUntil(whyTearDownOpen, at)
	}
	if want == wanted {
		return idle(whyDefers)
	}
	if r.isRemembered() {
		return waitUntil(whyAnswered, r.remembers(SetUp))
	}
	if o := c.rival(r); o != nil && c.maySweep(r) {
		return waitOn(whyPlace, o.Key) // then an inspection tells what is there
	}
	return decision{drop: true}
}

// takeDown starts the teardown of a rung on which nothing depends. If no intent of this boot has inspected its place,
// an inspection comes first, so that the teardown can tell a foreign mount from its own.
func (c *Core) takeDown(r *rung, w why) decision {
	if c.synced && r.Intent && !r.inspected {
		return c.try(r, Inspect, w)
	}
	return c.try(r, TearDown, w)
}

// try starts v unless a backoff, the operation of a neighbour or a serial actor forbids it.
func (c *Core) try(r *rung, v Verb, w why) decision {
	if v == TearDown && !c.synced {
		return idle(whyNotSynced)
	}
	if wait := r.wait(c.paceOf(r, v, w)); wait.until > c.now {
		return waitUntil(whyBackoff, wait.until)
	}
	if on, ok := c.undisturbed(r, v); !ok {
		return waitOn(whyNeighbour, on)
	}
	if v == TearDown {
		if d, ok := c.unused(r); !ok {
			return d
		}
	}
	if c.serial[r.Actor] && v != Inspect {
		for _, o := range c.volumes[r.Volume] {
			if o != r && o.op != nil && o.op.Verb != Inspect {
				return waitOn(whySerial, o.Key)
			}
		}
	}
	return act(v, w)
}

// undisturbed reports whether no operation runs on the rungs that v on r touches; if one does, it names that rung. A
// setup uses only what is Present below it, so a login to a dead portal does not delay the good path.
func (c *Core) undisturbed(r *rung, v Verb) (hal.Key, bool) {
	for _, o := range r.rivals {
		if o.op != nil || o.child != "" {
			return o.Key, false
		}
	}
	for _, b := range c.below(r) {
		if (b.state == Present || v == TearDown) && (b.op != nil || (b.child != "" && v != Inspect)) {
			return b.Key, false
		}
	}
	for _, a := range c.above[r.Key] {
		uses := r.state == Present || v == TearDown || a.op == nil || a.op.Verb == TearDown || a.op.uses(r.Key)
		if uses && (a.op != nil || (a.child != "" && v != Inspect)) {
			return a.Key, false
		}
	}
	return "", true
}

// foundation reports whether enough of what r depends on is up and stays up. A rung that depends on nothing waits
// until no sibling may still go down.
func (c *Core) foundation(r *rung) (decision, bool) {
	need, up := int(r.Need), 0
	if need == 0 {
		need = len(r.Below)
	}
	missing := hal.Key("")
	for _, key := range r.Below {
		b := c.rungs[key]
		if b != nil && b.state == Present && c.isStable(b) {
			up++
		} else if missing == "" {
			missing = key
		}
	}
	if up < need {
		return waitOn(whyBelow, missing), false
	}
	if r.isBare() {
		for _, b := range c.siblings(r) {
			if b.bound(TearDown) != 0 || b.op != nil && b.op.Verb == TearDown {
				return waitOn(whyBelow, b.Key), false
			}
		}
	}
	return decision{}, true
}

// isStable reports whether a rung that is up will stay as it is: it needs no rebuild, no refresh is due that has not
// failed yet, and no other volume may be at its path.
func (c *Core) isStable(b *rung) bool {
	if c.rival(b) != nil {
		return false
	}
	switch c.change(b) {
	case OnChangeRebuild:
		return false
	case OnChangeRefresh, OnChangeGrow:
		return !b.mustUndo() && b.up.attempts > 0
	case OnChangeKeep:
		return !b.mustUndo()
	case OnChangeVoid:
	}
	panic(fmt.Sprintf("core: rung %s has a change %d", b.Key, c.change(b)))
}

// uncovered reports whether all rungs that depend on r, and all its siblings, are Absent for good, and no sibling is
// about to come up. Core may repeat an unstage without an answer for ever, and each repeat would keep such a sibling
// waiting.
func (c *Core) uncovered(r *rung) (decision, bool) {
	for _, a := range c.above[r.Key] {
		if !a.isGone() {
			return waitOn(whyInUse, a.Key), false
		}
	}
	if r.Pod == "" && !r.isGone() {
		for _, a := range c.siblings(r) {
			if !a.isGone() {
				return waitOn(whySibling, a.Key), false
			}
			if c.desire(a) == wanted && a.up.until <= c.now {
				return waitOn(whyAhead, a.Key), false
			}
		}
	}
	return decision{}, true
}

// mustDefer reports whether a wanted rung must go, or stay, down for the sake of another rung.
func (c *Core) mustDefer(r *rung) bool {
	o, _ := c.deferredTo(r)
	return o != nil
}

// deferredTo returns the rung for whose sake r must go, or stay, down; nil if there is none: another rung holds the
// claim (isClaim), or a rung below r needs a rebuild or shares its path with another volume.
func (c *Core) deferredTo(r *rung) (o *rung, isClaim bool) {
	if o := c.claimHolder(r); o != nil && o != r {
		if c.live(r) {
			return nil, false
		}
		return o, true
	}
	for _, b := range c.below(r) {
		rebuild := b.state != Absent && (b.mustUndo() || c.change(b) == OnChangeRebuild || c.rival(b) != nil)
		if rebuild && !c.live(b) {
			return b, false
		}
		if o, isClaim := c.deferredTo(b); o != nil {
			return o, isClaim
		}
	}
	return nil, false
}

// claim reports whether no other rung is up, or may come up, that would break the exclusive claim of r. A rung that is
// up stays up. A rung that only a record names counts as well: its setup may be older than the exclusive claim, and no
// source may have named its pod yet.
func (c *Core) claim(r *rung) (decision, bool) {
	if r.Exclusive == "" || r.state == Present {
		return decision{}, true
	}
	for _, o := range c.volumes[r.Volume] {
		if o != r && o.Kind == r.Kind && !o.isGone() {
			return waitOn(whyClaim, o.Key), false
		}
	}
	return decision{}, true
}

// claimHolder returns the rung that holds the exclusive claim of r: the one that was up, else the one with the oldest
// intent. It is nil if r has no such claim, or if all rungs of the claim are gone.
func (c *Core) claimHolder(r *rung) *rung {
	if r.Exclusive == "" {
		return nil
	}
	var first *rung
	for _, o := range c.volumes[r.Volume] {
		if o.Exclusive != r.Exclusive || o.Kind != r.Kind || o.isGone() {
			continue
		}
		if first == nil || (o.mayBeUsed && !first.mayBeUsed) || (o.mayBeUsed == first.mayBeUsed && o.seq < first.seq) {
			first = o
		}
	}
	return first
}
