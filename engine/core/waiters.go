package core

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

type waiter struct {
	id  Waiter
	pod PodUID
	on  Condition
}

func (c *Core) await(e Await) {
	w := waiter{e.Waiter, e.Pod, e.For}
	if e.For == AllGone {
		c.all = append(c.all, w)
		return
	}
	p := c.pod(e.Pod)
	p.waiters = append(p.waiters, w)
	c.touch(p)
}

func (c *Core) forget(id Waiter) {
	is := func(w waiter) bool { return w.id == id }
	c.all = slices.DeleteFunc(c.all, is)
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[uid]
		p.waiters = slices.DeleteFunc(p.waiters, is)
		c.forgetPod(p)
	}
}

// touch remembers that the waiters of p may be satisfied.
func (c *Core) touch(p *pod) {
	if !p.isTouched {
		p.isTouched = true
		c.touched = append(c.touched, p)
	}
}

// wake puts the waiters whose condition holds into the batch. They are woken behind the batch's lines, so that Ready is told only after the
// confirmed record is written.
func (c *Core) wake() {
	touched := c.touched
	c.touched = c.touched[:0]
	for _, p := range touched {
		p.isTouched = false
		p.waiters = slices.DeleteFunc(p.waiters, func(w waiter) bool {
			ok := (w.on == PodReady && c.ready(p)) || (w.on == PodGone && c.down(p))
			if ok {
				c.batch.Wake = append(c.batch.Wake, w.id)
			}
			return ok
		})
		c.forgetPod(p)
	}
	if len(c.all) > 0 && len(c.rungs) == 0 {
		for _, w := range c.all {
			c.batch.Wake = append(c.batch.Wake, w.id)
		}
		c.all = nil
	}
}

// Ready reports whether the pod's volumes can be used: all are resolved, up, and made as wanted.
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
		return r.state != Present || c.change(r) == OnChangeRebuild
	})
}

// down reports whether nothing of the pod is up.
func (c *Core) down(p *pod) bool {
	return !p.wanted && !slices.ContainsFunc(p.rungs, func(r *rung) bool { return r.state != Absent || r.op != nil || r.child != "" })
}
