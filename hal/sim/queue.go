package sim

import (
	"cmp"
	"slices"

	"github.com/volnode/volnode/hal"
)

// event is something that will happen: a function of the world, or a task that goes on.
type event struct {
	at   hal.Instant
	key  uint64 // order among events of one instant
	name uint64 // what it is, as key was given
	seq  uint64 // order among events of one instant and key
	run  func()
	task *task
	inc  *incarnation // void once it is dead; nil for events of the world
	park uint32
	// isTimer: run is posted to the owner of inc.
	isTimer bool
}

func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	if e.key != f.key {
		return e.key < f.key
	}
	return e.seq < f.seq
}

// eventQueue is a heap of four children per parent, by value: half the depth of a binary one, and no allocation per
// event.
type eventQueue struct{ list []event }

func (q *eventQueue) push(e event) {
	q.list = append(q.list, e)
	i := len(q.list) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.list[parent]) {
			break
		}
		q.list[i] = q.list[parent]
		i = parent
	}
	q.list[i] = e
}

// sort restores the order after keys have changed: what is sorted is a heap.
func (q *eventQueue) sort() {
	slices.SortFunc(q.list, func(e, f event) int {
		return cmp.Or(cmp.Compare(e.at, f.at), cmp.Compare(e.key, f.key), cmp.Compare(e.seq, f.seq))
	})
}

func (q *eventQueue) pop() event {
	top := q.list[0]
	last := len(q.list) - 1
	e := q.list[last]
	q.list[last] = event{}
	q.list = q.list[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= last {
			break
		}
		for c := least + 1; c < min(4*i+5, last); c++ {
			if q.list[c].before(&q.list[least]) {
				least = c
			}
		}
		if !q.list[least].before(&e) {
			break
		}
		q.list[i] = q.list[least]
		i = least
	}
	q.list[i] = e
	return top
}
