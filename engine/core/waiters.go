package core

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

type waiter struct {
	id  Waiter    // of the caller
	pod PodUID    // "" for AllGone
	on  Condition // what it waits for
}

func (c *Core) await(e Await) {
	w := waiter{e.Waiter, e.Pod, e.For}
	if _, known := c.waits[e.Waiter]; known {
		return
	}
	c.waits[e.Waiter] = e.Pod
	if e.For == AllGone {
		c.all = append(c.all, w)
		return
	}
	p := c.pod(e.Pod)
	p.waiters = append(p.waiters, w)
	c.touch(p)
}

func (c *Core) forget(id Waiter) {
	is := func(w waiter) bool {
		c.work.Waiters++
		return w.id == id
	}
	c.all = slices.DeleteFunc(c.all, is)
	if p := c.pods[c.waits[id]]; p != nil {
		p.waiters = slices.DeleteFunc(p.waiters, is)
		c.forgetPod(p)
	}
	delete(c.waits, id)
}

// touch remembers that the waiters of p may be satisfied.
func (c *Core) touch(p *pod) {
	if !p.isTouched {
		p.isTouched = true
		c.touched = append(c.touched, p)
	}
}

// wake puts the waiters whose condition holds into the batch. They wake after the lines of the batch are written, so
// that the confirmed record comes before Ready.
func (c *Core) wake() {
	touched := c.touched
	c.touched = c.touched[:0]
	for _, p := range touched {
		p.isTouched = false
		c.work.Waiters += uint64(len(p.waiters))
		p.waiters = slices.DeleteFunc(p.waiters, func(w waiter) bool {
			ok := c.holds(p, w.on)
			if ok {
				c.tell(w)
			}
			return ok
		})
		c.forgetPod(p)
	}
	if len(c.all) > 0 && c.allDown() {
		for _, w := range c.all {
			c.tell(w)
		}
		c.all = nil
	}
	if len(c.all) == 0 {
		c.keepers = keepers{}
	}
}

func (c *Core) tell(w waiter) {
	delete(c.waits, w.id)
	c.batch.Wake = append(c.batch.Wake, w.id)
}

// Holds reports whether who waits for on would be woken now. A pod that is not known has nothing.
func (c *Core) Holds(uid PodUID, on Condition) bool {
	if on == AllGone {
		return c.allDown()
	}
	p := c.pods[uid]
	return p == nil && on == PodGone || p != nil && c.holds(p, on)
}

func (c *Core) holds(p *pod, on Condition) bool {
	return on == PodReady && c.ready(p) || on == PodGone && c.down(p)
}

// Ready reports whether the pod's volumes can be used: all are resolved, up, not on their way down, and made as wanted,
// and no helper of an earlier run may still act on them, which may be an unmount.
func (c *Core) Ready(uid PodUID) bool {
	p := c.pods[uid]
	return p != nil && c.ready(p)
}

func (c *Core) ready(p *pod) bool {
	if !p.wanted || !p.complete {
		return false
	}
	return !slices.ContainsFunc(p.tops, func(key hal.Key) bool {
		r := c.rungs[key]
		if _, isCovered := c.cover(r); isCovered {
			return true
		}
		return !c.isAsWanted(r) || r.child != "" || c.rival(r) != nil ||
			(r.op != nil && r.op.Verb == TearDown)
	})
}

// down reports whether no volume of the pod is up, and none may come up. That is also true for a pod that wants none.
func (c *Core) down(p *pod) bool {
	return (!p.wanted || len(p.tops) == 0) && !slices.ContainsFunc(p.rungs, (*rung).isLeft)
}

// keepers is a cache of allDown: the rungs and pods that were left when it checked all of them. While one of them is
// left, allDown checks no other.
type keepers struct {
	rungs []*rung // that were not down
	pods  []*pod  // whose containers ran
}

// allDown reports whether no pod is wanted and every rung, shared ones included, is gone.
func (c *Core) allDown() bool {
	k := &c.keepers
	for n := len(k.rungs) - 1; n >= 0; n-- {
		c.work.Rungs++
		if r := k.rungs[n]; c.rungs[r.Key] == r && r.isLeft() {
			return false
		}
		k.rungs = k.rungs[:n]
	}
	for n := len(k.pods) - 1; n >= 0; n-- {
		if p := k.pods[n]; c.pods[p.uid] == p && p.wanted {
			return false
		}
		k.pods = k.pods[:n]
	}
	*k = keepers{}
	for _, r := range c.sorted() {
		if r.isLeft() {
			k.rungs = append(k.rungs, r)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		if p := c.pods[uid]; p.wanted {
			k.pods = append(k.pods, p)
		}
	}
	return len(k.rungs)+len(k.pods) == 0
}

// isLeft is the contrary of isGone.
func (r *rung) isLeft() bool { return !r.isGone() }
