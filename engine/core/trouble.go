package core

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// Trouble is what those who use a rung should hear of: it did not come up, or did not go.
type Trouble struct {
	Key    hal.Key
	Params []Param // of the rung; nobody changes them
	Why    string
	IsUp   bool // its setup failed, or waits; else its teardown
}

// Troubles calls f with the troubles that the last Step met, in the order in which it did: operations that did not end
// well, and rungs that have begun to wait for what somebody may have to see to.
func (c *Core) Troubles(f func(Trouble)) {
	for i := range c.troubles {
		f(c.troubles[i])
	}
}

// Lacking returns what keeps a rung from being up as wanted: why it waits for somebody, else why the last operation on
// it failed, if it is not up. "" for nothing, and of no rung.
func (c *Core) Lacking(key hal.Key) string {
	r := c.rungs[key]
	switch {
	case r == nil:
		return ""
	case r.next.isStalled:
		return c.stall(r)
	case r.state != Present:
		return r.reason
	default:
		return ""
	}
}

// failed notes that an operation on r did not end well.
func (c *Core) failed(r *rung, in *flight, res *Result) {
	why := res.Reason
	if res.Outcome == hal.Done {
		why = res.Short
	}
	if why == "" || res.Unfinished {
		return
	}
	c.troubles = append(c.troubles, Trouble{r.Key, in.Params, why, c.isFor(r, in)})
}

// isFor reports whether an operation is for the setup of r. One that looks is for what is wanted of it.
func (c *Core) isFor(r *rung, in *flight) bool {
	return in.Verb == SetUp || in.Verb == Refresh || in.Verb == Inspect && c.desire(r) == wanted
}

// stalls notes that a rung has begun to wait for somebody, or waits for something else than before.
func (c *Core) stalls(r *rung, before decision) {
	if r.next.isStalled && (!before.isStalled || r.next.why != before.why || r.next.on != before.on) {
		c.troubles = append(c.troubles, Trouble{r.Key, r.params(), c.stall(r), true})
	}
}

// stall says what a rung waits for that is stalled.
func (c *Core) stall(r *rung) string {
	if cover, is := c.cover(r); is {
		return cover.Why
	}
	why, _ := c.whyOf(r)
	return why
}

func (c *Core) waitsForSomebody(r *rung) bool {
	_, is := c.cover(r)
	switch r.next.why {
	case whyDefers:
		if _, isClaim := c.deferredTo(r); isClaim {
			is = true
		}
	case whyAwaits, whyClaim, whyPlaceUsed, whyPlaceHeld, whyRebuildHeld, whyVoidHeld, whyFailedHeld, whyDenied,
		whyCovered, whyHidden, whyChild:
		is = true
	default:
	}
	return is && c.desire(r) == wanted
}

// HangsWhy is what is said of an operation that does not end.
const HangsWhy = "the operation has not ended: it may hang; see volnode describe for where"

// Overdue calls f with the trouble of each operation that began, or was to be answered, before since, in the order in
// which they began.
func (c *Core) Overdue(since hal.Instant, f func(Trouble)) {
	for _, id := range slices.Sorted(maps.Keys(c.ops)) {
		r := c.ops[id]
		if in := r.op; max(in.Deadline, in.since) < since {
			f(Trouble{r.Key, in.Params, HangsWhy, c.isFor(r, in)})
		}
	}
}
