package plugin

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// Directories is the [Scan] of a source whose volumes are directories of the pods' own: see [op.Directory]. Found is
// the rung of one that no record tells of, made such that it can be torn down. Bad says what is wrong with its name, ""
// if nothing: nil is [BadVolumeName]. Of is the name of the volume that an entry is, or that it is a remain of: nil is
// [op.Trashed].
type Directories struct {
	Found func(root, uid, volume string) core.Rung
	Bad   func(name string) string
	Of    func(entry string) string
	all   []Entry
}

// Entry notes a directory.
func (l *Directories) Entry(_ *Scanner, uid, name string) {
	l.all = append(l.all, Entry{Pod: uid, Name: name})
}

// Node finds nothing.
func (l *Directories) Node(*Scanner) error { return nil }

// Discover makes rungs. A directory and the remains of an earlier one of the same name are one rung.
func (l *Directories) Discover(d *Discovery) {
	isFound, bad, of := map[hal.Key]bool{}, l.Bad, l.Of
	if bad == nil {
		bad = BadVolumeName
	}
	if of == nil {
		of = op.Trashed
	}
	for _, e := range l.all {
		name := of(e.Name)
		rung := l.Found(d.Root, e.Pod, name)
		dir := PathOf(rung.Want)
		if !d.IsPod(dir, e.Pod) {
			continue
		}
		if bad(name) != "" {
			d.Unrecognised(PathOf(l.Found(d.Root, e.Pod, e.Name).Want), "the name is not the name of a volume")
			continue
		}
		if !isFound[rung.Key] {
			isFound[rung.Key] = true
			d.Upper = append(d.Upper, rung)
		}
	}
}
