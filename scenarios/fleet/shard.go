package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/volnode/volnode/scenarios/cases"
)

// BlockSeeds is how many seeds in a row are of one shard, and of one batch. Each block has every family of schedules in
// its proportion.
const BlockSeeds = 360

// Shard is one part of all seeds: those of each Of-th block, from block Index on. The zero value is all of them.
type Shard struct {
	Index uint64 // from 0
	Of    uint64 // how many shards there are; 0 is one
}

// ParseShard reads what Shard.String prints: i/n, with i from 0 to n-1.
func ParseShard(text string) (Shard, error) {
	wrong := fmt.Errorf("%q is not a shard: want i/n with i from 0 to n-1, like 0/4", text)
	index, of, ok := strings.Cut(text, "/")
	if !ok {
		return Shard{}, wrong
	}
	i, err := strconv.ParseUint(index, 10, 32)
	if err != nil {
		return Shard{}, wrong
	}
	n, err := strconv.ParseUint(of, 10, 32)
	if err != nil || i >= n {
		return Shard{}, wrong
	}
	return Shard{Index: i, Of: n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, max(s.Of, 1)) }

// Owns reports whether a seed is of this shard.
func (s Shard) Owns(seed uint64) bool { return s.Of <= 1 || seed/BlockSeeds%s.Of == s.Index }

// from is the first seed of the shard that is not below seed.
func (s Shard) from(seed uint64) uint64 {
	if s.Owns(seed) {
		return seed
	}
	block := seed / BlockSeeds
	return (block + (s.Index+s.Of-block%s.Of)%s.Of) * BlockSeeds
}

// SeedFrom makes a seed of a text, like the hash of a commit: the same text is the same seed. It leaves room for many
// schedules behind it, and is small enough to be exact in any reader of JSON.
func SeedFrom(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8]) >> 16
}

// Families are the kinds of schedules that seeds make.
var Families = []string{"files", "nervous", "storm", "swarm", "uniform"}

// FamilyOf is the kind of schedule that a seed makes.
func FamilyOf(seed uint64) string {
	switch {
	case seed%64 == 6:
		return "files"
	case cases.IsNervous(seed):
		return "nervous"
	case seed%20 < 3:
		return "uniform"
	case seed%20 < 5:
		return "storm"
	}
	return "swarm"
}
