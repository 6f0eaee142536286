package projected

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is the certificates of ClusterTrustBundles (K:G103): one file of those of one bundle, or of all bundles of
// a signer whose labels are chosen.

// paramBundles names the bundles of each such source, in the order of the sources: names behind commas, sources behind
// semicolons.
const paramBundles = "bundles"

func isOptional(b *corev1.ClusterTrustBundleProjection) bool { return b.Optional != nil && *b.Optional }

func isBundle(p corev1.VolumeProjection) bool { return p.ClusterTrustBundle != nil }

// bundlesOf are the bundles of a source at a field, and why there is none.
func bundlesOf(v plugin.Volume, at string, b *corev1.ClusterTrustBundleProjection) ([]*hal.Content, *plugin.Problem) {
	at += ".clusterTrustBundle"
	name, signer := b.Name != nil && *b.Name != "", b.SignerName != nil && *b.SignerName != ""
	if bad := badPath(b.Path); bad != "" {
		return nil, plugin.Problemf(at+".path", "%.100q %s", b.Path, bad)
	}
	switch {
	case name == signer:
		return nil, plugin.Problemf(at, "names %s; give it one of name and signerName",
			map[bool]string{true: "a bundle and a signer", false: "no bundle and no signer"}[name])
	case name && b.LabelSelector != nil:
		return nil, plugin.Problemf(at+".labelSelector", "chooses among the bundles of a signer; remove it, or give "+
			"signerName in place of name")
	}
	var all []*hal.Content
	what := ""
	if name {
		if bad := plugin.BadObjectName(strings.ReplaceAll(*b.Name, ":", ".")); bad != "" {
			return nil, plugin.Problemf(at+".name", "%s", plugin.Says(*b.Name, bad))
		}
		if is := v.Contents.Content(hal.TrustBundleKind, "", *b.Name); is != nil {
			all = append(all, is)
		}
		what = "there is no ClusterTrustBundle " + *b.Name
	} else {
		if _, err := metav1.LabelSelectorAsSelector(b.LabelSelector); err != nil {
			return nil, plugin.Problemf(at+".labelSelector", "%v", err)
		}
		for _, is := range v.Contents.TrustBundles() {
			if isChosen(b, is.Signer, is.Labels) {
				all = append(all, is)
			}
		}
		what = fmt.Sprintf("no ClusterTrustBundle of signer %.100q has the labels that are chosen", *b.SignerName)
		if b.LabelSelector == nil {
			what = "without a labelSelector no ClusterTrustBundle is chosen, and an empty one, {}, chooses all"
		}
	}
	switch {
	case len(all) > 0 && (name || v.IsComplete) || isOptional(b) && v.IsComplete: // of a signer there may be more
		return all, nil
	case !v.IsComplete:
		return nil, plugin.Problemf(at, "volnode does not know yet whether there is a ClusterTrustBundle for it: it has "+
			"not read all objects; volnode tries again once it has")
	}
	return nil, plugin.Problemf(at, "%s; add one, or set optional: true", what)
}

// isChosen reports whether a source names its bundle, or has all of a signer and labels. A nil selector chooses none,
// an empty one all.
func isChosen(b *corev1.ClusterTrustBundleProjection, signer string, has map[string]string) bool {
	if b.Name != nil && *b.Name != "" {
		return true
	}
	chosen, err := metav1.LabelSelectorAsSelector(b.LabelSelector)
	return err == nil && signer == *b.SignerName && chosen.Matches(labels.Set(has))
}

// bundleVersion checks a source at a field, and returns the versions of its bundles.
func bundleVersion(v plugin.Volume, at string, b *corev1.ClusterTrustBundleProjection) (string, *plugin.Problem) {
	all, p := bundlesOf(v, at, b)
	if p != nil || len(all) == 0 {
		return noVersion, p
	}
	versions := make([]string, 0, len(all))
	for _, is := range all {
		versions = append(versions, is.UID+"/"+is.Version)
	}
	return strings.Join(versions, ","), nil
}

// withBundles adds to the rung of a volume what its bundles need. All its sources are good.
func withBundles(r *core.Rung, v plugin.Volume, of *corev1.ProjectedVolumeSource) {
	var sources []string
	for i := range of.Sources {
		if b := of.Sources[i].ClusterTrustBundle; b != nil {
			var names []string
			all, _ := bundlesOf(v, "", b)
			for _, is := range all {
				names = append(names, is.Name)
			}
			sources = append(sources, strings.Join(names, ","))
		}
	}
	r.Want = plugin.Sorted(append(r.Want,
		core.Param{Name: paramBundles, Value: strings.Join(sources, ";"), OnChange: core.OnChangeRefresh}))
}

// addBundles adds the file of the certificates of some bundles, or says why it can't.
func (m *made) addBundles(
	h *hal.Host, o core.Op, names string, b *corev1.ClusterTrustBundleProjection, byDefault *int32,
) (why string) {
	var certificates [][]byte
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue // no bundle is there, and none need be
		}
		c, _ := reading(h, o)
		is, err := h.Cluster.TrustBundle(c, name)
		switch {
		case err != nil && !hal.Is(err, syscall.ENOENT):
			return fmt.Sprintf("ClusterTrustBundle %s: volnode cannot read it: %v", name, err)
		case err == nil && isChosen(b, is.Signer, is.Labels):
		case isOptional(b):
			continue // the news of its end, or of its labels, is on the way
		case err != nil:
			return "ClusterTrustBundle " + name + " is not there; add it"
		default:
			return "ClusterTrustBundle " + name + " no longer has the labels that are chosen; give them back, or add another"
		}
		for block, rest := pem.Decode([]byte(is.PEM)); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				certificates = append(certificates, block.Bytes)
			}
		}
	}
	slices.SortFunc(certificates, bytes.Compare)
	var text strings.Builder
	for _, der := range slices.CompactFunc(certificates, bytes.Equal) {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	m.files[b.Path] = owned(o, text.String(), byDefault)
	return ""
}
