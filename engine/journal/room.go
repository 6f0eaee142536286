package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// ErrRoom: the journal has no room for another ladder. A [*RoomError] names the lines.
var ErrRoom = errors.New("the journal is full")

// RoomError is the refusal of the lines that begin a ladder for which there is no room. Nothing of their batch was
// written.
type RoomError struct {
	Keys []hal.Key
	Why  string // a sentence
}

func (e *RoomError) Error() string {
	keys := make([]string, len(e.Keys))
	for i, key := range e.Keys {
		keys[i] = string(key)
	}
	return fmt.Sprintf("journal: no room for %s: %s", strings.Join(keys, ", "), e.Why)
}

func (e *RoomError) Unwrap() error { return ErrRoom }

// ladder is the room that the first record of a ladder, its base, reserves for the others, and what these, its
// members, use of it. It costs the greater of the two, so that a record that goes gives its room back to its ladder,
// and not to another: a rung that was not done, or the next pod on a stage, finds it there.
//
// Invariant: used is the sum of worst over the members.
type ladder struct{ room, used int64 }

func (l *ladder) cost() int64 { return max(l.room, l.used) }

// grow adds to used what its members grow by, and returns by how much the cost rises.
func (l *ladder) grow(by int64) int64 {
	before := l.cost()
	l.used += by
	return l.cost() - before
}

// ledger is the live records and what they may come to take in a file.
//
// Invariant: used is worst of all bases and of all that stand alone, and cost of all ladders.
type ledger struct {
	entries map[hal.Key]*entry
	used    int64
	alike   map[alike]*alike
}

func newLedger() ledger {
	return ledger{entries: map[hal.Key]*entry{}, alike: map[alike]*alike{}}
}

// join returns the ladder that a first record standing on below draws from: the first with enough left, else any,
// else nil.
func (g *ledger) join(below []hal.Key, worst int64) *ladder {
	var found *ladder
	for _, key := range below {
		e := g.entries[key]
		if e == nil || e.ladder == nil {
			continue
		}
		if e.ladder.room-e.ladder.used >= worst {
			return e.ladder
		}
		if found == nil {
			found = e.ladder
		}
	}
	return found
}

// put enters a record that takes so many bytes encoded. Room counts only with the first record of a key.
func (g *ledger) put(r *core.Record, encoded int, room int64) {
	worst := worstSize(r, encoded)
	e := g.entries[r.Rung.Key]
	if e == nil {
		e = newEntry(r)
		g.entries[r.Rung.Key] = e
		switch {
		case room > 0:
			e.ladder, e.base = &ladder{room: room}, true
			g.used += room
		default:
			e.ladder = g.join(r.Rung.Below, worst)
		}
	}
	e.size = int32(encoded)
	g.keep(e, r)
	g.charge(e, worst)
}

func (g *ledger) charge(e *entry, worst int64) {
	by := worst - int64(e.worst)
	e.worst = int32(worst)
	if e.ladder != nil && !e.base {
		by = e.ladder.grow(by)
	}
	g.used += by
}

// drop takes a record out. The members of its ladder stay, and reserve no more than they use.
func (g *ledger) drop(key hal.Key) {
	e := g.entries[key]
	if e == nil {
		return
	}
	g.charge(e, 0)
	if e.base {
		before := e.ladder.cost()
		e.ladder.room = 0
		g.used += e.ladder.cost() - before
	}
	delete(g.entries, key)
}

// trial is a ledger as it would be with some lines more; it counts what they add and not what they free.
type trial struct {
	ledger *ledger
	free   int64
	bases  map[hal.Key]*ladder // of lines of the trial, members by their own key too
	added  map[*ladder]int64   // to used
	last   bool                // no line follows that could join or repeat this one
}

// admit enters the line in the trial, if there is room for it.
func (t *trial) admit(l *core.Line, open bool) bool {
	worst := int64(WorstSize(l.Record))
	if l.Room > 0 {
		if !open || worst+int64(l.Room) > t.free {
			return false
		}
		t.free -= worst + int64(l.Room)
		if !t.last {
			t.note(l.Key, &ladder{room: int64(l.Room)}, 0)
		}
		return true
	}
	on := t.join(l.Record.Rung.Below, worst)
	need := worst
	if on != nil {
		as := ladder{on.room, on.used + t.added[on]}
		need = as.grow(worst)
	}
	// A teardown is never refused: for those whose first record it is, the slack of a file is there.
	if need > 0 && (need > t.free || !open) && l.Record.Phase != core.Leaving {
		return false
	}
	t.free -= need
	t.note(l.Key, on, worst)
	return true
}

func (t *trial) join(below []hal.Key, worst int64) *ladder {
	for _, key := range below {
		if on := t.bases[key]; on != nil {
			return on
		}
	}
	return t.ledger.join(below, worst)
}

func (t *trial) note(key hal.Key, on *ladder, used int64) {
	if t.last {
		return
	}
	if t.bases == nil {
		t.bases, t.added = map[hal.Key]*ladder{}, map[*ladder]int64{}
	}
	t.bases[key] = on
	if on != nil {
		t.added[on] += used
	}
}

// refused returns the keys of the lines for which there is no room. open: new ladders are taken at all.
func (g *ledger) refused(lines []core.Line, capacity int64, open bool) []hal.Key {
	t := trial{ledger: g, free: capacity - g.used}
	var out []hal.Key
	for i := range lines {
		l := &lines[i]
		if _, known := g.entries[l.Key]; known || l.Drop {
			continue
		}
		if _, again := t.bases[l.Key]; again || slices.Contains(out, l.Key) {
			continue
		}
		t.last = i == len(lines)-1
		if !t.admit(l, open) {
			out = append(out, l.Key)
		}
	}
	return out
}
