package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// View is a snapshot of one rung. It shares nothing that changes.
type View struct {
	Key         hal.Key
	Kind        Kind
	Pod         PodUID
	Volume      string
	Actor       string
	Below       []hal.Key
	State       State
	Desired     string // wanted, held, unwanted
	Fingerprint string
	Want        []Param // what it is to be made with
	Made        []Param // what it was made with; nil if it never was
	Facts       []Fact
	Short       string
	Cover       Cover // what hides its place; the zero Cover is nothing

	Step         hal.OpID // in flight, 0 for none
	Verb         Verb     // of Step
	Since        hal.Instant
	Deadline     hal.Instant // of Step, 0 for none
	Attempts     int         // failed in a row, in the direction it is going
	Reason       string      // of the last end that was not Done
	IsBlocked    bool        // that end said that repeating will not help, or containers keep another volume at its path
	HasPanicked  bool        // that operation's verb panicked
	Child        string      // a helper of an earlier run
	SetUpOpen    hal.Instant // bound of setups without a known end, 0 for none
	TearDownOpen hal.Instant // the same of teardowns
	Recorded     bool        // in the journal
	Why          string      // the present decision's reason
	On           hal.Key     // the rung that Why names, "" for none
	IsWaiting    bool        // for an instant: Until
	IsBackoff    bool        // what it waits for is its next attempt
	Until        hal.Instant
	IsRebuild    bool   // it must be made again
	IsHeldBack   bool   // it must be made again, once no container runs on it
	IsProvided   bool   // up, as wanted
	IsGone       bool   // nothing of it is left, and no call may bring it back
	Open         string // what call may still act on it, "" if none
}

// View returns all rungs but those that are only remembered, sorted by key.
func (c *Core) View() []View {
	vs := make([]View, 0, len(c.rungs))
	for _, r := range c.sorted() {
		if !c.isPast(r) {
			vs = append(vs, c.viewOf(r))
		}
	}
	return vs
}

// Rung returns a snapshot of one rung.
func (c *Core) Rung(key hal.Key) (View, bool) {
	r := c.rungs[key]
	if r == nil {
		return View{}, false
	}
	return c.viewOf(r), true
}

// Made returns what a rung was made with, nil if it never was, and its state; Unknown of a rung that is not known.
func (c *Core) Made(key hal.Key) ([]Param, State) {
	r := c.rungs[key]
	if r == nil {
		return nil, Unknown
	}
	return r.made, r.state
}

// EachPresent calls f with the key, parameters and fingerprint of each Present rung at a path or below it of which what
// was read after the Step numbered since can tell something: none that is operated on or has changed meanwhile. In
// the order of keys; nil is all paths.
func (c *Core) EachPresent(paths []string, since uint64, f func(key hal.Key, made []Param, fingerprint string)) {
	for _, r := range c.concerned(paths, false) {
		if r.state == Present && r.op == nil && r.changed <= since {
			f(r.Key, r.made, r.fingerprint)
		}
	}
}

// HasMounts reports whether something is up that an actor has mounted. It looks at no rung that has none.
func (c *Core) HasMounts() bool {
	return slices.ContainsFunc(slices.Sorted(maps.Keys(c.actors)), func(actor string) bool {
		return slices.ContainsFunc(c.of(actor), func(r *rung) bool {
			return r.state == Present && !IsBare(r.fingerprint)
		})
	})
}

// PresentRung returns how a rung that is up was made, and its fingerprint. isBusy: it is operated on, or has changed
// since the Step of that number, so that what was read meanwhile says nothing.
func (c *Core) PresentRung(key hal.Key, since uint64) (made []Param, fingerprint string, isBusy, isUp bool) {
	r := c.rungs[key]
	if r == nil || r.state != Present {
		return nil, "", false, false
	}
	return r.made, r.fingerprint, r.op != nil || r.changed > since, true
}

// PodsAbove returns the pods with a rung that depends on the rung key and is, or may be, up.
func (c *Core) PodsAbove(key hal.Key) (pods []PodUID) {
	for _, r := range c.above[key] {
		if r.Pod != "" && r.state != Absent {
			pods = append(pods, r.Pod)
		}
	}
	return pods
}

// KindOf is the kind of the rung on which an operation is under way, or may still act; "" if there is none.
func (c *Core) KindOf(op hal.OpID) Kind {
	if r := cmp.Or(c.ops[op], c.open[op]); r != nil {
		return r.Kind
	}
	return ""
}

// IsVolumeLeft reports whether a rung of a volume is not gone.
func (c *Core) IsVolumeLeft(volume string) bool {
	return slices.ContainsFunc(c.volumes[volume], (*rung).isLeft)
}

// Blocked calls f with the key and path of each rung at a path or below it that waits for something to change, in the
// order of keys; nil is all paths.
func (c *Core) Blocked(paths []string, f func(key hal.Key, path string)) {
	for _, r := range c.concerned(paths, false) {
		if r.blocked && r.op == nil {
			f(r.Key, Value(r.params(), "path"))
		}
	}
}

func (c *Core) viewOf(r *rung) View {
	v := View{
		Key: r.Key, Kind: r.Kind, Pod: r.Pod, Volume: r.Volume, Actor: r.Actor, Below: slices.Clone(r.Below),
		State: r.state, Desired: c.desire(r).String(),
		Fingerprint: r.fingerprint, Want: r.Want, Made: r.made, Facts: r.facts, Short: r.short, Reason: r.reason,
		IsBlocked:   r.blocked || r.next.why == whyPlaceUsed || r.next.why == whyPlaceHeld,
		HasPanicked: r.panicked,
		Child:       r.child, SetUpOpen: r.bound(SetUp), TearDownOpen: r.bound(TearDown), Recorded: r.recorded,
		Until: r.next.until, IsWaiting: r.next.until > c.now,
		IsBackoff: r.next.why == whyBackoff, IsRebuild: c.change(r) == OnChangeRebuild, IsHeldBack: r.isHeldBack(),
		Attempts: max(r.up.attempts, r.down.attempts),
	}
	if v.Desired != wanted.String() {
		v.Attempts = r.down.attempts
	}
	if v.Reason == "" && v.IsBackoff && v.Desired == wanted.String() {
		v.Reason = r.up.why // a setup that was undone since
	}
	if r.state == Unknown && r.lost != "" && r.next.why == whyRebuildHeld {
		v.Reason = r.lost // what was tried since is not tried again
	}
	v.IsGone, v.Open = r.isGone(), c.openText(r)
	v.Why, v.On = c.whyOf(r)
	switch r.next.why {
	case whyAwaits:
		v.IsBlocked = true
	case whyFailedHeld:
		v.IsBlocked = true
	case whyVoidHeld:
		if r.Awaits != "" {
			v.Why += "; " + r.Awaits
		}
	default:
	}
	v.IsProvided = c.isAsWanted(r) && (r.op == nil || r.op.Verb != TearDown)
	v.Cover, _ = c.cover(r)
	if r.op != nil {
		v.Step, v.Verb, v.Since, v.Deadline = r.op.ID, r.op.Verb, r.op.since, r.op.Deadline
	}
	return v
}

// PodView is one pod as core knows it.
type PodView struct {
	UID    PodUID
	Wanted bool
	Ready  bool
	Tops   []hal.Key // the rungs it wants at the top
	Rungs  []hal.Key // all rungs of its own
}

// Pods returns all pods that are wanted or have left something, also those that only records name, sorted by uid.
func (c *Core) Pods() []PodView {
	vs := make([]PodView, 0, len(c.pods))
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[uid]
		isLeft := func(r *rung) bool { return !c.isPast(r) }
		if p.wanted || slices.ContainsFunc(p.rungs, isLeft) {
			vs = append(vs, c.Pod(uid))
		}
	}
	return vs
}

// Earlier is when this run began, by which earlier runs had sent their last call; 0 if there was no such run.
func (c *Core) Earlier() hal.Instant { return c.earlier }

// Left returns the uids of the pods that may have left something, sorted: the journal has a record, or files are on
// disk.
func (c *Core) Left() (uids []PodUID) {
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		if slices.ContainsFunc(c.pods[uid].rungs, func(r *rung) bool {
			return (r.recorded || r.foundOnDisk) &&
				!c.isPast(r)
		}) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// Pod returns one pod; one that is not known wants nothing and has nothing.
func (c *Core) Pod(uid PodUID) PodView {
	p := c.pods[uid]
	if p == nil {
		return PodView{UID: uid}
	}
	v := PodView{UID: uid, Wanted: p.wanted, Ready: c.ready(p), Tops: slices.Clone(p.tops)}
	for _, r := range p.rungs {
		if !c.isPast(r) {
			v.Rungs = append(v.Rungs, r.Key)
		}
	}
	return v
}

// Synced reports whether AllSynced has been.
func (c *Core) Synced() bool { return c.synced }
