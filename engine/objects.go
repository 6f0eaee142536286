package engine

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/populator"
	"github.com/volnode/volnode/hal"
)

// objects is what the cluster's stream has said, and for each pod what came of it.
type objects struct {
	pods    map[core.PodUID]*podEntry
	volumes map[string]*corev1.PersistentVolume
	claims  map[string]*corev1.PersistentVolumeClaim // by namespace/name
	drivers map[string]*storagev1.CSIDriver
	users   map[populator.Ref]map[core.PodUID]bool // the pods whose population looked at an object
	sharing map[hal.Key]map[core.PodUID]core.Rung  // the pods that want a rung that is no pod's own, and how
	trouble map[string]hal.Trouble                 // by source and place
	stale   map[core.PodUID]bool                   // to be populated anew, all at once at the end of what the owner has queued
	synced  map[hal.Source]bool
	all     bool // every source is synced
}

// podEntry is one pod that is wanted.
type podEntry struct {
	pod     *corev1.Pod
	volumes []populator.Volume
	refs    []populator.Ref
}

func (o *objects) init() {
	o.pods, o.volumes = map[core.PodUID]*podEntry{}, map[string]*corev1.PersistentVolume{}
	o.claims, o.drivers = map[string]*corev1.PersistentVolumeClaim{}, map[string]*storagev1.CSIDriver{}
	o.users, o.trouble = map[populator.Ref]map[core.PodUID]bool{}, map[string]hal.Trouble{}
	o.stale = map[core.PodUID]bool{}
	o.sharing, o.synced = map[hal.Key]map[core.PodUID]core.Rung{}, map[hal.Source]bool{}
}

func driverRef(name string) populator.Ref {
	return populator.Ref{Kind: populator.RefDriver, Name: name}
}

func (m *VolumeManager) clusterEvent(e hal.ClusterEvent) {
	switch e := e.(type) {
	case hal.Applied:
		m.applied(e.Object, false)
	case hal.Deleted:
		m.applied(e.Object, true)
	case hal.Synced:
		m.sourceSynced(e.Source)
	case hal.Trouble:
		m.troubled(e)
	}
}

// applied takes in one object, or its end.
func (m *VolumeManager) applied(object any, gone bool) {
	o := &m.objects
	switch obj := object.(type) {
	case *corev1.Pod:
		uid := core.PodUID(obj.UID)
		if gone {
			o.removePod(m, uid)
			return
		}
		entry := o.pods[uid]
		if entry == nil {
			entry = &podEntry{}
			o.pods[uid] = entry
		}
		if entry.pod != obj {
			entry.pod = obj
			o.mark(m, uid)
		}
	case *corev1.PersistentVolume:
		if put(o.volumes, obj.Name, obj, gone) {
			o.changed(m, populator.Ref{Kind: populator.RefVolume, Name: obj.Name})
		}
	case *corev1.PersistentVolumeClaim:
		name := obj.Namespace + "/" + obj.Name
		if put(o.claims, name, obj, gone) {
			o.changed(m, populator.Ref{Kind: populator.RefClaim, Namespace: obj.Namespace, Name: obj.Name})
		}
	case *storagev1.CSIDriver:
		if put(o.drivers, obj.Name, obj, gone) {
			o.changed(m, populator.Ref{Kind: populator.RefObject, Name: obj.Name})
		}
	}
}

// put enters or takes away an object and reports whether that changed anything: the same version may come again, and objects are immutable.
func put[V comparable](index map[string]V, name string, object V, gone bool) bool {
	old, known := index[name]
	if gone {
		delete(index, name)
		return known
	}
	index[name] = object
	return !known || old != object
}

// changed has the pods that looked at an object populated again.
func (o *objects) changed(m *VolumeManager, ref populator.Ref) {
	for _, uid := range slices.Sorted(maps.Keys(o.users[ref])) {
		o.mark(m, uid)
	}
}

// mark has a pod populated again, once for all that the owner has queued: the objects of a pod come one by one.
func (o *objects) mark(m *VolumeManager, uid core.PodUID) {
	if len(o.stale) == 0 {
		m.h.Runtime.Post(m.populateStale)
	}
	o.stale[uid] = true
}

func (m *VolumeManager) populateStale() {
	stale := slices.Sorted(maps.Keys(m.objects.stale))
	clear(m.objects.stale)
	for _, uid := range stale {
		m.populate(uid)
	}
}

func (o *objects) removePod(m *VolumeManager, uid core.PodUID) {
	entry := o.pods[uid]
	if entry == nil {
		return
	}
	shared := sharedKeys(entry)
	o.forget(uid, entry)
	delete(o.pods, uid)
	delete(o.stale, uid)
	m.step(core.Unwanted{Pod: uid})
	if m.cfg.NoRuntime {
		m.step(core.Gone{Pod: uid})
	}
	for _, key := range shared {
		o.changed(m, sharingRef(key))
	}
}

// sharedKeys are the rungs of a pod's ladders that are no pod's own.
func sharedKeys(entry *podEntry) []hal.Key {
	var keys []hal.Key
	for _, v := range entry.volumes {
		for _, r := range v.Rungs {
			if r.Pod == "" {
				keys = append(keys, r.Key)
			}
		}
	}
	return keys
}

func (o *objects) forget(uid core.PodUID, entry *podEntry) {
	for _, ref := range entry.refs {
		leave(o.users, ref, uid)
	}
	for _, v := range entry.volumes {
		for _, r := range v.Rungs {
			leave(o.sharing, r.Key, uid)
		}
	}
	entry.refs, entry.volumes = nil, nil
}

// enter and leave keep an index of the pods that have to do with something.
func enter[K comparable, V any](index map[K]map[core.PodUID]V, key K, uid core.PodUID, value V) {
	if index[key] == nil {
		index[key] = map[core.PodUID]V{}
	}
	index[key][uid] = value
}

func leave[K comparable, V any](index map[K]map[core.PodUID]V, key K, uid core.PodUID) {
	delete(index[key], uid)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

// populate makes the rungs that a pod wants of the objects as they are, and tells core.
func (m *VolumeManager) populate(uid core.PodUID) {
	o := &m.objects
	entry := o.pods[uid]
	res := populator.Populate(m.input(entry.pod))
	known := entry.volumes
	o.forget(uid, entry)
	res.Refs = append(res.Refs, m.keepApart(uid, res.Volumes)...)
	entry.refs, entry.volumes = res.Refs, res.Volumes
	for _, ref := range res.Refs {
		enter(o.users, ref, uid, true)
	}
	rungs := res.Rungs()
	for _, r := range rungs {
		if r.Pod == "" {
			enter(o.sharing, r.Key, uid, r)
		}
	}
	m.logProblems(entry, known)
	m.step(core.Wanted{Pod: uid, Rungs: rungs, Complete: res.Complete()})
}

// input shows the populator the objects and the drivers.
func (m *VolumeManager) input(pod *corev1.Pod) populator.Input {
	o := &m.objects
	return populator.Input{
		Root: m.cfg.RootDir, NodeName: m.cfg.NodeName, Pod: pod,
		Claim:  func(namespace, name string) *corev1.PersistentVolumeClaim { return o.claims[namespace+"/"+name] },
		Volume: func(name string) *corev1.PersistentVolume { return o.volumes[name] },
		Object: func(driver string) *storagev1.CSIDriver { return o.drivers[driver] },
		Driver: m.drivers.facts, Config: m.driverConfig, Registered: m.drivers.registered(),
	}
}

// logProblems tells of each problem once, when it comes.
func (m *VolumeManager) logProblems(entry *podEntry, known []populator.Volume) {
	for _, v := range entry.volumes {
		told := slices.ContainsFunc(known, func(old populator.Volume) bool {
			return old.Name == v.Name && old.Problem != nil && v.Problem != nil && *old.Problem == *v.Problem
		})
		if v.Problem != nil && !told {
			m.log(LevelWarn, "volume blocked", "pod", entry.pod.Namespace+"/"+entry.pod.Name, "volume", v.Name, "field", v.Problem.Field,
				"why", v.Problem.Message)
		}
	}
}

// keepApart refuses a volume that shares a rung with another pod's volume of another PersistentVolume and wants it made differently: two
// PersistentVolumes with one handle. Whoever uses it keeps it, after a restart too, else the first. What is refused depends on those who share the
// rung.
func (m *VolumeManager) keepApart(uid core.PodUID, volumes []populator.Volume) (refs []populator.Ref) {
	for i, v := range volumes {
		for _, r := range v.Rungs {
			if r.Pod != "" {
				continue // no other pod's
			}
			if other, why := m.conflict(uid, r); other != "" {
				volumes[i].Problem = &plugin.Problem{
					Field: "spec.volumes[" + v.Name + "]",
					Message: fmt.Sprintf("PersistentVolume %s names the volume %s, and so does %s, which another pod on this node uses, "+
						"with another %s; give both the same options, or stop the pod that uses the other",
						core.Value(r.Want, "pv"), r.Volume, other, why),
				}
				volumes[i].Rungs = nil
				refs = append(refs, sharingRef(r.Key))
				break
			}
		}
	}
	return refs
}

// sharingRef refers to those who want a rung that pods share.
func sharingRef(key hal.Key) populator.Ref { return populator.Ref{Kind: refRung, Name: string(key)} }

func isSharing(ref populator.Ref) bool { return ref.Kind == refRung }

const refRung populator.RefKind = "rung"

// conflict returns the PersistentVolume of another pod that wants the rung made differently, and in which parameter they differ.
func (m *VolumeManager) conflict(uid core.PodUID, r core.Rung) (string, string) {
	users := m.objects.sharing[r.Key]
	for _, uid := range slices.Sorted(maps.Keys(users)) {
		if other, name := apart(users[uid].Want, r.Want); name != "" {
			return other, name
		}
	}
	if m.core == nil {
		return "", "" // no driver is registered before the node has been read, so no rung of this pod is shared yet
	}
	// After a restart the other pod may not have been named yet: then what stands speaks for it.
	stands, _ := m.core.Rung(r.Key)
	other, name := apart(stands.Made, r.Want)
	if name == "" || stands.State == core.Absent || !m.usedByAnother(uid, r.Key) {
		return "", ""
	}
	return other, name
}

// apart returns the PersistentVolume that a rung is made for, and in which parameter another PersistentVolume wants it made differently.
func apart(made, want []core.Param) (string, string) {
	volume := core.Value(made, "pv")
	if volume == "" || volume == core.Value(want, "pv") {
		return "", ""
	}
	return volume, differing(made, want)
}

// usedByAnother reports whether a rung of another pod stands on the rung, and the pod is wanted or may yet be named.
func (m *VolumeManager) usedByAnother(uid core.PodUID, key hal.Key) bool {
	return slices.ContainsFunc(m.core.View(), func(v core.View) bool {
		return v.Pod != "" && v.Pod != uid && v.State != core.Absent && slices.Contains(v.Below, key) &&
			(m.objects.pods[v.Pod] != nil || !m.objects.all)
	})
}

// differing names the first parameter that would have the rung made anew.
func differing(a, b []core.Param) string {
	for _, p := range b {
		if p.OnChange == core.OnChangeRebuild && core.Value(a, p.Name) != p.Value {
			return p.Name
		}
	}
	return ""
}

func (m *VolumeManager) sourceSynced(source hal.Source) {
	o := &m.objects
	o.synced[source] = true
	if o.all || slices.ContainsFunc(m.cfg.Sources, func(s hal.Source) bool { return !o.synced[s] }) {
		return
	}
	o.all = true
	m.populateStale() // what the pods want is told before anything is torn down
	m.log(LevelInfo, "all sources synced", "pods", itoa(len(o.pods)))
	m.step(core.AllSynced{})
	// A volume that was refused for a pod that might have been named may come up.
	for _, uid := range slices.Sorted(maps.Keys(o.pods)) {
		if slices.ContainsFunc(o.pods[uid].refs, isSharing) {
			m.populate(uid)
		}
	}
	if !m.cfg.NoRuntime {
		return
	}
	// A host without a container runtime: a pod that no source names has no containers.
	for _, p := range m.core.Pods() {
		if o.pods[p.UID] == nil {
			m.step(core.Gone{Pod: p.UID})
		}
	}
}

func (m *VolumeManager) troubled(e hal.Trouble) {
	at := string(e.Source) + "\x00" + e.Where
	if e.Problem == "" {
		delete(m.objects.trouble, at)
		m.log(LevelInfo, "source in order again", "source", string(e.Source), "where", e.Where)
		return
	}
	m.objects.trouble[at] = e
	m.log(LevelError, "source in trouble", "source", string(e.Source), "where", e.Where, "why", e.Problem)
}
