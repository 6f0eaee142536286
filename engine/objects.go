package engine

import (
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
	trouble map[string]hal.Trouble                 // by source and place
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
	o.synced = map[hal.Source]bool{}
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
		entry.pod = obj
		m.populate(uid)
	case *corev1.PersistentVolume:
		put(o.volumes, obj.Name, obj, gone)
		o.changed(m, populator.Ref{Kind: populator.RefVolume, Name: obj.Name})
	case *corev1.PersistentVolumeClaim:
		name := obj.Namespace + "/" + obj.Name
		put(o.claims, name, obj, gone)
		o.changed(m, populator.Ref{Kind: populator.RefClaim, Namespace: obj.Namespace, Name: obj.Name})
	case *storagev1.CSIDriver:
		put(o.drivers, obj.Name, obj, gone)
		o.changed(m, populator.Ref{Kind: populator.RefObject, Name: obj.Name})
	}
}

func put[V any](index map[string]V, name string, object V, gone bool) {
	if gone {
		delete(index, name)
		return
	}
	index[name] = object
}

// changed populates again the pods that looked at an object.
func (o *objects) changed(m *VolumeManager, ref populator.Ref) {
	for _, uid := range slices.Sorted(maps.Keys(o.users[ref])) {
		m.populate(uid)
	}
}

func (o *objects) removePod(m *VolumeManager, uid core.PodUID) {
	entry := o.pods[uid]
	if entry == nil {
		return
	}
	o.forget(uid, entry)
	delete(o.pods, uid)
	m.step(core.Unwanted{Pod: uid})
	if m.cfg.NoRuntime {
		m.step(core.Gone{Pod: uid})
	}
}

func (o *objects) forget(uid core.PodUID, entry *podEntry) {
	for _, ref := range entry.refs {
		delete(o.users[ref], uid)
		if len(o.users[ref]) == 0 {
			delete(o.users, ref)
		}
	}
	entry.refs = nil
}

// populate makes the rungs that a pod wants of the objects as they are, and tells core.
func (m *VolumeManager) populate(uid core.PodUID) {
	o := &m.objects
	entry := o.pods[uid]
	res := populator.Populate(m.input(entry.pod))
	o.forget(uid, entry)
	entry.refs = res.Refs
	for _, ref := range res.Refs {
		if o.users[ref] == nil {
			o.users[ref] = map[core.PodUID]bool{}
		}
		o.users[ref][uid] = true
	}
	m.keepApart(uid, res.Volumes)
	m.logProblems(entry, res.Volumes)
	entry.volumes = res.Volumes
	m.step(core.Wanted{Pod: uid, Rungs: res.Rungs(), Complete: res.Complete()})
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
func (m *VolumeManager) logProblems(entry *podEntry, volumes []populator.Volume) {
	for _, v := range volumes {
		known := slices.ContainsFunc(entry.volumes, func(old populator.Volume) bool {
			return old.Name == v.Name && old.Problem != nil && v.Problem != nil && *old.Problem == *v.Problem
		})
		if v.Problem != nil && !known {
			m.log(LevelWarn, "volume blocked", "pod", entry.pod.Namespace+"/"+entry.pod.Name, "volume", v.Name, "field", v.Problem.Field,
				"why", v.Problem.Message)
		}
	}
}

// keepApart refuses a volume that shares a rung with another pod's volume of another PersistentVolume and wants it made differently: two
// PersistentVolumes with one handle. The first keeps it.
func (m *VolumeManager) keepApart(uid core.PodUID, volumes []populator.Volume) {
	for i, v := range volumes {
		for _, r := range v.Rungs {
			if other, why := m.conflict(uid, r); other != "" {
				volumes[i].Problem = &plugin.Problem{
					Field:   "spec.volumes[" + v.Name + "]",
					Message: "PersistentVolume " + core.Value(r.Want, "pv") + " names the volume " + r.Volume + ", and so does " + other + " with another " + why + ", which a pod on this node uses: give both the same options, or stop the pod that uses the other",
				}
				volumes[i].Rungs = nil
				break
			}
		}
	}
}

// conflict returns the PersistentVolume of another pod that wants the rung made differently, and in which parameter they differ.
func (m *VolumeManager) conflict(uid core.PodUID, r core.Rung) (string, string) {
	if r.Pod != "" {
		return "", ""
	}
	for _, other := range slices.Sorted(maps.Keys(m.objects.pods)) {
		if other == uid {
			continue
		}
		for _, v := range m.objects.pods[other].volumes {
			for _, o := range v.Rungs {
				if o.Key != r.Key || core.Value(o.Want, "pv") == core.Value(r.Want, "pv") {
					continue
				}
				if name := differing(o.Want, r.Want); name != "" {
					return core.Value(o.Want, "pv"), name
				}
			}
		}
	}
	return "", ""
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
	m.log(LevelInfo, "all sources synced", "pods", itoa(len(o.pods)))
	m.step(core.AllSynced{})
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
		return
	}
	m.objects.trouble[at] = e
	m.log(LevelError, "source in trouble", "source", string(e.Source), "where", e.Where, "why", e.Problem)
}
