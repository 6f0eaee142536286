package judges

import (
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// UnlinksAgain does again what a power cut has undone, as who removes manifests would do.
func UnlinksAgain(r *world.Run) {
	for _, file := range slices.Sorted(maps.Keys(r.Unlinked)) {
		_ = r.W.RemoveFile(file)
	}
}

// keepsData is S1 for what people still want: the data of a pod whose containers have run, and that nobody has
// deleted since, stays. It asks nobody but the people.
func keepsData(r *world.Run, e *sim.Effect) {
	owner := r.PodOf(e.Path)
	if owner == nil || !owner.IsWanted || !owner.HasData {
		return
	}
	for _, u := range owner.Uses {
		isIt := e.Path == u.Path || world.Below(e.Path, u.Path) || e.Kind != sim.EffectRemoved &&
			world.Below(u.Path, e.Path)
		if u.Driver == "" && !u.Exempt && !u.Memory && isIt && strings.Contains(u.Path, "kubernetes.io~empty-dir/") {
			r.Fail("S1", e.Kind.String(), e.Path,
				"the volume "+u.Name+" of pod "+owner.Name+" is deleted, moved or covered, and nobody has deleted "+
					"the pod")
			return
		}
	}
}

// UncoversManifests ends that, and has people make their edits.
func UncoversManifests(r *world.Run) {
	if !r.IsCovered {
		return
	}
	r.IsCovered = false
	r.W.UncoverDirectory(lang.ManifestDir)
	CatchesUp(r)
}
