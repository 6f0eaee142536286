package core

import (
	"cmp"
	"slices"

	"github.com/volnode/volnode/hal"
)

func sortByKey(rs []*rung) {
	slices.SortFunc(rs, func(a, b *rung) int { return cmp.Compare(a.Key, b.Key) })
}

// start puts an operation on r into the batch, behind the line that announces it.
func (c *Core) start(r *rung, v Verb) {
	c.lastOp++
	limit := r.Limits.SetUp
	params := r.made
	switch v {
	case TearDown:
		if limit = r.Limits.TearDown; c.desire(r) == wanted || r.state == Unknown {
			c.clears(r)
		}
	case SetUp, Refresh:
		params = r.Want
	case Inspect:
		limit = 0
	}
	if params == nil {
		params = r.Want
	}
	op := Op{
		ID: c.lastOp, Verb: v, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Volume: r.Volume, Actor: r.Actor,
		Params: params, Facts: c.knownFacts(r), Below: c.foundations(r, v), Fingerprint: r.fingerprint, Seen: r.seen,
		First: r.trust == clean && len(r.calls) == 0, Quiet: r.bound(SetUp) == 0, Left: r.left,
	}
	if limit > 0 {
		op.Deadline = c.now.Add(limit)
	}
	e := r.evidence
	e.sweep = e.sweep && v == Inspect
	r.believe(e)
	r.op = c.flight()
	*r.op = flight{
		Op: op, why: r.next.why, since: c.now, until: r.within(op.Deadline), quiet: op.Quiet,
		sole: c.hasSole(r),
	}
	c.markConcurrent(r)
	c.ops[op.ID] = r
	c.begins(r)
	r.changed = c.step
	if v == SetUp && r.seq == 0 {
		c.lastSeq++
		r.seq = c.lastSeq
	}
	c.announce(r, v)
	c.batch.Start = append(c.batch.Start, op)
	c.markAround(r)
}

// flight returns a flight to be filled in.
func (c *Core) flight() *flight {
	last := len(c.landed) - 1
	if last < 0 {
		return &flight{}
	}
	f := c.landed[last]
	c.landed = c.landed[:last]
	return f
}

// land keeps a flight that has ended, and that nobody has any more.
func (c *Core) land(f *flight) {
	if *f = (flight{}); len(c.landed) < mostKept {
		c.landed = append(c.landed, f)
	}
}

// markConcurrent notes which operations on one volume are in flight together: an ABORTED among them shows a serial
// actor.
func (c *Core) markConcurrent(r *rung) {
	if r.Volume == "" || r.op.Verb == Inspect {
		return
	}
	for _, o := range c.volumes[r.Volume] {
		if o != r && o.op != nil && o.op.Verb != Inspect {
			o.op.isConcurrent, r.op.isConcurrent = true, true
		}
	}
}

// complete takes in the end of an operation.
func (c *Core) complete(id hal.OpID, res Result) {
	r := c.ops[id]
	if r == nil {
		return
	}
	delete(c.ops, id)
	in := r.op
	c.ends(in)
	r.op = nil
	r.changed = c.step
	if in.Verb == SetUp && res.Outcome == hal.Done {
		c.claims(r, &res)
	}
	r.blocked = res.Blocked
	r.setReason(res.Reason)
	c.failed(r, in, &res)
	r.panics(res.Panicked)
	c.learnFromReply(r, in, res)
	wasUp, facts := in.Verb == Refresh && r.state == Present && slices.Equal(r.made, in.Params), r.facts
	switch in.Verb {
	case Inspect:
		c.inspectEnded(r, in, res)
	case SetUp, Refresh:
		c.setUpEnded(r, in, res)
	case TearDown:
		c.tearDownEnded(r, in, res)
	}
	if res.Outcome != hal.Done {
		c.setBack(r, in, res)
	}
	switch {
	case res.BelowUnknown && res.Failed:
		c.failBelow(r)
	case res.BelowUnknown:
		c.deny(r)
	}
	if res.AboveUnknown {
		c.contradict(r)
	}
	if in.Verb != Inspect {
		c.writeRecord(r)
		if last := len(c.batch.Lines) - 1; r.state == Present && c.batch.Lines[last].Key == r.Key {
			c.batch.Lines[last].Again = wasUp
			c.batch.Lines[last].Sync = r.Pins && !slices.Equal(facts, r.facts)
		}
		c.displace(r)
	}
	c.markAround(r)
	if c.serial[r.Actor] {
		for _, o := range c.volumes[r.Volume] {
			c.mark(o)
		}
	}
	c.land(in)
}

// setBack starts the wait before the next attempt. An ABORTED that another call of ours explains costs nothing: it is
// retried when that call ends.
func (c *Core) setBack(r *rung, in *flight, res Result) {
	if res.Answer == Aborted && in.isConcurrent {
		c.serial[r.Actor] = true
		return
	}
	wait := r.own().wait(c.paceOf(r, in.Verb, in.why))
	if res.Unfinished {
		*wait = backoff{}
		return
	}
	wait.why = res.Reason
	if res.Blocked {
		wait.hold(c.now, r.Key, in.Verb)
		return
	}
	isAwaited := in.why != whyRefresh || r.Renew == 0 // nobody waits for a renewal of what is up
	wait.fail(c.now, r.Key, in.Verb, isAwaited && res.Answer != NoAnswer)
}

// deny makes what r depends on Unknown, whatever an inspection shows: the actor says that it is not there.
func (c *Core) deny(r *rung) {
	for _, b := range c.below(r) {
		c.fall(b, "the driver says that it is not there: "+r.reason)
		b.own().denied = true
		if b.bound(SetUp) == 0 {
			b.believe(b.overlooked()) // what is there by now need not be what was there
		}
	}
}

// contradict makes what is wanted upon r Unknown, though nothing is known to be there: the actor says that something
// stands on r. A call that only a lost journal knew of may have come since the start. What it has made goes before r,
// and no inspection tells of all that an actor holds.
func (c *Core) contradict(r *rung) {
	for _, a := range c.above[r.Key] {
		if a.isGone() && c.desire(a) == wanted {
			e := a.doubted()
			e.inspected, e.foundOnDisk = false, true
			a.believe(e)
			a.setReason("the driver says that " + string(r.Key) + " is in use")
			c.markAround(a)
		}
	}
}

// looked takes in an inspection in the place of a renewal.
func (c *Core) looked(r *rung, res Result) {
	if res.Fingerprint != r.fingerprint && res.Short == "" {
		res.Short = "it is not what it was: " + res.Fingerprint
	}
	r.clearBackoff(SetUp)
	r.lacks(res.Short, r.renewal(c.now), r.expires)
	r.setReason(res.Short)
}

func (c *Core) inspectEnded(r *rung, in *flight, res Result) {
	if res.Outcome != hal.Done {
		return
	}
	e := r.evidence
	switch {
	case in.why == whyRefresh:
		c.looked(r, res)
	case e.trust == reconfirmable && res.Fingerprint == r.fingerprint:
		r.endsLoss()
		e.state, e.trust, e.left, e.mayBeUsed = Present, plain, false, r.Pod != ""
		r.believe(e)
		r.confirms()
		r.clearBackoff(SetUp)
		c.writeRecord(r)
		c.resetAbove(r)
	case e.trust == reconfirmable && c.fails(r, res.Fingerprint):
	case e.trust == reconfirmable:
		e.trust = plain
		r.believe(e)
		c.intruded(r, res.Fingerprint)
		r.saw(res.Fingerprint)
	case (r.awaitsEffect() || e.sweep) && c.isForeign(r, res.Fingerprint):
		e.sweep = false
		r.believe(e)
		c.appears(r, res.Fingerprint)
	case e.sweep && res.Fingerprint != "" && IsBare(res.Fingerprint):
		e = e.doubted()
		e.sweep, e.inspected = false, true
		r.believe(e)
		r.setSeen("") // nothing was there when it was gone
		r.own().reason = "found " + res.Fingerprint + ": the driver made it after it had returned an error"
	default:
		if r.isGone() && c.intruded(r, res.Fingerprint) {
			e = r.evidence      // its actor may have lost all trust
			e.inspected = false // what was seen goes before r is set up, and what comes then is not known yet
			r.believe(e)
			return
		}
		e.inspected, e.sweep = true, false
		r.believe(e)
		switch {
		case res.Fingerprint == r.fingerprint:
			r.setSeen("") // what is there is ours
		case r.foundOnDisk && !IsBare(res.Fingerprint):
			// it may be ours: a setup takes it if its driver does, and a teardown does not unmount it
			r.setSeen(SeenUnknown)
		default:
			r.setSeen(res.Fingerprint)
		}
	}
}

func (c *Core) setUpEnded(r *rung, in *flight, res Result) {
	e := r.evidence
	switch res.Outcome {
	case hal.Done:
		changed := r.state != Present || r.fingerprint != res.Fingerprint
		c.rises(r)
		r.endsLoss()
		e.state, e.trust, e.left, e.mayBeUsed = Present, plain, false, r.Pod != ""
		r.believe(e)
		r.confirms()
		r.made, r.generation, r.facts, r.fingerprint = in.Params, generation(in.Below), res.Facts, res.Fingerprint
		c.locate(r)
		c.keeps(r)
		attempts := r.up.attempts
		r.clearBackoff(SetUp)
		r.clearBackoff(TearDown)
		r.setReason(res.Short)
		r.lacks(res.Short, earlier(res.RefreshBy, r.renewal(c.now)), res.Expires)
		r.refuses(false)
		if res.Short != "" || (res.RefreshBy != 0 && res.RefreshBy <= c.now) {
			if in.Verb == Refresh && !res.Unfinished {
				r.own().up.attempts = attempts // still short: the next wait is longer
			}
			r.own().up.fail(c.now, r.Key, in.Verb, false)
		}
		c.disown(r)
		if changed {
			c.resetAbove(r)
		}
	case hal.NotDone:
		// It teaches nothing about the state.
		r.refuses(r.refused || in.Verb == Refresh && !slices.Equal(r.made, in.Params))
	case hal.Unknown:
		c.fenceOff(r, in, res)
		if in.Verb == Refresh && r.state == Present {
			r.refuses(r.refused || !slices.Equal(r.made, in.Params))
			r.own().remade = true
			return // a refresh takes nothing down: the rung stays up, and core repeats the refresh
		}
		if r.state == Absent || r.made == nil {
			r.made = in.Params // a teardown must know what may have been made
			c.locate(r)
		}
		e = e.doubted()
		if res.UndoFirst {
			e.trust = max(e.trust, undo)
		}
		if res.Failed {
			e.trust = failed
		}
		r.believe(e)
	}
}

func (c *Core) tearDownEnded(r *rung, in *flight, res Result) {
	e := r.evidence
	e.left = e.left || res.Outcome != hal.NotDone
	switch res.Outcome {
	case hal.Done:
		r.endsLoss()
		e.state, e.trust, e.mayBeUsed = Absent, plain, false
		if in.quiet {
			e.trust = clean
		}
		r.setReason("")
		r.lacks("", 0, 0)
		r.clearBackoff(TearDown) // and not r.up: a setup that is undone each time still waits longer each time
	case hal.NotDone:
		// The known end of a teardown that did nothing leaves the rung as it was: a joining pod is not fenced out.
	case hal.Unknown:
		c.fenceOff(r, in, res)
		e = e.doubted()
		if res.UndoFirst {
			// it is not what it was, and no containers run on what is left: they had ended before the teardown
			e.trust, e.mayBeUsed = max(e.trust, undo), false
		}
	}
	r.believe(e)
}

// fenceOff remembers a call without a known end until its bound.
func (c *Core) fenceOff(r *rung, in *flight, res Result) {
	acts := c.acted(r)
	if in.until == 0 || res.Instance != "" && c.dead[r.Actor] == res.Instance {
		return
	}
	if !acts && (in.ended || !res.Fenced) {
		if res.Answer == Failed {
			r.remember(fenceVerb(in.Verb), in.until, res.Instance)
		}
		return
	}
	r.fence(call{
		op: in.ID, verb: fenceVerb(in.Verb), until: in.until, instance: res.Instance, name: res.Call, code: res.Code,
		answer: res.Answer,
	})
	c.open[in.ID] = r
}

// resetAbove lets the rungs that depend on r try at once, because r changed. If they make r fall again and again, the
// wait of fall sets the pace.
func (c *Core) resetAbove(r *rung) {
	for _, a := range c.above[r.Key] {
		a.clearBackoff(SetUp)
	}
}

func generation(below []Foundation) []Foundation {
	g := make([]Foundation, len(below))
	for i, b := range below {
		g[i] = Foundation{Key: b.Key, Fingerprint: b.Fingerprint}
	}
	return g
}

// refused ends operations whose lines could not be written. They were not started.
func (c *Core) refused(e Refused) {
	for _, key := range e.Keys {
		if r := c.rungs[key]; r != nil {
			r.recorded = false // the next setup asks for room again
		}
	}
	for _, id := range e.Ops {
		r := c.ops[id]
		if r == nil {
			continue
		}
		verb, before := r.op.Verb, *r.wait(r.op.Verb)
		c.complete(id, Result{Outcome: hal.NotDone, Reason: e.Reason})
		if e.IsUnwritten {
			*r.own().wait(verb) = before
			r.own().wait(verb).pause(c.now, r.Key, verb)
		}
	}
}
