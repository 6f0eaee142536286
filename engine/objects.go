package engine

import (
	"cmp"
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

type podName struct{ namespace, name string }

// objects is what the cluster's stream has said, and for each pod what came of it.
type objects struct {
	pods        map[core.PodUID]*podEntry
	named       map[core.PodUID]podName // what sources have named pods last in this life, those that are gone included
	volumes     map[string]*corev1.PersistentVolume
	claims      map[string]*corev1.PersistentVolumeClaim // by namespace/name
	drivers     map[string]*storagev1.CSIDriver
	attachments map[string]*storagev1.VolumeAttachment
	users       map[populator.Ref][]core.PodUID // the pods whose population looked at an object, sorted
	sharing     map[hal.Key][]sharer            // the pods that want a rung that is no pod's own, sorted
	trouble     map[string]hal.Trouble          // by source and place
	// to be populated again, all at once at the end of what the owner has queued; sorted
	stale  []core.PodUID
	synced map[hal.Source]bool
	all    bool            // every source is synced
	input  populator.Input // but the pod and the drivers
	memory populator.Memory
}

// sharer is a pod, and how it wants a rung that pods share.
type sharer struct {
	pod  core.PodUID
	want []core.Param
}

// podEntry is one pod that is wanted.
type podEntry struct {
	pod     *corev1.Pod
	volumes []named   // that its containers use
	shared  []hal.Key // the rungs of their ladders that are no pod's own
	refs    []populator.Ref
}

func (o *objects) init() {
	o.named = map[core.PodUID]podName{}
	o.pods, o.volumes = map[core.PodUID]*podEntry{}, map[string]*corev1.PersistentVolume{}
	o.claims, o.drivers = map[string]*corev1.PersistentVolumeClaim{}, map[string]*storagev1.CSIDriver{}
	o.users, o.trouble = map[populator.Ref][]core.PodUID{}, map[string]hal.Trouble{}
	o.sharing, o.synced = map[hal.Key][]sharer{}, map[hal.Source]bool{}
	o.attachments = map[string]*storagev1.VolumeAttachment{}
}

func driverRef(name string) populator.Ref {
	return populator.Ref{Kind: populator.RefDriver, Name: name}
}

func (m *VolumeManager) clusterEvent(e hal.ClusterEvent) {
	switch e := e.(type) {
	case hal.Changed:
		m.changed(e)
	case hal.Synced:
		m.sourceSynced(e.Source)
	case hal.Trouble:
		m.troubled(e)
	}
}

// changed takes in one difference of a source. A pod's data belongs to its uid: a pod that is removed under one name
// and applied under another with the same uid is renamed, and nothing of it goes. A removal that does not name the
// object as it is now comes late: it is of one before.
func (m *VolumeManager) changed(e hal.Changed) {
	o := &m.objects
	var gone []core.PodUID
	for _, object := range e.Removed {
		if pod, ok := object.(*corev1.Pod); !ok {
			o.put(m, object, true)
		} else if pod == nil {
			continue
		} else if entry := o.pods[core.PodUID(pod.UID)]; entry != nil &&
			hal.IdentityOf(entry.pod) == hal.IdentityOf(pod) {
			gone = append(gone, core.PodUID(pod.UID))
		}
	}
	for _, object := range e.Applied {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			o.put(m, object, false)
			continue
		}
		if pod == nil || pod.UID == "" {
			m.log(LevelError, "pod ignored", "why", "it has no UID; volnode names the data of a pod by its UID")
			continue
		}
		uid := core.PodUID(pod.UID)
		gone = slices.DeleteFunc(gone, func(other core.PodUID) bool { return other == uid })
		o.putPod(m, uid, pod)
	}
	for _, uid := range gone {
		o.removePod(m, uid)
	}
}

// put takes in an object that is no pod, or its end.
func (o *objects) put(m *VolumeManager, object any, gone bool) {
	is, isOther := hal.IdentityOf(object), false
	ref := populator.Ref{Namespace: is.Namespace, Name: is.Name}
	switch obj := object.(type) {
	case *corev1.PersistentVolume:
		ref.Kind, isOther = populator.RefVolume, put(o.volumes, obj.Name, obj, gone)
		m.ears.expect(m.cfg.VolumeSources.SecretsOfVolume(obj))
	case *corev1.PersistentVolumeClaim:
		ref.Kind, isOther = populator.RefClaim, put(o.claims, obj.Namespace+"/"+obj.Name, obj, gone)
	case *storagev1.CSIDriver:
		ref.Kind, isOther = populator.RefObject, put(o.drivers, obj.Name, obj, gone)
	case *storagev1.VolumeAttachment:
		ref.Kind, isOther = populator.RefAttachment, put(o.attachments, obj.Name, obj, gone)
	}
	if isOther {
		o.changed(m, ref)
	}
}

func (o *objects) putPod(m *VolumeManager, uid core.PodUID, pod *corev1.Pod) {
	entry := o.pods[uid]
	if entry == nil {
		entry = &podEntry{}
		o.pods[uid] = entry
	}
	if entry.pod != pod {
		entry.pod, o.named[uid] = pod, podName{pod.Namespace, pod.Name}
		m.ears.expect(m.cfg.VolumeSources.SecretsOfPod(pod))
		o.mark(m, uid)
	}
}

// put enters or takes away an object and reports whether that changed anything: the same version may come again, and
// objects are immutable. The end of one that had the name before takes nothing away.
func put[V comparable](index map[string]V, name string, object V, gone bool) bool {
	old, known := index[name]
	if !gone {
		index[name] = object
		return !known || old != object
	}
	if !known || hal.IdentityOf(old) != hal.IdentityOf(object) {
		return false
	}
	delete(index, name)
	return true
}

// changed has the pods that looked at an object populated again.
func (o *objects) changed(m *VolumeManager, ref populator.Ref) {
	for _, uid := range o.users[ref] {
		o.mark(m, uid)
	}
}

// mark has a pod populated again, once for all that the owner has queued: the objects of a pod come one by one.
func (o *objects) mark(m *VolumeManager, uid core.PodUID) {
	if len(o.stale) == 0 {
		m.h.Runtime.Post(m.populateStale)
	}
	if at, known := slices.BinarySearch(o.stale, uid); !known {
		o.stale = slices.Insert(o.stale, at, uid)
	}
}

func (m *VolumeManager) populateStale() {
	stale := m.objects.stale
	if len(stale) == 0 {
		return
	}
	m.objects.stale = nil
	in := m.input()
	for _, uid := range stale {
		m.populate(uid, in)
	}
}

func (o *objects) removePod(m *VolumeManager, uid core.PodUID) {
	entry := o.pods[uid]
	if entry == nil {
		return
	}
	o.forget(m, uid, entry)
	delete(o.pods, uid)
	if at, known := slices.BinarySearch(o.stale, uid); known {
		o.stale = slices.Delete(o.stale, at, at+1)
	}
	step(&m.port, core.Unwanted{Pod: uid})
	if m.cfg.NoRuntime {
		step(&m.port, core.Gone{Pod: uid})
	}
}

func (o *objects) forget(m *VolumeManager, uid core.PodUID, entry *podEntry) {
	o.refer(uid, entry, nil)
	o.share(m, uid, entry, nil)
	entry.volumes = nil
}

// refer makes refs those of a pod, in the index too. Mostly they are what they were.
func (o *objects) refer(uid core.PodUID, entry *podEntry, refs []populator.Ref) {
	if slices.Equal(entry.refs, refs) {
		return
	}
	for _, ref := range entry.refs {
		leave(o.users, ref, uid, cmp.Compare)
	}
	entry.refs = refs
	for _, ref := range refs {
		enter(o.users, ref, uid, uid, cmp.Compare)
	}
}

// share makes rungs those of a pod in the index of what pods share, in place of those of its volumes so far. Who was
// refused for its sake is looked at again where it does not want one any more, or wants it made in another way.
func (o *objects) share(m *VolumeManager, uid core.PodUID, entry *podEntry, rungs []core.Rung) {
	for _, key := range entry.shared {
		if !slices.ContainsFunc(rungs, func(r core.Rung) bool { return r.Key == key }) {
			leave(o.sharing, key, uid, sharer.compare)
			o.changed(m, sharingRef(key))
		}
	}
	entry.shared = nil
	for i := range rungs {
		r := &rungs[i]
		if r.Pod != "" {
			continue
		}
		entry.shared = append(entry.shared, r.Key)
		at, known := slices.BinarySearchFunc(o.sharing[r.Key], uid, sharer.compare)
		isOther := known && !slices.Equal(o.sharing[r.Key][at].want, r.Want)
		enter(o.sharing, r.Key, uid, sharer{uid, r.Want}, sharer.compare)
		if isOther {
			o.changed(m, sharingRef(r.Key))
		}
	}
}

func (s sharer) compare(pod core.PodUID) int { return cmp.Compare(s.pod, pod) }

// enter and leave keep an index of the pods that have to do with something: for each key a list that is sorted by pod.
func enter[K comparable, V any](index map[K][]V, key K, uid core.PodUID, value V, compare func(V, core.PodUID) int) {
	list := index[key]
	if at, known := slices.BinarySearchFunc(list, uid, compare); known {
		list[at] = value
	} else {
		index[key] = slices.Insert(list, at, value)
	}
}

func leave[K comparable, V any](index map[K][]V, key K, uid core.PodUID, compare func(V, core.PodUID) int) {
	list := index[key]
	if at, known := slices.BinarySearchFunc(list, uid, compare); known {
		list = slices.Delete(list, at, at+1)
		index[key] = list
	}
	if len(list) == 0 {
		delete(index, key)
	}
}

// populate makes the rungs that a pod wants of the objects as they are, which in shows, and tells core.
func (m *VolumeManager) populate(uid core.PodUID, in populator.Input) {
	o := &m.objects
	entry := o.pods[uid]
	in.Pod = entry.pod
	if m.core != nil { // else the event waits, with the rungs
		in.Memory = &o.memory
	}
	res := populator.Populate(in)
	res.Refs = append(res.Refs, m.keepApart(uid, res.Volumes)...)
	o.refer(uid, entry, res.Refs)
	rungs := res.Rungs()
	o.share(m, uid, entry, rungs)
	known := entry.volumes
	entry.volumes = make([]named, len(res.Volumes))
	for i := range res.Volumes {
		entry.volumes[i] = nameOf(&res.Volumes[i])
	}
	m.logProblems(entry, known)
	step(&m.port, core.Wanted{Pod: uid, Rungs: rungs, Complete: res.Complete()})
}

// input shows the populator the objects and the drivers as they are, but no pod.
func (m *VolumeManager) input() populator.Input {
	in := m.objects.input
	in.Registered, in.IsComplete = m.drivers.registered(), m.objects.all
	return in
}

// newInput is what an input always is.
func (m *VolumeManager) newInput() populator.Input {
	o := &m.objects
	return populator.Input{
		Sources: m.cfg.VolumeSources, Root: m.cfg.RootDir, NodeName: m.cfg.NodeName,
		Claim:      func(namespace, name string) *corev1.PersistentVolumeClaim { return o.claims[namespace+"/"+name] },
		Volume:     func(name string) *corev1.PersistentVolume { return o.volumes[name] },
		Object:     func(driver string) *storagev1.CSIDriver { return o.drivers[driver] },
		Attachment: func(name string) *storagev1.VolumeAttachment { return o.attachments[name] },
		Driver:     m.drivers.facts, Config: m.cfg.driver,
	}
}

// logProblems tells of each problem once, when it comes.
func (m *VolumeManager) logProblems(entry *podEntry, known []named) {
	for _, v := range entry.volumes {
		told := slices.ContainsFunc(known, func(old named) bool {
			return old.volume == v.volume && old.problem != nil && v.problem != nil && *old.problem == *v.problem
		})
		if v.problem != nil && !told {
			m.log(LevelWarn, "volume blocked", "pod", entry.pod.Namespace+"/"+entry.pod.Name, "volume", v.volume,
				"field", v.problem.Field,
				"why", v.problem.Message)
		}
	}
}

// keepApart refuses a volume that shares a rung with another pod's volume of another PersistentVolume and wants it made
// differently: two PersistentVolumes with one handle. Whoever uses it keeps it, after a restart too, else the first.
// What is refused depends on those who share the rung.
func (m *VolumeManager) keepApart(uid core.PodUID, volumes []populator.Volume) (refs []populator.Ref) {
	for i := range volumes {
		v := &volumes[i]
		for j := range v.Rungs {
			r := &v.Rungs[j]
			if r.Pod != "" {
				continue // no other pod's
			}
			if other, why := m.conflict(uid, r); other != "" {
				v.Problem = &plugin.Problem{
					Field: "spec.volumes[" + v.Name + "]",
					Message: fmt.Sprintf("PersistentVolume %s names the volume %s, and so does %s, which another "+
						"pod on this node uses, "+
						"with another %s; give both the same options, or stop the pod that uses the other",
						plugin.PVOf(r.Want), r.Volume, other, why),
				}
				v.Rungs = nil
				refs = append(refs, sharingRef(r.Key), volumeRef)
				break
			}
		}
	}
	return refs
}

// sharingRef refers to those who want a rung that pods share.
func sharingRef(key hal.Key) populator.Ref { return populator.Ref{Kind: refRung, Name: string(key)} }

// volumeRef refers to what stands of pods that want it no more: who is refused for its sake is looked at again when
// something of that is gone.
var volumeRef = sharingRef("")

// isOpen reports whether what a pod found there may be another thing once all sources are known.
func isOpen(ref populator.Ref) bool {
	return ref.Kind == refRung || ref.Kind == populator.RefAttachment
}

const refRung populator.RefKind = "rung"

// conflict returns the PersistentVolume of another pod that wants the rung made differently, and in which parameter
// they differ.
func (m *VolumeManager) conflict(uid core.PodUID, r *core.Rung) (string, string) {
	for _, s := range m.objects.sharing[r.Key] {
		if s.pod == uid {
			continue // what it wanted so far
		}
		if other, name := apart(s.want, r.Want); name != "" {
			return other, name
		}
	}
	if m.core == nil {
		return "", "" // no driver is registered before the node has been read, so no rung of this pod is shared yet
	}
	// After a restart the other pod may not have been named yet: then its volumes on the node count for it.
	made, state := m.core.Made(r.Key)
	other, name := apart(made, r.Want)
	if name == "" || state == core.Absent || !m.usedByAnother(uid, r.Key) {
		return "", ""
	}
	return other, name
}

// apart returns the PersistentVolume that a rung is made for, and in which parameter another PersistentVolume wants it
// made differently.
func apart(made, want []core.Param) (string, string) {
	volume := plugin.PVOf(made)
	if volume == "" || volume == plugin.PVOf(want) {
		return "", ""
	}
	return volume, differing(made, want)
}

// usedByAnother reports whether a rung of another pod depends on the rung, and a source names that pod or may yet name it.
func (m *VolumeManager) usedByAnother(uid core.PodUID, key hal.Key) bool {
	return slices.ContainsFunc(m.core.PodsAbove(key), func(pod core.PodUID) bool {
		return pod != uid && (m.objects.pods[pod] != nil || !m.objects.all)
	})
}

// differing names the first parameter that would have the rung made again.
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
	m.populateStale() // core must know what the pods want before it tears down anything
	m.ears.said.Complete()
	m.log(LevelInfo, "all sources synced", "pods", itoa(len(o.pods)))
	step(&m.port, core.AllSynced{})
	// A volume that was refused for a pod that might have been named may come up, and an attachment that nobody has
	// named is not there.
	in := m.input()
	for _, uid := range slices.Sorted(maps.Keys(o.pods)) {
		if slices.ContainsFunc(o.pods[uid].refs, isOpen) {
			m.populate(uid, in)
		}
	}
	m.endUnnamedPods()
}

// endUnnamedPods: on a host without a container runtime a pod that no source names has no containers.
func (m *VolumeManager) endUnnamedPods() {
	if !m.cfg.NoRuntime || !m.objects.all {
		return
	}
	for _, p := range m.core.Pods() {
		if m.objects.pods[p.UID] == nil {
			step(&m.port, core.Gone{Pod: p.UID})
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
