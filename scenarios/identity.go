package scenarios

import (
	"fmt"
)

// This file is S13: one path has one volume for as long as anything of it may be there. It is judged by the truth
// alone, at the instant of an effect: what drivers hold, what is mounted, and the calls that may still act. A volume
// that went before, leaving nothing, is no matter.

// intrudes is S13 of what is sent to a place, or comes up there.
func (r *run) intrudes(p *place, what string) {
	r.judges("S13")
	for q := r.byPath[p.path]; q != nil; q = q.earlier {
		if q.thing == p.thing || q.isTouched || p.isTouched || q.isStranded {
			continue
		}
		why := ""
		switch {
		case q.isHeld:
			why = "its driver holds it there"
		case len(q.calls) > 0:
			why = "a " + q.calls[0].method + " of it may still act"
		}
		if why != "" {
			r.fail("S13", what, string(p.key), fmt.Sprintf("%s of volume %s comes to %s, and volume %s is there: %s",
				what, p.thing, p.path, q.thing, why))
			return
		}
	}
	if stack := r.w.MountsAt(p.path); len(stack) == 0 || p.isTouched || r.isForeign(stack[len(stack)-1]) {
		return
	}
	other := r.shown(p)
	if other == nil || r.mayComeUnknown(p.path, other.thing) || other.isBetrayed && what == unpublish {
		// of two volumes that are in doubt at a path, one must be let go of first: nobody can tell whose mount it is
		return
	}
	r.fail("S13", what, string(p.key),
		fmt.Sprintf("%s of volume %s comes to %s, and what is mounted there shows volume %s",
			what, p.thing, p.path, other.thing))
}

// shown is another volume, of those that were ever at the path of a place, that the top mount there shows; nil if it
// shows none of them.
func (r *run) shown(p *place) *place {
	for q := r.byPath[p.path]; q != nil; q = q.earlier {
		if q.thing != p.thing && r.w.HasShown(q.driver, q.volume, q.path) {
			return q
		}
	}
	return nil
}

// isolatesData is S28: what the containers of p, which start, find at a volume's path is the data of that volume, and
// no other volume was ever found there, whoever has it and in whichever namespace.
func (r *run) isolatesData(p *pod) {
	for i := range p.uses {
		u := &p.uses[i]
		if !u.holdsData() {
			continue
		}
		v, errno := r.w.OpenView(u.path)
		if errno != 0 {
			continue // S21 and S10 judge that
		}
		r.judges("S28")
		id := dataID(p, u)
		if other, known := r.shows[v.Root()]; known && other != id {
			r.fail("S28", "containers start", p.name,
				fmt.Sprintf("containers of pod %s find the data of volume %s at %s, which is to be volume %s",
					p.name, other, u.path, id))
			return
		}
		r.shows[v.Root()] = id
	}
}

// mayComeUnknown: a call for another volume at a path was known of by a journal alone that is lost. It comes whenever
// it likes.
func (r *run) mayComeUnknown(path, thing string) bool {
	for q := r.byPath[path]; r.root.forgotten && q != nil; q = q.earlier {
		if q.thing == thing && (q.isTouched || q.isStranded) {
			return true
		}
	}
	return false
}
