package scenarios

import (
	"fmt"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// Coverage is what a set of runs has reached. Its JSON is stable: objects with sorted keys, and each key is printable.
// The zero value is not usable; see [NewCoverage]. It is used by one goroutine at a time.
type Coverage struct {
	Runs uint64 `json:"runs"`
	// Faults is how often each fault was injected at each site.
	Faults map[FaultAt]uint64 `json:"faults"`
	// Checks is how often each property, by its code, had something to judge.
	Checks map[string]uint64 `json:"checks"`
	// Transitions is how often each event met a rung in each state.
	Transitions map[core.Transition]uint64 `json:"transitions"`
	// Decisions is how often a decision on a rung had each kind of reason, of core.Reasons.
	Decisions map[string]uint64 `json:"decisions"`
	// Probes is how often each rare thing has happened, of [Probes].
	Probes map[Probe]uint64 `json:"probes"`
	// Tuples is how often each fault met each state of its rung.
	Tuples map[Tuple]uint64 `json:"tuples"`
}

// NewCoverage returns the coverage of no run.
func NewCoverage() *Coverage {
	return &Coverage{
		Faults: map[FaultAt]uint64{}, Checks: map[string]uint64{}, Transitions: map[core.Transition]uint64{},
		Decisions: map[string]uint64{},
		Probes:    map[Probe]uint64{}, Tuples: map[Tuple]uint64{},
	}
}

// Add takes in what other runs have reached. It returns how many transitions, decisions, probes and tuples of other c
// did not have.
func (c *Coverage) Add(other *Coverage) (news int) {
	c.Runs += other.Runs
	news += addTo(&c.Transitions, other.Transitions) + addTo(&c.Decisions, other.Decisions)
	news += addTo(&c.Probes, other.Probes) + addTo(&c.Tuples, other.Tuples)
	addTo(&c.Faults, other.Faults)
	addTo(&c.Checks, other.Checks)
	return news
}

// addTo adds counts to counts, which may be nil if they were read, and returns how many keys are new.
func addTo[K comparable](to *map[K]uint64, from map[K]uint64) (news int) {
	if *to == nil {
		*to = make(map[K]uint64, len(from))
	}
	for key, n := range from {
		if (*to)[key] == 0 {
			news++
		}
		(*to)[key] += n
	}
	return news
}

// FaultAt is one kind of fault at one site.
type FaultAt struct {
	Site  string // "csi.stage"
	Fault sim.Fault
}

func (f FaultAt) String() string { return f.Site + ": " + f.Fault.String() }

// MarshalText prints it; UnmarshalText reads it.
func (f FaultAt) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what MarshalText prints.
func (f *FaultAt) UnmarshalText(text []byte) error {
	site, name, _ := strings.Cut(string(text), ": ")
	fault, err := faultNamed(name)
	*f = FaultAt{site, fault}
	return err
}

func faultNamed(name string) (sim.Fault, error) {
	for _, f := range sim.Faults() {
		if f.String() == name {
			return f, nil
		}
	}
	return sim.NoFault, fmt.Errorf("%q is no fault", name)
}

// Tuple is one fault with the state of the rung that it met, in 64 bits: the site's number in sim.Sites, the fault, how
// the rung stands in the engine's belief, whether it is wanted, and what is true of it.
type Tuple uint64

// The bits of a tuple, from the lowest. A site's number has the rest.
const (
	tupleHeld     = 1 << iota // the driver holds the volume there
	tupleMounted              // something is mounted at its path
	tupleSetUp                // a setup may still act
	tupleTearDown             // a teardown may still act
	tupleRunning              // containers run on it
	tupleTouched              // somebody else has changed what is there
	tupleWanted               // it is wanted
	tupleUnsynced             // a source has not said all it knows
	tupleClass    = 8         // where how it stands begins: 4 bits
	tupleFault    = 12        // where the fault begins: 8 bits
	tupleSite     = 20        // where the site begins
)

var tupleBits = [tupleClass]string{
	"held", "mounted", "setup may act", "teardown may act", "running", "touched",
	"wanted", "unsynced",
}

// siteNumbers is the place of each site in sim.Sites.
var siteNumbers, siteNames = numberSites()

func numberSites() (map[string]uint64, []string) {
	numbers, names := map[string]uint64{}, []string{}
	for i, s := range sim.Sites() {
		numbers[s.Name] = uint64(i)
		names = append(names, s.Name)
	}
	return numbers, names
}

// String prints the tuple: site, fault, standing, and what is true.
func (t Tuple) String() string {
	parts := []string{
		siteNames[t>>tupleSite] + ": " + sim.Fault(t>>tupleFault&0xff).String(),
		core.StateClass(t >> tupleClass & 0xf).String(),
	}
	for i, name := range tupleBits {
		if t>>i&1 == 1 {
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, ", ")
}

// MarshalText prints it; UnmarshalText reads it.
func (t Tuple) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText prints.
func (t *Tuple) UnmarshalText(text []byte) error {
	var at FaultAt
	// The name of a fault may hold a comma, that of a state does not.
	all := string(text)
	for standing := core.ClassNone; standing <= core.ClassPresent; standing++ {
		head, tail, ok := strings.Cut(all+", ", ", "+standing.String()+", ")
		if !ok || at.UnmarshalText([]byte(head)) != nil {
			continue
		}
		number, ok := siteNumbers[at.Site]
		if !ok {
			break
		}
		*t = Tuple(number<<tupleSite | uint64(at.Fault)<<tupleFault | uint64(standing)<<tupleClass)
		for i, name := range tupleBits {
			if strings.Contains(", "+tail, ", "+name+", ") {
				*t |= 1 << i
			}
		}
		return nil
	}
	return fmt.Errorf("%q is no fault with the state that it met", all)
}

// covers lets a run note what it reaches.
func (r *run) covers() {
	r.cover = NewCoverage()
	r.cover.Runs = 1
	r.cfg.Stepping = r.stepping
	r.w.OnFault(r.faulted)
	r.w.OnEffect(r.probeEffect)
}

// judges notes that a property has something to judge.
func (r *run) judges(property string) {
	if r.cover != nil {
		r.cover.Checks[property]++
	}
}

func (r *run) faulted(i sim.Injected) {
	site := sim.SiteOf(i.Site)
	r.cover.Faults[FaultAt{site, i.Fault}]++
	r.cover.Tuples[Tuple(siteNumbers[site]<<tupleSite|uint64(i.Fault)<<tupleFault)|r.tupleOf(i.Key)]++
}

// tupleOf is the state of a rung, as bits of a tuple.
func (r *run) tupleOf(key hal.Key) Tuple {
	t := Tuple(0)
	set := func(bit Tuple, is bool) {
		if is {
			t |= bit
		}
	}
	set(tupleUnsynced, !r.synced)
	if r.alive() {
		b, _ := r.core.Belief(key)
		set(tupleWanted, b.IsWanted)
		t |= Tuple(r.core.StateClassOf(key)) << tupleClass
	}
	p := r.places[key]
	if p == nil {
		return t
	}
	set(tupleHeld, p.isHeld)
	set(tupleMounted, len(r.w.MountsAt(p.path)) > 0)
	set(tupleTouched, p.isTouched)
	owner := r.podOf(p.path)
	set(tupleRunning, owner != nil && owner.isRunning)
	for _, c := range p.calls {
		isSetUp := c.method == stage || c.method == publish
		set(tupleSetUp, isSetUp)
		set(tupleTearDown, !isSetUp)
	}
	return t
}

// stepping is called before each step of core.
func (r *run) stepping(c *core.Core, e core.Event) {
	c.Classify(r.h.Runtime.Now(), e, func(t core.Transition) { r.cover.Transitions[t]++ })
	r.probeEvent(c, e)
}

// covered is called after each step of core; first says that it has just begun.
func (r *run) covered(c *core.Core, first bool) {
	if first {
		r.probeBegun(c)
	}
	r.probeStepped(c)
	for _, key := range c.Decided() {
		if why := c.Reason(key); why != "" {
			r.cover.Decisions[why]++
		}
	}
}
