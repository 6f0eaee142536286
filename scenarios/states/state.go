// Package states tells whether two runs of one scenario have come to one state, from which both go on alike.
package states

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/secrets"
)

// A walk follows every field of the world, the engine and the checks, so that what somebody adds is a part of the
// state: at worst, two are told apart that are one. What is left out stands in notAsItIs.

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

// Facts is what a walk through a run has to know of it.
type Facts struct {
	Now    hal.Instant // of the world's clock
	Agent  hal.Instant // the same of the agent's
	Boot   hal.BootID
	Events []sim.Upcoming
	Steps  uint64 // that core has made
	IsDead bool   // no agent lives, or it is about to die
	// IsUnread: what the journal holds is to be read by a start: by the one that is under way, or by the next.
	IsUnread  bool
	IsCovered bool            // somebody mounts over a volume
	Secrets   *secrets.Finder // what a text of the run may have of them
}

// Begin begins a walk; false if something is under way, which no field tells. A timer of the agent is known by its code
// and when it is due, a task that has not run yet by its code: what they are for, the engine notes elsewhere. Of two of
// one code, which is which would not be known.
func (c *Comparer) Begin(f Facts) (*Walk, bool) {
	v := &Walk{
		Comparer: c, now: f.Now, agent: f.Agent, isDead: f.IsDead, isUnread: f.IsUnread, steps: f.Steps,
		since: math.MaxUint64, boot: f.Boot, seen: map[address]uint64{}, names: map[aName]uint64{},
		isCovered: f.IsCovered, leaks: f.Secrets,
	}
	v.hash.SetSeed(c.seed)
	v.Number(uint64(len(f.Events)))
	for i, e := range f.Events {
		isTask := e.Kind == sim.UpcomingTask && !c.isNoted(e.Name)
		if isTask || e.Kind != sim.UpcomingEvent && slices.ContainsFunc(f.Events[:i],
			func(f sim.Upcoming) bool { return f.Kind == e.Kind && f.Name == e.Name }) {
			return nil, false
		}
		v.Number(uint64(e.At.Sub(v.now)))
		v.Number(uint64(e.Kind))
		v.Number(e.Name)
	}
	return v, true
}

// Sum is the state that the walk has come to.
func (v *Walk) Sum() State { return State(v.hash.Sum64()) }

// Walk is one walk through a run.
type Walk struct {
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
	leaks      *secrets.Finder
}

// noted is the tasks of the engine that have no memory when they begin but what its fields hold.
var noted = []string{"commits).commit", "starting).start", "drift).readTable"}

// isNoted: the code at an address is that of such a task.
func (c *Comparer) isNoted(code uint64) bool {
	is, ok := c.notes[code]
	if !ok {
		name := runtime.FuncForPC(uintptr(code)).Name()
		is = slices.ContainsFunc(noted,
			func(of string) bool { return strings.HasSuffix(name, "/engine.(*"+of+".func1") })
		c.notes[code] = is
	}
	return is
}

// Number adds a number.
func (v *Walk) Number(x uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	_, _ = v.hash.Write(b[:]) // a hash never fails
}

// Plain adds a text as it is.
func (v *Walk) Plain(s string) {
	v.Number(uint64(len(s)))
	_, _ = v.hash.WriteString(s)
}

// name adds what is only compared with others: by when it was met first.
func (v *Walk) name(of string, number uint64) {
	what := aName{of, number}
	n, ok := v.names[what]
	if !ok {
		n = uint64(len(v.names))
		v.names[what] = n
	}
	v.Number(n)
}

// Flag adds a truth value.
func (v *Walk) Flag(is bool) {
	if is {
		v.Number(1)
		return
	}
	v.Number(0)
}
