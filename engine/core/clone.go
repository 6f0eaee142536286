package core

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// Clone returns a copy that shares nothing that either changes.
func (c *Core) Clone() *Core {
	d := *c
	copies := make(map[*rung]*rung, len(c.rungs))
	d.rungs = make(map[hal.Key]*rung, len(c.rungs))
	for _, of := range c.sorted() {
		r := of.clone()
		copies[of], d.rungs[r.Key] = r, r
	}
	list := func(rs []*rung) []*rung {
		out := make([]*rung, len(rs))
		for i, r := range rs {
			out[i] = copies[r]
		}
		return out
	}
	d.order = list(c.order)
	d.above, d.volumes, d.places = cloneIndex(c.above, list), cloneIndex(c.volumes, list), cloneIndex(c.places, list)
	for _, of := range c.sorted() {
		r := copies[of]
		if len(of.rivals) > 0 {
			r.own().rivals = list(of.rivals)
		}
		r.spot.left, r.spot.right = copies[r.spot.left], copies[r.spot.right]
	}
	d.atlas = copies[c.atlas]
	d.actors = make(map[string]map[hal.Key]*rung, len(c.actors))
	for _, actor := range slices.Sorted(maps.Keys(c.actors)) {
		d.actors[actor] = make(map[hal.Key]*rung, len(c.actors[actor]))
		for _, r := range c.of(actor) {
			d.actors[actor][r.Key] = copies[r]
		}
	}
	d.ops, d.open = map[hal.OpID]*rung{}, map[hal.OpID]*rung{}
	for _, id := range slices.Sorted(maps.Keys(c.ops)) {
		d.ops[id] = copies[c.ops[id]]
	}
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		d.open[id] = copies[c.open[id]]
	}
	d.pods = make(map[PodUID]*pod, len(c.pods))
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		p := *c.pods[uid]
		// and not tops, which are replaced and never changed
		p.rungs, p.waiters = list(p.rungs), slices.Clone(p.waiters)
		p.alone[0] = &p
		d.pods[uid] = &p
		for _, r := range p.rungs {
			r.ownPod = &p
		}
		for _, key := range p.tops {
			d.rungs[key].join(&p)
		}
	}
	d.turns = make([]*turns, len(c.turns))
	for i, t := range c.turns {
		d.turns[i] = t.clone(copies)
	}
	d.serial, d.timers, d.all = maps.Clone(c.serial), slices.Clone(c.timers), slices.Clone(c.all)
	for i := range d.timers {
		d.timers[i].r = copies[d.timers[i].r]
	}
	d.kept, d.unique = maps.Clone(c.kept), maps.Clone(c.unique)
	d.dead, d.acts, d.waits = maps.Clone(c.dead), maps.Clone(c.acts), maps.Clone(c.waits)
	d.keepers, d.landed = keepers{}, nil
	d.dirty, d.round, d.touched, d.decided, d.illegal = list(c.dirty), nil, nil, nil, nil
	d.troubles = nil
	d.batch = Batch{Lines: slices.Clone(c.batch.Lines)} // of a start: the first step writes them
	for _, p := range c.touched {
		d.touched = append(d.touched, d.pods[p.uid])
	}
	return &d
}

// clone copies all but what refers to other rungs and to pods.
func (r *rung) clone() *rung {
	c := *r
	c.alone[0] = &c
	c.pods, c.plight = nil, c.plight.clone()
	if c.op != nil {
		op := *c.op
		c.op = &op
	}
	return &c
}

func cloneIndex[K ~string](index map[K][]*rung, list func([]*rung) []*rung) map[K][]*rung {
	out := make(map[K][]*rung, len(index))
	for _, key := range slices.Sorted(maps.Keys(index)) {
		out[key] = list(index[key])
	}
	return out
}

// planLimit bounds a plan: a ladder that never settles is cut off there.
const planLimit = 10000

// Plan returns the operations that would be carried out, in order, if e came now and every operation ended Done at
// once. Nothing is changed. Operations in flight are taken to end Done too.
func (c *Core) Plan(events ...Event) []Op {
	d := c.Clone()
	var queue, plan []Op
	for _, id := range slices.Sorted(maps.Keys(d.ops)) {
		queue = append(queue, d.ops[id].op.Op)
	}
	for _, e := range events {
		queue = append(queue, d.Step(d.now, e).Start...)
	}
	for len(plan) < planLimit {
		if len(queue) == 0 {
			at := d.NextWake()
			if at == 0 || d.isAtRest() {
				return plan
			}
			queue = d.Step(at, Wake{}).Start
			continue
		}
		op := queue[0]
		if op.Verb != Inspect {
			plan = append(plan, op)
		}
		done := Completed{Op: op.ID, Result: Result{Outcome: hal.Done, Facts: op.Facts, Fingerprint: op.Fingerprint}}
		if op.Verb == SetUp && op.Fingerprint == "" {
			done.Result.Fingerprint = "planned"
		}
		queue = append(queue[1:], d.Step(d.now, done).Start...)
	}
	return plan
}

// isAtRest reports whether time alone changes nothing worth planning: only refreshes are left.
func (c *Core) isAtRest() bool {
	return !slices.ContainsFunc(c.sorted(), c.isTimed)
}

// isTimed reports whether time alone has something done to a rung, other than a refresh.
func (c *Core) isTimed(r *rung) bool { return r.next.until > c.now && r.next.why != whyReady }
