package dealings

import (
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file keeps each version of an object that the cluster has told the agent.

// Notes keeps what the cluster tells the agent.
func Notes(r *world.Run, e hal.ClusterEvent) {
	changed, ok := e.(hal.Changed)
	if !ok {
		return
	}
	for _, o := range changed.Removed {
		all := r.News[newsOf(o)]
		for i := range all {
			if all[i].Until == 0 && hal.IdentityOf(all[i].Object) == hal.IdentityOf(o) {
				all[i].Until, all[i].IsGone = r.W.Now(), true
			}
		}
	}
	for _, o := range changed.Applied {
		name := newsOf(o)
		all := r.News[name]
		if last := len(all) - 1; last >= 0 && all[last].Until == 0 {
			all[last].Until = r.W.Now()
		}
		if pv, is := o.(*corev1.PersistentVolume); is {
			o = lang.AsCSI(pv)
		}
		r.News[name] = append(all, world.News{Object: o, From: r.W.Now()})
	}
}

// newsOf names an object. Two pods may have one name for a while, one after the other, and the end of the first may be
// told last.
func newsOf(object any) string {
	if pod, ok := object.(*corev1.Pod); ok {
		return "pod " + string(pod.UID)
	}
	return sim.ObjectName(object)
}

// lagging is how long the owner may take from the news of an object to what follows from it.
const lagging = time.Minute

// versions are the versions of an object that may decide on an operation that began at an instant. What is deleted is
// what it was last: the volumes of a pod stay as they are while one can't be resolved.
func versions[T any](r *world.Run, name string, began hal.Instant) iter.Seq[T] {
	return func(yield func(T) bool) {
		all := r.News[name]
		for i, n := range all {
			object, ok := n.Object.(T)
			if ok && (n.Until == 0 || n.Until.Add(lagging) >= began || n.IsGone && i == len(all)-1) && !yield(object) {
				return
			}
		}
	}
}

// namesOf returns the names of all objects of a kind that the agent knows, sorted.
func namesOf(r *world.Run, kind string) []string {
	var all []string
	for name := range r.News {
		if strings.HasPrefix(name, kind) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// volumesTold yields the versions of all PersistentVolumes, and one for each volume of awsElasticBlockStore that a pod
// names itself.
func volumesTold(r *world.Run, began hal.Instant) iter.Seq[*corev1.PersistentVolume] {
	return func(yield func(*corev1.PersistentVolume) bool) {
		for _, name := range namesOf(r, "pv ") {
			for pv := range versions[*corev1.PersistentVolume](r, name, began) {
				if !yield(pv) {
					return
				}
			}
		}
		for _, name := range namesOf(r, "pod ") {
			for pod := range versions[*corev1.Pod](r, name, began) {
				for i := range pod.Spec.Volumes {
					if pv := lang.PodVolumeAsCSI(&pod.Spec.Volumes[i]); pv != nil && !yield(pv) {
						return
					}
				}
			}
		}
	}
}
