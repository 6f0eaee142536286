package sim_test

import "github.com/volnode/volnode/hal/sim"

// This file is choosers that tests alone need.

// masked lets Inner choose only where Allowed says so; everything else is benign.
type masked struct {
	Inner   sim.Chooser
	Allowed map[uint64]bool // by ID.Hash
	// Times: values of Between come from Inner, allowed or not, so that faults can be taken away first and times evened
	// out later.
	Times bool
}

// newMasked allows ids.
func newMasked(inner sim.Chooser, times bool, ids ...sim.ID) *masked {
	m := &masked{Inner: inner, Allowed: make(map[uint64]bool, len(ids)), Times: times}
	for _, id := range ids {
		m.Allowed[id.Hash()] = true
	}
	return m
}

// Pick asks Inner if id is allowed.
func (m *masked) Pick(id sim.ID, weights []uint32) int {
	if !m.Allowed[id.Hash()] {
		return 0
	}
	return m.Inner.Pick(id, weights)
}

// Between asks Inner if id is allowed or Times is set.
func (m *masked) Between(id sim.ID, lo, hi int64) int64 {
	if !m.Times && !m.Allowed[id.Hash()] {
		return lo
	}
	return m.Inner.Between(id, lo, hi)
}

// choice is one choice that was not benign.
type choice struct {
	ID    sim.ID
	Time  bool  // made by Between
	Value int64 // the index of Pick, the value of Between
}

// recorder notes the choices of Inner that are not benign.
type recorder struct {
	Inner   sim.Chooser
	Times   bool // also those of Between
	Choices []choice
}

// Pick asks Inner.
func (r *recorder) Pick(id sim.ID, weights []uint32) int {
	i := r.Inner.Pick(id, weights)
	if i != 0 {
		r.Choices = append(r.Choices, choice{ID: id, Value: int64(i)})
	}
	return i
}

// Between asks Inner.
func (r *recorder) Between(id sim.ID, lo, hi int64) int64 {
	v := r.Inner.Between(id, lo, hi)
	if v != lo && r.Times {
		r.Choices = append(r.Choices, choice{ID: id, Time: true, Value: v})
	}
	return v
}

// offer is one choice that a run came to.
type offer struct {
	ID      sim.ID
	Indexes int // how many Pick could choose from, the benign one included
}

// survey notes each Pick that Inner was asked for.
type survey struct {
	Inner  sim.Chooser
	Offers []offer
}

// Pick asks Inner.
func (s *survey) Pick(id sim.ID, weights []uint32) int {
	s.Offers = append(s.Offers, offer{id, len(weights)})
	return s.Inner.Pick(id, weights)
}

// Between asks Inner.
func (s *survey) Between(id sim.ID, lo, hi int64) int64 { return s.Inner.Between(id, lo, hi) }

// recorded replays a list of choices; what is not in it is benign.
type recorded struct {
	values map[uint64]int64
	met    map[uint64]bool
}

// newRecorded replays choices.
func newRecorded(choices []choice) recorded {
	r := recorded{values: map[uint64]int64{}, met: map[uint64]bool{}}
	for _, c := range choices {
		r.values[c.ID.Hash()] = c.Value
	}
	return r
}

// Met says whether the choice came up.
func (r recorded) Met(id sim.ID) bool { return r.met[id.Hash()] }

// Pick returns the recorded index.
func (r recorded) Pick(id sim.ID, weights []uint32) int {
	v, ok := r.values[id.Hash()]
	if !ok {
		return 0
	}
	r.met[id.Hash()] = true
	return min(int(v), len(weights)-1)
}

// Between returns the recorded value.
func (r recorded) Between(id sim.ID, lo, hi int64) int64 {
	v, ok := r.values[id.Hash()]
	if !ok {
		return lo
	}
	return min(max(v, lo), hi)
}
