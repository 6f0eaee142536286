package scenarios

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is the cluster's attach/detach controller and a second node: as much of them as it takes to see whether what this node says of its
// volumes can be relied upon. The controller gives a volume of a driver that attaches to the other node once nobody wants it here: when this node
// says that nothing of it is left, or by force, six minutes later, if the node says nothing. The other node uses it for a while, and gives it back.

const (
	attachPeriod = 10 * time.Second // in which the controller looks at what it waits for
	forceAfter   = 6 * time.Minute
)

// handOver is one volume on its way to the other node and back.
type handOver struct {
	driver, handle string
	unused         hal.Instant // since when no pod here wants it; 0 while one does
	life           uint32      // the life of the agent that has been asked, 0 for none
	lasts          time.Duration
	isThere        bool // the other node has it
	isFenced       bool // by force: what is left of it here reaches the volume no more
}

func (v *handOver) name() string { return v.driver + "^" + v.handle }

// handsOver has the controller give a volume to the other node as soon as it can, for a while.
func (r *run) handsOver(driver, handle string, lasts time.Duration) {
	if r.away[driver+"^"+handle] != nil {
		return
	}
	v := &handOver{driver: driver, handle: handle, lasts: lasts}
	r.away[v.name()] = v
	r.controls(v)
}

// controls is one look of the controller.
func (r *run) controls(v *handOver) {
	now := r.w.Now()
	switch {
	case r.isWantedHere(v):
		v.unused = 0
	case v.unused == 0:
		v.unused = now
	}
	switch {
	case r.stop && v.unused == 0: // calm: what has not begun does not begin any more
		delete(r.away, v.name())
		return
	case v.unused == 0:
	case r.alive():
		r.asksInUse(v)
	case now.Sub(v.unused) >= forceAfter:
		v.isFenced = true
		r.moves(v)
		return
	}
	r.look(v, r.controls)
}

// look comes back to a volume, unless it has gone over meanwhile.
func (r *run) look(v *handOver, f func(*handOver)) {
	there := v.isThere
	r.w.After(attachPeriod, "attach "+v.name(), func() {
		if v.isThere == there {
			f(v)
		}
	})
}

func (r *run) isWantedHere(v *handOver) bool {
	return slices.ContainsFunc(r.pods, func(p *pod) bool {
		return p.isWanted && slices.ContainsFunc(p.uses, func(u use) bool { return u.driver == v.driver && u.volume == v.handle })
	})
}

// asksInUse asks this node whether anything of the volume is left. The answer is made some time between the question and its arrival: what there
// was at both is not to be denied.
func (r *run) asksInUse(v *handOver) {
	if v.life == r.w.Life() {
		return // the question is under way
	}
	v.life = r.w.Life()
	m, before := r.m, r.here(v)
	r.w.Go(func() {
		isInUse, err := m.VolumeIsAttached(r.w.Context(0), v.name())
		v.life = 0
		if err != nil || isInUse || v.isThere {
			return
		}
		if r.notUsed(v, before); len(r.here(v)) == 0 && !r.isWantedHere(v) {
			r.moves(v)
		}
	})
}

// notUsed is S8 for the answer that a volume is not in use. before is what there was of it at the question.
func (r *run) notUsed(v *handOver, before []remnant) {
	r.judges("S8")
	for _, what := range r.here(v) {
		if slices.Contains(before, what) {
			r.fail("S8", "in use", v.name(), "volume "+v.name()+" is told not to be in use, and "+what.why)
			return
		}
	}
}

// remnant is one thing of a volume on this node: a hold, a mount, a call that may still act.
type remnant struct {
	path string
	call uint64
	why  string
}

// here is what there is, or may still come, of a volume on this node.
func (r *run) here(v *handOver) []remnant {
	var all []remnant
	for _, p := range r.list {
		if p.driver != v.driver || p.volume != v.handle || p.isTouched {
			continue
		}
		if why := r.stands(p); why != "" {
			all = append(all, remnant{path: p.path, why: why})
		}
		for _, c := range p.calls {
			all = append(all, remnant{p.path, c.id, "a " + c.method + " of it may still act"})
		}
	}
	return all
}

// moves detaches a volume from this node; the other one stages and uses it, and gives it back.
func (r *run) moves(v *handOver) {
	v.isThere = true
	r.w.SetAttached(v.driver, v.handle, false)
	r.w.After(v.lasts, "given back "+v.name(), func() { r.back(v) })
}

// back attaches the volume to this node again. After a detachment by force, not before what was left of it here is gone, for the device under it is
// dead; but if it is wanted here again a controller does not ask what is left, and a repeated stage has to do with that.
func (r *run) back(v *handOver) {
	if v.isFenced && len(r.here(v)) > 0 && !r.isWantedHere(v) {
		r.look(v, r.back)
		return
	}
	delete(r.away, v.name())
	r.w.SetAttached(v.driver, v.handle, true)
}

// arrivesTwice is S9 between nodes: what the other node has, and this one was not cut off from, does not come up here.
func (r *run) arrivesTwice(p *place, what string) {
	r.judges("S9")
	if v := r.away[p.driver+"^"+p.volume]; v != nil && v.isThere && !v.isFenced {
		r.fail("S9", what, string(p.key), "volume "+p.volume+" comes up at "+p.path+", and another node has it")
	}
}
