package core

// Work is how much core has looked at since its start. It decides nothing: who compares it before and after a change
// sees whether the work of the change grows with what has not changed.
type Work struct {
	Rungs   uint64 // that were marked, decided on, or listed with all others
	Places  uint64 // rungs that were found by their path
	Waiters uint64
}

// Work returns the sums so far.
func (c *Core) Work() Work { return c.work }
