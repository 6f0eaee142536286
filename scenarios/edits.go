package scenarios

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is how people change the objects of the cluster: one by one, or several in one edit; in a stream, or in
// files.

// give lets the cluster have objects, now or in a new version.
func (r *run) give(objects ...any) {
	for _, o := range objects {
		r.becomes(o)
	}
	if !r.files {
		r.w.Apply(objects...)
		return
	}
	if r.defers(func() { r.give(objects...) }) {
		return
	}
	for _, o := range objects {
		r.puts(r.fileOf(o), o)
	}
}

// take deletes objects from the cluster.
func (r *run) take(objects ...any) {
	for _, o := range objects {
		r.now.drop(o)
	}
	if !r.files {
		r.w.Delete(objects...)
		return
	}
	if r.defers(func() { r.take(objects...) }) {
		return
	}
	for _, o := range objects {
		r.unlinks(r.fileOf(o))
	}
}

// edit is a pod as somebody makes it.
type edit struct {
	object *corev1.Pod
	uses   []use
}

// replaces is one edit: pods are edited to be others, which may have the uids of some of them: those are renamed, and
// keep all that is theirs. The others are deleted, and their containers end after grace. In files, the n-th of the new
// pods is in the file of the n-th of the old ones if inPlace says so.
func (r *run) replaces(pods []*pod, edits []edit, grace time.Duration, inPlace bool) {
	var former, others []any
	var gone []*pod
	for _, p := range pods {
		former = append(former, p.object)
		if !slices.ContainsFunc(edits, func(e edit) bool { return core.PodUID(e.object.UID) == p.uid }) {
			r.unwants(p)
			gone = append(gone, p)
		}
	}
	for _, e := range edits {
		p := r.register(e.object, r.usesNow(e.object, e.uses))
		p.isSteady = false
		p.isWanted, p.isLeaving = true, false
		others = append(others, e.object)
	}
	r.exchanges(former, others, inPlace)
	for _, p := range gone {
		r.stops(p, grace)
	}
	for _, e := range edits {
		if p := r.byUID[core.PodUID(e.object.UID)]; !p.isRunning {
			r.await(p)
		}
	}
}

// exchanges puts objects in the place of others.
func (r *run) exchanges(former, others []any, inPlace bool) {
	for _, o := range former {
		r.now.drop(o)
	}
	for _, o := range others {
		r.becomes(o)
	}
	if !r.files {
		r.w.Replace(former, others)
		return
	}
	if r.defers(func() { r.exchanges(former, others, inPlace) }) {
		return
	}
	files := make([]string, 0, len(former))
	for _, o := range former {
		files = append(files, r.fileOf(o))
		delete(r.names, sim.ObjectName(o))
	}
	for i, o := range others {
		file := r.fileOf(o)
		if inPlace && i < len(files) {
			file = files[i]
			r.names[sim.ObjectName(o)] = file
		}
		r.puts(file, o)
	}
	for _, file := range files {
		if !r.hasObjects(file) {
			r.unlinks(file)
		}
	}
}

// movesFile gives an object another file.
func (r *run) movesFile(object any, file string) {
	if r.defers(func() { r.movesFile(object, file) }) {
		return
	}
	from := r.fileOf(object)
	r.names[sim.ObjectName(object)] = file
	r.puts(file, object)
	if !r.hasObjects(from) {
		r.unlinks(from)
	}
}

// fileOf is the file that holds an object, or will.
func (r *run) fileOf(object any) string {
	name := sim.ObjectName(object)
	if file := r.names[name]; file != "" {
		return file
	}
	file := strings.NewReplacer(" ", "-", "/", "-").Replace(name)
	for r.hasObjects(lang.ManifestDir + "/" + file + ".yaml") {
		file += "-too" // an object that was renamed in place has the file of this name
	}
	r.names[name] = lang.ManifestDir + "/" + file + ".yaml"
	return r.names[name]
}

func (r *run) hasObjects(file string) bool {
	for _, used := range r.names { // the order does not matter
		if used == file {
			return true
		}
	}
	return false
}

func (r *run) puts(file string, object any) {
	text := r.texts[object]
	if text == nil {
		text = manifestOf(object)
		if r.texts != nil {
			r.texts[object] = text
		}
	}
	delete(r.unlinked, file)
	r.written[file], r.editedAt = object, r.w.Now()
	if kind, there := r.w.Exists(file); there && kind == hal.TypeDirectory {
		_ = r.w.RemoveFile(file) // it is empty: see replacesFile
	}
	r.w.WriteManifest(file, text)
}

func (r *run) unlinks(file string) {
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		if r.names[name] == file {
			delete(r.names, name)
		}
	}
	r.unlinked[file], r.editedAt = true, r.w.Now()
	delete(r.written, file)
	_ = r.w.RemoveFile(file) // what was never written need not go
}

// unlinksAgain does again what a power cut has undone, as who removes manifests would do.
func (r *run) unlinksAgain() {
	for _, file := range slices.Sorted(maps.Keys(r.unlinked)) {
		_ = r.w.RemoveFile(file)
	}
}

// keepsData is S1 for what people still want: the emptyDir of a pod whose containers have run, and that nobody has
// deleted since, stays. It asks nobody but the people.
func (r *run) keepsData(e *sim.Effect) {
	owner := r.podOf(e.Path)
	if owner == nil || !owner.isWanted || !owner.hasData {
		return
	}
	for _, u := range owner.uses {
		isIt := e.Path == u.path || below(e.Path, u.path) || e.Kind != sim.EffectRemoved && below(u.path, e.Path)
		if u.driver == "" && !u.exempt && !u.memory && isIt && strings.Contains(u.path, "kubernetes.io~empty-dir/") {
			r.fail("S1", e.Kind.String(), e.Path,
				"the emptyDir "+u.name+" of pod "+owner.name+" is deleted, moved or covered, and nobody has deleted "+
					"the pod")
			return
		}
	}
}

// replace has a pod's manifest be another's from now on.
func (t *scene) replace(name, other string) string {
	_, p := t.pod(name)
	object, _ := t.s.Object("pod "+other, "").(*corev1.Pod)
	if p == nil || !p.isWanted {
		return "the pod " + name + " is not there"
	}
	t.r.replaces([]*pod{p}, []edit{{object, nil}}, 0, true)
	return ""
}

// swapNames has two pods have each other's name: each name has the other's uid then.
func (t *scene) swapNames(a, b string) string {
	_, p := t.pod(a)
	_, q := t.pod(b)
	if p == nil || q == nil || !p.isWanted || !q.isWanted {
		return "one of the pods is not there"
	}
	first, second := p.object.DeepCopy(), q.object.DeepCopy()
	first.ObjectMeta.Namespace, first.Name = q.object.Namespace, q.object.Name
	second.ObjectMeta.Namespace, second.Name = p.object.Namespace, p.object.Name
	t.r.replaces([]*pod{p, q}, []edit{{first, p.uses}, {second, q.uses}}, 0, true)
	return ""
}

// covers has somebody mount an empty filesystem over the directory of manifests, for a while in which nobody edits any:
// nobody has deleted a pod.
func (r *run) coversManifests(d time.Duration) {
	if r.isAside() || r.w.Off() || r.w.CoverDirectory(lang.ManifestDir) != 0 {
		return
	}
	r.isCovered = true
	r.delays(d + lengthy)
	r.w.After(d, "the manifests are uncovered", r.uncoversManifests)
}

// uncoversManifests ends that, and has people make their edits.
func (r *run) uncoversManifests() {
	if !r.isCovered {
		return
	}
	r.isCovered = false
	r.w.UncoverDirectory(lang.ManifestDir)
	r.catchesUp()
}

// defers has an edit made later, if the manifests are not there.
func (r *run) defers(f func()) bool {
	if r.isAside() {
		r.deferred = append(r.deferred, f)
	}
	return r.isAside()
}

// replacesFile has a directory stand in the place of a pod's manifest for a while.
func (r *run) replacesFile(p *pod, d time.Duration) {
	if r.isAside() || !p.isWanted {
		return
	}
	file, object := r.fileOf(p.object), p.object
	if r.w.RemoveFile(file) != 0 {
		return
	}
	r.w.MakeDir(file)
	r.delays(d + shortly)
	r.w.After(d, "a directory is a manifest again", func() { r.makesFile(p, object, file) })
}

// makesFile ends replacesFile. What somebody has deleted or edited since has been dealt with.
func (r *run) makesFile(p *pod, object *corev1.Pod, file string) {
	if r.defers(func() { r.makesFile(p, object, file) }) {
		return
	}
	if kind, there := r.w.Exists(file); there && kind == hal.TypeDirectory {
		_ = r.w.RemoveFile(file) // it is empty
	}
	if p.object == object && p.isWanted && r.names[sim.ObjectName(object)] == file {
		r.give(object)
	}
}

// spoils puts a file among the manifests that nobody understands and that names no pod, until it is taken away.
func (r *run) spoils(name string, d time.Duration) {
	file := lang.ManifestDir + "/" + name + ".yaml"
	put := func(f func()) {
		if !r.defers(f) {
			f()
		}
	}
	put(func() { r.w.WriteFile(file, []byte("speck: {}\n")) })
	r.w.After(d, "the junk goes", func() { put(func() { r.unlinks(file) }) })
}

// giveUID writes another pod's uid into a pod's manifest. Nobody has deleted either.
func (t *scene) giveUID(name, other string) string {
	_, p := t.pod(name)
	_, q := t.pod(other)
	if p == nil || q == nil || !t.s.Files {
		return "one of the pods is not there, or has no manifest; write: objects from files"
	}
	object := p.object.DeepCopy()
	object.UID = q.object.UID
	t.w.WriteFile(t.r.fileOf(p.object), manifestOf(object))
	return ""
}

// renameFile gives a pod's manifest another name.
func (t *scene) renameFile(name, to string) string {
	_, p := t.pod(name)
	if p == nil || !t.s.Files {
		return "the pod has no manifest; write: objects from files"
	}
	t.r.movesFile(p.object, lang.ManifestDir+"/"+to)
	return ""
}

func (t *scene) deleteObject(name string) string {
	object := t.s.Object(name, "")
	if secret, is := object.(*corev1.Secret); is {
		t.r.uproots(secret.Namespace, secret.Name)
	} else {
		t.r.take(object)
	}
	return ""
}

func (t *scene) cover(d time.Duration) string {
	if !t.s.Files {
		return "only manifests can be covered; write: objects from files"
	}
	t.r.coversManifests(d)
	return ""
}

func (t *scene) replaceFile(name string, d time.Duration) string {
	_, p := t.pod(name)
	if p == nil || !t.s.Files {
		return "the pod has no manifest; write: objects from files"
	}
	t.r.replacesFile(p, d)
	return ""
}

// edits are those of people who edit manifests.
func edits() []action {
	return []action{
		{"replace pod POD with pod POD", func(t *scene, a []string) string { return t.replace(a[0], a[1]) }},
		{"swap names of pod POD and pod POD", func(t *scene, a []string) string { return t.swapNames(a[0], a[1]) }},
		{"give pod POD the uid of pod POD", func(t *scene, a []string) string { return t.giveUID(a[0], a[1]) }},
		{"cover the manifests for TIME", func(t *scene, a []string) string { return t.cover(duration(a[0])) }},
		{"put junk among the manifests for TIME", func(t *scene, a []string,
		) string {
			t.r.spoils("junk", duration(a[0]))
			return ""
		}},
		{
			"replace the manifest of pod POD by a directory for TIME",
			func(t *scene, a []string) string { return t.replaceFile(a[0], duration(a[1])) },
		},
		{
			"take away the manifest of pod POD for TIME",
			func(t *scene, a []string) string { return t.takeAway(a[0], duration(a[1])) },
		},
		{"move pod POD to a bad manifest for TIME", func(t *scene, a []string,
		) string {
			return t.misplace("pod "+a[0], "bad", duration(a[1]))
		}},
		{
			"move pod POD to the BADNESS manifest for TIME",
			func(t *scene, a []string) string { return t.misplace("pod "+a[0], a[1], duration(a[2])) },
		},
		{
			"move KIND OBJECT to the BADNESS manifest for TIME",
			func(t *scene, a []string) string { return t.misplace(a[0]+" "+a[1], a[2], duration(a[3])) },
		},
		{"rename the manifest of pod POD to NAME", func(t *scene, a []string,
		) string {
			return t.renameFile(a[0], a[1])
		}},
		{"spoil pod POD", func(t *scene, a []string) string { return t.spoil(a[0]) }},
	}
}
