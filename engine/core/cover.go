package core

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// Cover is a mount that hides what is below a path.
type Cover struct{ Path, What string }

// cover returns what hides the place of r.
func (c *Core) cover(r *rung) (Cover, bool) {
	if len(c.covers) == 0 {
		return Cover{}, false
	}
	at := Value(r.made, "path")
	if at == "" {
		at = Value(r.Want, "path")
	}
	for _, cover := range c.covers {
		if below, ok := strings.CutPrefix(at, cover.Path); ok && strings.HasPrefix(below, "/") {
			return cover, true
		}
	}
	return Cover{}, false
}

// CoverOf returns what hides the place of a rung.
func (c *Core) CoverOf(key hal.Key) (Cover, bool) {
	r := c.rungs[key]
	if r == nil {
		return Cover{}, false
	}
	return c.cover(r)
}

func (c *Core) covered(by []Cover) {
	if slices.Equal(c.covers, by) {
		return
	}
	c.covers = by
	for _, r := range c.sorted() {
		c.markAround(r)
	}
}
