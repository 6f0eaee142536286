package core

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// Cover is what hides all that is below a path.
type Cover struct {
	Path string
	// For people: What hides it; Why, with what they can do; and until when nothing is done below.
	What, Why, Until string
	// IsLost: it is no mount over the path. The mount that was there is gone, with what was below.
	IsLost bool
}

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
	before := c.covers
	c.covers = by
	for _, changed := range [2][]Cover{notAmong(before, by), notAmong(by, before)} {
		for _, cover := range changed {
			c.within(cover.Path, c.markAround)
		}
	}
}

// notAmong returns the covers that are not among some others.
func notAmong(covers, others []Cover) (rest []Cover) {
	among := make(map[Cover]bool, len(others))
	for _, o := range others {
		among[o] = true
	}
	for _, cover := range covers {
		if !among[cover] {
			rest = append(rest, cover)
		}
	}
	return rest
}
