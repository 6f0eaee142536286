package edits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file draws what people do. What is drawn is a function of the seed and of the model, never of time.

const driverFile = "driver.yaml"

var names = []string{"ant", "bee", "cow", "dog", "elk", "fox", "gnu"}

var claims = []string{"claim-a", "claim-b", "claim-c", "claim-d", "claim-e"}

// edit is one edit that can be made now.
type edit struct {
	weight int
	name   string
	does   func()
}

func (s *session) pick(from []string) string { return from[s.r.IntN(len(from))] }

// files are the manifests that count, but for the session's own.
func (s *session) files() []string {
	var files []string
	for name, e := range s.model.now.entries {
		if isManifest(name) && e.counts() && name != driverFile && !strings.HasPrefix(name, marker) {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

// place is where an object is.
type place struct {
	file  string
	index int
	object
}

// places lists the objects of a kind.
func (s *session) places(kind string) []place {
	var all []place
	for _, file := range s.files() {
		for i, o := range s.model.now.entries[file].docs {
			if o.kind == kind {
				all = append(all, place{file, i, o})
			}
		}
	}
	return all
}

func (s *session) isNamed(kind, name string) bool {
	if _, ok := s.model.find(kind, name); ok {
		return true
	}
	has := func(docs []object) bool {
		return slices.ContainsFunc(docs, func(o object) bool { return o.kind == kind && o.name == name })
	}
	for _, k := range s.model.known {
		if has(k.docs) {
			return true
		}
	}
	for _, e := range s.model.now.entries { // the agent may be away
		if has(e.docs) {
			return true
		}
	}
	return false
}

// freeName is a pod's name that nobody has, or "".
func (s *session) freeName() string {
	var free []string
	for _, n := range names {
		if !s.isNamed(pod, n) {
			free = append(free, n)
		}
	}
	if len(free) == 0 {
		return ""
	}
	return s.pick(free)
}

func (s *session) uid() string {
	s.serial++
	return fmt.Sprintf("ca11ab1e-%04d-4000-8000-%012d", s.serial, s.seed%1e12)
}

// freeHandle is a handle that nobody has or had, as long as they last.
func (s *session) freeHandle() string {
	s.handle++
	return handleOf(s.handle % handles)
}

// saveDocs writes objects to a file; none removes it.
func (s *session) saveDocs(file string, docs []object) {
	if len(docs) == 0 {
		s.removes(file)
		return
	}
	s.serial++
	text := textOf(s.r.IntN(forms), fmt.Sprintf("# edit %d\n", s.serial), docs)
	s.saves(file, good(text, docs))
}

func (s *session) docs(file string) []object { return slices.Clone(s.model.now.entries[file].docs) }

func (s *session) newFile() string {
	s.serial++
	return fmt.Sprintf("%s-%d.%s", s.pick([]string{"app", "net", "web"}), s.serial,
		s.pick([]string{"yaml", "yml", "json"}))
}

// adds puts an object into a file that is there, or into a new one.
func (s *session) adds(o object) {
	files := s.files()
	if len(files) == 0 || s.r.IntN(2) == 0 {
		s.saveDocs(s.newFile(), []object{o})
		return
	}
	file := s.pick(files)
	s.saveDocs(file, append(s.docs(file), o))
}

// takesOut removes an object from its file.
func (s *session) takesOut(p place) {
	s.saveDocs(p.file, slices.Delete(s.docs(p.file), p.index, p.index+1))
}

// alters edits an object in its file.
func (s *session) alters(p place, how func(o *object)) {
	docs := s.docs(p.file)
	docs[p.index].volumes = slices.Clone(docs[p.index].volumes)
	how(&docs[p.index])
	s.saveDocs(p.file, docs)
}

func (s *session) drawVolumes(n int) []volume {
	var all []volume
	for i := range n {
		switch s.r.IntN(8) {
		case 0, 1, 2:
			all = append(all, volume{fmt.Sprintf("scratch-%d", i), "empty", ""})
		case 3:
			all = append(all, volume{fmt.Sprintf("fast-%d", i), "memory", ""})
		case 4:
			all = append(all, volume{fmt.Sprintf("own-%d", i), "inline", s.pick(drivers)})
		default:
			c := s.pick(claims)
			if !slices.ContainsFunc(all, func(v volume) bool { return v.of == c }) {
				all = append(all, volume{fmt.Sprintf("data-%d", i), "claim", c})
			}
		}
	}
	return all
}

// isDelicate says that more than one edit at a time could mean more than one thing.
func (s *session) isDelicate() bool {
	m := s.model
	return m.unusable != "" || len(m.bad())+len(m.missing())+len(m.held)+m.disputes > 0 || s.isUnresolved()
}

// free are the edits that mean one thing, whatever comes between.
func (s *session) free() []edit {
	pods, files := s.places(pod), s.files()
	edits := []edit{
		{10 - len(pods), "a new pod", s.newPod},
		{1, "a backup, a swap file, an editor's test", s.litters},
	}
	add := func(can bool, weight int, name string, does func()) {
		if can {
			edits = append(edits, edit{weight, name, does})
		}
	}
	// what takes two steps would have the other object count for a moment
	some, two := len(pods) > 0, s.model.disputes == 0
	add(some, 4, "a pod is deleted", func() { s.takesOut(s.anyPod()) })
	add(some && s.freeName() != "", 4, "a pod with a uid is renamed", func() {
		name := s.freeName()
		s.alters(s.anyPod(), func(o *object) { o.uid, o.name = o.id().uid, name })
	})
	add(some, 2, "a pod gets another uid", func() { s.alters(s.anyPod(), func(o *object) { o.uid = s.uid() }) })
	add(two && len(pods) > 1, 3, "two pods swap their uids", s.swapsUIDs)
	add(some && two, 4, "a pod moves to another file", s.movesPod)
	add(some && two, 3, "a pod is deleted and made again", s.remakes)
	add(some, 3, "a pod's volumes change", s.changesVolumes)
	add(len(files) > 0, 3, "a file is renamed", func() { s.moves(s.pick(files), s.newFile()) })
	add(len(files) > 0, 2, "a file is written in another form", func() {
		file := s.pick(files)
		s.saveDocs(file, s.docs(file))
	})
	objects := append(s.places(pv), s.places(claim)...)
	add(len(objects) > 0, 2, "a volume or a claim is exported again", func() {
		s.alters(objects[s.r.IntN(len(objects))], func(o *object) { o.uid = s.uid() })
	})
	return edits
}

func (s *session) anyPod() place {
	pods := s.places(pod)
	return pods[s.r.IntN(len(pods))]
}

func (s *session) newPod() {
	name := s.freeName()
	if name == "" {
		return
	}
	o := object{kind: pod, name: name, volumes: s.drawVolumes(1 + s.r.IntN(3))}
	isTaken := slices.ContainsFunc(s.places(pod), func(p place) bool { return p.id().uid == o.id().uid })
	if s.r.IntN(3) > 0 || isTaken {
		o.uid = s.uid()
	}
	s.adds(o)
}

// litters leaves files beside the manifests that are no manifests.
func (s *session) litters() {
	name := "web.yaml"
	if files := s.files(); len(files) > 0 {
		name = s.pick(files)
	}
	text := s.model.now.entries[name].text
	for _, junk := range []string{
		name + "~", name + ".bak", "." + name + ".swp", "4913", "#" + name + "#", "README",
		"." + name,
	} {
		if s.r.IntN(2) == 0 {
			s.saves(junk, bad(text))
		}
	}
}

func (s *session) swapsUIDs() {
	pods := s.places(pod)
	i := s.r.IntN(len(pods))
	a, b := pods[i], pods[(i+1)%len(pods)]
	uidA, uidB := a.id().uid, b.id().uid
	if a.file == b.file {
		docs := s.docs(a.file)
		docs[a.index].uid, docs[b.index].uid = uidB, uidA
		s.saveDocs(a.file, docs)
		return
	}
	s.alters(a, func(o *object) { o.uid = uidB })
	s.pause()
	s.alters(b, func(o *object) { o.uid = uidA })
}

func (s *session) movesPod() {
	p := s.anyPod()
	others := slices.DeleteFunc(s.files(), func(file string) bool { return file == p.file })
	to, docs := s.newFile(), []object(nil)
	if len(others) > 0 && s.r.IntN(3) > 0 {
		to = s.pick(others)
		docs = s.docs(to)
	}
	docs = append(docs, p.object)
	if s.r.IntN(3) == 0 { // first out of the one
		s.takesOut(p)
		s.saveDocs(to, docs)
		return
	}
	s.saveDocs(to, docs)
	s.pause()
	s.takesOut(p)
}

func (s *session) remakes() {
	p := s.anyPod()
	s.takesOut(p)
	s.pause()
	if s.r.IntN(2) == 0 {
		p.uid = s.uid()
	}
	s.adds(p.object)
}

func (s *session) changesVolumes() {
	s.alters(s.anyPod(), func(o *object) {
		if len(o.volumes) > 1 && s.r.IntN(2) == 0 {
			at := s.r.IntN(len(o.volumes))
			o.volumes = slices.Delete(o.volumes, at, at+1)
			return
		}
		for _, v := range slices.DeleteFunc(s.drawVolumes(4),
			func(v volume) bool { return !strings.HasSuffix(v.name, "-3") }) {
			if !slices.ContainsFunc(o.volumes, func(w volume) bool {
				return w.name == v.name || w.kind == v.kind && w.of == v.of && v.of != ""
			}) {
				o.volumes = append(o.volumes, v)
			}
		}
	})
}

// alone are the edits that are looked at one by one.
func (s *session) alone() []edit {
	var edits []edit
	add := func(can bool, weight int, name string, does func()) {
		if can {
			edits = append(edits, edit{weight, name, does})
		}
	}
	files, m := s.files(), s.model
	some := len(files) > 0
	add(some, 4, "a file is spoiled", func() { s.spoilsFile(s.pick(files)) })
	add(some, 3, "something else takes a file's place",
		func() { s.becomes(s.pick(files), s.pick([]string{"directory", "link", "fifo"})) })
	add(true, 2, "junk under a manifest's name",
		func() { s.becomes(s.newFile(), s.pick([]string{"directory", "link", "fifo"})) })
	add(true, 2, "a new file that can't be read", func() { s.saves(s.newFile(), bad(s.badText(""))) })
	add(some, 1, "others may write to a file", func() { s.opens(s.pick(files), true) })
	add(some, 2, "a copy of a file", func() {
		from := s.pick(files)
		s.saves(s.newFile(), m.now.entries[from])
	})
	add(len(s.places(pod)) > 0, 2, "a pod with a name or a uid that is taken", s.doubles)
	volumes := s.places(pv)
	add(len(volumes) > 0, 4, "a handle is edited", func() {
		s.alters(volumes[s.r.IntN(len(volumes))], func(o *object) { o.handle = s.freeHandle() })
	})
	add(len(volumes) > 0, 2, "a volume's driver is edited", func() {
		s.alters(volumes[s.r.IntN(len(volumes))], func(o *object) {
			o.driver, o.handle = s.pick(drivers), s.freeHandle()
		})
	})
	add(s.inlinePod() >= 0, 3, "an inline volume's driver is edited", func() {
		s.alters(s.places(pod)[s.inlinePod()], func(o *object) {
			for i, v := range o.volumes {
				if v.kind == "inline" {
					o.volumes[i].of = drivers[(slices.Index(drivers, v.of)+1)%len(drivers)]
				}
			}
		})
	})
	objects := append(volumes, s.places(claim)...)
	add(len(objects) > 0, 2, "a volume or a claim is deleted", func() { s.takesOut(objects[s.r.IntN(len(objects))]) })
	add(some, 1, "all is removed at once", func() {
		for _, name := range slices.Sorted(maps.Keys(m.now.entries)) {
			if name != driverFile {
				s.removes(name)
			}
		}
	})
	add(len(s.hidden) < 2 && !s.isCovered(), 2, "another directory takes the place", func() {
		keeps := s.r.IntN(3)
		s.swaps(func(string) bool { return keeps == 0 || keeps == 1 && s.r.IntN(2) == 0 })
	})
	add(len(s.hidden) < 2, 2, "another filesystem over the directory", s.covers)
	add(!m.isDown, 2, "the directory can't be used", func() {
		hows := []string{"open", "missing", "link", "file"}
		if s.isCovered() {
			hows = hows[:1] // what is mounted on can't be renamed
		}
		s.spoils(s.pick(hows))
	})
	return edits
}

func (s *session) inlinePod() int {
	return slices.IndexFunc(s.places(pod), func(p place) bool {
		return slices.ContainsFunc(p.volumes, func(v volume) bool { return v.kind == "inline" })
	})
}

// badText is what nobody can understand. It may name pods.
func (s *session) badText(before string) string {
	name := s.pick(names)
	switch s.r.IntN(8) {
	case 0:
		return before[:cutAt(before, s.r.IntN)]
	case 1:
		return ""
	case 2:
		return strings.Repeat("\x00", 100) + "\n"
	case 3:
		return "kind: [\n"
	case 4:
		return "speck: {name: " + name + "}\n"
	case 5:
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {volumess: []}\n"
	case 6:
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  hostname: h\n"
	}
	return "speck: {}\n---\n" + before
}

func (s *session) spoilsFile(file string) {
	s.saves(file, bad(s.badText(s.model.now.entries[file].text)))
}

func (s *session) doubles() {
	p := s.anyPod()
	o := object{kind: pod, name: p.name, uid: s.uid(), volumes: s.drawVolumes(2)}
	if name := s.freeName(); name != "" && s.r.IntN(2) == 0 {
		o.name, o.uid = name, p.id().uid
	}
	s.adds(o)
}

// repairs take back what is delicate.
func (s *session) repairs() []edit {
	var edits []edit
	m := s.model
	for _, name := range m.bad() {
		if e := m.now.entries[name]; e.open {
			edits = append(edits, edit{
				8, "others may not write to a file any more: " + name,
				func() { s.opens(name, false) },
			})
			continue
		}
		if k := m.known[name]; len(k.docs) > 0 {
			edits = append(edits, edit{
				8, "a file has its former content again: " + name,
				func() { s.saveDocs(name, k.docs) },
			})
		}
		edits = append(edits, edit{3, "what is bad is removed: " + name, func() { s.removes(name) }})
	}
	if len(m.missing()) > 0 && m.unusable == "" && !m.isDown {
		edits = append(edits, edit{5, "sources --accept", s.accepts})
	}
	if len(s.hidden) > 0 {
		edits = append(edits, edit{10, "the former directory returns", s.returns})
	}
	if m.disputes > 0 {
		edits = append(edits, s.settles()...)
	}
	if name := s.unresolved(); name != "" {
		edits = append(edits, edit{8, "a volume or a claim comes back: " + name, func() { s.completes(name) }})
	}
	return edits
}

// settles removes one of each two objects that have one name or uid.
func (s *session) settles() []edit {
	var edits []edit
	seen := map[identity]bool{}
	for _, file := range s.files() {
		for i, o := range s.model.now.entries[file].docs {
			id := o.id()
			if seen[id.named()] || seen[id.owned()] {
				edits = append(edits, edit{
					8, "one of two is removed: " + o.name + " from " + file,
					func() { s.takesOut(place{file, i, o}) },
				})
			}
			seen[id.named()], seen[id.owned()] = true, true
		}
	}
	return edits
}

// completes brings a PersistentVolume and its claim back.
func (s *session) completes(name string) {
	if !s.isNamed(pv, name) {
		s.adds(object{kind: pv, name: name, driver: drivers[0], handle: s.freeHandle()})
		return
	}
	if !s.isNamed(claim, name) {
		s.adds(object{kind: claim, name: name})
	}
}

// draw takes one of the edits.
func (s *session) draw(edits []edit) edit {
	all := 0
	for _, e := range edits {
		all += max(0, e.weight)
	}
	at := s.r.IntN(all)
	for _, e := range edits {
		if at -= max(0, e.weight); at < 0 {
			return e
		}
	}
	panic("nothing to draw")
}
