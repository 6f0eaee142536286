// Package kinds is the table of volume sources: which kinds of rungs there are, who moves them, and what of a start's
// listing they recognise.
package kinds

import (
	"cmp"
	"path"
	"slices"
	"strings"

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
	case core.KindActs, core.KindServes: // what is remembered of drivers
	}
	return plugin.Verbs{}, false
}

// Ladder appends the rungs of a volume, top first, or says why it can't be served. The top rung's fact "path" is where
// the pod finds the volume.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	all, problem := ladder(to, v)
	if problem != nil {
		return to, problem
	}
	name, rungs := v.Pod.Namespace+"/"+v.Pod.Name, all[len(to):]
	for i := range rungs {
		if r := &rungs[i]; r.Pod != "" {
			at, _ := slices.BinarySearchFunc(r.Want, paramPod,
				func(p core.Param, name string) int { return cmp.Compare(p.Name, name) })
			r.Want = slices.Insert(r.Want, at, core.Param{Name: paramPod, Value: name})
		}
		rungs[i].Places = Places(&rungs[i])
	}
	return all, nil
}

// Places are the paths that a rung made with its Want has for its own, its vol_data.json among them: a start that has
// lost the journal takes down what that names. Those of two rungs are the same or apart, never one below the other. A
// hostPath has none: it is the host's, and pods share it.
func Places(r *core.Rung) []string {
	if r.Kind == hostpath.Kind {
		return nil
	}
	all := make([]string, 0, 2)
	for _, name := range [...]string{"path", "data"} {
		if at := core.Value(r.Want, name); at != "" {
			all = append(all, at)
		}
	}
	return all
}

// paramPod is a parameter of each rung that is a pod's own: who it is, for people who find it in the journal after a
// restart. No verb reads it.
const paramPod = "pod"

// PodOf returns the namespace and the name of the pod whose rung was made with these parameters; "" if they do not say,
// as those of a stray.
func PodOf(made []core.Param) (namespace, name string) {
	namespace, name, _ = strings.Cut(core.Value(made, paramPod), "/")
	return namespace, name
}

// Doomed is data that a teardown deletes.
type Doomed struct {
	Volume, Path string
	// IfEmpty: only what is empty is deleted, as nothing says whose it is.
	IfEmpty bool
}

// Deletes returns the data that a teardown deletes; false if it deletes none. An inline CSI volume ends with its
// unpublish. isNamed: a source has named the pod in this life of the agent.
func Deletes(kind core.Kind, made []core.Param, isNamed bool) (Doomed, bool) {
	switch kind {
	case emptydir.Kind:
		at := emptydir.PathOf(made)
		return Doomed{Volume: path.Base(at), Path: at, IfEmpty: !emptydir.MayDelete(made, isNamed)}, true
	case csi.KindPublish:
		volume, at := csi.InlineOf(made)
		return Doomed{Volume: volume, Path: at}, volume != ""
	case csi.KindStage, hostpath.Kind, core.KindActs, core.KindServes:
	}
	return Doomed{}, false
}

// NodeOf returns the name of the node that a rung with these parameters was made for; "" if they do not say.
func NodeOf(made []core.Param) string { return csi.NodeOf(made) }

func ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	switch {
	case v.PV != nil || v.Spec.CSI != nil:
		return csi.Ladder(to, v)
	case v.Spec.EmptyDir != nil:
		return emptydir.Ladder(to, v)
	case v.Spec.HostPath != nil:
		return hostpath.Ladder(to, v)
	}
	return nil, plugin.Problemf(v.Field(""),
		"is of a source that volnode does not serve; it serves persistentVolumeClaim, csi, emptyDir and hostPath")
}
