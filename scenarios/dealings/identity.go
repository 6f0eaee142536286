package dealings

import (
	"fmt"

	"github.com/volnode/volnode/scenarios/world"
)

// This file is S13: one path has one volume for as long as anything of it may be there. It is judged by the truth
// alone, at the instant of an effect: what drivers hold, what is mounted, and the calls that may still act. A volume
// that went before, leaving nothing, is no matter.

// Intrudes is S13 of what is sent to a place, or comes up there.
func Intrudes(r *world.Run, p *world.Place, what string) {
	r.Judges("S13")
	for q := r.ByPath[p.Path]; q != nil; q = q.Earlier {
		if q.Thing == p.Thing || q.IsTouched || p.IsTouched || q.IsStranded {
			continue
		}
		why := ""
		switch {
		case q.IsHeld:
			why = "its driver holds it there"
		case len(q.Calls) > 0:
			why = "a " + q.Calls[0].Method + " of it may still act"
		}
		if why != "" {
			r.Fail("S13", what, string(p.Key), fmt.Sprintf("%s of volume %s comes to %s, and volume %s is there: %s",
				what, p.Thing, p.Path, q.Thing, why))
			return
		}
	}
	if stack := r.W.MountsAt(p.Path); len(stack) == 0 || p.IsTouched || IsForeign(r, stack[len(stack)-1]) {
		return
	}
	other := shown(r, p)
	if other == nil || mayComeUnknown(r, p.Path, other.Thing) || other.IsBetrayed && what == world.Unpublish {
		// of two volumes that are in doubt at a path, one must be let go of first: nobody can tell whose mount it is
		return
	}
	r.Fail("S13", what, string(p.Key),
		fmt.Sprintf("%s of volume %s comes to %s, and what is mounted there shows volume %s",
			what, p.Thing, p.Path, other.Thing))
}

// shown is another volume, of those that were ever at the path of a place, that the top mount there shows; nil if it
// shows none of them.
func shown(r *world.Run, p *world.Place) *world.Place {
	for q := r.ByPath[p.Path]; q != nil; q = q.Earlier {
		if q.Thing != p.Thing && r.W.HasShown(q.Driver, q.Volume, q.Path) {
			return q
		}
	}
	return nil
}

// isolatesData is S28: what the containers of p, which start, find at a volume's path is the data of that volume, and
// no other volume was ever found there, whoever has it and in whichever namespace.
func isolatesData(r *world.Run, p *world.Pod) {
	for i := range p.Uses {
		u := &p.Uses[i]
		if !holdsData(u) {
			continue
		}
		v, errno := r.W.OpenView(u.Path)
		if errno != 0 {
			continue // S21 and S10 judge that
		}
		r.Judges("S28")
		id := dataID(p, u)
		if other, known := r.Shows[v.Root()]; known && other != id {
			r.Fail("S28", "containers start", p.Name,
				fmt.Sprintf("containers of pod %s find the data of volume %s at %s, where volume %s belongs",
					p.Name, other, u.Path, id))
			return
		}
		r.Shows[v.Root()] = id
	}
}

// mayComeUnknown: a call for another volume at a path was known of by a journal alone that is lost. It comes whenever
// it likes.
func mayComeUnknown(r *world.Run, path, thing string) bool {
	for q := r.ByPath[path]; r.Root.Forgotten && q != nil; q = q.Earlier {
		if q.Thing == thing && (q.IsTouched || q.IsStranded) {
			return true
		}
	}
	return false
}
