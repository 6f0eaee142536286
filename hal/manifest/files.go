package manifest

import (
	"iter"
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
)

// This file is the state that a reading begins with and ends in.
//
// A change, from the notice on: [hal.Watches] rings, and a reading is planned. It asks which names have changed, and
// looks at those files and at the restless ones, about which something is still to be done. What it finds of a file
// goes into the state by put, which keeps the indexes: who names what, which files are restless, how much of each pack
// lives. Then the files that changed, and all that share a name or a uid with them or with each other, are resolved; of
// all others the outcome is as it was. The ledger gets the files that were put, and the engine the objects
// that came out in another way. All of it is in layers over the state, and becomes the state on the owner, in take.
//
// A reading that can't know what has changed looks at everything: the first, one after an overflow, one in another
// directory. What such a reading finds is confirmed by another such one. What is found by name is confirmed by name:
// each change that was made before the first of the two readings ended is among the names of the second. So who moves
// an object from one file to another is seen to have written the other, as by a reading of everything.

// state is what has been accepted so far. It is not changed once it has been handed out, but by merge.
type state struct {
	loaded     bool // what the last run knew is in it
	served     bool // this run has passed it to the engine
	lostRecord bool // the record of what the last run knew is lost, or a part of it
	in         dirID
	// unnamed are pods of earlier runs that no manifest names, while the record of manifests is not complete.
	unnamed []string
	// names in the directory that are no manifest's, sorted; without those that begin with a dot
	passed []string
	ledger book   // as it was written last
	key    string // of versions
	// ownTroubles are about own files that a start could not use. A reading reports each until the file is in order.
	ownTroubles []hal.Trouble
	files       layer[string, file]
	// of packs that no ledger lists: they may be of the past, so they serve only who is there
	spares   map[string]file
	readings layer[string, reading] // of files that could be read
	// seen is the content that was read last of files whose change is not accepted yet; a zero sum is a file that was
	// gone.
	seen layer[string, sum]

	objects  layer[id, object]            // what is served
	kept     []object                     // those of them that no manifest has any more
	going    map[id]bool                  // of the last run, whose files a first reading has not found
	keeping  []byte                       // the text that keeps them for the next run
	wrote    []object                     // what that text says: more than kept until the ledger lists less
	disputes layer[string, []hal.Trouble] // by file: its objects that do not count

	// Made of the files.
	holders  layer[id, []string]      // by name, and by uid: the files with such an object, sorted
	restless layer[string, struct{}]  // files about which something is to be done though they stay as they are
	packs    layer[string, packCount] // in which copies lie
	litter   layer[string, struct{}]  // copies, and packs, that may lie there though nobody needs them
}

// packCount is how many copies of a pack are in use, and how many were written.
type packCount struct{ living, size int }

// begin returns a state that a reading may change.
func (s state) begin() state {
	s.ledger.lines = s.ledger.lines.begin()
	s.files, s.readings, s.seen = s.files.begin(), s.readings.begin(), s.seen.begin()
	s.objects, s.disputes = s.objects.begin(), s.disputes.begin()
	s.holders, s.restless, s.packs, s.litter = s.holders.begin(), s.restless.begin(), s.packs.begin(), s.litter.begin()
	return s
}

// merge makes what a reading has changed the state.
func (s state) merge() state {
	s.ledger.lines = s.ledger.lines.merge()
	s.files, s.readings, s.seen = s.files.merge(), s.readings.merge(), s.seen.merge()
	s.objects, s.disputes = s.objects.merge(), s.disputes.merge()
	s.holders, s.restless, s.packs, s.litter = s.holders.merge(), s.restless.merge(), s.packs.merge(), s.litter.merge()
	return s
}

// put has a file be f from now on.
func (s *state) put(name string, f file) {
	before, _ := s.files.get(name)
	s.files.set(name, f)
	s.index(name, before, f)
	if f.isQuiet() {
		s.restless.drop(name)
	} else {
		s.restless.set(name, struct{}{})
	}
}

// forget has a file be none of ours any more.
func (s *state) forget(name string) {
	before, _ := s.files.get(name)
	s.files.drop(name)
	s.index(name, before, file{})
	s.restless.drop(name)
	if before.alone {
		s.litter.set(name, struct{}{})
	}
}

// index brings the indexes up to date with a file as it is now.
func (s *state) index(name string, before, now file) {
	if !before.hasNamesOf(now) {
		for key := range before.keys() {
			rest := without(s.holders.of(key), name)
			if s.holders.set(key, rest); len(rest) == 0 {
				s.holders.drop(key)
			}
		}
		for key := range now.keys() {
			s.holders.set(key, with(s.holders.of(key), name))
		}
	}
	if before.pack == now.pack {
		if now.pack != "" && before.packSize != now.packSize { // somebody had changed it, and it is written again
			s.packs.set(now.pack, packCount{s.packs.of(now.pack).living, now.packSize})
		}
		return
	}
	if before.pack != "" {
		of := s.packs.of(before.pack)
		if of.living--; of.living > 0 {
			s.packs.set(before.pack, of)
		} else {
			s.packs.drop(before.pack)
			s.litter.set(before.pack, struct{}{})
		}
	}
	if now.pack != "" {
		s.packs.set(now.pack, packCount{s.packs.of(now.pack).living + 1, now.packSize})
		if now.alone {
			s.litter.set(name, struct{}{})
		}
	}
}

func without(names []string, name string) (rest []string) {
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}

func with(names []string, name string) []string {
	at, is := slices.BinarySearch(names, name)
	if is {
		return names
	}
	return slices.Insert(slices.Clone(names), at, name)
}

// hasNamesOf reports whether two files are of the same objects.
func (f file) hasNamesOf(other file) bool {
	return slices.EqualFunc(f.objects, other.objects, func(a, b object) bool { return a.id == b.id })
}

// keys is what a file has for itself, if it counts.
func (f file) keys() iter.Seq[id] {
	return func(yield func(id) bool) {
		for _, o := range f.objects {
			if !yield(byName(o.id)) || !yield(byUID(o.id)) {
				return
			}
		}
	}
}

// touched names the files that a reading has put or forgotten, sorted.
func (s state) touched() []string { return slices.Sorted(maps.Keys(s.files.over)) }

// unresolved names those of them that may have come out in another way, sorted: not one that is quiet, and was, with
// the same content. What another run has refused may be because of a file whose content is lost: nothing else connects
// the two.
func (s state) unresolved() []string {
	names := slices.DeleteFunc(s.touched(), func(name string) bool {
		was, now := s.files.base[name], s.files.of(name)
		return was.isQuiet() && now.isQuiet() && was.sum == now.sum
	})
	if !slices.ContainsFunc(names, func(name string) bool { return s.files.base[name].lost }) {
		return names
	}
	for _, name := range s.refusing() {
		names = with(names, name)
	}
	return names
}

// refusing names the files with objects that do not count, as another has their name or uid, in any order.
func (s state) refusing() (names []string) {
	for name, f := range s.files.all() {
		if len(f.refused) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// isUndecided reports whether somebody does not count and nobody else has its name or its uid: nothing tells which of
// two is meant.
func (s state) isUndecided() bool {
	return slices.ContainsFunc(s.refusing(), func(name string) bool {
		return slices.ContainsFunc(s.files.of(name).refused, func(key id) bool {
			_, isNamed := s.holding(byName(key))
			_, isOwned := s.holding(byUID(key))
			return !isNamed && !isOwned
		})
	})
}

// lost names the files that counted in the last run, and of whose content nothing is known, sorted: two readings have
// not agreed yet, or it is bad.
func (s state) lost() []string {
	return slices.DeleteFunc(s.restlessly(), func(name string) bool {
		f := s.files.of(name)
		return !f.lost || f.isGone
	})
}

// restlessly names the restless files, sorted.
func (s state) restlessly() []string {
	var names []string
	for name := range s.restless.all() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// connected names, sorted, some files and all that share a name or a uid with one of them, as it is or was, with an
// object that is kept, or with each other.
func (s state) connected(names []string) []string {
	in, queue := map[string]bool{}, []string(nil)
	add := func(name string) {
		if !in[name] {
			in[name], queue = true, append(queue, name)
		}
	}
	share := func(key id) {
		for _, name := range s.holders.of(key) {
			add(name)
		}
	}
	for _, name := range names {
		add(name)
		for key := range s.files.base[name].keys() {
			share(key)
		}
	}
	for _, o := range s.kept {
		share(byName(o.id))
		share(byUID(o.id))
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for key := range s.files.of(queue[0]).keys() {
			share(key)
		}
	}
	return slices.Sorted(maps.Keys(in))
}

// holding returns the object of a name, or of a uid, that is served.
func (s state) holding(key id) (object, bool) {
	is := func(o object) bool { return byName(o.id) == key || byUID(o.id) == key }
	for _, name := range s.holders.of(key) {
		for _, o := range s.files.of(name).objects {
			if served, ok := s.objects.get(o.id); ok && is(o) {
				return served, true
			}
		}
	}
	if at := slices.IndexFunc(s.kept, is); at >= 0 {
		return s.kept[at], true
	}
	return object{}, false
}

// missing names the files that are kept though they are not in the directory.
func (s state) missing() (names []string) {
	for _, name := range s.restlessly() {
		if s.files.of(name).missing {
			names = append(names, name)
		}
	}
	return names
}

// is is what is known of a file that is there.
func (s state) is(name string) file {
	f, isKnown := s.files.get(name)
	switch {
	case !isKnown:
		return s.spares[name]
	case f.isGone:
		f.isGone, f.problem = false, ""
	}
	return f
}

// hasPod reports whether a pod is served.
func (s state) hasPod(uid string) bool {
	_, is := s.holding(id{Kind: "Pod", UID: uid})
	return is
}
