package core

import "github.com/volnode/volnode/hal"

// Trouble is what those who use a rung should hear of: it did not come up, or did not go.
type Trouble struct {
	Key    hal.Key
	Params []Param // of the rung; nobody changes them
	Why    string
	IsUp   bool // what did not go is its setup; else its teardown
	// IsStill: nothing was tried, as it waits for what somebody may have to see to. It may be told again and again.
	IsStill bool
}

// Troubles calls f with the troubles that the last Step met, in the order in which it did, and then with those of rungs
// that wait, some of them more than once.
func (c *Core) Troubles(f func(Trouble)) {
	for i := range c.troubles {
		f(c.troubles[i])
	}
	for _, key := range c.decided {
		if r := c.rungs[key]; r != nil && c.isStalled(r) {
			why, _ := c.whyOf(r)
			f(Trouble{key, r.params(), why, true, true})
		}
	}
}

// Lacking returns why the last operation on a rung that is not up failed, "" if it did not, and of no rung.
func (c *Core) Lacking(key hal.Key) string {
	if r := c.rungs[key]; r != nil && r.state != Present {
		return r.reason
	}
	return ""
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
	isUp := in.Verb != TearDown && c.desire(r) == wanted
	c.troubles = append(c.troubles, Trouble{r.Key, in.Params, why, isUp, false})
}

// isStalled reports whether a rung that is wanted waits for more than time and the ends of operations.
func (c *Core) isStalled(r *rung) bool {
	switch r.next.why {
	case whyDefers:
		if _, isClaim := c.deferredTo(r); !isClaim {
			return false
		}
	case whyAwaits, whyPlaceUsed, whyPlaceHeld, whyRebuildHeld, whyVoidHeld, whyFailedHeld, whyDenied, whyCovered,
		whyHidden, whyChild:
	default:
		return false
	}
	return c.desire(r) == wanted
}
