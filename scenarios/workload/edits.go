package workload

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is how people change the objects of the cluster: one by one, or several in one edit; in a stream, or in
// files.

// edit is a pod as somebody makes it.
type edit struct {
	object *corev1.Pod
	uses   []world.Use
}

// replaces is one edit: pods are edited to be others, which may have the uids of some of them: those are renamed, and
// keep all that is theirs. The others are deleted, and their containers end after grace. In files, the n-th of the new
// pods is in the file of the n-th of the old ones if inPlace says so.
func replaces(r *world.Run, pods []*world.Pod, edits []edit, grace time.Duration, inPlace bool) {
	var former, others []any
	var gone []*world.Pod
	for _, p := range pods {
		former = append(former, p.Object)
		if !slices.ContainsFunc(edits, func(e edit) bool { return core.PodUID(e.object.UID) == p.Uid }) {
			r.Unwants(p)
			gone = append(gone, p)
		}
	}
	for _, e := range edits {
		p := r.Register(e.object, r.UsesNow(e.object, e.uses))
		p.IsSteady = false
		p.IsWanted, p.IsLeaving = true, false
		others = append(others, e.object)
	}
	exchanges(r, former, others, inPlace)
	for _, p := range gone {
		judges.Stops(r, p, grace)
	}
	for _, e := range edits {
		if p := r.ByUID[core.PodUID(e.object.UID)]; !p.IsRunning {
			dealings.Await(r, p)
		}
	}
}

// exchanges puts objects in the place of others.
func exchanges(r *world.Run, former, others []any, inPlace bool) {
	for _, o := range former {
		r.Now.Drop(o)
	}
	for _, o := range others {
		r.Becomes(o)
	}
	if !r.Files {
		r.W.Cluster.Replace(former, others)
		return
	}
	if r.Defers(func() { exchanges(r, former, others, inPlace) }) {
		return
	}
	files := make([]string, 0, len(former))
	for _, o := range former {
		files = append(files, r.FileOf(o))
		delete(r.Names, sim.ObjectName(o))
	}
	for i, o := range others {
		file := r.FileOf(o)
		if inPlace && i < len(files) {
			file = files[i]
			r.Names[sim.ObjectName(o)] = file
		}
		r.Puts(file, o)
	}
	for _, file := range files {
		if !r.HasObjects(file) {
			r.Unlinks(file)
		}
	}
}

// movesFile gives an object another file.
func movesFile(r *world.Run, object any, file string) {
	if r.Defers(func() { movesFile(r, object, file) }) {
		return
	}
	from := r.FileOf(object)
	r.Names[sim.ObjectName(object)] = file
	r.Puts(file, object)
	if !r.HasObjects(from) {
		r.Unlinks(from)
	}
}

// replace has a pod's manifest be another's from now on.
func (t *Scene) replace(name, other string) string {
	_, p := t.Pod(name)
	object, _ := t.S.Object("pod "+other, "").(*corev1.Pod)
	if p == nil || !p.IsWanted {
		return "the pod " + name + " is not there"
	}
	replaces(t.R, []*world.Pod{p}, []edit{{object, nil}}, 0, true)
	return ""
}

// swapNames has two pods have each other's name: each name has the other's uid then.
func (t *Scene) swapNames(a, b string) string {
	_, p := t.Pod(a)
	_, q := t.Pod(b)
	if p == nil || q == nil || !p.IsWanted || !q.IsWanted {
		return "one of the pods is not there"
	}
	first, second := p.Object.DeepCopy(), q.Object.DeepCopy()
	first.ObjectMeta.Namespace, first.Name = q.Object.Namespace, q.Object.Name
	second.ObjectMeta.Namespace, second.Name = p.Object.Namespace, p.Object.Name
	replaces(t.R, []*world.Pod{p, q}, []edit{{first, p.Uses}, {second, q.Uses}}, 0, true)
	return ""
}

// covers has somebody mount an empty filesystem over the directory of manifests, for a while in which nobody edits any:
// nobody has deleted a pod.
func coversManifests(r *world.Run, d time.Duration) {
	if r.IsAside() || r.W.Off() || r.W.CoverDirectory(lang.ManifestDir) != 0 {
		return
	}
	r.IsCovered = true
	judges.Delays(r, d+judges.Lengthy)
	r.W.After(d, "the manifests are uncovered", func() { judges.UncoversManifests(r) })
}

// replacesFile has a directory stand in the place of a pod's manifest for a while.
func replacesFile(r *world.Run, p *world.Pod, d time.Duration) {
	if r.IsAside() || !p.IsWanted {
		return
	}
	file, object := r.FileOf(p.Object), p.Object
	if r.W.RemoveFile(file) != 0 {
		return
	}
	r.W.MakeDir(file)
	judges.Delays(r, d+judges.Shortly)
	r.W.After(d, "a directory is a manifest again", func() { makesFile(r, p, object, file) })
}

// makesFile ends replacesFile. What somebody has deleted or edited since has been dealt with.
func makesFile(r *world.Run, p *world.Pod, object *corev1.Pod, file string) {
	if r.Defers(func() { makesFile(r, p, object, file) }) {
		return
	}
	if kind, there := r.W.Exists(file); there && kind == hal.TypeDirectory {
		_ = r.W.RemoveFile(file) // it is empty
	}
	if p.Object == object && p.IsWanted && r.Names[sim.ObjectName(object)] == file {
		r.Give(object)
	}
}

// spoils puts a file among the manifests that nobody understands and that names no pod, until it is taken away.
func spoils(r *world.Run, name string, d time.Duration) {
	file := lang.ManifestDir + "/" + name + ".yaml"
	put := func(f func()) {
		if !r.Defers(f) {
			f()
		}
	}
	put(func() { r.W.WriteFile(file, []byte("speck: {}\n")) })
	r.W.After(d, "the junk goes", func() { put(func() { r.Unlinks(file) }) })
}

// giveUID writes another pod's uid into a pod's manifest. Nobody has deleted either.
func (t *Scene) giveUID(name, other string) string {
	_, p := t.Pod(name)
	_, q := t.Pod(other)
	if p == nil || q == nil || !t.S.Files {
		return "one of the pods is not there, or has no manifest; write: objects from files"
	}
	object := p.Object.DeepCopy()
	object.UID = q.Object.UID
	t.W.WriteFile(t.R.FileOf(p.Object), world.ManifestOf(object))
	return ""
}

// renameFile gives a pod's manifest another name.
func (t *Scene) renameFile(name, to string) string {
	_, p := t.Pod(name)
	if p == nil || !t.S.Files {
		return "the pod has no manifest; write: objects from files"
	}
	movesFile(t.R, p.Object, lang.ManifestDir+"/"+to)
	return ""
}

// DeleteObject deletes an object of the scenario.
func (t *Scene) DeleteObject(name string) string {
	object := t.S.Object(name, "")
	if is, _, ok := world.ContentOf(object); ok {
		t.R.Drops(is.Kind, is.Namespace, is.Name)
	} else {
		t.R.Take(object)
	}
	return ""
}

func (t *Scene) cover(d time.Duration) string {
	if !t.S.Files {
		return "only manifests can be covered; write: objects from files"
	}
	coversManifests(t.R, d)
	return ""
}

func (t *Scene) replaceFile(name string, d time.Duration) string {
	_, p := t.Pod(name)
	if p == nil || !t.S.Files {
		return "the pod has no manifest; write: objects from files"
	}
	replacesFile(t.R, p, d)
	return ""
}

// Edits are those of people who edit manifests.
func Edits() []Action {
	return []Action{
		{"replace pod POD with pod POD", func(t *Scene, a []string) string { return t.replace(a[0], a[1]) }},
		{"swap names of pod POD and pod POD", func(t *Scene, a []string) string { return t.swapNames(a[0], a[1]) }},
		{"give pod POD the uid of pod POD", func(t *Scene, a []string) string { return t.giveUID(a[0], a[1]) }},
		{"cover the manifests for TIME", func(t *Scene, a []string) string { return t.cover(Duration(a[0])) }},
		{"put junk among the manifests for TIME", func(t *Scene, a []string,
		) string {
			spoils(t.R, "junk", Duration(a[0]))
			return ""
		}},
		{
			"replace the manifest of pod POD by a directory for TIME",
			func(t *Scene, a []string) string { return t.replaceFile(a[0], Duration(a[1])) },
		},
		{
			"take away the manifest of pod POD for TIME",
			func(t *Scene, a []string) string { return t.takeAway(a[0], "", Duration(a[1])) },
		},
		{
			"take away the manifest of pod POD for TIME and write it as NAME",
			func(t *Scene, a []string) string { return t.takeAway(a[0], a[2], Duration(a[1])) },
		},
		{"move pod POD to a bad manifest for TIME", func(t *Scene, a []string,
		) string {
			return t.misplace("pod "+a[0], "bad", Duration(a[1]))
		}},
		{
			"move pod POD to the BADNESS manifest for TIME",
			func(t *Scene, a []string) string { return t.misplace("pod "+a[0], a[1], Duration(a[2])) },
		},
		{
			"move KIND OBJECT to the BADNESS manifest for TIME",
			func(t *Scene, a []string) string { return t.misplace(a[0]+" "+a[1], a[2], Duration(a[3])) },
		},
		{"rename the manifest of pod POD to NAME", func(t *Scene, a []string,
		) string {
			return t.renameFile(a[0], a[1])
		}},
		{"spoil pod POD", func(t *Scene, a []string) string { return t.spoil(a[0]) }},
	}
}
