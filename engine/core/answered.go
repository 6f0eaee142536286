package core

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// This file is about calls that were answered with an error. Such an answer ends its call: the call blocks nothing.
// Whether its actor keeps to that is seen: until the old bound the call is remembered, and if its effect comes, the
// actor acts after it has answered, which is remembered for good.

// answered is the latest of the calls of one side that were answered with an error.
type answered struct {
	until    hal.Instant // the bound that it had; 0 is none
	instance string      // of the actor, if it was one and the same for all of them
}

// KindActs is the kind of the record that names an actor which acts after it has answered. No rung has it.
const KindActs Kind = "acts-after-reply"

func actsKey(actor string) hal.Key { return hal.Key(string(KindActs) + "/" + actor) }

// bare begins the fingerprint of a place where nothing is mounted.
const bare = "no mount, "

// IsBare reports whether a fingerprint is of a place where nothing is mounted.
func IsBare(fingerprint string) bool {
	return fingerprint == "" || strings.HasPrefix(fingerprint, bare)
}

// side is the index of a verb's side in rung.answered.
func side(v Verb) int {
	if v == TearDown {
		return 1
	}
	return 0
}

// remember notes a call that was answered with an error.
func (r *rung) remember(v Verb, until hal.Instant, instance string) {
	p := r.own()
	if p.answered == nil {
		p.answered = &[2]answered{}
	}
	k := &p.answered[side(v)]
	if k.until != 0 && k.instance != instance {
		instance = ""
	}
	*k = answered{max(k.until, until), instance}
}

// remembers returns the bound of the calls of a side that were answered with an error, 0 if there are none.
func (r *rung) remembers(v Verb) hal.Instant {
	if r.answered == nil {
		return 0
	}
	return r.answered[side(v)].until
}

// awaitsEffect: r is down, and only a setup that was answered with an error could bring it up. A teardown may still
// act: that brings nothing up.
func (r *rung) awaitsEffect() bool {
	return r.remembers(SetUp) != 0 && r.trust == clean && r.bound(SetUp) == 0 && r.op == nil &&
		r.child == ""
}

// sweeps: a setup that ended with an error may have left something, and nobody has inspected the place since core
// forgot that call. If another volume has the place, an inspection cannot tell.
func (c *Core) sweeps(r *rung) bool { return r.sweep && c.rival(r) == nil }

// maySweep: r sweeps, or will once what another volume may have at its place is gone.
func (c *Core) maySweep(r *rung) bool {
	o := c.rival(r)
	return r.sweep && (o == nil || o.state != Present && !c.live(o))
}

// isRemembered: nothing of r is left, and a setup that was answered with an error is remembered.
func (r *rung) isRemembered() bool { return r.remembers(SetUp) != 0 && r.isGone() }

// isPast: nobody wants r, it has left nothing, and core remembers it only to see whether its actor keeps to its
// answers. No view shows it.
func (c *Core) isPast(r *rung) bool { return r.isRemembered() && c.desire(r) == unwanted }

// forgets drops the remembered calls whose bound has passed, or whose actor is dead.
func (r *rung) forgets(now hal.Instant, end func(call) bool) bool {
	is := false
	for _, v := range [2]Verb{SetUp, TearDown} {
		if r.remembers(v) == 0 {
			continue
		}
		k := &r.answered[side(v)]
		if k.until <= now || end(call{verb: v, until: k.until, instance: k.instance}) {
			*k, is = answered{}, true
		}
	}
	return is
}

// lingers writes that nothing of r is left but what is remembered.
func (c *Core) lingers(r *rung) {
	if !r.recorded || r.phase == Lingering {
		return
	}
	r.facts, r.fingerprint, r.generation, r.seq = nil, "", nil, 0
	r.believe(r.overlooked())
	r.setSeen("")
	r.phase = Lingering
	c.batch.Lines = append(c.batch.Lines, Line{Key: r.Key, Record: c.record(r)})
}

// recallAnswered goes on remembering what an earlier run did. What is there now came since.
func (c *Core) recallAnswered(r *rung, fingerprint string, inspected bool) {
	e := r.evidence
	e.inspected = false
	if inspected {
		e.state = Absent
	}
	if inspected && len(r.calls) == 0 {
		e.trust = clean
	}
	r.believe(e)
	if inspected && !IsBare(fingerprint) {
		c.effects = append(c.effects, Found{r.Key, fingerprint})
	}
}

// recallEffects takes what is at the places of rungs that were gone for effects of answered calls. Where another
// volume has the place by now, it is none if that volume has made it, or may have.
func (c *Core) recallEffects() {
	for _, f := range c.effects {
		r := c.rungs[f.Key]
		o := c.rival(r)
		isLost := o == nil || o.state == Unknown && o.phase == Confirmed && o.trust != reconfirmable
		if isLost && c.isForeign(r, f.Fingerprint) {
			c.appears(r, f.Fingerprint)
		}
	}
	c.effects = nil
}

// isHaunted: a setup of another volume that was answered with an error may yet bring that volume to a path of r, or has
// while an inspection could not tell.
func (r *rung) isHaunted() bool {
	return slices.ContainsFunc(r.rivals, func(o *rung) bool { return o.awaitsEffect() || o.sweep })
}

// intruded takes what is at the place of r, and is not what r has made there, for the effect of an answered call of
// another volume, if there is one.
func (c *Core) intruded(r *rung, fingerprint string) (is bool) {
	i := slices.IndexFunc(r.rivals, (*rung).awaitsEffect)
	if is = i >= 0 && c.isForeign(r.rivals[i], fingerprint); is {
		c.appears(r.rivals[i], fingerprint)
	}
	return is
}

// isForeign: what is at the place of r is not the mount of another volume there, which shows another fingerprint
// once its filesystem has failed.
func (c *Core) isForeign(r *rung, fingerprint string) bool {
	o := c.rival(r)
	isOf := func(o *rung) bool { return fingerprint == o.fingerprint || hal.HasFailed(fingerprint, o.fingerprint) }
	return !IsBare(fingerprint) && (o == nil || !isOf(o))
}

// appears: something has come to are at the place of a rung that was down, while only a call that was answered with
// an error could bring it. So its actor acts after it has answered. What came goes, if nobody wants it.
func (c *Core) appears(r *rung, fingerprint string) {
	isKnown := c.acts[r.Actor]
	e := r.doubted()
	e.inspected = true
	r.believe(e)
	r.setSeen("") // nothing was there: what does now came by the call
	r.own().reason = "found " + fingerprint + ": the driver made it after it had returned an error"
	r.resetBackoff()
	c.lastSeq++
	r.seq = c.lastSeq // it came last, so it goes before what another volume has there
	if c.distrust(r.Actor); isKnown {
		c.writeRecord(r)
	}
	c.displace(r)
	c.markAround(r)
}

// clears has what answered calls of other volumes may have brought to the place of r taken down once more, after r,
// which goes there to come up again: what is unmounted may be theirs, and their drivers hold them still.
func (c *Core) clears(r *rung) {
	for _, o := range r.rivals {
		if o.awaitsEffect() || o.sweep && o.isGone() {
			e := o.evidence
			e.trust, e.inspected, e.sweep = plain, true, false
			o.believe(e)
			o.setSeen("")
			c.writeRecord(o)
			c.markAround(o)
		}
	}
}

// distrust notes for good that an actor acts after it has answered. All of its calls that were ended by such an answer
// are fenced again.
func (c *Core) distrust(actor string) {
	if c.acts[actor] || actor == "" {
		return
	}
	c.acts[actor] = true
	// A journal refuses no record of that phase for lack of room.
	rec := Record{Rung: Rung{Key: actsKey(actor), Kind: KindActs, Actor: actor}, Phase: Leaving, Boot: c.boot}
	c.batch.Lines = append(c.batch.Lines, Line{Key: rec.Rung.Key, Record: rec, Sync: true})
	for _, r := range c.of(actor) {
		c.doubt(r)
	}
}

// doubt fences the calls of r that an answer was taken to have ended.
func (c *Core) doubt(r *rung) {
	for _, v := range [2]Verb{SetUp, TearDown} {
		if r.remembers(v) == 0 {
			continue
		}
		k := &r.answered[side(v)]
		r.fence(call{verb: v, until: k.until, instance: k.instance, answer: Failed})
		if e := r.evidence; e.trust == clean && v == SetUp {
			e.trust = plain
			r.believe(e)
		}
		*k = answered{}
		c.writeRecord(r)
		c.markAround(r)
	}
}

// recallActors takes in the records of actors: which act after they have answered, but for those that the operator
// trusts again, and who serves them. It returns the others.
func (c *Core) recallActors(s Start) []Record {
	rungs := make([]Record, 0, len(s.Records))
	for _, rec := range s.Records {
		switch {
		case rec.Rung.Kind == KindServes:
			c.recallServer(rec)
		case rec.Rung.Kind == KindKept:
			c.recallKept(rec)
		case rec.Rung.Kind != KindActs:
			rungs = append(rungs, rec)
		case slices.Contains(s.Forgive, rec.Rung.Actor):
			c.batch.Lines = append(c.batch.Lines, Line{Key: rec.Rung.Key, Drop: true})
		default:
			c.acts[rec.Rung.Actor] = true
		}
	}
	return rungs
}

// ActsAfterReply reports whether an actor was seen to act after it had answered.
func (c *Core) ActsAfterReply(actor string) bool { return c.acts[actor] }

// acted reports whether no answer of the actor of r ends a call, be it that the operator says so or that it was seen.
func (c *Core) acted(r *rung) bool { return r.Limits.ActsAfterReply || c.acts[r.Actor] }

// Remembered calls f with the key and place of each rung that is down, and that an effect may yet bring up: of a setup
// that was answered with an error, or of one that only a lost journal knew of. What comes to stand there is that. Where
// another volume has the place by now, that is so of what is not the mount beside: the fingerprint of that volume, if
// it is up. If it is in doubt it may be its own, unless it is Blocked: its driver lets go of it, and what is there is
// not its own; or unless its filesystem failed. Of those that changed after the Step numbered since, nothing that was
// read then tells. Only those above, at and below some paths; nil is all.
func (c *Core) Remembered(paths []string, since uint64, f func(key hal.Key, path, siblings string)) {
	for _, r := range c.concerned(paths, true) {
		if !r.awaitsEffect() && !c.mayComeUnknown(r) || r.changed > since {
			continue
		}
		switch o := c.rival(r); {
		case o == nil:
			f(r.Key, Value(r.params(), "path"), "")
		case o.op == nil && o.changed <= since && (o.state == Present || o.blocked || o.hasFailedThere()):
			f(r.Key, Value(r.params(), "path"), o.fingerprint)
		}
	}
}

// hasFailedThere: the filesystem of r has failed since it came up, and no setup of r may act: of what is at its path,
// only the mount of its fingerprint is its own.
func (r *rung) hasFailedThere() bool {
	return r.trust == failed && r.fingerprint != "" && r.bound(SetUp) == 0
}

// Memories returns how many records stand for calls that were answered with an error, and how many for actors that act
// after they have answered; and the actors of which a record names who serves them.
func (c *Core) Memories() (calls, actors int, served []string) {
	for _, r := range c.sorted() {
		if r.recorded && r.phase == Lingering {
			calls++
		}
	}
	return calls, len(c.acts), slices.Sorted(maps.Keys(c.servers))
}

// params is what r was made with, or is to be made with.
func (r *rung) params() []Param {
	if r.made != nil {
		return r.made
	}
	return r.Want
}

// openText says which call may still act on r, "" if none: whether it was answered is what a person asks first.
func (c *Core) openText(r *rung) string {
	v := SetUp
	if r.bound(SetUp) == 0 {
		v = TearDown
	}
	i := slices.IndexFunc(r.calls, func(k call) bool { return k.verb == v && k.until == r.bound(v) })
	if i < 0 {
		return ""
	}
	k := r.calls[i]
	name := cmp.Or(k.name, "a "+v.String()+" call")
	switch {
	case c.acted(r):
		return name + ": the driver acts after it answers, so the call may still act"
	case k.op == 0:
		return "a " + v.String() + " call of an earlier run may still act"
	case k.answer == Doubted:
		return name + " failed with " + cmp.Or(k.code, "an error") + ", which does not end the call; it may still act"
	default:
		return name + " did not answer; it may still act"
	}
}
