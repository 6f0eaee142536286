package core

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// KindKept is the kind of the record that keeps the facts of a rung which may be gone: which disk a volume has had, and
// what was on it. No rung has it. It stays for as long as the object is there that [ParamOwner] names, over boots too.
const KindKept Kind = "kept"

// ParamOwner is the parameter of a rung whose facts are kept: the object whose volume it is, by name and uid.
const ParamOwner = "owner"

func (r *rung) owner() string { return Value(r.Want, ParamOwner) }

// kept is the facts of the last setup of a rung.
type kept struct {
	owner string // see ParamOwner
	facts []Fact // of its last setup
}

func keptKey(of hal.Key) hal.Key { return hal.Key(string(KindKept)+"/") + of }

// keeps notes the facts of a rung that has come up. What goes up next is announced after that, in the same journal, so
// they are durable before the use that they allow.
func (c *Core) keeps(r *rung) {
	owner := r.owner()
	if had := c.kept[r.Key]; owner == "" || had.owner == owner && slices.Equal(had.facts, r.facts) {
		return
	}
	c.kept[r.Key] = kept{owner, r.facts}
	c.batch.Lines = append(c.batch.Lines, Line{Key: keptKey(r.Key), Record: Record{
		// A journal refuses no record of that phase for lack of room.
		Rung:  Rung{Key: keptKey(r.Key), Kind: KindKept, Volume: r.Volume, Want: []Param{{Name: ParamOwner, Value: owner}}},
		Phase: Leaving, Boot: c.boot, Facts: r.facts,
	}})
}

// recallKept takes in what a record keeps.
func (c *Core) recallKept(rec Record) {
	of := rec.Rung.Key[len(keptKey("")):]
	c.kept[of] = kept{Value(rec.Rung.Want, ParamOwner), rec.Facts}
}

// knownFacts are those that an operation of r is given: of what is gone, those that are kept.
func (c *Core) knownFacts(r *rung) []Fact {
	if len(r.facts) > 0 || len(c.kept) == 0 {
		return r.facts
	}
	if k := c.kept[r.Key]; k.owner != "" && k.owner == r.owner() {
		return k.facts
	}
	return nil
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
func (c *Core) Owners() (all []string) {
	if len(c.kept) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.kept)) {
		all = append(all, c.kept[key].owner)
	}
	slices.Sort(all)
	return all
}
