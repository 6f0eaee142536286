package populator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
)

// reachable checks the node affinity of a PersistentVolume (K:D26): one of its terms must admit this node. Of the node
// its name alone is known, so an expression on another label or field admits nobody, and the problem says so.
func (p *populator) reachable(v *plugin.Volume) *plugin.Problem {
	affinity := v.PV.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return nil
	}
	field := v.PVField("spec.nodeAffinity.required")
	unknown := ""
	for _, term := range affinity.Required.NodeSelectorTerms {
		all := slices.Concat(term.MatchExpressions, term.MatchFields)
		admits := len(all) > 0 // an empty term admits nobody
		for _, e := range all {
			if e.Key != corev1.LabelHostname && e.Key != "metadata.name" {
				unknown, admits = e.Key, false
				continue
			}
			admits = admits && matches(e, p.NodeName)
		}
		if admits {
			return nil
		}
	}
	if unknown != "" {
		return plugin.Problemf(field, "asks for %s, but volnode knows only the name of this node, %s; use %s", unknown,
			p.NodeName, corev1.LabelHostname)
	}
	return plugin.Problemf(field, "does not admit this node, %s", p.NodeName)
}

// matches evaluates one expression on the node's name.
func matches(e corev1.NodeSelectorRequirement, name string) bool {
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		return slices.Contains(e.Values, name)
	case corev1.NodeSelectorOpNotIn:
		return !slices.Contains(e.Values, name)
	case corev1.NodeSelectorOpExists:
		return true
	case corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		return false
	}
	return false
}
