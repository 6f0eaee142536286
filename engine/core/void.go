package core

import (
	"slices"

	"github.com/volnode/volnode/hal"
)

// A parameter can tie a rung to something outside, such as one attachment of its volume. When the rung wants another
// value of that parameter, the present setup is void. It stays void if the first value comes back, and over restarts:
// a volume that was detached in between has another device.

// voided is the value of a parameter of a rung that is void. No ladder wants it.
const voided = "(void)"

// void marks the parameters of the present setup of r, or of the setup in flight, that spec wants changed.
func (c *Core) void(r *rung, spec *Rung) {
	made, is := voidIn(r.made, spec.Want)
	if is {
		r.made = made
	}
	if r.op != nil {
		var isToo bool
		r.op.Params, isToo = voidIn(r.op.Params, spec.Want)
		is = is || isToo
	}
	if is && r.recorded {
		c.writeNow(r)
	}
}

// voidIn returns made with the parameters marked that want ties to another value. It does not change made.
func voidIn(made, want []Param) (marked []Param, is bool) {
	for _, w := range want {
		at := slices.IndexFunc(made, func(m Param) bool { return m.Name == w.Name })
		if w.OnChange != OnChangeVoid || at < 0 || made[at].Value == w.Value || made[at].Value == voided {
			continue
		}
		if !is {
			made, is = slices.Clone(made), true
		}
		made[at].Value = voided
	}
	return made, is
}

// isVoid reports whether the present setup has, or may have, another value of a tied parameter than r wants.
func (r *rung) isVoid() bool {
	return slices.ContainsFunc(r.Want, func(w Param) bool {
		at := slices.IndexFunc(r.made, func(m Param) bool { return m.Name == w.Name })
		return w.OnChange == OnChangeVoid && (at < 0 || r.made[at].Value != w.Value)
	})
}

// fails reports whether what an inspection has found is what r was, on a filesystem that has failed since: then it
// goes before the next setup, which would bring up the same again, and nothing new is made upon it.
func (c *Core) fails(r *rung, fingerprint string) bool {
	if !hal.HasFailed(fingerprint, r.fingerprint) {
		return false
	}
	c.fall(r, "its filesystem has failed: found "+fingerprint)
	r.fail()
	c.failBelow(r)
	c.markAround(r)
	return true
}

// failBelow takes what r depends on to be on a filesystem that has failed: r, which is a mount of the same one, shows
// it. A driver need not mount anything where it stages, so nothing else may show it.
func (c *Core) failBelow(r *rung) {
	for _, b := range c.below(r) {
		if b.state == Absent || b.trust == failed {
			continue
		}
		c.fall(b, r.reason)
		b.fail()
		c.markAround(b)
	}
}

// fail notes that the filesystem of a rung that is Unknown has failed.
func (r *rung) fail() {
	e := r.evidence
	e.trust = failed
	r.believe(e)
}
