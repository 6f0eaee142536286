package core

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// MaxInFlight is how many operations of one actor, or of this agent itself, run at a time, if a start does not say: each costs memory, and neither a
// disk nor a driver gains from more.
const MaxInFlight = 64

// turnEnds is how long an operation counts. One that takes longer may hang, and nobody waits for it any more.
const turnEnds = time.Second

// turns is the operations of one actor that run, and the rungs that wait to begin one.
type turns struct {
	actor   string
	young   int    // operations in flight that keep others waiting
	begun   []turn // in the order in which they began; those that have ended are among them until they come to the front
	waiting line
}

// turn is an operation that has begun.
type turn struct {
	op    hal.OpID
	since hal.Instant
}

// line is the rungs that wait for their turn, as a heap.
type line []*rung

func (l line) Len() int { return len(l) }
func (l line) Less(i, j int) bool {
	return l[i].round < l[j].round || l[i].round == l[j].round && l[i].turn < l[j].turn
}
func (l line) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *line) Push(r any)   { *l = append(*l, r.(*rung)) }
func (l *line) Pop() any {
	last := (*l)[len(*l)-1]
	(*l)[len(*l)-1] = nil
	*l = (*l)[:len(*l)-1]
	return last
}

// turnsOf returns the turns of an actor.
func (c *Core) turnsOf(actor string) *turns {
	at, known := slices.BinarySearchFunc(c.turns, actor, func(t *turns, actor string) int { return cmp.Compare(t.actor, actor) })
	if !known {
		c.turns = slices.Insert(c.turns, at, &turns{actor: actor})
	}
	return c.turns[at]
}

// mayBegin reports whether an operation on r may begin now. Else r waits for its turn: the first rung of a pod comes before the second of another, so that a
// pod with many volumes does not keep others waiting.
func (c *Core) mayBegin(r *rung) bool {
	t := c.turnsOf(r.Actor)
	isNext := r.isNext
	r.isNext = false
	if t.young < c.limit && (isNext || len(t.waiting) == 0) {
		return true
	}
	if !r.isQueued {
		r.isQueued, r.round = true, 0
		if p := c.pods[r.Pod]; r.Pod != "" && p != nil {
			for _, o := range p.rungs {
				if o != r && o.isQueued {
					r.round++
				}
			}
		}
		c.lastTurn++
		r.turn = c.lastTurn
		heap.Push(&t.waiting, r)
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
		for free := c.limit - t.young; free > 0 && len(t.waiting) > 0; {
			r := heap.Pop(&t.waiting).(*rung)
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
		if len(t.waiting) > 0 && len(t.begun) > 0 {
			at = earlier(at, t.begun[0].since.Add(turnEnds))
		}
	}
	return at
}

func (t *turns) clone(list func([]*rung) []*rung) *turns {
	return &turns{t.actor, t.young, slices.Clone(t.begun), list(t.waiting)}
}
