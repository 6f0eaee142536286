package world

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is the Secrets, ConfigMaps and ClusterTrustBundles of a world, and what they hold.

// Holds makes or changes one. data is not changed afterwards.
func (r *Run) Holds(kind, namespace, name string, data map[string]string) {
	is := r.W.Cluster.Hold(kind, namespace, name, data)
	r.noteHeld(kind, namespace+"/"+name, data)
	if !r.Files {
		r.W.Cluster.Apply(is)
		return
	}
	r.writes(fileOf(kind, name), textOf(kind, namespace, name, data))
}

// textOf is the manifest of an object that holds data.
func textOf(kind, namespace, name string, data map[string]string) (text string) {
	if kind == hal.TrustBundleKind {
		text = "apiVersion: certificates.k8s.io/v1beta1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n  labels:\n"
		for _, field := range slices.Sorted(maps.Keys(data)) {
			if label, is := strings.CutPrefix(field, sim.LabelField); is {
				text += "    " + label + ": " + strconv.Quote(data[field]) + "\n"
			}
		}
		return text + "spec:\n  signerName: " + strconv.Quote(data[sim.SignerField]) + "\n  trustBundle: " +
			strconv.Quote(data[sim.BundleField]) + "\n"
	}
	field := "data"
	if kind == hal.SecretKind {
		field = "stringData"
	}
	text = "apiVersion: v1\nkind: " + kind + "\nmetadata: {namespace: " + namespace + ", name: " + name + "}\n" +
		field + ":\n"
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += "  " + key + ": " + strconv.Quote(data[key]) + "\n"
	}
	return text
}

// writes writes a manifest, once the manifests are there.
func (r *Run) writes(file, text string) {
	if r.Defers(func() { r.writes(file, text) }) {
		return
	}
	r.Written[file], r.EditedAt = text, r.W.Now()
	delete(r.Unlinked, file)
	r.W.WriteManifest(file, []byte(text))
}

func fileOf(kind, name string) string {
	return lang.ManifestDir + "/" + strings.ToLower(kind) + "-" + name + ".yaml"
}

// Drops deletes one.
func (r *Run) Drops(kind, namespace, name string) {
	is := r.W.Cluster.Drop(kind, namespace+"/"+name)
	if is == nil {
		return
	}
	r.noteHeld(kind, namespace+"/"+name, nil)
	if !r.Files {
		r.W.Cluster.Delete(is)
		return
	}
	r.unlinks(fileOf(kind, name))
}

func (r *Run) unlinks(file string) {
	if !r.Defers(func() { r.unlinks(file) }) {
		r.Unlinks(file)
	}
}

// Misplaces has the document of a Secret, a ConfigMap or a ClusterTrustBundle moved into a file with an error, for a
// while. Nobody has deleted it. It says what is against that.
func (r *Run) Misplaces(kind, name string, d time.Duration) string {
	at := slices.IndexFunc(r.Held, func(h Holding) bool { return h.Kind == kind && h.Name == name })
	_, name, _ = strings.Cut(name, "/")
	file := fileOf(kind, name)
	text, is := r.Written[file].(string)
	if !is {
		return "the " + strings.ToLower(kind) + " has no manifest; write: objects from files"
	}
	to := lang.ManifestDir + "/misplaced-" + path.Base(file)
	if _, there := r.W.Exists(to); there || r.IsAside() {
		return ""
	}
	r.W.WriteFile(to, []byte("speck: {}\n---\n"+text))
	_ = r.W.RemoveFile(file)
	if at >= 0 {
		r.Held[at].MovedAt = r.W.Now().Add(d)
	}
	r.W.After(d, "a misplaced object is where it was", func() { r.replaces(to, file, text) })
	return ""
}

// replaces ends Misplaces. What somebody has deleted or edited since has been dealt with.
func (r *Run) replaces(misplaced, file, text string) {
	if r.Defers(func() { r.replaces(misplaced, file, text) }) {
		return
	}
	if r.Written[file] == any(text) {
		r.W.WriteManifest(file, []byte(text))
	}
	r.W.After(time.Second, "the bad file goes", func() { r.unlinks(misplaced) })
}

// Holding is what one object holds, over time.
type Holding struct {
	Kind, Name string              // namespace/name
	Held       []map[string]string // the present last; nil: there was none
	MovedAt    hal.Instant         // when it came or went last, or will be where it was
}

func (r *Run) noteHeld(kind, name string, data map[string]string) {
	at := slices.IndexFunc(r.Held, func(h Holding) bool { return h.Kind == kind && h.Name == name })
	if at < 0 {
		at = len(r.Held)
		r.Held = append(r.Held, Holding{Kind: kind, Name: name, Held: []map[string]string{nil}})
	}
	if h := &r.Held[at]; (data == nil) != (h.Held[len(h.Held)-1] == nil) {
		h.MovedAt = r.W.Now()
	}
	r.Held[at].Held = append(r.Held[at].Held, data)
}

// HeldBy is what an object, as namespace/name, holds and has held.
func (r *Run) HeldBy(kind, name string) Holding {
	for i := range r.Held {
		if r.Held[i].Kind == kind && r.Held[i].Name == name {
			return r.Held[i]
		}
	}
	return Holding{Kind: kind, Name: name, Held: []map[string]string{nil}}
}

// LacksContent reports whether a volume needs a Secret or a ConfigMap that is not there.
func (r *Run) LacksContent(namespace string, v *corev1.Volume) bool {
	lacks := func(kind, name string, optional *bool) bool {
		return (optional == nil || !*optional) && r.HeldBy(kind, namespace+"/"+name).Present() == nil
	}
	switch {
	case v.Secret != nil:
		return lacks(hal.SecretKind, v.Secret.SecretName, v.Secret.Optional)
	case v.ConfigMap != nil:
		return lacks(hal.ConfigMapKind, v.ConfigMap.Name, v.ConfigMap.Optional)
	case v.Projected != nil:
		return slices.ContainsFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool {
			return p.Secret != nil && lacks(hal.SecretKind, p.Secret.Name, p.Secret.Optional) ||
				p.ConfigMap != nil && lacks(hal.ConfigMapKind, p.ConfigMap.Name, p.ConfigMap.Optional) ||
				p.ClusterTrustBundle != nil && r.lacksBundle(p.ClusterTrustBundle)
		})
	}
	return false
}

// BundlesOf are the ClusterTrustBundles of which the world has had some version that a source names, or chooses.
func (r *Run) BundlesOf(b *corev1.ClusterTrustBundleProjection) (all []Holding) {
	for _, h := range r.Held {
		if h.Kind == hal.TrustBundleKind && slices.ContainsFunc(h.Held, func(data map[string]string) bool {
			return IsChosen(b, strings.TrimPrefix(h.Name, "/"), data)
		}) {
			all = append(all, h)
		}
	}
	return all
}

// IsChosen reports whether a source names, or chooses, the bundle of a name that holds data; nil is none.
func IsChosen(b *corev1.ClusterTrustBundleProjection, name string, data map[string]string) bool {
	switch {
	case data == nil:
		return false
	case b.Name != nil:
		return *b.Name == name
	case b.LabelSelector == nil || b.SignerName == nil || *b.SignerName != data[sim.SignerField]:
		return false
	}
	for label, value := range b.LabelSelector.MatchLabels { // the order does not matter
		if data[sim.LabelField+label] != value {
			return false
		}
	}
	return true
}

// lacksBundle reports whether a source needs a ClusterTrustBundle, and there is none for it.
func (r *Run) lacksBundle(b *corev1.ClusterTrustBundleProjection) bool {
	if b.Optional != nil && *b.Optional {
		return false
	}
	return !slices.ContainsFunc(r.BundlesOf(b), func(h Holding) bool {
		return IsChosen(b, strings.TrimPrefix(h.Name, "/"), h.Present())
	})
}

// Present is what it holds now; nil if it is not there.
func (h Holding) Present() map[string]string { return h.Held[len(h.Held)-1] }

// ContentOf is what a Secret, a ConfigMap or a ClusterTrustBundle of a scenario holds; false of another object. A
// Secret without a value has the mark.
func ContentOf(object any) (is hal.Content, data map[string]string, ok bool) {
	data = map[string]string{}
	switch o := object.(type) {
	case *corev1.Secret:
		is = hal.Content{Kind: hal.SecretKind, Namespace: o.Namespace, Name: o.Name}
		for key, value := range o.Data {
			data[key] = string(value)
		}
		maps.Copy(data, o.StringData)
		if len(data) == 0 {
			data["mark"] = SecretMark
		}
	case *corev1.ConfigMap:
		is = hal.Content{Kind: hal.ConfigMapKind, Namespace: o.Namespace, Name: o.Name}
		maps.Copy(data, o.Data)
		for key, value := range o.BinaryData {
			data[key] = string(value)
		}
	case *certificatesv1beta1.ClusterTrustBundle:
		is = hal.Content{Kind: hal.TrustBundleKind, Name: o.Name}
		data[sim.SignerField], data[sim.BundleField] = o.Spec.SignerName, o.Spec.TrustBundle
		for label, value := range o.Labels { // the order does not matter
			data[sim.LabelField+label] = value
		}
	default:
		return is, nil, false
	}
	return is, data, true
}
