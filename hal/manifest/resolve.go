package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
)

// resolver puts files together: some that have changed, and all that are connected to them.
type resolver struct {
	o         Options
	state     *state
	names     []string // of the files, sorted
	starts    bool     // the files are the copies of the last run
	accepts   bool     // a person takes this directory for the one before
	left      []string // uids of pods of before this run
	keepAll   bool     // what no file has any more may be in one whose former content is not known
	objects   map[id]object
	named     map[id]holder            // by kind, namespace and name
	owned     map[id]holder            // by kind and uid
	disputes  map[string][]hal.Trouble // by file
	troubles  []hal.Trouble            // of what is kept
	refused   map[string][]id          // by file: its objects that do not count
	disputed  map[id]string            // by kind and name, and by kind and uid: the object that does not count
	contested map[id]string            // by kind and name of what counts: the object that would have its place
	kept      []object                 // what no manifest has any more
	going     map[id]bool              // see state
	lost      []string                 // see state.lost
	waits     bool                     // the last run refused an object, and it is not known why as long as files are lost
	bad       []string                 // files that may hold what they do not show, sorted
}

// holder has a name or a uid.
type holder struct {
	id    id
	where string
	moves bool // it was served so far, is in no file, and may be in this one, which is bad or does not count yet
	title title
	file  string // "" for what no file holds
}

func byName(i id) id { return id{Kind: i.Kind, Namespace: i.Namespace, Name: i.Name} }
func byUID(i id) id  { return id{Kind: i.Kind, UID: i.UID} }

// resolve puts the files together, of which some have changed. Of two objects with one name, or with one uid, the one
// counts that was served so far, in the file in which it was, else the first, files in the order of their names. What
// was served so far and is in no file any more is gone, but for what a dispute, a bad file or keepAll keeps. Files that
// are not connected to one that has changed have come out as they are. It returns the troubles of what is kept.
func (s *state) resolve(r resolver, changed []string) (troubles []hal.Trouble) {
	r.state, r.names, r.objects, r.named, r.owned = s, s.connected(changed), map[id]object{}, map[id]holder{},
		map[id]holder{}
	r.going, r.lost = map[id]bool{}, s.lost()
	r.waits = len(r.lost) > 0 && len(s.refusing()) > 0
	r.refused, r.disputed, r.contested, r.disputes = map[string][]id{}, map[id]string{}, map[id]string{},
		map[string][]hal.Trouble{}
	r.findBad()
	before := r.before()
	for _, t := range []title{counted, hasMoved, mayHaveCounted, isGoing, isHere, isNew} {
		for _, name := range r.names {
			r.enter(name, t)
		}
		if t == isGoing && !s.served {
			for _, o := range s.kept {
				r.reserve(o.id, "what the last run kept")
			}
		}
		if t == hasMoved && !r.starts {
			r.reserveMoving(before)
		}
	}
	s.going = r.going
	r.keep(before)
	for _, name := range r.names {
		f, ok := s.files.get(name)
		if f.lost { // what was refused of it stays so, also if its copy does not have that
			r.refused[name] = append(r.refused[name], slices.DeleteFunc(slices.Clone(f.refused), func(was id) bool {
				return slices.Contains(r.refused[name], was)
			})...)
		}
		if ok && !slices.Equal(f.refused, r.refused[name]) {
			f.refused = r.refused[name]
			s.put(name, f)
		}
	}
	for key := range before { // the order does not matter
		if _, ok := r.objects[key]; !ok {
			s.objects.drop(key)
		}
	}
	for key, o := range r.objects { // the order does not matter
		s.objects.set(key, o)
	}
	s.kept = r.kept
	for _, name := range r.names {
		if s.disputes.drop(name); len(r.disputes[name]) > 0 {
			s.disputes.set(name, r.disputes[name])
		}
	}
	return r.troubles
}

// before returns what was served so far, at a start what was kept, and is not served any more if no object that is
// entered, or kept, is it.
func (r *resolver) before() map[id]object {
	all := map[id]object{}
	add := func(o object) {
		if was, ok := r.state.objects.base[o.id]; ok {
			all[o.id] = was
		}
	}
	for _, name := range r.names {
		for _, f := range []file{r.state.files.base[name], r.state.files.of(name)} {
			for _, o := range f.objects {
				add(o)
			}
		}
	}
	for _, o := range r.state.kept {
		add(o)
	}
	return all
}

// enter takes in the objects of a file with such a title.
func (r *resolver) enter(name string, with title) {
	f := r.state.files.of(name)
	file := r.o.Dir + "/" + name
	for _, obj := range f.objects {
		if r.titleOf(obj, name, f) != with {
			continue
		}
		where := file + ": " + obj.where
		if with == isGoing {
			r.reserve(obj.id, where)
			continue
		}
		trouble := func(format string, args ...any) {
			problem := where + " " + fmt.Sprintf(format, args...)
			r.disputes[name] = append(r.disputes[name],
				hal.Trouble{Where: file + ": " + obj.id.String(), Problem: problem})
		}
		if why, waits := r.waitsForLost(obj.id, name, f); with >= isHere && waits {
			r.refused[name] = append(r.refused[name], obj.id)
			if why != "" {
				trouble("%s", why)
			}
			continue
		}
		first, isNamed := r.named[byName(obj.id)]
		owner, isOwned := r.owned[byUID(obj.id)]
		dispute := func(with holder, format string, args ...any) {
			r.refused[name] = append(r.refused[name], obj.id)
			switch {
			case !with.moves:
				trouble(format, args...)
			case r.state.files.of(with.where).problem != "": // otherwise the next reading decides
				trouble("has the uid of %s, which %s may hold, and that is bad: correct or remove that file",
					with.id, r.o.Dir+"/"+with.where)
			}
			r.contests(with, obj.id, where)
		}
		pod, isPod := obj.value.(*corev1.Pod)
		rivals := r.rivals(obj.id, with)
		switch {
		case len(rivals) > 0:
			r.refused[name] = append(r.refused[name], obj.id)
			trouble(neither, rivals[0].where)
			for _, rival := range rivals {
				r.withdraw(rival, fmt.Sprintf(neither, where))
				r.contests(rival, obj.id, where)
			}
		case isNamed:
			dispute(first, "is also in %s, which counts; remove one of them", first.where)
		case isOwned:
			dispute(owner, "has the uid %s of the object in %s, which counts; give each its own uid", obj.id.UID,
				owner.where)
		case isPod && pod.Spec.NodeName != r.o.NodeName:
			trouble("is a pod for node %.100q, and this is %q; remove spec.nodeName, or the pod", pod.Spec.NodeName,
				r.o.NodeName)
			r.disputed[byUID(obj.id)] = where // what was served of it so far is kept
		default:
			obj.file = name
			r.objects[obj.id] = obj
		}
		// Who was served so far keeps its uid, also if another has its name by now.
		if isFree := !isNamed && !isOwned; isFree || len(rivals) > 0 || with <= hasMoved {
			r.has(holder{id: obj.id, where: where, title: with, file: name}, isNamed, isOwned)
		}
	}
}

// has gives an object its name and its uid, but for what another has.
func (r *resolver) has(h holder, isNamed, isOwned bool) {
	if !isNamed {
		r.named[byName(h.id)] = h
	}
	if !isOwned {
		r.owned[byUID(h.id)] = h
	}
}

// reserve keeps the name, if nobody has it, and the uid of an object that counted in the last run, if its file went
// while no volnode ran: the file that it was moved to may not count yet.
func (r *resolver) reserve(key id, where string) {
	_, served := r.state.objects.base[key]
	_, isOwned := r.owned[byUID(key)]
	if !served || isOwned {
		return
	}
	h := holder{id: key, where: where}
	r.owned[byUID(key)], r.going[key] = h, true
	if _, isNamed := r.named[byName(key)]; !isNamed {
		r.named[byName(key)] = h
	}
}

// reserveMoving keeps the name and the uid of what was served so far, is in no file, and may be in one that does not
// count yet. If it may be in a bad one, it keeps its uid alone: who gets its name counts beside it. A bad file that
// does not say so by uid does not keep that from what somebody has put in its place.
func (r *resolver) reserveMoving(before map[id]object) {
	for _, key := range inOrder(before) {
		_, isNamed := r.named[byName(key)]
		if _, isOwned := r.owned[byUID(key)]; isOwned {
			continue
		}
		isReplaced := slices.ContainsFunc(r.state.files.of(before[key].file).objects, func(o object) bool {
			return byUID(o.id) == byUID(key)
		})
		for _, name := range r.bad {
			f, h := r.state.files.of(name), holder{id: key, where: name, moves: true}
			if f.problem == "" && f.mayHold(key, !isNamed || r.isUIDOfName(key)) {
				r.has(h, isNamed, false)
				break
			}
			if f.problem != "" && f.mayHold(key, r.isUIDOfName(key)) && (!isReplaced || f.mentions(key.UID)) {
				r.owned[byUID(key)] = h
			}
		}
	}
}

// isUIDOfName reports whether the uid of an object is made of its name: its manifest has none.
func (r *resolver) isUIDOfName(key id) bool {
	return key.UID == string(uidOf(r.o.NodeName, key.Kind, key.Namespace, key.Name))
}

// findBad names the files that may hold what they do not show.
func (r *resolver) findBad() {
	for _, name := range r.state.restlessly() {
		if f := r.state.files.of(name); !f.isGone && (f.opaque || len(f.texts) > 0 || f.problem != "") {
			r.bad = append(r.bad, name)
		}
	}
}

// keep keeps what was served so far and is in no file any more, where it is not known to be gone.
func (r *resolver) keep(before map[id]object) {
	for _, key := range inOrder(before) {
		if _, ok := r.objects[key]; ok {
			continue
		}
		if _, renamed := r.owned[byUID(key)]; renamed && r.hasUID(key) {
			continue
		}
		why := r.reason(key)
		if why == "" {
			continue
		}
		o := before[key]
		if !r.starts && !r.isElsewhere(o) {
			o.keptIn = r.state.in
		}
		r.objects[key] = o
		r.kept = append(r.kept, o)
		if key.Kind == "Pod" && why != quietly {
			r.troubles = append(r.troubles, hal.Trouble{
				Where: key.String(), Held: true,
				Accept: strings.HasSuffix(why, acceptIt), Problem: why,
			})
		}
	}
}

// hasUID reports whether an object is served with the uid of key.
func (r *resolver) hasUID(key id) bool {
	for other := range r.objects { // the order does not matter
		if byUID(other) == byUID(key) {
			return true
		}
	}
	return false
}

// acceptIt ends what a person may accept.
const acceptIt = "run 'volnode sources --accept' to accept it as removed"

// quietly: no trouble is shown.
const quietly = "quietly"

// reason says why an object is kept that is in no file any more, "" if it is gone.
func (r *resolver) reason(key id) string {
	if r.starts {
		return quietly // the first reading decides
	}
	holder, isTaken := r.named[byName(key)]
	isMoving := r.owned[byUID(key)].moves
	isTaken = isTaken && holder.id != key // what the last run kept has its own name
	if where, ok := r.disputed[byUID(key)]; ok && !isMoving {
		return "volnode keeps it: " + where +
			" has its uid, but does not count: correct or remove that object"
	}
	if where, ok := r.disputed[byName(key)]; ok && !isTaken && !isMoving {
		return "volnode keeps it: " + where +
			" has its name, but does not count: correct or remove that object"
	}
	if isTaken && key.Kind != "Pod" {
		return ""
	}
	if where, ok := r.contested[byName(key)]; ok && !isMoving {
		return "volnode keeps it: two objects have its name, and " + where +
			" is the one that does not count: remove one of the two, or give it another name"
	}
	if r.waits {
		if bad := r.badLost(); bad != "" {
			return "volnode keeps it: an object did not count in the last run, maybe because of it, and what counted " +
				"then may be in " + bad + ", which is bad: correct or remove that file"
		}
		return quietly
	}
	isNameEnough := !isTaken || r.isUIDOfName(key)
	for _, name := range r.bad {
		if f := r.state.files.of(name); f.mayHold(key, isNameEnough) {
			switch {
			case f.problem == "":
				return quietly // it counts at the next reading, or is bad then
			case f.missing:
				return "its manifest is gone, but volnode keeps it: " + name +
					" may hold it, was bad, and is missing in another directory: restore that file, or " +
					acceptIt
			}
			return "its manifest is gone, but volnode keeps it: " + r.o.Dir + "/" + name +
				" may hold it and is bad: correct or remove that file"
		}
	}
	if r.isElsewhere(r.state.objects.base[key]) {
		return "volnode keeps it: no manifest had it, and it was not gone, as another directory came in the place of the " +
			"manifests, which says nothing of it: restore the one before, or " + acceptIt
	}
	if r.keepAll && !isTaken {
		for _, name := range r.bad {
			if f := r.state.files.of(name); f.problem != "" && (f.lost || !f.known) {
				return "its manifest is gone, but volnode tears down nothing while " + r.o.Dir + "/" + name +
					" is bad: correct or remove that file"
			}
		}
		return quietly
	}
	return ""
}

// isElsewhere reports whether an object is kept for what was in another directory.
func (r *resolver) isElsewhere(o object) bool { return !r.accepts && o.isElsewhere(r.state.in) }

// badLost is the path of the first lost file that is bad, "" if there is none.
func (r *resolver) badLost() string {
	for _, name := range r.lost {
		if r.state.files.of(name).problem != "" {
			return r.o.Dir + "/" + name
		}
	}
	return ""
}

// inOrder sorts objects such that what others refer to comes first.
func inOrder(objects map[id]object) []id {
	rank := map[string]int{
		hal.SecretKind: 0, hal.ConfigMapKind: 1, hal.TrustBundleKind: 1, "CSIDriver": 2, "PersistentVolume": 3,
		"VolumeAttachment":      4,
		"PersistentVolumeClaim": 5, "Pod": 6,
	}
	return slices.SortedFunc(maps.Keys(objects), func(a, b id) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
