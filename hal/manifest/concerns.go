package manifest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// This file says which troubles concern one pod.

// Concerning returns the places of the troubles that concern a pod, by namespace/name or uid: those of the directory, of files that hold it, or hold a
// claim or volume of it, or may, and of what is kept of it. Owner only.
func (c *Cluster) Concerning(pod string) (wheres []string) {
	is := c.state.about(pod)
	for where := range c.troubles { // sorted below
		name, inDir := strings.CutPrefix(where, c.o.Dir+"/")
		f, isFile := c.state.files[name]
		switch {
		case where == c.o.Dir, where == c.o.CacheDir, where == podsOfJournal, isFile && f.concerns(is), !isFile && is.isNamed(where, inDir):
			wheres = append(wheres, where)
		}
	}
	slices.Sort(wheres)
	return wheres
}

// relatives are a pod, and the objects that its volumes need.
type relatives struct {
	ids   []id
	names []string // as texts have them
	known bool     // the pod is served
}

// about finds a pod's, as far as they are known.
func (s state) about(pod string) relatives {
	is := relatives{}
	namespace, name, named := strings.Cut(pod, "/")
	if named {
		is.names = []string{name}
		is.ids = []id{{Kind: "Pod", Namespace: namespace, Name: name}}
	} else {
		is.names = []string{pod}
	}
	for key, o := range s.objects { // the order does not matter
		web, ok := o.value.(*corev1.Pod)
		if !ok || key.Kind != "Pod" || key.UID != pod && (key.Namespace != namespace || key.Name != name) {
			continue
		}
		is.known = true
		is.ids = append(is.ids, byName(key))
		is.names = append(is.names, key.Name, key.UID)
		for _, v := range web.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				is.claim(s, key.Namespace, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	return is
}

// claim adds a claim, and the volume that it names.
func (r *relatives) claim(s state, namespace, name string) {
	r.ids, r.names = append(r.ids, id{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name}), append(r.names, name)
	for key, o := range s.objects { // the order does not matter
		claim, ok := o.value.(*corev1.PersistentVolumeClaim)
		if !ok || key.Namespace != namespace || key.Name != name || claim.Spec.VolumeName == "" {
			continue
		}
		r.ids = append(r.ids, id{Kind: "PersistentVolume", Name: claim.Spec.VolumeName})
		r.names = append(r.names, claim.Spec.VolumeName)
	}
}

// isNamed reports whether a trouble about an object, or a file and an object in it, is about one of them.
func (r relatives) isNamed(where string, inFile bool) bool {
	return slices.ContainsFunc(r.ids, func(i id) bool { return where == i.String() || inFile && strings.HasSuffix(where, ": "+i.String()) })
}

// concerns reports whether a file holds one of them, or may hold one: its text names it, or nothing is known of its text and the pod is in no other file.
func (f file) concerns(is relatives) bool {
	if slices.ContainsFunc(f.objects, func(o object) bool { return slices.Contains(is.ids, byName(o.id)) }) {
		return true
	}
	isHidden := f.lost || f.problem != "" && len(f.texts) == 0 // what it holds is not known
	return isHidden && !is.known || slices.ContainsFunc(f.texts, func(text []byte) bool {
		return slices.ContainsFunc(is.names, func(name string) bool { return mentions(text, name) })
	})
}
