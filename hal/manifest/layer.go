package manifest

import "iter"

// layer is a map, and what a reading changes of it. The map itself stays as it is until the owner merges the changes,
// as the owner may look at it meanwhile. So a reading costs what it changes, and not what there is; and one that does
// not count leaves nothing behind.
type layer[K comparable, V any] struct {
	base map[K]V
	over map[K]fate[V]
}

// fate is what becomes of a key.
type fate[V any] struct {
	is     V
	isGone bool
}

// begin returns a layer over the same map that may be changed.
func (l layer[K, V]) begin() layer[K, V] { return layer[K, V]{l.base, map[K]fate[V]{}} }

func (l layer[K, V]) get(key K) (V, bool) {
	if f, ok := l.over[key]; ok {
		return f.is, !f.isGone
	}
	v, ok := l.base[key]
	return v, ok
}

// of is get for who takes what is missing for its zero value.
func (l layer[K, V]) of(key K) V {
	v, _ := l.get(key)
	return v
}

func (l layer[K, V]) has(key K) bool {
	_, ok := l.get(key)
	return ok
}

func (l layer[K, V]) set(key K, v V) { l.over[key] = fate[V]{is: v} }

func (l layer[K, V]) drop(key K) {
	if _, ok := l.base[key]; ok {
		l.over[key] = fate[V]{isGone: true}
	} else {
		delete(l.over, key)
	}
}

// all is what is there, in any order.
func (l layer[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for key, f := range l.over { // the order does not matter
			if !f.isGone && !yield(key, f.is) {
				return
			}
		}
		for key, v := range l.base { // the order does not matter
			if _, isOver := l.over[key]; !isOver && !yield(key, v) {
				return
			}
		}
	}
}

func (l layer[K, V]) len() int {
	n := len(l.base)
	for key, f := range l.over { // the order does not matter
		_, was := l.base[key]
		switch {
		case was && f.isGone:
			n--
		case !was:
			n++
		}
	}
	return n
}

// merge changes the map itself. Nobody looks at it, or at another layer over it.
func (l layer[K, V]) merge() layer[K, V] {
	if l.base == nil {
		l.base = map[K]V{}
	}
	for key, f := range l.over { // the order does not matter
		if f.isGone {
			delete(l.base, key)
		} else {
			l.base[key] = f.is
		}
	}
	l.over = nil
	return l
}
