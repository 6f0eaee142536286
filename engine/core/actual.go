package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// rung is one Rung with all that core knows of it.
type rung struct {
	identity
	evidence
	record
	schedule
	*plight // Invariant: it is Core.none, or no other rung has it.
}

// identity is what a rung is, and where the indexes have it.
type identity struct {
	Rung          // as wanted last, else as recorded. Invariant: Core.index has entered it.
	ownPod *pod   // the pod that the rung belongs to. Invariant: it is nil exactly for a rung that pods share.
	pods   []*pod // the pods that want it at the top of a ladder. Invariant: each once, and it is in their tops.
	spot   spot   // its node in Core.atlas. Invariant: it is at the path of the rung.
	// alone saves memory in each list in which the rung is the only one. Invariant: it is the rung itself.
	alone [1]*rung
}

// record is what the journal has of a rung, or is to have.
type record struct {
	// made is the parameters of the last Done setup, else of the record. Invariant: nil if it never was set up.
	made []Param
	// generation is the rungs that the last Done setup ran on, with their fingerprints then. Invariant: of this boot.
	generation []Foundation
	// facts is what the last Done setup learnt; a teardown needs them, too. Invariant: nil once the rung is gone.
	facts []Fact
	// fingerprint is that of the last Done. Invariant: it is kept while leaving, as the proof that a mount is ours.
	fingerprint string
	seq         uint64 // order of first intents. Invariant: it is 0 before the first setup.
	recorded    bool   // the journal has a record. Invariant: it has had the line, or the batch of this step has it.
	phase       Phase  // of the record. Invariant: it says nothing unless recorded.
}

// schedule is what core does about a rung, and when it looks at it again.
type schedule struct {
	op      *flight  // the operation under way, nil for none. Invariant: Core.ops[op.ID] is this rung.
	changed uint64   // the step that changed it last. Invariant: what was read before that step is stale.
	next    decision // Invariant: it is the present decision once the rung is not dirty.
	slot    int32    // its index in timers, plus 1. Invariant: it is 0 if the rung waits for no instant.
	isDirty bool     // Invariant: it is in Core.dirty, or in the rest of the round that reconcile is deciding on.
	// isQueued: it waits in the line of its actor (see mayBegin). Invariant: it is there once.
	isQueued bool
	isNext   bool // its turn has come. Invariant: it has not used it.
	blocked  bool // Invariant: its last operation said that repeating will not help, and nothing has changed since.
}

// flight is an operation under way.
type flight struct {
	Op
	why          why         // the reason of the decision that started it
	since        hal.Instant // when it started
	until        hal.Instant // the bound of its call, as announced; 0 is none
	quiet        bool        // no setup was without a known end when it started
	isConcurrent bool        // another operation on the same volume was in flight at some time
	sole         bool        // when it started, exactly one call without a known end could act on the volume
	isYoung      bool        // it counts against the limit of its actor
	ended        bool        // its call was answered late, but before the operation ended
}

// uses reports whether the operation depends on the rung key.
func (f *flight) uses(key hal.Key) bool {
	return slices.ContainsFunc(f.Below, func(b Foundation) bool { return b.Key == key })
}

// add makes the rung of a spec, Absent and never operated on, and enters it in the indexes.
func (c *Core) add(spec Rung) *rung {
	if c.rungs[spec.Key] != nil {
		panic(fmt.Sprintf("core: rung %s made twice", spec.Key))
	}
	r := &rung{identity: identity{Rung: spec}, plight: c.none}
	r.alone[0] = r
	_, isVeiled := c.veil(r)
	r.believe(fresh(isVeiled))
	c.rungs[spec.Key] = r
	c.fresh = append(c.fresh, r)
	c.index(r)
	c.markAround(r)
	return r
}

// respec replaces the spec of a rung. It has core decide again on each rung that it depended on, before and after.
func (c *Core) respec(r *rung, spec *Rung) {
	if sameSpec(&r.Rung, spec) {
		c.mark(r)
		return
	}
	c.markAround(r)
	c.unindex(r)
	grown := len(spec.Below) > len(r.Below)
	if r.Renew == 0 && spec.Renew > 0 && r.state != Absent {
		r.lacks(r.short, c.now, r.expires)
	}
	r.Rung = *spec
	c.index(r)
	c.markAround(r)
	if grown && r.recorded {
		c.writeNow(r) // before the first line of a rung that is new below it
	}
}

// dropBelow removes the dependencies and the paths that a rung no longer wants. The rung is gone.
func (c *Core) dropBelow(r *rung) {
	spec := r.Rung
	spec.Below = slices.DeleteFunc(slices.Clone(r.Below),
		func(key hal.Key) bool { return slices.Contains(r.droppedBelow, key) })
	spec.Places = slices.DeleteFunc(slices.Clone(r.Places),
		func(at string) bool { return slices.Contains(r.vacates, at) })
	p := r.own()
	p.droppedBelow, p.vacates = nil, nil
	c.respec(r, &spec)
}

func sameSpec(a, b *Rung) bool {
	return a.Key == b.Key && a.Kind == b.Kind && a.Pod == b.Pod && a.Need == b.Need && a.Volume == b.Volume &&
		a.Actor == b.Actor &&
		a.Exclusive == b.Exclusive && a.Awaits == b.Awaits && a.Intent == b.Intent && a.Pins == b.Pins &&
		a.Limits == b.Limits && a.Renew == b.Renew && a.Looks == b.Looks &&
		slices.Equal(a.Below, b.Below) && slices.Equal(a.Want, b.Want) &&
		slices.Equal(a.Places, b.Places)
}

// remove forgets a rung that has left nothing.
func (c *Core) remove(r *rung) {
	c.markAround(r)
	c.timers.set(r, 0)
	c.unindex(r)
	delete(c.rungs, r.Key)
	c.stale = true
}

func (c *Core) index(r *rung) {
	for _, key := range r.Below {
		c.above[key] = insert(c.above[key], r)
	}
	if r.Volume != "" {
		c.volumes[r.Volume] = insert(c.volumes[r.Volume], r)
	}
	if r.Actor != "" {
		if c.actors[r.Actor] == nil {
			c.actors[r.Actor] = map[hal.Key]*rung{}
		}
		c.actors[r.Actor][r.Key] = r
	}
	if r.Pod != "" {
		r.ownPod = c.pod(r.Pod)
		r.ownPod.rungs = insert(r.ownPod.rungs, r)
	}
	c.occupy(r)
	c.locate(r)
}

func (c *Core) unindex(r *rung) {
	c.vacate(r)
	c.dislocate(r)
	for _, key := range r.Below {
		withdraw(c.above, key, r)
	}
	withdraw(c.volumes, r.Volume, r)
	if of := c.actors[r.Actor]; of != nil {
		delete(of, r.Key)
		if len(of) == 0 {
			delete(c.actors, r.Actor)
		}
	}
	if p := r.ownPod; p != nil {
		r.ownPod = nil
		p.rungs = without(p.rungs, r)
		c.touch(p)
		c.forgetPod(p)
	}
}

// of returns the rungs of an actor, sorted by key. It sorts at each call, because there are many and an event about an
// actor is rare.
func (c *Core) of(actor string) []*rung {
	c.work.Rungs += uint64(len(c.actors[actor]))
	rs := make([]*rung, 0, len(c.actors[actor]))
	for _, key := range slices.Sorted(maps.Keys(c.actors[actor])) {
		rs = append(rs, c.actors[actor][key])
	}
	return rs
}

// insert adds r to a slice sorted by key, once.
func insert(rs []*rung, r *rung) []*rung {
	if len(rs) == 0 {
		return r.alone[:]
	}
	i, found := place(rs, r)
	if found {
		return rs
	}
	return slices.Insert(rs, i, r)
}

// without takes r out of a slice sorted by key.
func without(rs []*rung, r *rung) []*rung {
	i, found := place(rs, r)
	switch {
	case !found:
		return rs
	case len(rs) == 1:
		return nil
	}
	return slices.Delete(rs, i, i+1)
}

func place(rs []*rung, r *rung) (int, bool) {
	return slices.BinarySearchFunc(rs, r.Key, func(o *rung, key hal.Key) int { return cmp.Compare(o.Key, key) })
}

// withdraw takes r out of an index.
func withdraw[K comparable](index map[K][]*rung, key K, r *rung) {
	rs := without(index[key], r)
	if len(rs) == 0 {
		delete(index, key)
		return
	}
	index[key] = rs
}

// below returns the rungs that r depends on and that exist.
func (c *Core) below(r *rung) []*rung {
	rs := make([]*rung, 0, len(r.Below))
	for _, key := range r.Below {
		if b := c.rungs[key]; b != nil {
			rs = append(rs, b)
		}
	}
	return rs
}

// isBare reports whether r is a pod's own and depends on nothing.
func (r *rung) isBare() bool { return r.Pod != "" && len(r.Below) == 0 }

// siblings returns the rungs of the same volume that constrain r without a dependency: for a pod's rung that depends on
// nothing, the rungs that pods share, and the other way round. A driver may come back without staging, or its stage was
// not found. Then the pods' rungs depend on nothing, but CSI still forbids to unstage before all of them are
// unpublished (CSI, NodeUnstageVolume).
func (c *Core) siblings(r *rung) []*rung {
	if r.Pod != "" && !r.isBare() {
		return nil
	}
	var rs []*rung
	for _, o := range c.volumes[r.Volume] {
		if r.Pod == "" && o.isBare() || r.Pod != "" && o.Pod == "" {
			rs = append(rs, o)
		}
	}
	return rs
}

// foundations describes the rungs that r depends on now. A teardown also gets those that were lost since, as they were,
// because it needs their facts to tell its own mounts. A rung that was not up in this boot gets no facts: a fact of
// another boot, such as a device number, may belong to another device now.
func (c *Core) foundations(r *rung, v Verb) []Foundation {
	fs := make([]Foundation, 0, len(r.Below))
	for _, b := range c.below(r) {
		if b.state == Present || v == TearDown && len(b.facts) > 0 {
			f := Foundation{Key: b.Key, Kind: b.Kind, Facts: b.facts, Fingerprint: b.fingerprint}
			if b.state != Present && b.fingerprint == "" {
				f.Facts = nil
			}
			fs = append(fs, f)
		}
	}
	return fs
}

// isGone reports whether r is Absent for good: its last teardown began after every setup had ended, and no call or
// helper can act on it any more. Waits, status, plan and GetVolumesInUse all mean this by gone.
func (r *rung) isGone() bool {
	return r.trust == clean && len(r.calls) == 0 && r.op == nil && r.child == ""
}

// lose makes a rung that is up Unknown because its object has changed, and with it all that depends on it.
// isReconfirmable says whether an inspection that finds the fingerprint again is enough to believe in it.
func (c *Core) lose(r *rung, reason string, isReconfirmable bool) {
	e := r.evidence
	switch {
	case isReconfirmable && e.state == Present:
		e.trust = reconfirmable
	case !isReconfirmable && e.trust == reconfirmable:
		e.trust = plain
	}
	if e.state != Present {
		r.believe(e)
		return
	}
	e.state = Unknown
	r.believe(e)
	p := r.own()
	p.reason, p.lost = reason, reason
	p.up, p.down, r.blocked = backoff{}, backoff{}, false
	c.markAround(r)
	for _, a := range c.above[r.Key] {
		c.lose(a, fmt.Sprintf("lost %s below it", r.Key), true)
	}
}

// fall marks r as lost, so that core rebuilds it: the first time at once. If r falls again soon, core waits before the
// rebuild, longer with each fall. All causes share this wait: else several rungs that deny r would each set a pace.
func (c *Core) fall(r *rung, reason string) {
	stood := r.state == Present
	c.lose(r, reason, false)
	if !stood {
		return
	}
	p := r.own()
	if c.now.Sub(p.falls.until) > backoffMax {
		p.falls = backoff{}
	}
	p.up.until = max(c.now, p.falls.until)
	p.falls.fail(p.up.until, r.Key, SetUp, true)
}

// rises notes when r came up after a fall. The time that its setup took does not count as time up.
func (c *Core) rises(r *rung) {
	if r.state != Present && r.falls.attempts > 0 {
		r.own().falls.until = max(r.falls.until, c.now)
	}
}

// saw notes what is at the place of a rung before its next setup: it is not the rung. While a setup may still act, saw
// notes nothing, because what is there may be the effect of that setup. It may be that of one that has ended, too: a
// publish that is repeated may mount once more and fail.
func (r *rung) saw(fingerprint string) {
	if r.bound(SetUp) != 0 {
		return
	}
	if (r.remade || r.remembers(SetUp) != 0) && !IsBare(fingerprint) {
		fingerprint = SeenUnknown
	}
	r.believe(r.looked())
	r.setSeen(fingerprint)
}

// observed takes in what is at a rung's place. It ignores what was read before the rung last changed.
func (c *Core) observed(e Observed) {
	r := c.rungs[e.Key]
	if r == nil || r.op != nil || r.changed > e.Since {
		return
	}
	if c.mayComeUnknown(r) && e.Fingerprint != "" {
		c.comesUnknown(r)
	}
	if r.awaitsEffect() && c.isForeign(r, e.Fingerprint) {
		c.appears(r, e.Fingerprint)
	}
	if r.state != Present || r.fingerprint == e.Fingerprint {
		return
	}
	if r.remembers(TearDown) != 0 && IsBare(e.Fingerprint) {
		c.distrust(r.Actor)
	}
	if c.fails(r, e.Fingerprint) {
		return
	}
	r.saw(e.Fingerprint)
	if IsBare(e.Fingerprint) && !IsBare(r.fingerprint) {
		c.fall(r, "it was unmounted, and not by volnode")
		return
	}
	c.fall(r, fmt.Sprintf("found %s in place of %s", orNothing(e.Fingerprint), orNothing(r.fingerprint)))
}

// unblocked lets a Blocked rung try at once.
func (c *Core) unblocked(key hal.Key) {
	if r := c.rungs[key]; r != nil && r.blocked {
		r.resetBackoff()
		c.mark(r)
	}
}

func orNothing(fingerprint string) string {
	if fingerprint == "" {
		return "nothing"
	}
	return fingerprint
}
