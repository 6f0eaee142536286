package manifest

import (
	"slices"

	"github.com/volnode/volnode/hal"
)

// This file is who comes first of those who would have a name or a uid, and who waits.

// title is how good the claim of an object to its name and uid is.
type title uint8

const (
	counted title = iota // it counted so far, in this file
	// it counted so far, in another file; at a start: it is in the copy of an earlier content.
	hasMoved
	mayHaveCounted // it is in a file that counted in the last run, whose copy is lost
	// it counted in the last run, and its file is gone if the next reading agrees: it need not come up, and has its
	// name and uid.
	isGoing
	isHere // it has not counted as far as is known, and before this run a pod of its uid was on the node
	isNew
)

// titleOf is that of an object in a file. A start knows which did not count, of the content that counted.
func (r *resolver) titleOf(obj object, name string, f file) title {
	was, served := r.state.objects.base[obj.id]
	newcomer := isNew
	if obj.id.Kind == "Pod" && slices.Contains(r.left, obj.id.UID) {
		newcomer = isHere
	}
	switch {
	case f.going && !r.state.served:
		return isGoing
	case !r.starts && r.state.going[obj.id]:
		return hasMoved
	case r.starts && slices.Contains(f.refused, obj.id):
		return isNew
	case !r.starts && !served:
		if was := r.state.files.base[name]; was.lost && !slices.Contains(was.refused, obj.id) {
			return mayHaveCounted
		}
		return newcomer
	case r.starts && f.lost, !r.starts && was.file != name:
		return hasMoved
	}
	return counted
}

// waitsForLost reports whether a newcomer in a file does not count as long as a lost file may have its name or its uid,
// and why if that is bad: otherwise the next reading decides.
func (r *resolver) waitsForLost(key id, name string, f file) (why string, waits bool) {
	if len(r.lost) > 0 && slices.Contains(f.refused, key) {
		// it did not count in the last run: once all that did is read, it is seen whether it does now
		if bad := r.badLost(); bad != "" {
			why = "did not count in the last run, and what counted then may be in " + bad +
				", which is bad: correct or remove that file"
		}
		return why, true
	}
	lost := r.comesAfter(key)
	if lost == "" || lost == name {
		return "", false
	}
	if r.state.files.of(lost).problem != "" {
		why = "waits for " + r.o.Dir + "/" + lost +
			", which may have its name or its uid, and is bad: correct or remove that file"
	}
	return why, true
}

// comesAfter is the lost file that may have the name or the uid of a newcomer, "" if there is none.
func (r *resolver) comesAfter(key id) string {
	wasHere := key.Kind == "Pod" && slices.Contains(r.left, key.UID)
	for _, name := range r.lost {
		f := r.state.files.of(name)
		isAny := f.isOpaque()
		if isAny && (wasHere || key.Kind == "Pod" && r.misses()) || !isAny && f.mayHold(key, true) {
			return name
		}
	}
	return ""
}

// misses reports whether a pod was on the node before this run that no file names.
func (r *resolver) misses() bool {
	return slices.ContainsFunc(r.left, func(uid string) bool {
		return len(r.state.holders.of(id{Kind: "Pod", UID: uid})) == 0
	})
}

// contests notes that an object does not count, as another has its name or its uid.
func (r *resolver) contests(with holder, key id, where string) {
	if with.id != key {
		r.disputed[byName(key)], r.disputed[byUID(key)], r.contested[byName(with.id)] = where, where, where
	}
}

const neither = "has the name or the uid of the object in %s; volnode has lost its record of which of them counted, " +
	"so neither counts; remove one of them"

// rivals are those that have the name or the uid of another with the same title, where the record is lost of who
// counted: any of them may be the one that did.
func (r *resolver) rivals(key id, with title) (all []holder) {
	if isLost := with == mayHaveCounted || with >= isHere && r.state.lostRecord; !isLost {
		return nil
	}
	first, owner := r.named[byName(key)], r.owned[byUID(key)]
	for _, h := range []holder{first, owner} {
		if h.file != "" && h.title == with && h.id != key && !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

// withdraw has a newcomer not count, and nobody else get its name and its uid.
func (r *resolver) withdraw(h holder, why string) {
	if _, counts := r.objects[h.id]; !counts {
		return
	}
	delete(r.objects, h.id)
	r.refused[h.file] = append(r.refused[h.file], h.id)
	r.disputes[h.file] = append(r.disputes[h.file],
		hal.Trouble{Where: r.o.Dir + "/" + h.file + ": " + h.id.String(), Problem: h.where + " " + why})
}
