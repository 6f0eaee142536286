// Package core is small.
package core

// Core decides.
type Core struct {
	// rungs has its comment.
	rungs []rung
}

type rung struct {
	isDirty, isHeld bool
	name            string // has its comment
}

// Reconcile decides once.
func (c *Core) Reconcile() { c.reconcile() }

func (c *Core) reconcile() {
	for _, r := range c.rungs {
		_ = r.isDirty
		_ = r.isHeld
		_ = r.name
	}
}
