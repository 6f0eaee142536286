package manifest

import (
	"cmp"
	"maps"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file notices that somebody has removed what the next run must know, and has it written again.

// listing is the names in the cache directory at a moment.
type listing struct {
	entries []hal.Entry
	isKnown bool
}

func (r reader) listsOurs() listing {
	entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
	return listing{entries, err == nil || hal.Is(err, syscall.ENOENT)}
}

// without is what is left of s: what is not listed is written again by the next reading. It reports whether anything is missing.
func (s state) without(l listing) (left state, isMissing bool) {
	if !l.isKnown {
		return s, false
	}
	is := make(map[string]bool, len(l.entries))
	for _, e := range l.entries {
		is[e.Name] = e.Type == hal.TypeFile
	}
	var lost []string
	for name, f := range s.files { // the order does not matter
		if f.copied && !is[cmp.Or(f.pack, name)] {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		s.files = maps.Clone(s.files)
	}
	for _, name := range lost {
		f := s.files[name]
		f.copied = false
		s.files[name] = f
	}
	isMissing = len(lost) > 0
	if s.ledger != nil && !is[ledger] {
		s.ledger, s.listed, isMissing = nil, nil, true
	}
	if len(s.keeping) > 0 && !is[kept] {
		s.keeping, isMissing = nil, true
	}
	return s, isMissing
}

// missesOurs looks whether the copies are there, once nothing is being read: a reading looks for itself.
func (c *Cluster) missesOurs() {
	if c.isLooking {
		return
	}
	c.isLooking = true
	c.h.Runtime.At(c.h.Runtime.Now().Add(settle), func() {
		c.isLooking = false
		if c.reading {
			c.missesOurs()
			return
		}
		r, is := reader{h: c.h, o: c.o}, c.state
		c.h.Runtime.Go(func() {
			if _, isMissing := is.without(r.listsOurs()); isMissing {
				c.h.Runtime.Post(func() { c.plan(0) })
			}
		})
	})
}
