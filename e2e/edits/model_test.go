package edits

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// This file is the model of what a directory of manifests means. It follows docs/volnode.md, section 2, and shares
// nothing with hal/manifest.

// folder is one directory that was, is or may be again where the manifests are.
type folder struct {
	id      int
	entries map[string]entry
}

// entry is what stands under a name.
type entry struct {
	is   string // regular, directory, link, fifo, socket
	text string
	docs []object // what its text says
	good bool     // its text can be understood
	open bool     // others may write to it
}

const regular = "regular"

// mayHoldAny says whether the entry, which doesn't count, may hold any manifest at all.
func (e *entry) mayHoldAny() bool { return e != nil && (e.is == "link" || e.is == regular) }

func (e entry) counts() bool { return e.is == regular && e.good && !e.open }

// mayHold says whether a manifest that disappeared may have been moved into the entry, which doesn't count.
func (e entry) mayHold(names ...string) bool {
	switch {
	case e.is == "link" || e.is == regular && e.open:
		return true
	case e.is != regular:
		return false
	case e.text == "" || strings.Contains(e.text, "\x00"):
		return true
	case strings.HasPrefix(e.text, "{"):
		if !strings.HasSuffix(e.text, "}") && !strings.HasSuffix(e.text, "}\n") || isOpen(e.text) {
			return true
		}
	case !strings.HasSuffix(e.text, "\n"):
		return true
	default:
		if last := e.text[strings.LastIndex(e.text, "\n---")+1:]; isOpen(last) || isNameToCome(last) ||
			isMoreToCome(last) {
			return true
		}
	}
	words := strings.FieldsFunc(e.text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	})
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(names, w) })
}

var quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// isOpen says whether a document ends within brackets, or within quotes.
func isOpen(document string) bool {
	bare := quoted.ReplaceAllString(document, "")
	count := func(of string) int { return strings.Count(bare, of) }
	return count(`"`) > 0 || count("[")+count("{") > count("]")+count("}")
}

// isNameToCome says whether somebody who writes a document line by line may not have come to the name of its object.
func isNameToCome(document string) bool {
	var o map[string]any
	if err := yaml.Unmarshal([]byte(document), &o); err != nil {
		return !strings.Contains(document, "name")
	}
	return isNameless(o)
}

// isMoreToCome says whether a document is a good pod but for its containers, to which somebody who writes it line by
// line may not have come.
func isMoreToCome(document string) bool {
	var o struct {
		Kind string         `json:"kind"`
		Spec map[string]any `json:"spec"`
	}
	err := yaml.Unmarshal([]byte(document), &o)
	delete(o.Spec, "hostname")
	return err == nil && o.Kind == pod && len(o.Spec) == 0
}

func isNameless(o map[string]any) bool {
	if len(o) > 0 && !slices.ContainsFunc([]string{"apiVersion", "kind", "metadata", "spec", "items", "data"},
		func(key string) bool {
			_, ok := o[key]
			return ok
		}) {
		return false
	}
	if items, ok := o["items"].([]any); ok && len(items) > 0 {
		last, _ := items[len(items)-1].(map[string]any)
		return o["kind"] != "List" || isNameless(last)
	}
	metadata, _ := o["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name == ""
}

// last is what a file of manifests said when it was understood last.
type last struct {
	docs []object
	in   int    // the folder in which it was seen last
	bad  *entry // what it was there, if it did not count
}

// nowhere is the folder of a file that waits for a person, also after a restart.
const nowhere = -1

// model is what the agent should know.
type model struct {
	now      *folder
	unusable string // why nothing can be learnt from the directory
	isDown   bool   // no agent runs
	known    map[string]last
	served   map[identity]object
	from     map[identity]string // the file of what is served, and not kept
	held     map[identity]bool   // served, though no manifest names it
	rested   map[identity]bool   // served at the last rest: the agent knows these, and may have missed what came since
	disputes int                 // objects that don't count, for another has their name or uid
	lives    map[string]*life    // of pods, by uid
}

// life is a pod on the node.
type life struct {
	made    map[string]*made   // by path below the pod's directory
	passing map[string][]*made // what was wanted since the last rest
	names   map[string]bool    // and under which names
	absent  time.Time          // since when no manifest names it
	gaps    int
	longest time.Duration
}

// unnoticed is how long a manifest may be away, and nobody can have noticed: two readings, 200 ms apart, must agree.
const unnoticed = 150 * time.Millisecond

func newLife(stands map[string]*made) *life {
	return &life{made: stands, passing: map[string][]*made{}, names: map[string]bool{}}
}

// passes notes what is wanted at a path for a moment.
func (l *life) passes(at string, m *made) {
	if !slices.ContainsFunc(l.passing[at], func(other *made) bool { return other.of == m.of }) {
		l.passing[at] = append(l.passing[at], m)
	}
}

// isDoubtful says that the pod may have been taken for gone, and come again.
func (l *life) isDoubtful() bool { return l.gaps > 1 || l.longest >= unnoticed }

// read has the agent learn what the directory holds now.
func (m *model) read() {
	if m.isDown || m.unusable != "" {
		return
	}
	for name, e := range m.now.entries {
		if !isManifest(name) {
			continue
		}
		k := m.known[name]
		k.in, k.bad = m.now.id, nil
		if e.counts() {
			k.docs = e.docs
		} else {
			k.bad = &e
		}
		m.known[name] = k
	}
	for name, k := range m.known {
		if _, ok := m.now.entries[name]; !ok && (k.in == m.now.id || k.docs == nil && !k.bad.mayHoldAny()) {
			delete(m.known, name)
		}
	}
	m.serve()
}

func isManifest(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") &&
		(strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".json"))
}

// missing lists the files that are not in this folder, and were seen in another.
func (m *model) missing() []string {
	if m.unusable != "" {
		return nil
	}
	var names []string
	for name := range m.known {
		if _, ok := m.now.entries[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// bad lists the entries that don't count.
func (m *model) bad() []string {
	var names []string
	for name, e := range m.now.entries {
		if isManifest(name) && !e.counts() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// accept removes the missing files.
func (m *model) accept() {
	for _, name := range m.missing() {
		delete(m.known, name)
	}
	m.serve()
}

// dies ends the agent. What was missing waits for a person from now on; of what was bad the text is forgotten.
func (m *model) dies() {
	missing := m.missing()
	for name, k := range m.known {
		if slices.Contains(missing, name) {
			k.in = nowhere
		}
		if k.bad.mayHoldAny() {
			k.bad = &entry{is: "link"}
		}
		m.known[name] = k
	}
	m.isDown = true
}

// serve says what counts: of two objects with one name or uid the one that counted before, in the file in which it did,
// else in another, else the first; and what no manifest names any more, if it may still be wanted.
func (m *model) serve() {
	before, from := m.served, map[identity]string{}
	titleOf := func(id identity, file string) int {
		switch _, ok := before[id]; {
		case !ok:
			return 2
		case m.from[id] != file:
			return 1
		}
		return 0
	}
	counts, holder := map[identity]object{}, map[identity]identity{}
	disputed, contested := map[identity]bool{}, map[identity]bool{}
	m.disputes = 0
	for title := range 3 {
		for _, file := range slices.Sorted(maps.Keys(m.known)) {
			for _, o := range m.known[file].docs {
				id := o.id()
				if titleOf(id, file) != title {
					continue
				}
				other, isTaken := holder[id.named()]
				if !isTaken {
					other, isTaken = holder[id.owned()]
				}
				if isTaken {
					m.disputes++
					if other != id {
						disputed[id.named()], disputed[id.owned()], contested[other.named()] = true, true, true
					}
					continue
				}
				counts[id], holder[id.named()], holder[id.owned()] = o, id, id
				from[id] = file
			}
		}
	}
	m.served, m.from, m.held = counts, from, map[identity]bool{}
	for id, o := range before {
		if _, ok := holder[id.owned()]; ok {
			continue
		}
		_, isTaken := holder[id.named()]
		if m.keeps(id, o, isTaken, disputed[id.owned()] || disputed[id.named()] && !isTaken || contested[id.named()] &&
			id.kind == pod) {
			m.held[id] = true
			defer func() { counts[id] = o }()
		}
	}
}

// keeps says whether what no manifest names may still be wanted.
func (m *model) keeps(id identity, o object, isTaken, isDisputed bool) bool {
	if isDisputed {
		return true
	}
	if isTaken && id.kind != pod {
		return false
	}
	names := []string{id.uid}
	if !isTaken || o.uid == "" {
		names = append(names, id.name)
	}
	for name, k := range m.known {
		e, isThere := m.now.entries[name]
		if !isThere && k.bad != nil {
			e = *k.bad
		}
		if (isThere || k.bad != nil) && !e.counts() && e.mayHold(names...) {
			return true
		}
	}
	return false
}

// follow notes which pods a reading at this moment would not find. What was done began at began and is done now.
func (m *model) follow(began time.Time) {
	if m.isDown || m.unusable != "" {
		return
	}
	there := map[string]bool{}
	for id, o := range m.served {
		if id.kind != pod || m.held[id] && !m.rested[id] {
			continue
		}
		there[id.uid] = true
		l := m.lives[id.uid]
		if l == nil {
			l = newLife(map[string]*made{})
			m.lives[id.uid] = l
		}
		l.names[o.name] = true
		for _, v := range o.volumes {
			if of, ok := m.resolve(v); ok {
				l.passes(v.at(), &made{kind: v.kind, of: of})
			}
		}
	}
	for uid, l := range m.lives {
		switch {
		case there[uid] && !l.absent.IsZero():
			l.longest = max(l.longest, time.Since(l.absent))
			l.absent = time.Time{}
		case !there[uid] && l.absent.IsZero():
			l.absent = began
			l.gaps++
		}
	}
}

// pods are those that are served, by uid.
func (m *model) pods() map[string]object {
	pods := map[string]object{}
	for id, o := range m.served {
		if id.kind == pod {
			pods[id.uid] = o
		}
	}
	return pods
}

// find returns what is served under a name.
func (m *model) find(kind, name string) (object, bool) {
	for id, o := range m.served {
		if id.kind == kind && id.name == name {
			return o, true
		}
	}
	return object{}, false
}

// resolve says what a volume is made of, as the objects are.
func (m *model) resolve(v volume) (of string, ok bool) {
	if v.kind != "claim" {
		return v.of, true
	}
	_, claimed := m.find(claim, v.of)
	volume, there := m.find(pv, v.of)
	return volume.driver + "^" + volume.handle, claimed && there
}
