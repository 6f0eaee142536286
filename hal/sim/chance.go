package sim

import (
	"time"

	"github.com/volnode/volnode/hal"
)

// chance is the time of a world, what is drawn in it, and the record of what happens: all that the model of one part of
// the world has of the others. World has it too.
type chance struct {
	sched   *scheduler
	chooser Chooser
	faults  FaultChooser // the chooser, if it is one
	menus   *menus
	script  func(ID, []Fault) Fault // Config.Script
	nth     counters                // of choices, by site and object
	calm    bool                    // no fault is injected any more
	trace   Trace
	faulted []func(Injected)
	lives   uint32 // of the agent, with the present one
}

// event adds a record of something that happened in the world.
func (c *chance) event(what, object string) {
	c.trace.add(Record{
		At: c.sched.now, Run: c.lives, What: what, Object: object,
		hash: hashString(what) ^ hashString(object),
	})
}

// subject is what a choice is about.
type subject struct {
	name string
	hash uint64
	nth  uint32
	key  hal.Key // the rung that a call is for, "" if it is for none
}

// subject counts the choices of a site and object.
func (c *chance) subject(at *site, name string) subject {
	h := hashString(name)
	return subject{name: name, hash: h, nth: c.nth.next(idHash(at.hash, h, 0))}
}

// counters counts by key: a hash table with open addressing, for keys that are hashes already. The zero value is empty.
type counters struct {
	slots []counter // a power of two of them, at most half of them used
	used  int
}

type counter struct {
	key   uint64
	count uint32 // 0 is a free slot
}

// next returns how often it was asked for key before.
func (c *counters) next(key uint64) uint32 {
	if 2*c.used >= len(c.slots) {
		c.grow()
	}
	s := c.slot(key)
	if s.count == 0 {
		s.key = key
		c.used++
	}
	s.count++
	return s.count - 1
}

// slot is where key is, or would be.
func (c *counters) slot(key uint64) *counter {
	mask := uint64(len(c.slots) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		if s := &c.slots[i]; s.count == 0 || s.key == key {
			return s
		}
	}
}

func (c *counters) grow() {
	old := c.slots
	c.slots = make([]counter, max(1024, 2*len(old)))
	for _, s := range old {
		if s.count > 0 {
			*c.slot(s.key) = s
		}
	}
}

func (s *subject) id(at *site) ID {
	return ID{at.name, s.name, s.nth, idHash(at.hash, s.hash, s.nth)}
}

// pick draws from a menu.
func (c *chance) pick(at *site, s *subject, m *menu) Fault {
	f := NoFault
	if c.script != nil {
		f = c.script(s.id(at), m.faults[1:])
	}
	if f == NoFault && m.live && !c.calm {
		f = c.draw(s.id(at), m)
	}
	if f != NoFault {
		c.trace.add(Record{
			At: c.sched.now, Mark: MarkFault, What: at.name, Object: s.name, Fault: f,
			hash: at.hash ^ s.hash,
		})
		for _, look := range c.faulted {
			look(Injected{Site: at.name, Object: s.name, Key: s.key, Fault: f})
		}
	}
	return f
}

func (c *chance) draw(id ID, m *menu) Fault {
	if c.faults != nil {
		return c.faults.PickFault(id, m.faults, m.weights)
	}
	return m.faults[c.chooser.Pick(id, m.weights)]
}

// happens draws one fault for the subject name. The subject is counted in every profile, so that a choice has the same
// id in all of them.
func (c *chance) happens(f Fault, at *site, name string) bool {
	s := c.subject(at, name)
	if (!c.menus.single[f].live || c.calm) && c.script == nil {
		return false
	}
	return c.pick(at, &s, &c.menus.single[f]) == f
}

// time draws a time for the subject name; lo is the benign one.
func (c *chance) time(at *site, name string, lo, hi time.Duration) time.Duration {
	s := c.subject(at, name)
	return time.Duration(c.chooser.Between(s.id(at), int64(lo), int64(hi)))
}
