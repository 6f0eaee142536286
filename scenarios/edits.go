package scenarios

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
)

// This file is how people change the objects of the cluster: one by one, or several in one edit; in a stream, or in files.

// give lets the cluster have objects, now or in a new version.
func (r *run) give(objects ...any) {
	for _, o := range objects {
		r.becomes(o)
	}
	if !r.files {
		r.w.Apply(objects...)
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
	for _, o := range objects {
		r.unlinks(r.fileOf(o))
	}
}

// edit is a pod as somebody makes it.
type edit struct {
	object *corev1.Pod
	uses   []use
}

// replaces is one edit: pods are edited to be others, which may have the uids of some of them: those are renamed, and keep all that is theirs. The
// others are deleted, and their containers end after grace. In files, the n-th of the new pods is in the file of the n-th of the old ones if inPlace
// says so.
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
	for r.hasObjects(manifestDir + "/" + file + ".yaml") {
		file += "-too" // an object that was renamed in place has the file of this name
	}
	r.names[name] = manifestDir + "/" + file + ".yaml"
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
	r.w.WriteManifest(file, text)
}

func (r *run) unlinks(file string) {
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		if r.names[name] == file {
			delete(r.names, name)
		}
	}
	r.unlinked[file] = true
	_ = r.w.RemoveFile(file) // what was never written need not go
}

// unlinksAgain does again what a power cut has undone, as who removes manifests would do.
func (r *run) unlinksAgain() {
	for _, file := range slices.Sorted(maps.Keys(r.unlinked)) {
		_ = r.w.RemoveFile(file)
	}
}

// keepsData is S1 for what people still want: the emptyDir of a pod whose containers have run, and that nobody has deleted since, stays. It asks
// nobody but the people.
func (r *run) keepsData(e *sim.Effect) {
	owner := r.podOf(e.Path)
	if owner == nil || !owner.isWanted || !owner.hasData {
		return
	}
	for _, u := range owner.uses {
		isIt := e.Path == u.path || below(e.Path, u.path) || e.Kind != sim.EffectRemoved && below(u.path, e.Path)
		if u.driver == "" && !u.exempt && !u.memory && isIt && strings.Contains(u.path, "kubernetes.io~empty-dir/") {
			r.fail("S1", e.Kind.String(), e.Path, "the emptyDir "+u.name+" of pod "+owner.name+" is deleted, moved or covered, and nobody has deleted the pod")
			return
		}
	}
}

// replace has a pod's manifest be another's from now on.
func (t *story) replace(name, other string) string {
	_, p := t.pod(name)
	object, _ := t.s.object("pod "+other, "").(*corev1.Pod)
	if p == nil || !p.isWanted {
		return "the pod " + name + " is not there"
	}
	t.r.replaces([]*pod{p}, []edit{{object, nil}}, 0, true)
	return ""
}

// swapNames has two pods have each other's name: each name has the other's uid then.
func (t *story) swapNames(a, b string) string {
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
