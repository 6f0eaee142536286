package core

import (
	"slices"

	"github.com/volnode/volnode/hal"
)

// announce writes the line that must be durable before the first effect of an operation: an intent, or leaving, with
// the bound of its call in it. Effects that a start can list completely need none that is durable; the first setup
// writes one all the same, because a helper process that outlives the agent may have its effect after the next start
// has listed what there is. A refresh with other parameters writes that the rung may differ: no start sees which of
// them are there. The teardown of what has a place of its own needs one, too: what is missing there from then
// on was given up, and is not lost.
func (c *Core) announce(r *rung, v Verb) {
	givesUp := v == TearDown && r.recorded && len(r.Places) > 0
	if v == Refresh && !r.Intent && r.recorded && !r.refused && !slices.Equal(r.made, r.Want) {
		rec := c.record(r)
		rec.Refused = true
		c.batch.Lines = append(c.batch.Lines, Line{Key: r.Key, Record: rec})
		return
	}
	if v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {
		return
	}
	first := !r.recorded || r.phase == Lingering
	rec := c.recordInFlight(r)
	if v == TearDown {
		c.announceBelow(r)
		rec.Phase = Leaving
	} else {
		rec.Phase = Intent
	}
	line := Line{Key: r.Key, Record: rec, Sync: r.Intent || givesUp}
	if first && v == SetUp && !slices.ContainsFunc(c.below(r), func(b *rung) bool { return b.recorded }) {
		line.Room = c.room(r)
	}
	r.recorded, r.phase = true, rec.Phase
	c.batch.Lines = append(c.batch.Lines, line)
}

// announceBelow writes records for what r depends on, where none has one. On the node, perhaps only files of r name it,
// and they are removed with r.
func (c *Core) announceBelow(r *rung) {
	for _, b := range c.below(r) {
		if b.recorded || !b.foundOnDisk || !b.Intent {
			continue
		}
		b.recorded, b.phase = true, Leaving // a line of that kind always has room
		c.batch.Lines = append(c.batch.Lines, Line{Key: b.Key, Record: c.record(b), Sync: true})
	}
}

// within is the bound of a call with this deadline; 0 if it has none.
func (r *rung) within(deadline hal.Instant) hal.Instant {
	if deadline == 0 {
		return 0
	}
	return deadline.Add(r.Limits.LateWindow)
}

// recordInFlight is record while an operation is under way: its call may act until its bound.
func (c *Core) recordInFlight(r *rung) Record {
	rec := c.record(r)
	switch r.op.Verb {
	case TearDown:
		rec.TearDownUntil = max(rec.TearDownUntil, r.op.until)
	case SetUp, Refresh:
		rec.Rung.Want = r.op.Params
		rec.SetUpUntil = max(rec.SetUpUntil, r.op.until)
	case Inspect:
	}
	return rec
}

// writeNow is writeRecord for what the next life must know even if the agent dies before the end of an operation that
// is under way.
func (c *Core) writeNow(r *rung) {
	switch {
	case r.op == nil:
		c.writeRecord(r)
	case r.recorded:
		c.batch.Lines = append(c.batch.Lines, Line{Key: r.Key, Record: c.recordInFlight(r)})
	}
}

// writeRecord writes what is known after an operation or a fence has ended. None of it needs to be durable at once:
// what is on disk claims more.
func (c *Core) writeRecord(r *rung) {
	if r.op != nil {
		return // the line of its own end will say it
	}
	if r.isGone() {
		if r.isRemembered() || c.maySweep(r) { // a start must know of what nobody has looked for yet
			c.lingers(r)
			return
		}
		if r.recorded {
			r.recorded = false
			r.seq = 0
			c.batch.Lines = append(c.batch.Lines, Line{Key: r.Key, Drop: true})
		}
		r.made, r.facts, r.fingerprint, r.generation = nil, nil, "", nil
		c.locate(r)
		// The next intent is a first one again, and what is there by then is not ours. Until now it might have been
		// what a late setup has made.
		r.believe(r.overlooked())
		r.setSeen("")
		return
	}
	if !r.recorded && r.state != Present {
		return // nothing was done to it; what it needs room for is asked before its first call
	}
	rec := c.record(r)
	switch {
	case r.state == Present && r.left && r.child != "" && !r.Intent:
		rec.Phase = Leaving // its helper may yet take it down, after another start as well
	case r.state == Present:
		rec.Phase = Confirmed
	case r.phase == Confirmed && r.trust == reconfirmable:
		rec.Phase = Confirmed
	case r.state == Absent || r.phase == Leaving:
		rec.Phase = Leaving
	default:
		rec.Phase = Intent
	}
	r.recorded, r.phase = true, rec.Phase
	c.batch.Lines = append(c.batch.Lines, Line{Key: r.Key, Record: rec})
}

// release writes the end of a rung's obligations once its last fence has passed, wanted or not.
func (c *Core) release(r *rung) {
	if r.recorded && r.isGone() && !(r.phase == Lingering && (r.isRemembered() || c.maySweep(r))) {
		c.writeRecord(r)
		c.markAround(r)
	}
	if len(r.droppedBelow)+len(r.vacates) > 0 && r.isGone() {
		c.dropBelow(r)
	}
}

// record composes the record of r as it stands. The caller sets Phase.
func (c *Core) record(r *rung) Record {
	spec := r.Rung
	spec.Renew, spec.Looks, spec.Pins = 0, false, false // the next start hears of them again
	if r.made != nil {
		spec.Want = r.made
	}
	return Record{
		Rung: spec, Phase: r.phase, Boot: c.boot, Facts: r.facts, Fingerprint: r.fingerprint, Seen: r.seen,
		Generation: r.generation,
		SetUpUntil: r.bound(SetUp), TearDownUntil: r.bound(TearDown), MayBeUsed: c.runs(r), Seq: r.seq,
		Refused:       r.refused,
		AnsweredSetUp: r.remembers(SetUp), AnsweredTearDown: r.remembers(TearDown),
	}
}

// room estimates the bytes that the rest of r's ladder will need in the journal, one publish included. What has a
// record needs no more.
func (c *Core) room(r *rung) int {
	n := 0
	for _, a := range c.above[r.Key] {
		need := c.room(a)
		if !a.recorded {
			need += a.size()
		}
		n = max(n, need)
	}
	return n
}

// size estimates the bytes of a rung's record: its strings, and room for facts, fingerprints and bounds.
func (r *rung) size() int {
	n := 1024 + len(r.Key) + len(r.Kind) + len(r.Pod) + len(r.Volume) + len(r.Actor) + len(r.Exclusive)
	for _, key := range r.Below {
		n += 2*len(key) + 128
	}
	for _, p := range r.Want {
		n += len(p.Name) + len(p.Value) + 4
	}
	if owner := r.owner(); owner != "" {
		n += 1024 + len(r.Key) + len(owner) // of the record that keeps its facts
	}
	return n
}
