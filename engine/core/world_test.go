package core_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

var (
	podNames    = []core.PodUID{"p", "q", "r"}
	volumeNames = []string{"a", "b", "c", "l"}
	replyKinds  = []string{
		"done", "done", "done", "lost", "lost", "refused", "status", "never sent", "denied",
		"exists", "short",
	}
)

// world is the truth that core is checked against: dumb, and as hostile as the laws allow.
type world struct {
	t        *rapid.T
	now      hal.Instant
	boot     hal.BootID
	boots    int
	made     int // fingerprints given out
	truth    map[hal.Key]string
	specs    map[hal.Key]core.Rung // of all rungs that ever were
	inflight map[hal.OpID]*flying
	pending  []*abandoned
	children map[hal.Key]*flying
	left     map[hal.Key]bool // by a teardown, or it may be: it is to go before the next setup
	lives    map[string]int
	pods     map[core.PodUID]*podModel
	volumes  map[string]*volume
	lines    []core.Line
	durable  int // lines that no crash can lose
	last     core.Batch
}

type podModel struct {
	wanted, complete, running bool
	volumes                   []string
}

// flying is an operation in flight.
type flying struct {
	core.Op
	instance string
	lock     bool // it has the lock that its driver keeps for the volume
	isDead   bool // its driver died under it: it had its effect by now, or never will
}

// abandoned is a call that nobody waits for, and that may act until its bound.
type abandoned struct {
	op       hal.OpID
	key      hal.Key
	volume   string
	verb     core.Verb
	until    hal.Instant
	instance string
	lock     bool
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, now: hal.Instant(time.Second), boot: "b0", truth: map[hal.Key]string{}, specs: map[hal.Key]core.Rung{},
		inflight: map[hal.OpID]*flying{},
		children: map[hal.Key]*flying{}, left: map[hal.Key]bool{}, lives: map[string]int{},
		pods: map[core.PodUID]*podModel{},
		volumes: map[string]*volume{
			"a": {name: "a", kinds: []string{"publish", "stage", "attach"}, driver: "d"},
			"b": {name: "b", kinds: []string{"publish", "stage"}, driver: "e", renews: true},
			"c": {name: "c", kinds: []string{"publish"}, driver: "e", rwop: true, renews: true, looks: true},
			"l": {name: "l", kinds: []string{"local"}},
		},
	}
	for _, uid := range podNames {
		w.pods[uid] = &podModel{complete: true}
	}
	return w
}

// coin falls once in n times, by what the world is like and not by a choice that rapid would have to shrink.
func (w *world) coin(n int) bool { return rapid.IntRange(0, n-1).Draw(w.t, "coin") == n-1 }

// chance is true once in n times; rapid shrinks it to false.
func (w *world) chance(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

func (w *world) instance(driver string) string { return fmt.Sprintf("%s%d", driver, w.lives[driver]) }

// isLocking: driver d works on one call a volume at a time.
func (w *world) isLocking(volume string) bool { return volume == "d^a" }

func (w *world) isLocked(volume string) bool {
	for _, id := range w.flying() {
		if f := w.inflight[id]; f.Volume == volume && f.lock {
			return true
		}
	}
	return slices.ContainsFunc(w.pending, func(k *abandoned) bool { return k.volume == volume && k.lock })
}

// mayAct: a driver that locks serves whoever has the lock, or anybody while it is free.
func (w *world) mayAct(k *abandoned) bool {
	return !w.isLocking(k.volume) || k.lock || !w.isLocked(k.volume)
}

func (w *world) flying() []hal.OpID {
	var ids []hal.OpID
	for id := range w.inflight {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// start takes in an operation.
func (w *world) start(op core.Op) {
	f := &flying{Op: op, instance: w.instance(op.Actor)}
	if op.Verb != core.Inspect && w.isLocking(op.Volume) && !w.isLocked(op.Volume) {
		f.lock = w.coin(2)
	}
	w.inflight[op.ID] = f
}

// apply is the effect of a call.
func (w *world) apply(key hal.Key, v core.Verb) {
	switch {
	case v == core.TearDown:
		w.truth[key] = ""
	case w.truth[key] == "":
		w.made++
		w.truth[key] = fmt.Sprintf("f%d", w.made)
	}
}

// effect lets an abandoned call act, and end.
func (w *world) effect(i int) {
	k := w.pending[i]
	w.t.Logf("%s late %s %s", w.now, k.verb, k.key)
	w.apply(k.key, k.verb)
	w.forgetCall(i)
}

func (w *world) forgetCall(i int) { w.pending = slices.Delete(w.pending, i, i+1) }

// lastActs ends the abandoned calls whose bound comes by at: half of them act at the last moment.
func (w *world) lastActs(at hal.Instant) {
	for i := len(w.pending) - 1; i >= 0; i-- {
		if w.pending[i].until > at {
			continue
		}
		if w.coin(2) {
			w.effect(i)
		} else {
			w.forgetCall(i)
		}
	}
}

// reply draws how an operation ends, and lets its effect come now, later or never as that end allows.
func (w *world) reply(t *rapid.T, id hal.OpID) core.Result {
	f := w.inflight[id]
	if f.Verb == core.Inspect {
		if w.chance(t, 6, "look fails") {
			return core.Result{Outcome: hal.NotDone, Reason: "EIO"}
		}
		return core.Result{Outcome: hal.Done, Fingerprint: w.truth[f.Key]}
	}
	if f.Actor == "" {
		return w.replyLocal(t, f)
	}
	res := core.Result{Answer: core.Final, Instance: f.instance, Reason: "as drawn"}
	if !f.isDead && !f.lock && w.isLocking(f.Volume) && w.isLocked(f.Volume) {
		res.Outcome, res.Answer = hal.NotDone, core.Aborted
		return res
	}
	kind := rapid.SampledFrom(replyKinds).Draw(t, "reply")
	if f.isDead {
		kind = "lost"
	}
	switch kind {
	case "lost":
		res = core.Result{Outcome: hal.Unknown, Fenced: true, Instance: f.instance, Reason: "time-out"}
		if w.chance(t, 2, "acts now") {
			w.apply(f.Key, f.Verb)
		}
		if f.isDead {
			return res
		}
		w.abandon(f)
		w.now = max(w.now, f.Deadline)
		w.lastActs(w.now)
	case "never sent":
		res.Outcome, res.Answer, res.Instance = hal.NotDone, core.NoAnswer, ""
	case "refused":
		res.Outcome = hal.NotDone
		res.Blocked = w.chance(t, 3, "blocked")
	case "denied":
		res.Outcome, res.BelowUnknown = hal.NotDone, f.Verb != core.TearDown
	case "exists": // something incompatible, or what a teardown has left
		res.Outcome, res.UndoFirst = hal.Unknown, true
		w.left[f.Key] = w.left[f.Key] || f.Verb == core.TearDown
	case "status":
		res.Outcome = hal.Unknown
		if w.chance(t, 2, "had effect") {
			w.apply(f.Key, f.Verb)
		}
	default:
		res.Outcome = hal.Done
		w.finish(f, &res)
		if kind == "short" && f.Verb != core.TearDown {
			res.Short = "a leg"
			res.RefreshBy = w.now.Add(rapid.SampledFrom([]time.Duration{-time.Second, 0, time.Minute}).Draw(t,
				"refresh in"))
		}
	}
	return res
}

// replyLocal ends a call of ours into the kernel: it has no time-out.
func (w *world) replyLocal(t *rapid.T, f *flying) core.Result {
	if w.chance(t, 3, "fails") {
		return core.Result{Outcome: hal.NotDone, Reason: "EBUSY"}
	}
	res := core.Result{Outcome: hal.Done}
	w.finish(f, &res)
	return res
}

func (w *world) finish(f *flying, res *core.Result) {
	w.apply(f.Key, f.Verb)
	res.Reason = ""
	if f.Verb == core.TearDown {
		delete(w.left, f.Key)
	} else {
		res.Fingerprint = w.truth[f.Key]
		res.Facts = []core.Fact{{Name: "made", Value: string(f.Key)}}
	}
}

func (w *world) abandon(f *flying) {
	spec := w.specs[f.Key]
	if f.Deadline.Add(spec.Limits.LateWindow) <= w.now {
		return // whatever it did, it did before
	}
	w.pending = append(w.pending, &abandoned{
		op: f.ID, key: f.Key, volume: f.Volume, verb: f.Verb, until: f.Deadline.Add(spec.Limits.LateWindow),
		instance: f.instance, lock: f.lock,
	})
}

// records replays the first n lines.
func (w *world) records(n int) map[hal.Key]core.Record {
	recs := map[hal.Key]core.Record{}
	for _, l := range w.lines[:n] {
		if l.Drop {
			delete(recs, l.Key)
		} else {
			recs[l.Key] = l.Record
		}
	}
	return recs
}

// restart is a crash: what is in flight goes on without us. Or it is a power cut: of the lines that were not synced
// only the first ones may be left.
func (w *world) restart(t *rapid.T) core.Start {
	w.abandonAll(t)
	if w.chance(t, 4, "reboot") {
		w.lines = w.lines[:rapid.IntRange(w.durable, len(w.lines)).Draw(t, "lines left")]
		w.boots++
		w.boot, w.now = hal.BootID(fmt.Sprintf("b%d", w.boots)), hal.Instant(time.Second)
		w.truth, w.pending, w.children, w.left = map[hal.Key]string{}, nil, map[hal.Key]*flying{}, map[hal.Key]bool{}
		for _, p := range w.pods {
			p.running = false
		}
	}
	w.durable = len(w.lines)
	recs := w.records(w.durable)
	start := core.Start{Now: w.now, Boot: w.boot, HasRun: true, ComesUntil: w.now.Add(time.Minute)}
	for _, key := range sortedKeys(recs) {
		start.Records = append(start.Records, recs[key])
		if !w.chance(t, 8, "unreadable") {
			start.Found = append(start.Found, core.Found{Key: key, Fingerprint: w.truth[key]})
		}
	}
	for _, key := range sortedKeys(w.specs) {
		if _, ok := recs[key]; !ok && w.truth[key] != "" {
			start.Orphans = append(start.Orphans, w.specs[key])
			if w.specs[key].Intent {
				w.t.Fatalf("%s is there, without a record", key)
			}
		}
	}
	for _, key := range w.childKeys() {
		start.Children = append(start.Children, core.ChildSeen{Key: key, What: "pid 7"})
	}
	return start
}

func (w *world) abandonAll(t *rapid.T) {
	for _, id := range w.flying() {
		f := w.inflight[id]
		switch {
		case f.Verb == core.Inspect:
		case f.Actor != "":
			w.left[f.Key] = w.left[f.Key] || f.Verb == core.TearDown
			if !f.isDead {
				w.abandon(f)
			}
		case w.chance(t, 2, "hangs"):
			w.children[f.Key] = f
		case w.chance(t, 2, "acted"):
			w.apply(f.Key, f.Verb)
		}
	}
	w.inflight = map[hal.OpID]*flying{}
	for _, key := range sortedKeys(w.left) {
		w.left[key] = w.left[key] && w.specs[key].Pod != "" // of a stage no record says so
	}
	for _, k := range w.pending {
		k.op = 0 // its answer, if one comes, finds nobody
	}
}

func (w *world) childKeys() []hal.Key { return sortedKeys(w.children) }

// endChild reaps a helper process of an earlier run, which acts before it dies.
func (m *machine) endChild(key hal.Key) {
	f := m.children[key]
	m.apply(key, f.Verb)
	delete(m.children, key)
	m.step(core.ChildGone{Key: key})
}

// done ends an operation as it should end. A driver whose lock another call has can't do better than ABORTED.
func (m *machine) done(id hal.OpID) {
	f := m.inflight[id]
	res := core.Result{Outcome: hal.Done, Instance: f.instance, Answer: core.Final}
	switch {
	case f.isDead:
		res = core.Result{Outcome: hal.Unknown, Fenced: true, Instance: f.instance}
	case f.Verb == core.Inspect:
		res.Fingerprint = m.truth[f.Key]
	case m.isLocking(f.Volume) && m.isLocked(f.Volume) && !f.lock:
		res.Outcome, res.Answer = hal.NotDone, core.Aborted
	default:
		m.finish(f, &res)
	}
	m.complete(id, res)
}

// oneClaim lets only the first pod have a volume that is for one pod.
func (m *machine) oneClaim(uid core.PodUID) {
	p := m.pods[uid]
	for _, other := range podNames {
		if other == uid {
			return
		}
		if o := m.pods[other]; p.wanted && o.wanted && slices.Contains(p.volumes, "c") &&
			slices.Contains(o.volumes, "c") {
			p.wanted = false
			return
		}
	}
}
