package core

import (
	"fmt"
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
	owner  string // see ParamOwner
	volume string // of the rung, for people
	facts  []Fact // of its last setup
}

// FactUnique is the fact that no two rungs have with one value: the disk that a device is. It is a rung's from the
// setup that finds it until the rung is forgotten, and for as long as its facts are kept.
const FactUnique = "unique"

// claims gives what a setup has found to its rung, unless another has it: then nothing goes up on the rung.
func (c *Core) claims(r *rung, res *Result) {
	value := FactOf(res.Facts, FactUnique)
	if value == "" {
		return
	}
	if by, is := c.holder(value); is && c.unique[value] != r.Key {
		*res = Result{Outcome: hal.NotDone, Blocked: true, Reason: fmt.Sprintf("%s is %s, which %s has; volnode gives "+
			"one disk to one volume, as each would destroy what the other writes; correct the one that names the wrong disk",
			r.Volume, value, by)}
		return
	}
	c.unique[value] = r.Key
}

// holder is the volume that has what is unique.
func (c *Core) holder(value string) (volume string, is bool) {
	key := c.unique[value]
	if r := c.rungs[key]; r != nil && FactOf(r.facts, FactUnique) == value {
		return r.Volume, true
	}
	k := c.kept[key]
	return k.volume, FactOf(k.facts, FactUnique) == value
}

// recallUnique takes in what a record says that a rung has.
func (c *Core) recallUnique(of hal.Key, facts []Fact) {
	if value := FactOf(facts, FactUnique); value != "" {
		c.unique[value] = of
	}
}

func keptKey(of hal.Key) hal.Key { return hal.Key(string(KindKept)+"/") + of }

// keeps notes the facts of a rung that has come up. What goes up next is announced after that, in the same journal, so
// they are durable before the use that they allow.
func (c *Core) keeps(r *rung) {
	owner := r.owner()
	if had := c.kept[r.Key]; owner == "" || had.owner == owner && slices.Equal(had.facts, r.facts) {
		return
	}
	c.kept[r.Key] = kept{owner, r.Volume, r.facts}
	c.batch.Lines = append(c.batch.Lines, Line{Key: keptKey(r.Key), Record: Record{
		// A journal refuses no record of that phase for lack of room.
		Rung:  Rung{Key: keptKey(r.Key), Kind: KindKept, Volume: r.Volume, Want: []Param{{Name: ParamOwner, Value: owner}}},
		Phase: Leaving, Boot: c.boot, Facts: r.facts,
	}})
}

// recallKept takes in what a record keeps.
func (c *Core) recallKept(rec Record) {
	of := rec.Rung.Key[len(keptKey("")):]
	c.kept[of] = kept{Value(rec.Rung.Want, ParamOwner), rec.Rung.Volume, rec.Facts}
	c.recallUnique(of, rec.Facts)
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
