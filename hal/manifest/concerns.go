package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/intree"
)

// This file says which troubles concern one pod.

// Concerning returns the places of the troubles that concern a pod, by namespace/name or uid: those of the directory,
// of files that hold it, or hold a claim or volume of it, or may, and of what is kept of it. Owner only.
func (c *Cluster) Concerning(pod string) (places []string) {
	is := c.state.about(pod)
	for where := range c.troubles { // sorted below
		name, inDir := strings.CutPrefix(where, c.o.Dir+"/")
		f, isFile := c.state.files.get(name)
		switch {
		case where == c.o.Dir, strings.HasPrefix(where, c.o.CacheDir), where == podsOnNode,
			slices.Contains(c.state.unnamed, where),
			isFile && f.concerns(is), !isFile && is.isNamed(where, inDir):
			places = append(places, where)
		}
	}
	slices.Sort(places)
	return places
}

// relatives are a pod, and the objects that its volumes need.
type relatives struct {
	ids           []id
	sought        []string // names and uids of those that no file is known to hold: a bad one may
	isHeld        bool     // a file holds the pod
	hasLostRecord bool     // the record of the files is lost
}

// about finds a pod's, as far as they are known.
func (s state) about(pod string) relatives {
	is := relatives{hasLostRecord: s.lostRecord}
	namespace, name, isNamed := strings.Cut(pod, "/")
	uid, key := pod, id{Kind: "Pod", UID: pod}
	if isNamed {
		key = id{Kind: "Pod", Namespace: namespace, Name: name}
	}
	if o, ok := s.holding(key); ok {
		web, _ := o.value.(*corev1.Pod)
		namespace, name, uid, isNamed = o.id.Namespace, o.id.Name, o.id.UID, true
		for i := range web.Spec.Volumes {
			v := &web.Spec.Volumes[i]
			if claim := hal.ClaimName(web, v); claim != "" {
				is.claim(s, namespace, claim)
			}
			is.contents(s, namespace, &v.VolumeSource)
		}
	}
	if isNamed {
		web := id{Kind: "Pod", Namespace: namespace, Name: name}
		is.add(s, web)
		is.isHeld = s.holders.has(web)
	}
	if !is.isHeld {
		is.sought = append(is.sought, uid)
	}
	return is
}

func (r *relatives) add(s state, i id) {
	if r.ids = append(r.ids, i); !s.holders.has(i) {
		r.sought = append(r.sought, i.Name)
	}
}

// claim adds a claim, and the volume that it names.
func (r *relatives) claim(s state, namespace, name string) {
	key := id{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name}
	r.add(s, key)
	if o, ok := s.holding(key); ok {
		if claim, _ := o.value.(*corev1.PersistentVolumeClaim); claim.Spec.VolumeName != "" {
			r.volume(s, claim.Spec.VolumeName)
		}
	}
}

// volume adds a volume, and the secrets that its driver is given on a node.
func (r *relatives) volume(s state, name string) {
	key := id{Kind: "PersistentVolume", Name: name}
	r.add(s, key)
	o, _ := s.holding(key)
	pv, ok := o.value.(*corev1.PersistentVolume)
	if ok {
		r.secrets(s, pv)
	}
}

// secrets adds those that the driver of a PersistentVolume is given on a node.
func (r *relatives) secrets(s state, pv *corev1.PersistentVolume) {
	pv, err := intree.Volume(pv)
	if err != nil || pv.Spec.CSI == nil {
		return
	}
	for _, ref := range []*corev1.SecretReference{pv.Spec.CSI.NodeStageSecretRef, pv.Spec.CSI.NodePublishSecretRef} {
		if ref != nil {
			r.add(s, id{Kind: hal.SecretKind, Namespace: ref.Namespace, Name: ref.Name})
		}
	}
}

// contents adds the Secrets and ConfigMaps that a volume of a pod is made of, or that its driver is given.
func (r *relatives) contents(s state, namespace string, v *corev1.VolumeSource) {
	add := func(kind, name string) { r.add(s, id{Kind: kind, Namespace: namespace, Name: name}) }
	if pv, err := intree.PodVolume(&corev1.Volume{VolumeSource: *v}, namespace); err == nil && pv != nil {
		r.secrets(s, pv)
	}
	if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
		add(hal.SecretKind, v.CSI.NodePublishSecretRef.Name)
	}
	if v.Secret != nil {
		add(hal.SecretKind, v.Secret.SecretName)
	}
	if v.ConfigMap != nil {
		add(hal.ConfigMapKind, v.ConfigMap.Name)
	}
	if v.Projected == nil {
		return
	}
	for _, p := range v.Projected.Sources {
		if p.Secret != nil {
			add(hal.SecretKind, p.Secret.Name)
		}
		if p.ConfigMap != nil {
			add(hal.ConfigMapKind, p.ConfigMap.Name)
		}
		if b := p.ClusterTrustBundle; b != nil {
			r.bundles(s, b)
		}
	}
}

// bundles adds the ClusterTrustBundle of a name, or all of a signer.
func (r *relatives) bundles(s state, b *corev1.ClusterTrustBundleProjection) {
	if b.Name != nil {
		r.add(s, id{Kind: hal.TrustBundleKind, Name: *b.Name})
	}
	for _, o := range s.objects.all() {
		is, ok := o.value.(*hal.Content)
		if ok && is.Signer != "" && b.SignerName != nil && is.Signer == *b.SignerName {
			r.add(s, byName(o.id))
		}
	}
}

// isNamed reports whether a trouble about an object, or a file and an object in it, is about one of them.
func (r relatives) isNamed(where string, inFile bool) bool {
	return slices.ContainsFunc(r.ids, func(i id) bool {
		return where == i.String() || inFile && strings.HasSuffix(where, ": "+i.String())
	})
}

// concerns reports whether a file holds one of them, or may: its text names one that no file holds, or what is in it is
// not known.
func (f file) concerns(is relatives) bool {
	if slices.ContainsFunc(f.objects, func(o object) bool { return slices.Contains(is.ids, byName(o.id)) }) {
		return true
	}
	isHidden := f.lost || f.problem != "" && (f.opaque && len(f.texts) == 0 || is.hasLostRecord && !f.known)
	return isHidden && !is.isHeld || slices.ContainsFunc(f.texts, func(t text) bool {
		return slices.ContainsFunc(is.sought, func(name string) bool { return mentions(t.data, name) })
	})
}
