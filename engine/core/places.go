package core

import (
	"slices"
)

// This file is the law of places: one path has one volume for as long as anything of it may be there, or may come. A
// path can pass from one volume to another: somebody edits the handle or the driver of a PersistentVolume, or creates
// one again under its name. Paths are named after the object, so the new volume comes to the path of the old one, and a
// driver that is asked to publish there mounts over what containers use, or believes that it did. So the new volume
// waits until nothing of the old one is left: no mount, no record, no stray, no call without a known end, no helper.

// occupy enters the places of r in the index, and makes it and those of other volumes that own one of them rivals.
func (c *Core) occupy(r *rung) {
	for _, at := range r.Places {
		for _, o := range c.places[at] {
			if r.isRival(o) {
				r.own().rivals, o.own().rivals = insert(r.rivals, o), insert(o.rivals, r)
			}
		}
		c.places[at] = insert(c.places[at], r)
	}
}

// vacate takes the places of r out of the index.
func (c *Core) vacate(r *rung) {
	for _, at := range r.Places {
		withdraw(c.places, at, r)
	}
	for _, o := range r.rivals {
		o.own().rivals = without(o.rivals, r)
	}
	if len(r.rivals) > 0 {
		r.own().rivals = nil
	}
}

// isRival: what r has at a path is not what o has there.
func (r *rung) isRival(o *rung) bool { return r != o && (r.Volume == "" || r.Volume != o.Volume) }

// rival returns a rung of another volume that is not gone from a path of r; nil if there is none.
func (c *Core) rival(r *rung) *rung {
	for _, o := range r.rivals {
		if !o.isGone() {
			return o
		}
	}
	return nil
}

// alone reports whether the paths of r are its own: nothing of another volume is left there. Two may be there after a
// restart, by a damaged journal or by directories without a record. Then neither is set up: the one that nobody wants
// goes, and so does the other unless containers run on it.
//
// What is in doubt of r, and what an answered call of another volume may yet bring, can't be told from each other. So r
// goes first, and its place is looked at before the next setup.
func (c *Core) alone(r *rung) (decision, bool) {
	o := c.rival(r)
	switch {
	case o == nil && r.isHaunted() && r.state != Present && r.trust != reconfirmable && !r.isGone() && !c.live(r):
		return c.nextDown(r, wanted), false
	case o == nil && r.isGone(): // who is to be swept is inspected first
		at := slices.IndexFunc(r.rivals, func(o *rung) bool { return o.sweep })
		if at < 0 {
			return decision{}, true
		}
		return waitOn(whyPlace, r.rivals[at].Key), false
	case o == nil:
		return decision{}, true
	case !r.isGone() && !c.live(r):
		return c.nextDown(r, wanted), false
	case c.live(o):
		return waitOn(whyPlaceUsed, o.Key), false
	case !r.isGone():
		return waitOn(whyPlaceHeld, o.Key), false
	}
	return waitOn(whyPlace, o.Key), false
}

// displace makes what another volume has at a path of r Unknown, whatever an inspection shows: an operation on r has
// acted there.
func (c *Core) displace(r *rung) {
	for _, o := range r.rivals {
		if !o.isGone() {
			c.lose(o, "an operation of "+string(r.Key)+" acted at its path", false)
		}
	}
}

// unused reports whether nothing that another volume has at a path of r is in the way of taking r down, which acts on
// the path: no container runs on it, it did not come there after r, and no teardown of it may still act. What came last
// is what is there, so it goes first. Two that were gone, and are in doubt again, have no order.
func (c *Core) unused(r *rung) (decision, bool) {
	for _, o := range r.rivals {
		switch {
		case o.isGone():
		case c.live(o):
			return waitOn(whyPlaceUsed, o.Key), false
		case o.isAbove(r), o.bound(TearDown) != 0:
			return waitOn(whyPlace, o.Key), false
		}
	}
	return decision{}, true
}

// isAbove reports whether r came to their path after o. Both may have left something there. The one that was seen
// mounted came last; if neither was, the one with the later first intent.
func (r *rung) isAbove(o *rung) bool {
	if o.state == Present || r.state == Present {
		return o.state != Present
	}
	return r.seq > o.seq
}
