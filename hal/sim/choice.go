package sim

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// ID names one choice by what it is about, so that it stays the same choice when others are taken away.
type ID struct {
	Site   string // where in the model: "csi.stage/fault"
	Object string // on what: a path, a driver and volume
	Nth    uint32 // for the how-manieth time there, from 0
	hash   uint64
}

// NewID makes an id.
func NewID(site, object string, nth uint32) ID {
	return ID{site, object, nth, idHash(hashString(site), hashString(object), nth)}
}

// Hash is the id in 64 bits: what choosers draw from.
func (id ID) Hash() uint64 { return id.hash }

// String prints the id as site@object#nth. [ParseID] reads it.
func (id ID) String() string {
	return id.Site + "@" + id.Object + "#" + strconv.FormatUint(uint64(id.Nth), 10)
}

// ParseID reads what String prints.
func ParseID(s string) (ID, error) {
	at, hash := strings.IndexByte(s, '@'), strings.LastIndexByte(s, '#')
	if at < 0 || hash < at {
		return ID{}, fmt.Errorf("choice id %q: want site@object#n", s)
	}
	nth, err := strconv.ParseUint(s[hash+1:], 10, 32)
	if err != nil {
		return ID{}, fmt.Errorf("choice id %q: %w", s, err)
	}
	return NewID(s[:at], s[at+1:hash], uint32(nth)), nil
}

// Chooser makes every choice of a world. A choice is a function of its id, not of what was chosen before.
type Chooser interface {
	// Pick returns an index of weights. Index 0 is the benign one. A weight of 0 is never picked.
	Pick(id ID, weights []uint32) int
	// Between returns a value of lo to hi, both included. lo is the benign one.
	Between(id ID, lo, hi int64) int64
}

// FaultChooser is a Chooser that is asked for faults by what they are, and not by their places in a menu: what it
// replays stays the same when a menu grows.
type FaultChooser interface {
	Chooser
	// PickFault returns one of faults, the first of which is NoFault, the benign choice.
	PickFault(id ID, faults []Fault, weights []uint32) Fault
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashString hashes s, eight bytes at a time. It is the same in every process.
func hashString(s string) uint64 {
	h := uint64(len(s)) * 0x9e3779b97f4a7c15
	for len(s) >= 8 {
		v := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = fold(h ^ v)
		s = s[8:]
	}
	var v uint64
	for i := range len(s) {
		v |= uint64(s[i]) << (8 * i)
	}
	return fold(h ^ v)
}

// fold multiplies to 128 bits and folds the halves.
func fold(h uint64) uint64 {
	hi, lo := bits.Mul64(h^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return hi ^ lo
}

func idHash(site, object uint64, nth uint32) uint64 {
	return mix(site ^ bits.RotateLeft64(object, 17) ^ uint64(nth)*0xd1342543de82ef95)
}

// Benign makes the benign choice, always.
type Benign struct{}

// Pick returns 0.
func (Benign) Pick(ID, []uint32) int { return 0 }

// Between returns lo.
func (Benign) Between(_ ID, lo, _ int64) int64 { return lo }

// Seeded draws each choice from a seed and the choice's id.
type Seeded uint64

// Pick draws an index by weight.
func (s Seeded) Pick(id ID, weights []uint32) int {
	var total uint64
	for _, w := range weights {
		total += uint64(w)
	}
	if total == 0 {
		return 0
	}
	r, _ := bits.Mul64(mix(uint64(s)^id.hash), total)
	for i, w := range weights {
		if r < uint64(w) {
			return i
		}
		r -= uint64(w)
	}
	return 0
}

// Between draws a value: how many bits its distance from lo has first, then the bits. Small distances are as frequent
// as large ones.
func (s Seeded) Between(id ID, lo, hi int64) int64 {
	if hi <= lo {
		return lo
	}
	h := mix(uint64(s) ^ id.hash)
	width := uint64(bits.Len64(uint64(hi - lo)))
	n, _ := bits.Mul64(h, width+1)
	return min(lo+int64(mix(h)&(1<<n-1)), hi)
}
