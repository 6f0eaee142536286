// Package kinds is the table of volume sources: which kinds of rungs there are, who moves them, and what of a start's listing they recognise.
package kinds

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/engine/plugin/hostpath"
)

// VerbsOf returns the verbs that move rungs of kind; false if no source has such rungs.
func VerbsOf(kind core.Kind) (plugin.Verbs, bool) {
	switch kind {
	case csi.KindStage:
		return csi.Stage(), true
	case csi.KindPublish:
		return csi.Publish(), true
	case emptydir.Kind:
		return emptydir.Verbs(), true
	case hostpath.Kind:
		return hostpath.Verbs(), true
	}
	return plugin.Verbs{}, false
}

// Ladder makes the rungs of a volume, top first, or says why it can't be served. The top rung's fact "path" is where the pod finds the volume.
func Ladder(v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	switch {
	case v.PV != nil || v.Spec.CSI != nil:
		return csi.Ladder(v)
	case v.Spec.EmptyDir != nil:
		return emptydir.Ladder(v)
	case v.Spec.HostPath != nil:
		return hostpath.Ladder(v)
	}
	return nil, plugin.Problemf(v.Field(""), "is of a source that volnode does not serve; it serves persistentVolumeClaim, csi, emptyDir and hostPath")
}
