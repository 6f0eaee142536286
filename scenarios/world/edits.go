package world

import (
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// Give lets the cluster have objects, now or in a new version.
func (r *Run) Give(objects ...any) {
	for _, o := range objects {
		r.Becomes(o)
	}
	if !r.Files {
		r.W.Cluster.Apply(objects...)
		return
	}
	if r.Defers(func() { r.Give(objects...) }) {
		return
	}
	for _, o := range objects {
		r.Puts(r.FileOf(o), o)
	}
}

// Take deletes objects from the cluster.
func (r *Run) Take(objects ...any) {
	for _, o := range objects {
		r.Now.Drop(o)
	}
	if !r.Files {
		r.W.Cluster.Delete(objects...)
		return
	}
	if r.Defers(func() { r.Take(objects...) }) {
		return
	}
	for _, o := range objects {
		r.Unlinks(r.FileOf(o))
	}
}

// FileOf is the file that holds an object, or will.
func (r *Run) FileOf(object any) string {
	name := sim.ObjectName(object)
	if file := r.Names[name]; file != "" {
		return file
	}
	file := strings.NewReplacer(" ", "-", "/", "-").Replace(name)
	for r.HasObjects(lang.ManifestDir + "/" + file + ".yaml") {
		file += "-too" // an object that was renamed in place has the file of this name
	}
	r.Names[name] = lang.ManifestDir + "/" + file + ".yaml"
	return r.Names[name]
}

// HasObjects reports whether a manifest holds an object.
func (r *Run) HasObjects(file string) bool {
	for _, used := range r.Names { // the order does not matter
		if used == file {
			return true
		}
	}
	return false
}

// Puts writes a manifest.
func (r *Run) Puts(file string, object any) {
	delete(r.Unlinked, file)
	r.Written[file], r.EditedAt = object, r.W.Now()
	if kind, there := r.W.Exists(file); there && kind == hal.TypeDirectory {
		_ = r.W.RemoveFile(file) // it is empty: see replacesFile
	}
	r.W.WriteManifest(file, r.Legacy.textOf(object))
}

// Unlinks removes a manifest.
func (r *Run) Unlinks(file string) {
	for _, name := range slices.Sorted(maps.Keys(r.Names)) {
		if r.Names[name] == file {
			delete(r.Names, name)
		}
	}
	r.Unlinked[file], r.EditedAt = true, r.W.Now()
	delete(r.Written, file)
	_ = r.W.RemoveFile(file) // what was never written need not go
}

// Defers has an edit made later, if the manifests are not there.
func (r *Run) Defers(f func()) bool {
	if r.IsAside() {
		r.Deferred = append(r.Deferred, f)
	}
	return r.IsAside()
}
