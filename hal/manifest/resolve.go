package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// resolved is what all files together come to.
type resolved struct {
	objects  map[id]object
	secrets  map[string]string // namespace/name: file
	troubles map[string]string // by the path of a file, or a file and an object
}

// resolve puts the files together, in the order of their names: of two objects with one name or one uid the first counts.
func resolve(o Options, files map[string]file) resolved {
	r := resolved{map[id]object{}, map[string]string{}, map[string]string{}}
	named, owned := map[id]string{}, map[id]string{} // where an object of that name, of that uid, is
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if f.problem != "" {
			r.troubles[path.Join(o.Dir, name)] = f.problem
		}
		for _, obj := range f.objects {
			where := path.Join(o.Dir, name) + ": " + obj.where
			trouble := path.Join(o.Dir, name) + ": " + obj.id.String()
			byName := id{Kind: obj.id.Kind, Namespace: obj.id.Namespace, Name: obj.id.Name}
			byUID := id{Kind: obj.id.Kind, UID: obj.id.UID}
			if first, taken := named[byName]; taken {
				r.troubles[trouble] = fmt.Sprintf("%s is also in %s, which counts; remove one of them", where, first)
				continue
			}
			if first, taken := owned[byUID]; taken {
				r.troubles[trouble] = fmt.Sprintf("%s has the uid %s of the object in %s, which counts; give each its own", where, obj.id.UID, first)
				continue
			}
			named[byName], owned[byUID] = where, where
			if pod, ok := obj.value.(*corev1.Pod); ok && pod.Spec.NodeName != o.NodeName {
				r.troubles[trouble] = fmt.Sprintf("%s is a pod for node %.100q, and this is %q; remove spec.nodeName, or the pod",
					where, pod.Spec.NodeName, o.NodeName)
				continue
			}
			r.objects[obj.id] = obj
		}
		for _, key := range f.secrets {
			if first, taken := r.secrets[key]; taken {
				r.troubles[path.Join(o.Dir, name)+": Secret "+key] = fmt.Sprintf("is also in %s, which counts; remove one of them", path.Join(o.Dir, first))
				continue
			}
			r.secrets[key] = name
		}
	}
	return r
}

// inOrder sorts objects such that what others refer to comes first.
func inOrder(objects map[id]object) []id {
	rank := map[string]int{"CSIDriver": 0, "PersistentVolume": 1, "PersistentVolumeClaim": 2, "Pod": 3}
	return slices.SortedFunc(maps.Keys(objects), func(a, b id) int {
		return cmp.Or(cmp.Compare(rank[a.Kind], rank[b.Kind]), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
