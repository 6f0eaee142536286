package journal

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// entry is one live record, in the least memory: there is one for each rung that is up. Its strings and lists are those
// of the line that put it, which core has as well and never changes.
type entry struct {
	alike       *alike
	more        *more // nil: all of it is zero
	ladder      *ladder
	pod         core.PodUID
	fingerprint string
	want        []core.Param
	facts       []core.Fact
	seq         uint64
	size        int32 // encoded
	worst       int32
	phase       core.Phase
	mayBeUsed   bool
	base        bool // the ladder is this record's own: it is no member of it
}

// alike is what many records have in common.
type alike struct {
	kind   core.Kind
	actor  string
	limits core.Limits
	boot   hal.BootID
	need   int16
	intent bool
}

// more is what an emptyDir that is up has not.
type more struct {
	below                           []hal.Key
	volume, exclusive, seen         string
	generation                      []core.Foundation
	setUpUntil, tearDownUntil       hal.Instant
	answeredSetUp, answeredTearDown hal.Instant
	refused                         bool
}

// room is what e reserves for others.
func (e *entry) room() int64 {
	if e.base {
		return e.ladder.room
	}
	return 0
}

// newEntry is one for r, with room for all of it.
func newEntry(r *core.Record) *entry {
	if isPlain(r) {
		return &entry{}
	}
	both := &struct { // one object
		entry
		more
	}{}
	both.entry.more = &both.more
	return &both.entry
}

// keep has e hold what r says.
func (g *ledger) keep(e *entry, r *core.Record) {
	e.pod, e.fingerprint, e.want, e.facts, e.seq = r.Rung.Pod, r.Fingerprint, r.Rung.Want, r.Facts, r.Seq
	e.phase, e.mayBeUsed = r.Phase, r.MayBeUsed
	is := alike{r.Rung.Kind, r.Rung.Actor, r.Rung.Limits, r.Boot, r.Rung.Need, r.Rung.Intent}
	if e.alike == nil || *e.alike != is {
		e.alike = g.alikeAs(is)
	}
	if isPlain(r) {
		e.more = nil
		return
	}
	if e.more == nil {
		e.more = &more{}
	}
	*e.more = more{
		r.Rung.Below, r.Rung.Volume, r.Rung.Exclusive, r.Seen, r.Generation, r.SetUpUntil, r.TearDownUntil,
		r.AnsweredSetUp, r.AnsweredTearDown, r.Refused,
	}
}

func isPlain(r *core.Record) bool {
	return len(r.Rung.Below) == 0 && r.Rung.Volume == "" && r.Rung.Exclusive == "" && r.Seen == "" &&
		len(r.Generation) == 0 && !r.Refused &&
		r.SetUpUntil|r.TearDownUntil|r.AnsweredSetUp|r.AnsweredTearDown == 0
}

func (g *ledger) alikeAs(is alike) *alike {
	a := g.alike[is]
	if a == nil {
		a = &alike{}
		*a = is
		g.alike[is] = a
	}
	return a
}

// record is what keep has taken, of the rung key.
func (e *entry) record(key hal.Key) core.Record {
	is := e.alike
	r := core.Record{
		Rung: core.Rung{
			Key: key, Kind: is.kind, Pod: e.pod, Want: e.want, Actor: is.actor, Need: is.need, Intent: is.intent,
			Limits: is.limits,
		},
		Phase: e.phase, Boot: is.boot, Facts: e.facts, Fingerprint: e.fingerprint, MayBeUsed: e.mayBeUsed, Seq: e.seq,
	}
	if m := e.more; m != nil {
		r.Rung.Below, r.Rung.Volume, r.Rung.Exclusive, r.Seen, r.Generation = m.below, m.volume, m.exclusive, m.seen,
			m.generation
		r.SetUpUntil, r.TearDownUntil, r.AnsweredSetUp, r.AnsweredTearDown = m.setUpUntil, m.tearDownUntil,
			m.answeredSetUp, m.answeredTearDown
		r.Refused = m.refused
	}
	return r
}
