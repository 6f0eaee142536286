package core

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// call is one call of ours whose end is not known: an actor that may still work on its rung until its bound.
type call struct {
	op       hal.OpID    // 0 for one of an earlier run, known by its bound only
	verb     Verb        // Setup or Tear down
	until    hal.Instant // its bound. Invariant: not 0.
	instance string      // of the actor it was sent to
	name     string      // Call and Code of its Result
	code     string      // see Result.Code
	answer   Answer      // NoAnswer or Doubted; Failed of an actor that acts after it has answered
	aborted  bool        // a later repeat was answered ABORTED by the same process: this call was the one it was busy with
}

// fence adds a call without a known end. A bound of zero is no call.
func (r *rung) fence(k call) {
	if k.until != 0 {
		p := r.own()
		p.calls = append(p.calls, k)
	}
}

// bound returns the latest bound of the calls of a verb, 0 if none is open.
func (r *rung) bound(v Verb) hal.Instant {
	var until hal.Instant
	for _, k := range r.calls {
		if k.verb == v {
			until = max(until, k.until)
		}
	}
	return until
}

// expireCalls takes away the calls whose bound has passed, and those that end matches.
func (c *Core) expireCalls(r *rung, end func(call) bool) {
	before, mayTakeDown := len(r.calls), r.bound(TearDown) != 0
	// A record that stays may keep a bound that has passed: it says nothing any more.
	// A teardown that is in flight may have looked before the effect came.
	isAwaited := r.awaitsEffect() || r.op != nil && r.op.Verb == TearDown && r.remembers(SetUp) != 0
	isForgotten := r.forgets(c.now, end)
	if isAwaited && isForgotten && r.remembers(SetUp) == 0 {
		e := r.evidence
		e.sweep = true
		r.believe(e)
	}
	isForgotten = isForgotten && r.isGone()
	if before > 0 {
		r.own().calls = slices.DeleteFunc(r.calls, func(k call) bool {
			over := k.until <= c.now || end(k)
			if over {
				delete(c.open, k.op)
			}
			return over
		})
	}
	if len(r.calls) == before && !isForgotten {
		return
	}
	if mayTakeDown && r.bound(TearDown) == 0 && r.state == Absent && r.trust == plain {
		e := r.evidence
		e.trust = letGo
		r.believe(e)
	}
	c.writeRecord(r)
	c.markAround(r)
}

func never(call) bool { return false }

// answered: the late answer of that very call is the proof of its end, unless its actor is known to act after it has
// answered.
func (c *Core) answered(op hal.OpID) {
	if r := c.ops[op]; r != nil {
		r.op.ended = true
	}
	if r := c.open[op]; r != nil && !c.acted(r) {
		c.expireCalls(r, func(k call) bool { return k.op == op })
	}
}

// actorGone: the process is dead and its cgroup is empty, so nothing it was asked to do can still happen.
func (c *Core) actorGone(actor, instance string) {
	if instance == "" {
		return
	}
	c.dead[actor] = instance
	for _, r := range c.of(actor) {
		c.expireCalls(r, func(k call) bool { return k.instance == instance })
	}
}

// learnFromReply takes in what an answer proves of the one call of ours on the volume that has no known end: a repeat
// of it was ABORTED by the same process, so that call was at work; a still later repeat was answered OK, so it no
// longer is. An error proves nothing of another call: it may have been given before the actor was at the volume. An
// ABORTED while other calls of ours were in flight on the volume, or could act on it when the repeat was sent, may
// speak of those and proves nothing; nor does an answer of an actor that acts after it has answered.
func (c *Core) learnFromReply(r *rung, in *flight, res Result) {
	isProof := in.Verb != Inspect && (res.Answer == Final || res.Answer == Aborted) && res.Instance != ""
	if !isProof || c.acted(r) || !in.sole {
		return
	}
	i := slices.IndexFunc(r.calls, func(k call) bool {
		return k.op != 0 && k.op < in.ID && k.verb == fenceVerb(in.Verb) && k.instance == res.Instance
	})
	if i < 0 {
		return
	}
	if res.Answer == Aborted {
		r.calls[i].aborted = r.calls[i].aborted || !in.isConcurrent
		return
	}
	if r.calls[i].aborted {
		ended := r.calls[i].op
		c.expireCalls(r, func(k call) bool { return k.op == ended })
	}
}

// hasSole reports whether one call of ours without a known end can act on the volume of r, and no other. Until the
// bound of a call that an earlier run may have sent at its end there may be one of which no record tells.
func (c *Core) hasSole(r *rung) bool {
	n, within := 0, time.Duration(0)
	for _, o := range c.volumes[r.Volume] {
		n += len(o.calls)
		within = max(within, max(o.Limits.SetUp, o.Limits.TearDown)+o.Limits.LateWindow)
	}
	return n == 1 && (c.earlier == 0 || c.earlier.Add(within) <= c.now)
}

// fenceVerb is the side on which a verb's call acts.
func fenceVerb(v Verb) Verb {
	if v == TearDown {
		return TearDown
	}
	return SetUp
}
