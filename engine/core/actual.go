package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// rung is one Rung with all that is known of it.
type rung struct {
	Rung        // as wanted last, else as recorded
	ownPod *pod // its own pod; nil of what pods share

	// The actual state and its evidence.
	made        []Param      // what the last Done setup, or the recorded one, was started with
	generation  []Foundation // what it was set up on
	facts       []Fact
	fingerprint string // of the last Done; kept while leaving, as the proof of what is ours
	op          *flight
	changed     uint64 // step of the last change that a look may not know
	seq         uint64 // of the record
	state       State

	reconfirmable bool // Unknown, yet nothing was sent since fingerprint was confirmed: an inspection that finds it again is enough
	// Invariant: no setup that was ever sent can have left anything since the last Done teardown began, or none was ever
	// sent.
	noResidue bool
	inspected bool // seen is known
	veiled    bool // nobody could look whether an earlier life has left something at its place
	// found without a record, by what a setup of ours left on disk before its first call: what is there came after
	// it
	foundOnDisk bool
	mayBeUsed   bool // containers may have run on it
	denied      bool // an actor said that it is not there, and it was not mended since
	// the actor holds something incompatible, or a teardown may have left something: it goes before the next setup
	mustUndo bool
	failed   bool // with undo: the filesystem that it is, or that it is on, has failed since it came up
	// a setup that was answered with an error may have left names there that are no mount: they are looked for once
	sweep bool
	left  bool // a teardown may have had an effect since it last was up: what it holds is given up

	// What the journal holds.
	recorded bool
	phase    Phase

	// Of one that waits for its turn: see mayBegin.
	isQueued bool
	isNext   bool // its turn has come

	isDirty bool
	blocked bool
	slot    int32 // in timers

	next decision
	spot spot // where it stands, in an index

	alone [1]*rung // r itself: the lists in which it is the only one
	pods  []*pod   // that want it at the top of a ladder
	*plight
}

// flight is an operation under way.
type flight struct {
	Op
	why          why // it was started
	since        hal.Instant
	until        hal.Instant // the bound of its call, as announced; 0 is none
	quiet        bool        // no setup was without end when it started
	isConcurrent bool        // another operation on the same volume was in flight at some time
	sole         bool        // when it started, one call without a known end could act on the volume, and no other
	isYoung      bool        // it keeps others waiting for their turn
	ended        bool        // its call's answer came late, yet before the operation ended
}

// uses reports whether the operation stands on the rung key.
func (f *flight) uses(key hal.Key) bool {
	return slices.ContainsFunc(f.Below, func(b Foundation) bool { return b.Key == key })
}

// add makes the rung of a spec, Absent and never touched, and enters it in the indexes.
func (c *Core) add(spec Rung) *rung {
	if c.rungs[spec.Key] != nil {
		panic(fmt.Sprintf("core: rung %s made twice", spec.Key))
	}
	r := &rung{Rung: spec, state: Absent, noResidue: true, plight: c.none}
	r.alone[0] = r
	if _, is := c.veil(r); is {
		r.state, r.noResidue, r.veiled = Unknown, false, true
	}
	c.rungs[spec.Key] = r
	c.fresh = append(c.fresh, r)
	c.index(r)
	c.markAround(r)
	return r
}

// respec replaces the spec of a rung. What it stood on and no longer does is decided on again too.
func (c *Core) respec(r *rung, spec *Rung) {
	if sameSpec(&r.Rung, spec) {
		c.mark(r)
		return
	}
	c.markAround(r)
	c.unindex(r)
	grown := len(spec.Below) > len(r.Below)
	r.Rung = *spec
	c.index(r)
	c.markAround(r)
	if grown && r.recorded {
		c.writeRecord(r) // before the first line of a rung that is new below it
	}
}

// dropBelow has a rung that is gone stand on what it is wanted to stand on, and own the paths that it is wanted at, and no
// more.
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
		a.Exclusive == b.Exclusive && a.Awaits == b.Awaits && a.Intent == b.Intent && a.Limits == b.Limits &&
		slices.Equal(a.Below, b.Below) && slices.Equal(a.Want, b.Want) &&
		slices.Equal(a.Places, b.Places)
}

// remove forgets a rung of which nothing is left.
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

// of returns the rungs of an actor, sorted by key. They are many, and asked for only when something happens to the
// actor.
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

// below returns the rungs that r stands on and that exist.
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

// siblings returns what of the volume of r is bound to it though neither stands on the other: what pods share, of a pod's
// rung that depends on nothing, and the other way round. A driver comes back without staging, or its stage was not
// found: what pods have of the volume then depends on nothing, and still no volume may be unstaged before all of it is
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

// foundations describes what r depends on now. For a teardown that is also what was lost since, as it was: what r is
// known by does not go with it. What was not up in this boot is known by nothing: facts of another boot, as a device's
// number, may be true of somebody else's by now.
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

// isGone reports whether r is Absent for good: down by a teardown that began after every setup had ended, and nothing
// may act on it any more. This is what gone means wherever it is told: to who waits, in the status, in the plan, of
// what is in use.
func (r *rung) isGone() bool {
	return r.state == Absent && r.noResidue && len(r.calls) == 0 && r.op == nil && r.child == ""
}

// lose makes a rung that is up Unknown because its object is not what it was, and with it all that depends on it. trusted
// says whether an inspection that finds the fingerprint again is enough to believe in it.
func (c *Core) lose(r *rung, reason string, reconfirmable bool) {
	if r.state != Present {
		r.reconfirmable = r.reconfirmable && reconfirmable
		return
	}
	r.state, r.reconfirmable = Unknown, reconfirmable
	p := r.own()
	p.reason = reason
	p.up, p.down, r.blocked = backoff{}, backoff{}, false
	c.markAround(r)
	for _, a := range c.above[r.Key] {
		c.lose(a, fmt.Sprintf("%s below it was lost", r.Key), true)
	}
}

// fall marks r as lost, so that it is made again: the first time at once. If r falls again soon, core waits before it
// makes r again, longer with each fall. All causes share this wait. Otherwise several rungs that deny what they depend on
// would each have it made again at a pace of their own.
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

// rises notes when r came up after it fell: only from then on it stands, however long it took to make.
func (c *Core) rises(r *rung) {
	if r.state != Present && r.falls.attempts > 0 {
		r.own().falls.until = max(r.falls.until, c.now)
	}
}

// saw notes what is at the place of a rung that is to be set up again: it is not the rung, and only what comes
// after the next intent may be. As long as a setup may act, what it makes is ours, and is not to be taken for what
// was there before.
func (r *rung) saw(fingerprint string) {
	if r.bound(SetUp) == 0 {
		r.inspected, r.foundOnDisk = true, false
		r.setSeen(fingerprint)
	}
}

// observed takes in what is at a rung's place. What was read before the rung last changed says nothing.
func (c *Core) observed(e Observed) {
	r := c.rungs[e.Key]
	if r == nil || r.op != nil || r.changed > e.Since {
		return
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
