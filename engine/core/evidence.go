package core

import "github.com/volnode/volnode/hal"

// evidence is what is known of a rung, and how far core can trust it. It is one value: [rung.believe] alone sets it,
// and isLegal says which values there are. The zero value is that nothing is known.
type evidence struct {
	state State // Invariant: a trust goes with one state only, but for plain: see isLegal.
	trust trust // Invariant: as of state.
	// veiled: a start could not read the place, and an earlier run may have left something there. Invariant: state is
	// Unknown, core starts nothing, and nothing else is known but that the filesystem has failed.
	veiled bool
	// inspected: seen is known. Invariant: what has come to the place since came by a call for this rung.
	inspected bool
	// foundOnDisk: a start found it by its files and without a record. Invariant: what an inspection shows came after
	// these files.
	foundOnDisk bool
	mayBeUsed   bool // containers may have used it. Invariant: it is a pod's own, and not Absent.
	// sweep: a setup that ended with an error may have left names without a mount. One more inspection looks for them.
	// Invariant: an operation other than an inspection ends it.
	sweep bool
	left  bool // its data is given up. Invariant: a teardown may have acted since it last was up.
}

// trust is what goes with a state.
type trust uint8

const (
	// plain: the state says it all. What is Absent may come once more: a setup can have left something.
	plain trust = iota
	// clean: no setup can have left anything. Invariant: the rung is Absent, and no setup was ever sent, or each one
	// that was sent had ended when the last Done teardown began.
	clean
	// letGo: since the last look a setup may have acted, and a teardown after it. Then the actor no longer holds the
	// rung, but may have left its mount, and a setup would mount over that: a teardown must come first. Invariant: the
	// rung is Absent.
	letGo
	// reconfirmable: core has sent nothing since it confirmed the fingerprint. An inspection that finds it again is
	// enough to believe in the rung. Invariant: the rung is Unknown.
	reconfirmable
	// undo: the actor holds something incompatible or partial: a teardown must come before the next setup. Invariant:
	// the rung is Unknown.
	undo
	// failed: as undo, for the filesystem of the rung, or of the one below it, has failed since it came up.
	failed

	numTrusts
)

func (t trust) String() string {
	return [numTrusts]string{"plain", "clean", "let go", "reconfirmable", "to undo", "failed"}[t]
}

// isLegal reports whether the laws allow e.
func (e evidence) isLegal() bool {
	if e.veiled {
		return e == evidence{veiled: true} || e == evidence{veiled: true, trust: failed}
	}
	switch e.trust {
	case plain:
	case clean, letGo:
		if e.state != Absent {
			return false
		}
	case reconfirmable, undo, failed:
		if e.state != Unknown {
			return false
		}
	default:
		return false
	}
	return !e.mayBeUsed || e.state != Absent
}

// fresh is the evidence of a rung that core hears of for the first time.
func fresh(isVeiled bool) evidence {
	if isVeiled {
		return evidence{veiled: true}
	}
	return evidence{state: Absent, trust: clean}
}

// mustUndo reports whether a teardown must come before the next setup.
func (e evidence) mustUndo() bool { return e.trust == undo || e.trust == failed }

// doubted is e of a rung that may be up, down or half-way by now. What must go before the next setup still must.
func (e evidence) doubted() evidence {
	e.state = Unknown
	switch {
	case e.trust == letGo:
		e.trust = undo
	case !e.mustUndo():
		e.trust = plain
	}
	return e
}

// looked is e once somebody has inspected the place, and has seen what is not the rung; overlooked is e when that is
// not known any more.
func (e evidence) looked() evidence {
	e.inspected, e.foundOnDisk = true, false
	return e
}

func (e evidence) overlooked() evidence {
	e.inspected, e.foundOnDisk = false, false
	return e
}

// believe sets the evidence of r. Nothing else does.
func (r *rung) believe(e evidence) { r.evidence = e }

// Illegal is a rung whose evidence no law allowed: core has a defect.
type Illegal struct {
	Key      hal.Key
	Evidence string
}

// Illegal returns the rungs that the last Step found with such evidence. The slice is valid until the next Step.
func (c *Core) Illegal() []Illegal { return c.illegal }

// vet asserts that the laws allow the evidence of r. If not, nothing is known of r from here on, and containers may use
// it: core inspects its place before it asks a driver for anything.
func (c *Core) vet(r *rung) {
	if r.isLegal() && (!r.mayBeUsed || r.ownPod != nil) {
		return
	}
	c.illegal = append(c.illegal, Illegal{Key: r.Key, Evidence: r.evidence.String()})
	r.believe(evidence{mayBeUsed: r.ownPod != nil})
	c.writeRecord(r)
	c.markAround(r)
}

// vetAll vets those that core is about to decide on: no other has changed.
func (c *Core) vetAll(rs []*rung) {
	for _, r := range rs {
		if c.rungs[r.Key] == r {
			c.vet(r)
		}
	}
}

func (e evidence) String() string {
	text := e.state.String()
	if e.trust < numTrusts && e.trust != plain {
		text += ", " + e.trust.String()
	}
	for _, flag := range []struct {
		is   bool
		name string
	}{
		{e.veiled, "veiled"},
		{e.inspected, "inspected"},
		{e.foundOnDisk, "found on disk"},
		{e.mayBeUsed, "may be used"},
		{e.sweep, "to sweep"},
		{e.left, "given up"},
	} {
		if flag.is {
			text += ", " + flag.name
		}
	}
	return text
}
