package linux

import (
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// mountPoint is a name with mounts on it or below it. The zero mountPoint is a root with nothing.
type mountPoint struct {
	up     *mountPoint // nil of the root
	name   string
	below  map[string]*mountPoint
	mounts []hal.MountID // oldest first
}

// find returns the point of an absolute, clean path, nil if there is none; it is made if isNew.
func (p *mountPoint) find(path string, isNew bool) *mountPoint {
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if name == "" {
			return p // of the root itself
		}
		next := p.below[name]
		if next == nil {
			if !isNew {
				return nil
			}
			if p.below == nil {
				p.below = map[string]*mountPoint{}
			}
			next = &mountPoint{up: p, name: name}
			p.below[name] = next
		}
		p = next
	}
	return p
}

// path is where p is.
func (p *mountPoint) path() string {
	if p.up == nil {
		return "/"
	}
	size := 0
	for q := p; q.up != nil; q = q.up {
		size += len(q.name) + 1
	}
	b := make([]byte, size)
	for q := p; q.up != nil; q = q.up {
		size -= len(q.name) + 1
		b[size] = '/'
		copy(b[size+1:], q.name)
	}
	return string(b)
}

// drop takes a mount away, and each name with no mount on it or below it any more.
func (p *mountPoint) drop(id hal.MountID) {
	p.mounts = slices.DeleteFunc(p.mounts, func(m hal.MountID) bool { return m == id })
	for ; p.up != nil && len(p.mounts) == 0 && len(p.below) == 0; p = p.up {
		delete(p.up.below, p.name)
	}
}

// all appends the mounts on and below p, in the order of their paths.
func (p *mountPoint) all(to []hal.MountID) []hal.MountID {
	to = append(to, p.mounts...)
	for _, name := range slices.Sorted(maps.Keys(p.below)) {
		to = p.below[name].all(to)
	}
	return to
}

// within returns the mounts at a path and below it.
func (p *mountPoint) within(path string) []hal.MountID {
	if at := p.find(path, false); at != nil {
		return at.all(nil)
	}
	return nil
}
