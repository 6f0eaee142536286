package emptydir

import (
	"path"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// scan is what a start finds of emptyDirs.
type scan struct{ found []entry }

type entry struct{ pod, name string }

func (l *scan) Entry(_ *plugin.Scanner, uid, name string) {
	l.found = append(l.found, entry{uid, name})
}

func (l *scan) Node(*plugin.Scanner) error { return nil }

func (l *scan) Discover(d *plugin.Discovery) {
	isFound := map[hal.Key]bool{}
	for _, e := range l.found {
		dir := plugin.EmptyDirPlace(d.Root, e.pod, e.name).Path
		if !d.IsPod(dir, e.pod) {
			continue
		}
		name := plugin.EmptyDirTrashed(e.name)
		if plugin.BadVolumeName(name) != "" {
			d.Unrecognised(dir, "the name is not the name of a volume")
			continue
		}
		// A directory and the remains of an earlier one of the same name are one rung.
		if key := Key(e.pod, name); !isFound[key] {
			isFound[key] = true
			d.Upper = append(d.Upper, Found(d.Root, e.pod, name))
		}
	}
}

// deletes returns the data that a teardown deletes.
func deletes(made []core.Param, isNamed bool) (plugin.Doomed, bool) {
	at := plugin.PathOf(made)
	return plugin.Doomed{Volume: path.Base(at), Path: at, IfEmpty: !isOurs(made, isNamed)}, true
}
