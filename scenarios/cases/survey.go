package cases

import (
	"strconv"

	"github.com/volnode/volnode/hal/sim"
)

const SiteWithout = "hunt.without-line" // leaves a line of a scenario out

// WithoutLine is the setting that leaves a line of the scenario out.
func WithoutLine(line int) Kept {
	return Kept{ID: sim.NewID(SiteWithout, strconv.Itoa(line), 0), Value: 1}
}

// LeftOut is the lines of the scenario that the case leaves out.
func (c Case) LeftOut() []int {
	var lines []int
	for _, k := range c.Keep {
		if line, err := strconv.Atoi(k.ID.Object); err == nil && k.ID.Site == SiteWithout {
			lines = append(lines, line)
		}
	}
	return lines
}

// MenuKey is a set of faults.
type MenuKey [4]uint64

func keyOf(faults []sim.Fault) MenuKey {
	var k MenuKey
	for _, f := range faults {
		k[f/64] |= 1 << (f % 64)
	}
	return k
}

// Has reports whether the fault was possible.
func (k MenuKey) Has(f sim.Fault) bool { return k[f/64]>>(f%64)&1 != 0 }

// Span is a time that a run could have chosen.
type Span struct {
	Id sim.ID
	Hi int64 // above the shortest
}

// Survey is what a run chose, and what it could have chosen otherwise.
type Survey struct {
	*Keeper
	inner sim.Chooser
	Chose []Kept // all that was not benign, in the order in which the run came to it
	// byMenu is where each menu of faults was laid out, menus the menu of each such choice by the hash of its id.
	ByMenu map[MenuKey][]sim.ID
	Menus  map[uint64]MenuKey
	Spans  []Span
}

// SurveyOf makes the choices of a case and notes them. inner is who makes them; nil is the case itself.
func SurveyOf(c Case, inner sim.Chooser) *Survey {
	s := &Survey{Keeper: c.Chooser(), inner: inner, ByMenu: map[MenuKey][]sim.ID{}, Menus: map[uint64]MenuKey{}}
	if inner == nil {
		s.inner = s.Keeper
	}
	return s
}

// Pick implements sim.Chooser.
func (s *Survey) Pick(id sim.ID, weights []uint32) int {
	i := s.inner.Pick(id, weights)
	if i != 0 {
		s.Chose = append(s.Chose, Kept{ID: id, Value: int64(i)})
	}
	return i
}

// PickFault implements sim.FaultChooser.
func (s *Survey) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	key := keyOf(faults)
	s.Menus[id.Hash()] = key
	s.ByMenu[key] = append(s.ByMenu[key], id)
	var f sim.Fault
	if c, ok := s.inner.(sim.FaultChooser); ok {
		f = c.PickFault(id, faults, weights)
	} else {
		f = faults[s.inner.Pick(id, weights)]
	}
	if f != sim.NoFault {
		s.Chose = append(s.Chose, Kept{ID: id, Fault: f})
	}
	return f
}

// Between implements sim.Chooser.
func (s *Survey) Between(id sim.ID, lo, hi int64) int64 {
	v := s.inner.Between(id, lo, hi)
	if v != lo {
		s.Chose = append(s.Chose, Kept{ID: id, Value: v - lo, Time: true})
	}
	s.Spans = append(s.Spans, Span{id, hi - lo})
	return v
}
