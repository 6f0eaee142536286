package core

import (
	"slices"

	"github.com/volnode/volnode/hal"
)

// pod is what one pod wants.
type pod struct {
	uid       PodUID    // Invariant: it is the key in Core.pods
	wanted    bool      // a source wants it
	complete  bool      // all of its volumes are resolved
	gone      bool      // no container of it runs
	tops      []hal.Key // the rungs it wants at the top, sorted
	rungs     []*rung   // all rungs that are its own, sorted by key
	waiters   []waiter  // that wait for it
	isTouched bool      // it is in Core.touched
	alone     [1]*pod   // itself: the lists in which it is the only one
}

// desire is whether a rung should be up.
type desire uint8

const (
	unwanted desire = iota
	// held: not wanted, but containers may still use it, or not all volumes of its pod are resolved. Core neither sets
	// it up nor tears it down.
	held
	wanted
)

func (d desire) String() string { return [...]string{"unwanted", "held", "wanted"}[d] }

func (c *Core) pod(uid PodUID) *pod {
	p := c.pods[uid]
	if p == nil {
		p = &pod{uid: uid}
		p.alone[0] = p
		c.pods[uid] = p
	}
	return p
}

// forgetPod drops a pod if core knows only its UID.
func (c *Core) forgetPod(p *pod) {
	if !p.wanted && !(p.gone && c.mayComeToLight()) && len(p.rungs) == 0 && len(p.waiters) == 0 && !p.isTouched {
		delete(c.pods, p.uid)
	}
}

// desire derives whether r is wanted: by a pod, or by a wanted rung that depends on it. Users are this derived set,
// never a count.
func (c *Core) desire(r *rung) desire {
	if len(r.pods) > 0 {
		return wanted
	}
	for _, a := range c.above[r.Key] {
		if c.desire(a) == wanted {
			return wanted
		}
	}
	if c.runs(r) || c.unresolved(r) {
		return held
	}
	return unwanted
}

// unresolved reports whether r may be a volume that is not resolved: its pod is wanted and has such a volume, and
// wants no other volume at the path of r.
func (c *Core) unresolved(r *rung) bool {
	return r.ownPod != nil && r.ownPod.wanted && !r.ownPod.complete &&
		!slices.ContainsFunc(r.rivals, func(o *rung) bool {
			return slices.Contains(o.pods, r.ownPod)
		})
}

// givesWay reports whether a wanted rung below r, or a sibling, must go down before it can come up, and waits for r. A
// rung that is held only because its pod is not resolved gives way as a wanted rung would. Else one pod would wait for
// an object that another pod lacks.
func (c *Core) givesWay(r *rung) bool {
	isWaiting := func(o *rung) bool {
		return (o.next.why == whyInUse || o.next.why == whySibling) && o.next.on == r.Key && o.next.isWanted &&
			c.desire(o) == wanted
	}
	return slices.ContainsFunc(c.below(r), isWaiting) || slices.ContainsFunc(c.siblings(r), isWaiting)
}

// runs reports whether containers of r's own pod may run on it. Unknown is running.
func (c *Core) runs(r *rung) bool {
	return r.mayBeUsed && r.ownPod != nil && !r.ownPod.gone
}

// live reports whether containers may run on r or on anything that depends on it.
func (c *Core) live(r *rung) bool {
	if c.runs(r) {
		return true
	}
	return slices.ContainsFunc(c.above[r.Key], c.live)
}

func (c *Core) wanted(e Wanted) {
	p := c.pod(e.Pod)
	fresh := !p.wanted
	p.wanted, p.complete = true, e.Complete
	tops := make([]hal.Key, 0, len(e.Rungs))
	for i := range e.Rungs {
		c.upsertRung(&e.Rungs[i], fresh)
		if !isBelow(e.Rungs, e.Rungs[i].Key) {
			tops = append(tops, e.Rungs[i].Key)
		}
	}
	c.revive(p, fresh, e)
	if !e.Complete {
		tops = append(tops, c.unreplaced(p.tops, e.Rungs)...)
	}
	slices.Sort(tops)
	c.setTops(p, slices.Compact(tops))
}

// unreplaced returns those of tops at whose paths rungs have no other volume. A volume that was replaced at its path is
// not wanted any more, even if other volumes of its pod are not resolved.
func (c *Core) unreplaced(tops []hal.Key, rungs []Rung) (left []hal.Key) {
	for _, key := range tops {
		r := c.rungs[key]
		isReplaced := r != nil && slices.ContainsFunc(r.rivals, func(o *rung) bool {
			return slices.ContainsFunc(rungs, func(want Rung) bool { return want.Key == o.Key })
		})
		if !isReplaced {
			left = append(left, key)
		}
	}
	return left
}

// isBelow reports whether one of rungs depends on key.
func isBelow(rungs []Rung, key hal.Key) bool {
	for i := range rungs {
		if slices.Contains(rungs[i].Below, key) {
			return true
		}
	}
	return false
}

// revive takes in that p is wanted again after its containers had ended: containers will use the rungs of p that are
// still up. The records say so before core wakes those who wait for Ready. A rung that needs a rebuild, or that p does
// not want any more, gets no containers unless p changes once more.
func (c *Core) revive(p *pod, fresh bool, e Wanted) {
	gone := p.gone && fresh
	p.gone = p.gone && !fresh
	for _, r := range p.rungs {
		isWanted := slices.ContainsFunc(e.Rungs, func(w Rung) bool { return w.Key == r.Key }) || !e.Complete &&
			slices.Contains(p.tops, r.Key)
		isKept := isWanted && c.change(r) != OnChangeRebuild && c.rival(r) == nil
		e := r.evidence
		switch {
		case gone && r.mayBeUsed && !isKept:
			e.mayBeUsed = false
		case gone && r.mayBeUsed:
		case isKept && r.state == Present && (!r.mayBeUsed || r.left && r.child == ""):
			e.mayBeUsed, e.left = true, e.left && r.child != ""
		default:
			continue
		}
		r.believe(e)
		if r.op == nil || r.op.Verb != TearDown { // nobody is told Ready before a teardown has ended
			c.writeNow(r)
		}
	}
}

// setTops replaces the rungs that a pod wants at the top.
func (c *Core) setTops(p *pod, tops []hal.Key) {
	for _, key := range p.tops {
		if r := c.rungs[key]; r != nil && !slices.Contains(tops, key) {
			r.leave(p)
			c.markDown(r)
		}
	}
	for _, key := range tops {
		if r := c.rungs[key]; !slices.Contains(r.pods, p) {
			r.join(p)
			c.markDown(r)
		}
	}
	p.tops = tops
	c.touch(p)
	for _, r := range p.rungs {
		c.mark(r)
	}
}

// join has p want r at the top of a ladder.
func (r *rung) join(p *pod) {
	if len(r.pods) == 0 {
		r.pods = p.alone[:]
		return
	}
	r.pods = append(r.pods, p)
}

// leave takes that back.
func (r *rung) leave(p *pod) {
	if len(r.pods) == 1 && r.pods[0] == p {
		r.pods = nil // and not the pod's own list
		return
	}
	r.pods = slices.DeleteFunc(r.pods, func(o *pod) bool { return o == p })
}

// markDown marks r and everything below it: a change of who wants it reaches that far.
func (c *Core) markDown(r *rung) {
	c.mark(r)
	for _, b := range c.below(r) {
		c.markDown(b)
	}
}

// upsertRung makes or updates the rung of what is wanted.
func (c *Core) upsertRung(want *Rung, fresh bool) {
	r := c.rungs[want.Key]
	if r == nil {
		c.fenceForgotten(c.add(*want))
		return
	}
	spec := *want
	r.keepsAll()
	if !r.isGone() {
		// What may be left of it is at the paths that it was made at.
		for _, at := range r.Places {
			if !slices.Contains(spec.Places, at) {
				spec.Places = append(slices.Clone(spec.Places), at)
				r.own().vacates = append(r.vacates, at)
			}
		}
		// A ladder is fixed by its first line and torn down as recorded: Below may grow, and shrinks when nothing of
		// the rung is left.
		for _, key := range r.Below {
			if !slices.Contains(spec.Below, key) {
				spec.Below = append(slices.Clone(spec.Below), key)
				r.own().droppedBelow = append(r.droppedBelow, key)
			}
		}
	}
	if fresh || !slices.Equal(r.Want, spec.Want) {
		r.resetBackoff()
	}
	c.void(r, &spec)
	c.respec(r, &spec)
}

func (c *Core) unwanted(uid PodUID) {
	p := c.pods[uid]
	if p == nil {
		return
	}
	p.wanted, p.complete = false, false
	c.setTops(p, nil)
	for _, r := range p.rungs {
		c.markDown(r)
	}
}

func (c *Core) gone(uid PodUID) {
	p := c.pods[uid]
	if p == nil && c.mayComeToLight() {
		p = c.pod(uid) // what is found of it later has no containers
	}
	if p == nil {
		return
	}
	if !p.gone {
		c.freed = p
	}
	p.gone = true
	for _, r := range p.rungs {
		r.clearBackoff(TearDown)
		c.markDown(r)
	}
	c.touch(p)
}

// recordFreed writes that no container uses the rungs of a pod that core does not tear down at once. The pod may be
// wanted again in the next run, and nobody repeats to that run that the containers have ended.
func (c *Core) recordFreed() {
	if c.freed == nil {
		return
	}
	for _, r := range c.freed.rungs {
		isSaid := r.op != nil && slices.ContainsFunc(c.batch.Start, func(o Op) bool { return o.ID == r.op.ID })
		if r.recorded && r.mayBeUsed && !isSaid && c.desire(r) != wanted {
			c.writeNow(r)
		}
	}
	c.freed = nil
}

// change returns what core must do because r was made differently from what is wanted. The rungs below r count like its
// parameters.
func (c *Core) change(r *rung) OnChange {
	if r.state == Absent {
		return OnChangeKeep
	}
	worst := c.shifted(r)
	if worst == OnChangeKeep && r.refused {
		worst = OnChangeRefresh
	}
	if slices.Equal(r.made, r.Want) {
		return worst
	}
	if r.isVoid() {
		return OnChangeRebuild
	}
	for _, w := range r.Want {
		// A rung that was found without a record lacks parameters in made: they are not known, so they do not differ.
		at := slices.IndexFunc(r.made, func(m Param) bool { return m.Name == w.Name })
		if at >= 0 && r.made[at].Value != w.Value && (worst == OnChangeKeep || w.OnChange == OnChangeRebuild) {
			worst = w.OnChange
		}
	}
	return worst
}

// isAsWanted reports whether r is up as wanted. A size that still has to grow does not count: it grows in use.
func (c *Core) isAsWanted(r *rung) bool {
	if r.expires != 0 && r.expires <= c.now {
		return false
	}
	change := c.change(r)
	return r.state == Present && (change == OnChangeKeep || change == OnChangeGrow)
}

// shifted compares the rungs on which r was set up with those that are there now. A rung that needs all of them needs a
// rebuild when one of them was rebuilt. A rung that needs only some (the legs of a device) needs a refresh.
func (c *Core) shifted(r *rung) OnChange {
	for _, g := range r.generation {
		if b := c.rungs[g.Key]; b != nil && b.fingerprint != "" && b.fingerprint != g.Fingerprint {
			// also if that is lost meanwhile
			if r.Need == 0 {
				return OnChangeRebuild
			}
			return OnChangeRefresh
		}
	}
	if r.Need == 0 {
		return OnChangeKeep
	}
	for _, b := range c.below(r) {
		if b.state == Present && !slices.ContainsFunc(r.generation, func(g Foundation) bool { return g.Key == b.Key }) {
			return OnChangeRefresh
		}
	}
	return OnChangeKeep
}
