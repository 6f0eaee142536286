package core

import (
	"cmp"
	"slices"

	"github.com/volnode/volnode/hal"
)

// Core is the state and the decisions of one node. Not safe for concurrent use: it has one owner. The zero value is not
// usable; see [New].
type Core struct {
	now  hal.Instant // of the present step. Invariant: it never goes back.
	boot hal.BootID  // the present boot
	step uint64      // number of the present step
	// earlier bounds when earlier runs sent their last call; 0 if there was no such run.
	earlier hal.Instant
	// hasLost: records of those runs may be missing, see Start.HasLost.
	hasLost bool
	// comesUntil bounds the time in which volnode may find what a setup of an earlier run has made, also a setup that has
	// no record; 0 once that time is over.
	comesUntil hal.Instant

	rungs map[hal.Key]*rung // all that core knows of
	order []*rung           // what sorted returned last
	fresh []*rung           // rungs added since, unsorted
	stale bool              // rungs in order or fresh were removed since
	// above has the rungs that name a key in Below, sorted by key. The key itself need not exist.
	above   map[hal.Key][]*rung
	volumes map[string][]*rung           // by Volume, sorted by key
	places  map[string][]*rung           // by each of Places, sorted by key
	atlas   *rung                        // root of the tree by path: see spot
	actors  map[string]map[hal.Key]*rung // by Actor
	pods    map[PodUID]*pod              // that want something, or have a rung
	none    *plight                      // Invariant: zero but for isShared; Step panics if it is not
	ops     map[hal.OpID]*rung           // operations in flight
	open    map[hal.OpID]*rung           // operations that ended, and whose call may still be answered
	covers  []Cover                      // what hides places of rungs, as told last
	hidden  []string                     // paths that volnode could not read: see veil
	unseen  []string                     // those of hidden where pods may have volumes without a record: see unknownUser
	serial  map[string]bool              // actors that take one call per volume at a time
	dead    map[string]string            // by actor: the instance that was seen dead last
	effects []Found                      // only during New: what is at places of rungs that were gone
	acts    map[string]bool              // actors that act after they answer
	servers map[string]string            // by actor: see serves
	kept    map[hal.Key]kept             // by the key of the rung: see keeps
	unique  map[string]hal.Key           // who had what is unique last: see holder
	waits   map[Waiter]PodUID            // the pod of each registered waiter; "" for AllGone

	synced  bool     // every source has said all it knows. Invariant: never false again; no teardown before.
	lastOp  hal.OpID // number of the last operation. Invariant: it only grows.
	lastSeq uint64   // of the last first intent

	dirty   []*rung   // rungs to decide on, in any order. Invariant: each once (rung.isDirty).
	round   []*rung   // the round before: reconcile reuses its memory
	decided []hal.Key // see Decided
	illegal []Illegal // see Illegal
	// what the last Step met, see Troubles
	troubles []Trouble
	touched  []*pod    // pods whose waiters wake must check. Invariant: each once (pod.isTouched).
	freed    *pod      // the pod whose containers ended in this step, nil for none
	timers   timers    // of rungs that wait for a time
	landed   []*flight // flights that have ended, for reuse
	turns    []*turns  // sorted by actor
	limit    int       // operations of one actor at a time
	all      []waiter  // those that wait for AllGone
	keepers  keepers   // a cache while somebody waits for AllGone
	work     Work      // counted so far
	batch    Batch     // what the present step asks for
}

// Start is what a start knows.
type Start struct {
	Now  hal.Instant
	Boot hal.BootID
	// HasRun: an agent has run here before. It may have sent calls of which no record tells, as the journal may be
	// damaged, gone, or an old copy that shows nothing of it.
	HasRun bool
	// HasLost: its journal is gone or damaged, so that records may be missing.
	HasLost bool
	// ComesUntil bounds the time in which volnode may find what a setup of such an agent has made.
	ComesUntil hal.Instant

	Records  []Record // of the journal
	Found    []Found  // what is at the place of each record; a missing one could not be read
	Orphans  []Rung   // found on the node without a record: Want is what can be told of them
	Children []ChildSeen
	// Forgive names the actors that were seen to act after they had answered, and that the operator trusts again.
	Forgive []string
	Covers  []Cover
	// InFlight is how many operations of one actor run at a time; 0 is [MaxInFlight].
	InFlight int
	Hidden   []string // names that could not be looked at: what was made there is not among Strays
	Unseen   []string // those of them where pods may have volumes
	Untold   []string // those of them below which something is mounted of which no record tells
}

// Found is what a look saw at a rung's place, "" for nothing.
type Found struct {
	Key         hal.Key
	Fingerprint string
}

// New returns the core of a start. A rung is Present without a call only if its last record is confirmed, of this boot,
// and its fingerprint is what is there now. Everything else with a record or a trace is Unknown, and reconcile resolves
// it.
func New(s Start) *Core {
	c := &Core{
		now: s.Now, boot: s.Boot, limit: cmp.Or(s.InFlight, MaxInFlight), covers: s.Covers, hidden: s.Hidden,
		comesUntil: s.ComesUntil,
		rungs:      map[hal.Key]*rung{}, above: map[hal.Key][]*rung{}, volumes: map[string][]*rung{},
		places: map[string][]*rung{},
		actors: map[string]map[hal.Key]*rung{}, pods: map[PodUID]*pod{}, ops: map[hal.OpID]*rung{},
		open: map[hal.OpID]*rung{}, serial: map[string]bool{},
		dead: map[string]string{}, acts: map[string]bool{}, servers: map[string]string{},
		kept: map[hal.Key]kept{}, unique: map[string]hal.Key{}, waits: map[Waiter]PodUID{},
		none: &plight{isShared: true},
	}
	if s.HasRun {
		c.earlier, c.hasLost = s.Now, s.HasLost
	}
	found := map[hal.Key]string{}
	for _, f := range s.Found {
		found[f.Key] = f.Fingerprint
	}
	for _, rec := range c.recallActors(s) {
		fp, ok := found[rec.Rung.Key]
		c.recall(rec, fp, ok)
		c.doubtBoot(rec, found)
	}
	c.addOrphans(slices.DeleteFunc(slices.Clone(s.Orphans),
		func(orphan Rung) bool { return c.rungs[orphan.Key] != nil }))
	for _, child := range s.Children {
		c.childSeen(child)
	}
	c.recallEffects()
	c.unseen = slices.Clone(s.Unseen)
	isTold := func(name string) bool { return !slices.Contains(s.Untold, name) && c.isTold(name) }
	if !slices.ContainsFunc(s.Orphans, func(orphan Rung) bool { return orphan.Pod == "" }) { // else records are missing
		c.unseen = slices.DeleteFunc(c.unseen, isTold)
	}
	for _, r := range c.sorted() {
		if r.trust == failed {
			c.failBelow(r)
		}
	}
	return c
}

// recall makes the rung of one record.
func (c *Core) recall(rec Record, fingerprint string, inspected bool) {
	if rec.Phase == Lingering && rec.Boot != c.boot {
		c.batch.Lines = append(c.batch.Lines, Line{Key: rec.Rung.Key, Drop: true})
		return // the call that it remembers ended with its boot
	}
	r := c.add(rec.Rung)
	e := evidence{left: rec.Phase == Leaving}
	r.believe(e)
	r.made, r.facts, r.seq = rec.Rung.Want, rec.Facts, rec.Seq
	c.recallUnique(r.Key, r.facts)
	c.locate(r)
	r.recorded, r.phase = true, rec.Phase
	c.lastSeq = max(c.lastSeq, rec.Seq)
	if rec.Boot != c.boot {
		return // nothing of another boot is mounted, runs or acts on this node, and its fingerprints prove nothing
	}
	r.fingerprint, r.generation = rec.Fingerprint, rec.Generation
	e.mayBeUsed, e.inspected = rec.MayBeUsed, true
	r.believe(e)
	r.setSeen(rec.Seen)
	r.refuses(rec.Refused)
	r.fence(call{verb: SetUp, until: rec.SetUpUntil})
	r.fence(call{verb: TearDown, until: rec.TearDownUntil})
	if rec.AnsweredSetUp != 0 || rec.AnsweredTearDown != 0 {
		r.own().answered = &[2]answered{{until: rec.AnsweredSetUp}, {until: rec.AnsweredTearDown}}
	}
	if c.ActsAfterReply(r.Actor) {
		c.doubt(r)
	}
	if rec.Phase == Lingering {
		c.recallAnswered(r, fingerprint, inspected)
		return
	}
	if rec.Phase != Confirmed && (r.Intent || rec.Phase != Leaving) {
		// of what a start sees whole, nothing goes on by itself
		// Of what was being taken from a pod without containers something may be left that its driver has let go of: it
		// goes before the next setup.
		if rec.Phase == Leaving && r.Pod != "" && !rec.MayBeUsed {
			e.trust = undo
			r.believe(e)
		}
		return
	}
	hasProof := rec.Phase == Confirmed || rec.Fingerprint != "" // of what was there; nothing is found at many a place
	switch {
	case inspected && fingerprint == rec.Fingerprint && hasProof:
		e.state = Present
		r.believe(e)
	case !inspected && hasProof:
		e.trust = reconfirmable
		r.believe(e)
	case inspected && !c.fails(r, fingerprint):
		r.saw(fingerprint)
	}
}

// doubtBoot takes in that a whole ladder is mounted of which a record tells in another boot: the journal may be an old
// copy, and what it does not tell of may be up. Unknown is running. A mount at one place alone is a stranger's. The
// next start must know that, too, whatever becomes of the mounts.
func (c *Core) doubtBoot(rec Record, found map[hal.Key]string) {
	isBare := func(key hal.Key) bool { return IsBare(found[key]) }
	r := c.rungs[rec.Rung.Key]
	if rec.Boot == c.boot || r == nil || r.Pod == "" || isBare(r.Key) || len(r.Below) == 0 ||
		slices.ContainsFunc(r.Below, isBare) {
		return
	}
	e := r.evidence
	e.mayBeUsed = true
	r.believe(e)
	r.saw(found[r.Key])
	c.writeRecord(r)
}

// Step takes in one event at instant now and returns what must be done about it. Events may come in any order; those
// about operations or rungs that are not known are ignored. An instant before an earlier one counts as that one.
func (c *Core) Step(now hal.Instant, e Event) Batch {
	c.now = max(c.now, now)
	c.step++
	c.decided, c.illegal, c.troubles = c.decided[:0], c.illegal[:0], c.troubles[:0]
	c.apply(e)
	c.closeWindow()
	c.ring()
	c.reconcile()
	c.recordFreed()
	c.wake()
	if !c.none.isOver() {
		panic("core: what all rungs share was changed")
	}
	b := c.batch
	c.batch = Batch{}
	return b
}

// Reuse takes back the memory of a batch that nobody has any more.
func (c *Core) Reuse(b Batch) { c.batch = b.Emptied() }

// NextWake returns the instant at which time alone changes a decision; 0 is never.
func (c *Core) NextWake() hal.Instant { return earlier(c.timers.first(), c.nextTurn()) }

// Seq numbers the steps. An [Observed] of something read after Seq returned n says Since: n.
func (c *Core) Seq() uint64 { return c.step }

func (c *Core) apply(e Event) {
	switch e := e.(type) {
	case Wanted:
		c.wanted(e)
	case Unwanted:
		c.unwanted(e.Pod)
	case Gone:
		c.gone(e.Pod)
	case Completed:
		c.complete(e.Op, e.Result)
	case Answered:
		c.answered(e.Op)
	case ActorGone:
		c.actorGone(e.Actor, e.Instance)
	case Registered:
		c.registered(e.Actor)
	case Observed:
		c.observed(e)
	case Unblocked:
		c.unblocked(e.Key)
	case OwnerGone:
		c.ownerGone(e)
	case Serves:
		c.serves(e)
	case Covered:
		c.covered(e.By)
	case Discovered:
		c.discovered(e)
	case ChildSeen:
		c.childSeen(e)
	case ChildGone:
		c.childGone(e.Key)
	case AllSynced:
		c.allSynced()
	case Refused:
		c.refused(e)
	case Written:
		c.written()
	case Await:
		c.await(e)
	case Forget:
		c.forget(e.Waiter)
	case Wake:
	default:
		panic("core: no event") // %T of it would have each event take memory
	}
}

// ring marks the rungs whose timer has come.
func (c *Core) ring() {
	for {
		r := c.timers.due(c.now)
		if r == nil {
			return
		}
		c.mark(r)
	}
}

// mark queues r for a decision.
func (c *Core) mark(r *rung) {
	c.work.Rungs++
	if !r.isDirty {
		r.isDirty = true
		c.dirty = append(c.dirty, r)
	}
}

// markAround queues r and all whose decisions look at r: what it depends on, what depends on it, what is beside it and
// who owns a path that it owns.
func (c *Core) markAround(r *rung) {
	c.mark(r)
	for _, key := range r.Below {
		if b := c.rungs[key]; b != nil {
			c.mark(b)
		}
	}
	for _, a := range c.above[r.Key] {
		c.mark(a)
		if a.ownPod != nil {
			c.touch(a.ownPod) // a may be as wanted on r as it is now
		}
	}
	for _, o := range c.siblings(r) {
		c.mark(o)
	}
	for _, o := range r.rivals {
		c.mark(o)
	}
	for _, o := range c.volumes[r.Volume] {
		if o.Exclusive != "" && o.Kind == r.Kind {
			c.mark(o)
		}
	}
	if r.ownPod != nil {
		c.touch(r.ownPod)
	}
}

func (c *Core) allSynced() {
	if c.synced {
		return
	}
	c.synced = true
	for _, r := range c.sorted() {
		c.mark(r)
	}
}

func (c *Core) registered(actor string) {
	delete(c.serial, actor)
	for _, r := range c.of(actor) {
		r.resetBackoff()
		c.mark(r)
	}
}

func (c *Core) childSeen(e ChildSeen) {
	r := c.rungs[e.Key]
	if r == nil {
		// The child's rung left neither record nor trace: it is held in mind by its key alone, so that it is not
		// set up beside the child.
		r = c.add(Rung{Key: e.Key})
	}
	r.own().child = e.What
	c.markAround(r)
}

func (c *Core) childGone(key hal.Key) {
	if r := c.rungs[key]; r != nil && r.child != "" {
		r.own().child = ""
		r.resetBackoff()
		if r.Kind != "" { // whatever the child did last, it did after the last inspection
			r.believe(r.doubted())
		}
		c.markAround(r)
	}
}

// sorted returns all rungs, sorted by key. The slice is not changed, by either side: what comes or goes later makes
// another one.
func (c *Core) sorted() []*rung {
	c.work.Rungs += uint64(len(c.rungs))
	if len(c.fresh) == 0 && !c.stale {
		return c.order
	}
	sortByKey(c.fresh)
	all, fresh := make([]*rung, 0, len(c.rungs)), c.fresh
	keep := func(r *rung) {
		if c.rungs[r.Key] == r {
			all = append(all, r)
		}
	}
	for _, r := range c.order {
		for len(fresh) > 0 && fresh[0].Key < r.Key {
			keep(fresh[0])
			fresh = fresh[1:]
		}
		keep(r)
	}
	for _, r := range fresh {
		keep(r)
	}
	c.order, c.fresh, c.stale = all, nil, false
	return all
}
