// Package coverage is what runs reach, what there is to reach, and why some of it is never reached.
package coverage

import (
	"fmt"
	"strings"

	"github.com/volnode/volnode/engine/core"
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

// New returns the coverage of no run.
func New() *Coverage {
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
	TupleHeld     = 1 << iota // the driver holds the volume there
	TupleMounted              // something is mounted at its path
	TupleSetUp                // a setup may still act
	TupleTearDown             // a teardown may still act
	TupleRunning              // containers run on it
	TupleTouched              // somebody else has changed what is there
	TupleWanted               // it is wanted
	TupleUnsynced             // a source has not said all it knows
	TupleClass    = 8         // where how it stands begins: 4 bits
	TupleFault    = 12        // where the fault begins: 8 bits
	TupleSite     = 20        // where the site begins
)

var tupleBits = [TupleClass]string{
	"held", "mounted", "setup may act", "teardown may act", "running", "touched",
	"wanted", "unsynced",
}

// SiteNumbers is the place of each site in sim.Sites.
var SiteNumbers, siteNamed = numberSites()

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
		siteNamed[t>>TupleSite] + ": " + sim.Fault(t>>TupleFault&0xff).String(),
		core.StateClass(t >> TupleClass & 0xf).String(),
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
		number, ok := SiteNumbers[at.Site]
		if !ok {
			break
		}
		*t = Tuple(number<<TupleSite | uint64(at.Fault)<<TupleFault | uint64(standing)<<TupleClass)
		for i, name := range tupleBits {
			if strings.Contains(", "+tail, ", "+name+", ") {
				*t |= 1 << i
			}
		}
		return nil
	}
	return fmt.Errorf("%q is no fault with the state that it met", all)
}
