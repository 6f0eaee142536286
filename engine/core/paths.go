package core

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// This file finds rungs by their present or future path. A change of the mount table then costs nothing for rungs
// elsewhere. The index is a treap: a search tree by path and key, in which each rung is above those of a higher rank.
// Ranks are hashes, so the tree has the shape of a random tree, and the same shape in each run.

// spot is the place of a rung in the index.
type spot struct {
	at          string // "" is not in it
	rank        uint64 // Invariant: not below those of left and right
	left, right *rung  // Invariant: the paths before at are on the left, those after it on the right
}

// path is the present path of r, else its future path; "" if core knows neither.
func (r *rung) path() string {
	if at := Value(r.made, "path"); at != "" {
		return at
	}
	return Value(r.Want, "path")
}

// locate enters r in the index at its present path.
func (c *Core) locate(r *rung) {
	at := r.path()
	if at == r.spot.at {
		return
	}
	c.dislocate(r)
	if at != "" {
		r.spot = spot{at: at, rank: rankOf(at, r.Key)}
		c.atlas = plant(c.atlas, r)
	}
}

func (c *Core) dislocate(r *rung) {
	if r.spot.at != "" {
		c.atlas = uproot(c.atlas, r)
		r.spot = spot{}
	}
}

// rankOf is FNV-1a.
func rankOf(at string, key hal.Key) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(at) {
		h = (h ^ uint64(at[i])) * prime
	}
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	return h
}

// isBefore orders by path, then by key.
func (r *rung) isBefore(o *rung) bool {
	return r.spot.at < o.spot.at || r.spot.at == o.spot.at && r.Key < o.Key
}

func plant(n, r *rung) *rung {
	switch {
	case n == nil:
		return r
	case r.spot.rank < n.spot.rank:
		r.spot.left, r.spot.right = split(n, r)
		return r
	case r.isBefore(n):
		n.spot.left = plant(n.spot.left, r)
	default:
		n.spot.right = plant(n.spot.right, r)
	}
	return n
}

// split parts a tree in what is before r and what is not.
func split(n, r *rung) (before, after *rung) {
	switch {
	case n == nil:
		return nil, nil
	case n.isBefore(r):
		n.spot.right, after = split(n.spot.right, r)
		return n, after
	}
	before, n.spot.left = split(n.spot.left, r)
	return before, n
}

func uproot(n, r *rung) *rung {
	switch {
	case n == r:
		return join(n.spot.left, n.spot.right)
	case r.isBefore(n):
		n.spot.left = uproot(n.spot.left, r)
	default:
		n.spot.right = uproot(n.spot.right, r)
	}
	return n
}

// join makes one tree of two, all of the first before all of the second.
func join(a, b *rung) *rung {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.spot.rank < b.spot.rank:
		a.spot.right = join(a.spot.right, b)
		return a
	}
	b.spot.left = join(a, b.spot.left)
	return b
}

// from calls f with each rung at a path or at one that sorts after it, in that order, as long as f returns true.
func (r *rung) from(path string, f func(*rung) bool) bool {
	if r == nil {
		return true
	}
	if r.spot.at >= path && !(r.spot.left.from(path, f) && f(r)) {
		return false
	}
	return r.spot.right.from(path, f)
}

// at calls f with each rung at a path.
func (c *Core) at(path string, f func(*rung)) {
	c.atlas.from(path, func(r *rung) bool {
		if r.spot.at != path {
			return false
		}
		c.work.Places++
		f(r)
		return true
	})
}

// within calls f with each rung at a path or below it.
func (c *Core) within(path string, f func(*rung)) {
	if path != "/" {
		c.at(path, f)
	}
	below := strings.TrimSuffix(path, "/") + "/"
	c.atlas.from(below, func(r *rung) bool {
		if !strings.HasPrefix(r.spot.at, below) {
			return false
		}
		c.work.Places++
		f(r)
		return true
	})
}

// concerned returns the rungs at the paths and below them, and those above if asked for, sorted by key; all rungs if
// paths is nil.
func (c *Core) concerned(paths []string, isAbove bool) []*rung {
	if paths == nil {
		return c.sorted()
	}
	var rs []*rung
	add := func(r *rung) { rs = append(rs, r) }
	for _, path := range paths {
		c.within(path, add)
		for isAbove && path != "/" {
			path = path[:max(strings.LastIndexByte(path, '/'), 1)]
			c.at(path, add)
		}
	}
	sortByKey(rs)
	return slices.Compact(rs)
}

// At returns the rung at a path, the last of several; false if there is none.
func (c *Core) At(path string) (key hal.Key, is bool) {
	c.at(path, func(r *rung) { key, is = r.Key, true })
	return key, is
}

// IsPlace reports whether a rung is at a path or below it, or is to stand there.
func (c *Core) IsPlace(path string) (is bool) {
	c.within(path, func(*rung) { is = true })
	return is
}
