package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// MaxInFlight is how many operations of one actor, or of this agent itself, run at a time, if a start does not say:
// each costs memory, and neither a disk nor a driver gains from more.
const MaxInFlight = 64

// turnEnds is how long an operation counts. One that takes longer may hang, and nobody waits for it any more.
const turnEnds = time.Second

// turns is the operations of one actor that run, and the rungs that wait to begin one.
type turns struct {
	actor string // whose operations these are
	young int    // operations in flight that keep others waiting
	// in the order in which they began; those that have ended are among them until they come to the front
	begun   []turn
	waiting line // rungs that wait for their turn
}

// turn is an operation that has begun.
type turn struct {
	op    hal.OpID    // which operation
	since hal.Instant // when it began
}

// line is the rungs that wait for their turn.
type line struct {
	length int       // rungs in rounds
	rounds [][]*rung // by how many others of its pod waited when a rung came, in the order in which they came
}

func (l *line) join(r *rung, round int) {
	for len(l.rounds) <= round {
		l.rounds = append(l.rounds, nil)
	}
	l.rounds[round] = append(l.rounds[round], r)
	l.length++
}

// next takes the rung off whose turn is next. There is one.
func (l *line) next() *rung {
	at := slices.IndexFunc(l.rounds, func(rs []*rung) bool { return len(rs) > 0 })
	r := l.rounds[at][0]
	l.rounds[at][0] = nil
	l.rounds[at] = l.rounds[at][1:]
	l.length--
	return r
}

// turnsOf returns the turns of an actor.
func (c *Core) turnsOf(actor string) *turns {
	at, known := slices.BinarySearchFunc(c.turns, actor,
		func(t *turns, actor string) int { return cmp.Compare(t.actor, actor) })
	if !known {
		c.turns = slices.Insert(c.turns, at, &turns{actor: actor})
	}
	return c.turns[at]
}

// mayBegin reports whether an operation on r may begin now. Else r waits for its turn: the first rung of a pod comes
// before the second of another, so that a pod with many volumes does not keep others waiting.
func (c *Core) mayBegin(r *rung) bool {
	t := c.turnsOf(r.Actor)
	isNext := r.isNext
	r.isNext = false
	if t.young < c.limit && (isNext || t.waiting.length == 0) {
		return true
	}
	if !r.isQueued {
		r.isQueued = true
		round := 0
		if r.ownPod != nil {
			for _, o := range r.ownPod.rungs {
				if o != r && o.isQueued {
					round++
				}
			}
		}
		t.waiting.join(r, round)
	}
	return false
}

// begins counts the operation that has begun on r.
func (c *Core) begins(r *rung) {
	t := c.turnsOf(r.Actor)
	r.op.isYoung = true
	t.young++
	t.begun = append(t.begun, turn{r.op.ID, c.now})
}

// ends takes back what begins has counted.
func (c *Core) ends(f *flight) {
	if f.isYoung {
		f.isYoung = false
		c.turnsOf(f.Actor).young--
	}
}

// admit marks those whose turn has come, and reports whether there are any.
func (c *Core) admit() bool {
	for _, t := range c.turns {
		c.age(t)
		for free := c.limit - t.young; free > 0 && t.waiting.length > 0; {
			r := t.waiting.next()
			r.isQueued = false
			if c.rungs[r.Key] == r {
				r.isNext = true
				c.mark(r)
				free--
			}
		}
	}
	return len(c.dirty) > 0
}

// age forgets operations that have ended, and those that have taken their turn.
func (c *Core) age(t *turns) {
	for len(t.begun) > 0 {
		r, known := c.ops[t.begun[0].op]
		if known && c.now < t.begun[0].since.Add(turnEnds) {
			return
		}
		if known {
			c.ends(r.op)
		}
		t.begun = t.begun[1:]
	}
}

// nextTurn is when the first turn ends for which others wait, 0 if nobody waits.
func (c *Core) nextTurn() (at hal.Instant) {
	for _, t := range c.turns {
		if t.waiting.length > 0 && len(t.begun) > 0 {
			at = earlier(at, t.begun[0].since.Add(turnEnds))
		}
	}
	return at
}

// clone leaves out who waits and is not known any more: it has no copy.
func (t *turns) clone(copies map[*rung]*rung) *turns {
	d := &turns{actor: t.actor, young: t.young, begun: slices.Clone(t.begun)}
	for round, rs := range t.waiting.rounds {
		for _, r := range rs {
			if copies[r] != nil {
				d.waiting.join(copies[r], round)
			}
		}
	}
	return d
}
