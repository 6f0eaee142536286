package core

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// KindKept is the kind of the record that keeps the facts of a rung which may be gone: which disk a volume has had, and
// what was on it. No rung has it. It stays for as long as the object is there that Rung.Keeps names, over boots too.
const KindKept Kind = "kept"

const paramOwner = "owner"

// kept is the facts of the last setup of a rung.
type kept struct {
	owner string
	facts []Fact
}

func keptKey(of hal.Key) hal.Key { return hal.Key(string(KindKept)+"/") + of }

// keeps notes the facts of a rung that has come up. What goes up next is announced after that, in the same journal, so
// they are durable before the use that they allow.
func (c *Core) keeps(r *rung) {
	if had := c.kept[r.Key]; r.Keeps == "" || had.owner == r.Keeps && slices.Equal(had.facts, r.facts) {
		return
	}
	c.kept[r.Key] = kept{r.Keeps, r.facts}
	c.batch.Lines = append(c.batch.Lines, Line{Key: keptKey(r.Key), Record: Record{
		// A journal refuses no record of that phase for lack of room.
		Rung:  Rung{Key: keptKey(r.Key), Kind: KindKept, Volume: r.Volume, Want: []Param{{Name: paramOwner, Value: r.Keeps}}},
		Phase: Leaving, Boot: c.boot, Facts: r.facts,
	}})
}

// recallKept takes in what a record keeps.
func (c *Core) recallKept(rec Record) {
	of := rec.Rung.Key[len(keptKey("")):]
	c.kept[of] = kept{Value(rec.Rung.Want, paramOwner), rec.Facts}
}

// knownFacts are those that an operation of r is given: of what is gone, those that are kept.
func (c *Core) knownFacts(r *rung) []Fact {
	if k := c.kept[r.Key]; len(r.facts) == 0 && r.Keeps != "" && k.owner == r.Keeps {
		return k.facts
	}
	return r.facts
}

// ownerGone drops what is kept for an object that is gone.
func (c *Core) ownerGone(e OwnerGone) {
	for _, key := range slices.Sorted(maps.Keys(c.kept)) {
		if c.kept[key].owner == e.Owner {
			delete(c.kept, key)
			c.batch.Lines = append(c.batch.Lines, Line{Key: keptKey(key), Drop: true})
		}
	}
}

// Owners are the objects for which facts are kept, one for each record, sorted.
func (c *Core) Owners() []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(c.kept)) {
		all = append(all, c.kept[key].owner)
	}
	slices.Sort(all)
	return all
}
