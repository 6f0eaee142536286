package scenarios

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file tells whether two runs of one scenario have come to one state, from which both go on alike. It follows
// every field of the world, the engine and the checks, so that what somebody adds is a part of the state: at worst, two
// are told apart that are one. What is left out stands in notAsItIs.

// State is a hash of all that decides how a run goes on.
type State uint64

// Comparer makes the states of runs of one scenario, which can be compared if one Comparer has made them. One goroutine
// at a time may use it.
type Comparer struct {
	seed     maphash.Seed
	isStrict bool // more than one fault may follow a state
	kinds    map[reflect.Type]*kind
	notes    map[uint64]bool // see isNoted
	objects  map[unsafe.Pointer]uint64
}

// NewComparer returns a Comparer that has made no state yet. faults is how many faults at most follow a state.
func NewComparer(faults int) *Comparer {
	return &Comparer{
		isStrict: faults > 1, seed: maphash.MakeSeed(), kinds: map[reflect.Type]*kind{},
		notes: map[uint64]bool{}, objects: map[unsafe.Pointer]uint64{},
	}
}

// address is of a value: that of a struct is also that of its first field.
type address struct {
	at uintptr
	of reflect.Type
}

// aName is one of the numbers that are only compared with others of their kind.
type aName struct {
	kind   string
	number uint64
}

// visit is one walk through a run.
type visit struct {
	*Comparer
	hash    maphash.Hash
	now     hal.Instant // of the world's clock
	agent   hal.Instant // the same of the agent's
	isAgent bool        // the struct that is followed has instants of that
	isDead  bool        // no agent lives, or it is about to die
	// what the journal holds is to be read by a start: by the one that is under way, or by the next
	isUnread bool
	steps    uint64 // that core has made
	// when the reading of the mount table that is under way began, in steps; else more than there are
	since      uint64
	generation uint64 // of the first file of the journal that was met
	boot       hal.BootID
	seen       map[address]uint64
	names      map[aName]uint64
	isCovered  bool
	leaks      *leaks
}

// Moment is one moment of a play. It is valid until the play goes on.
type Moment struct{ t *story }

// State is the state of the play; false if something is under way, which no field tells.
func (m Moment) State(c *Comparer) (State, bool) { return m.t.state(c, false) }

// AfterDeath is the state in which the play would be if the agent died now, or the node with it; false if something is
// under way that outlives them.
func (m Moment) AfterDeath(c *Comparer) (State, bool) { return m.t.state(c, true) }

// At is the time since the play began.
func (m Moment) At() time.Duration { return m.t.w.Now().Sub(0) }

// IsDue: the next statement comes now, or calm.
func (m Moment) IsDue() bool { return m.t.w.Now() >= m.t.end }

// IsCalm: what is left is to see whether all comes to rest.
func (m Moment) IsCalm() bool { return m.t.next == len(m.t.s.Steps) }

// state follows a run. A timer of the agent is known by its code and when it is due, a task that has not run yet by its
// code: what they are for, the engine notes elsewhere. Of two of one code, which is which would not be known.
func (t *story) state(c *Comparer, dies bool) (State, bool) {
	events, isAtRest := t.w.Upcoming(dies)
	if !isAtRest || slices.ContainsFunc(events, func(e sim.Upcoming) bool {
		return e.Kind == sim.UpcomingTask && !c.isNoted(e.Name)
	}) {
		return 0, false
	}
	v := &visit{
		Comparer: c, now: t.w.Now(), isDead: dies || !t.w.AgentLives(), since: math.MaxUint64,
		boot: t.w.BootID(), seen: map[address]uint64{}, names: map[aName]uint64{},
		isCovered: t.s.mountsOver(), leaks: t.r.leaks,
	}
	v.isUnread = v.isDead || t.r.core == nil || t.r.root.woundedAt != 0
	v.hash.SetSeed(c.seed)
	if t.r.h.Runtime != nil {
		v.agent = t.r.h.Runtime.Now()
	}
	if !v.isDead && t.r.core != nil {
		v.steps = t.r.core.Seq()
	}
	v.number(uint64(t.next))
	v.number(uint64(t.end.Sub(v.now)))
	v.flag(t.hasActed)
	if !t.play.IsSteady && t.hasDates(t.next) {
		v.number(uint64(v.now))
	}
	v.number(uint64(len(events)))
	for i, e := range events {
		if e.Kind != sim.UpcomingEvent && slices.ContainsFunc(events[:i],
			func(f sim.Upcoming) bool { return f.Kind == e.Kind && f.Name == e.Name }) {
			return 0, false
		}
		v.number(uint64(e.At.Sub(v.now)))
		v.number(uint64(e.Kind))
		v.number(e.Name)
	}
	v.value(reflect.ValueOf(t.met))
	t.remembered(v)
	v.value(reflect.ValueOf(t.r))
	return State(v.hash.Sum64()), true
}

// remembered adds what the expectations that are still to come, and are waited for, make of the past: of calls their
// number, of the log whether a line has the text.
func (t *story) remembered(v *visit) {
	for i := t.next; i < len(t.s.Steps); i++ {
		if s := &t.s.Steps[i]; s.Within && (slices.Contains(s.Words, "calls") || slices.Contains(s.Words, "log")) {
			v.plain(s.act(t))
		}
	}
}

// noted is the tasks of the engine that have no memory when they begin but what its fields hold.
var noted = []string{"launch", "commit", "start", "readTable"}

// isNoted: the code at an address is that of such a task.
func (c *Comparer) isNoted(code uint64) bool {
	is, ok := c.notes[code]
	if !ok {
		name := runtime.FuncForPC(uintptr(code)).Name()
		is = slices.ContainsFunc(noted,
			func(of string) bool { return strings.HasSuffix(name, "/engine.(*VolumeManager)."+of+".func1") })
		c.notes[code] = is
	}
	return is
}

// hasDates: a statement from there on comes at a time since the beginning.
func (t *story) hasDates(step int) bool {
	return slices.ContainsFunc(t.s.Steps[step:], func(s Step) bool { return !s.Since })
}

// mountsOver: somebody mounts over a volume in the scenario.
func (s *Scenario) mountsOver() bool {
	return slices.ContainsFunc(s.Steps, func(s Step) bool { return s.Words[0] == "mount" })
}

func (v *visit) number(x uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	_, _ = v.hash.Write(b[:]) // a hash never fails
}

// plain adds a text as it is.
func (v *visit) plain(s string) {
	v.number(uint64(len(s)))
	_, _ = v.hash.WriteString(s)
}

// name adds what is only compared with others: by when it was met first.
func (v *visit) name(of string, number uint64) {
	what := aName{of, number}
	n, ok := v.names[what]
	if !ok {
		n = uint64(len(v.names))
		v.names[what] = n
	}
	v.number(n)
}

func (v *visit) flag(is bool) {
	if is {
		v.number(1)
		return
	}
	v.number(0)
}
