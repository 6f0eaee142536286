package populator

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/volnode/volnode/engine/plugin"
)

// reachable checks the node affinity of a PersistentVolume (K:D26): one of its terms must admit this node. Its labels
// are those that the operator gives it, its host name, and what the volume's driver says of where the node is. Until
// that driver is registered, nobody knows what it says, and the volume waits for it.
func (p *populator) reachable(v *plugin.Volume) *plugin.Problem {
	affinity := v.PV.Spec.NodeAffinity
	if affinity == nil || affinity.Required == nil {
		return nil
	}
	field := v.PVField("spec.nodeAffinity.required")
	selector, err := nodeaffinity.NewNodeSelector(affinity.Required)
	if err != nil {
		return plugin.Problemf(field, "%s", err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.NodeName, Labels: map[string]string{
		corev1.LabelHostname: p.NodeName,
	}}}
	maps.Copy(node.Labels, p.NodeLabels)
	driver, _ := p.Sources.Driver(v.PV, v.Spec)
	isAway := false
	if driver != "" {
		p.consult(RefDriver, "", driver)
		if facts := p.Driver(driver); facts != nil {
			maps.Copy(node.Labels, facts.Topology)
		} else {
			isAway = true
		}
	}
	if selector.Match(node) {
		return nil
	}
	switch lacks := lacking(affinity.Required, node.Labels); {
	case lacks == "":
		return plugin.Problemf(field, "does not admit this node, %s%s", p.NodeName, differing(affinity.Required, node))
	case isAway:
		return nil
	default:
		return plugin.Problemf(field, "asks for %s, and this node, %s, has no such label; give it with nodeLabels in "+
			"the configuration, or with --node-label", lacks, p.NodeName)
	}
}

// lacking is a label that a selector asks for, and the node does not have; "" if there is none.
func lacking(of *corev1.NodeSelector, labels map[string]string) string {
	for _, term := range of.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			if _, has := labels[e.Key]; !has {
				return e.Key
			}
		}
	}
	return ""
}

// differing is what a selector asks of a label that the node has with another value, as text that follows the node's
// name; "" if it asks of none.
func differing(of *corev1.NodeSelector, node *corev1.Node) string {
	for _, term := range of.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			alone, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{e}},
			}})
			if err == nil && !alone.Match(node) {
				return strings.TrimSpace(fmt.Sprintf(": it has %s=%s, which must be %s %s", e.Key, node.Labels[e.Key],
					e.Operator, strings.Join(e.Values, ", ")))
			}
		}
	}
	return ""
}
