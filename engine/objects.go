package engine

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

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
	*port
	ears       ears                  // which learn the secrets that objects name
	registered func() []string       // the names of the drivers that can be met
	comes      func(uid core.PodUID) // is called with each pod that was not there
	// is called with each problem of a volume when it comes
	blocked func(uid core.PodUID, v named)
	// is called with each rung that has failed for others once one more pod wants it
	shares func(uid core.PodUID, t core.Trouble)

	pods        map[core.PodUID]*podEntry                // that are wanted
	named       map[core.PodUID]podName                  // what sources named pods last, also those that are gone
	volumes     map[string]*corev1.PersistentVolume      // by name
	claims      map[string]*corev1.PersistentVolumeClaim // by namespace/name
	drivers     map[string]*storagev1.CSIDriver          // by name
	attachments map[string]*storagev1.VolumeAttachment   // by name
	contents    map[populator.Ref]*hal.Content           // Secrets, ConfigMaps and ClusterTrustBundles
	bundles     map[string]*hal.Content                  // the ClusterTrustBundles among them
	users       map[populator.Ref][]core.PodUID          // the pods whose population looked at an object, sorted
	sharing     map[hal.Key][]sharer                     // the pods that want a rung that is no pod's own, sorted
	trouble     map[string]hal.Trouble                   // by source and place
	// to be populated again, all at once at the end of what the owner has queued; sorted
	stale  []core.PodUID
	synced map[hal.Source]bool // sources that have said all they know
	all    bool                // every source is synced
	input  populator.Input     // but the pod and the drivers
	memory populator.Memory    // of the populator
}

// podEntry is one pod that is wanted.
type podEntry struct {
	pod     *corev1.Pod     // as its source has it
	volumes []named         // that its containers use
	shared  []hal.Key       // the rungs of their ladders that are no pod's own
	refs    []populator.Ref // what its population looked at
}

func newObjects(p *port, e ears, registered func() []string, facts func(driver string) *plugin.DriverFacts) *objects {
	o := &objects{
		port: p, ears: e, registered: registered,
		pods: map[core.PodUID]*podEntry{}, named: map[core.PodUID]podName{},
		volumes: map[string]*corev1.PersistentVolume{}, claims: map[string]*corev1.PersistentVolumeClaim{},
		drivers: map[string]*storagev1.CSIDriver{}, attachments: map[string]*storagev1.VolumeAttachment{},
		contents: map[populator.Ref]*hal.Content{}, bundles: map[string]*hal.Content{},
		users: map[populator.Ref][]core.PodUID{}, sharing: map[hal.Key][]sharer{},
		trouble: map[string]hal.Trouble{}, synced: map[hal.Source]bool{},
	}
	run := ""
	if p.h.Runtime != nil { // else the start is refused
		run = strconv.FormatInt(int64(p.h.Runtime.Now()), 36)
	}
	o.input = populator.Input{
		Run:     run,
		Sources: p.cfg.VolumeSources, Root: p.cfg.RootDir, NodeName: p.cfg.NodeName,
		NodeLabels: p.cfg.NodeLabels,
		Claim:      func(namespace, name string) *corev1.PersistentVolumeClaim { return o.claims[namespace+"/"+name] },
		Volume:     func(name string) *corev1.PersistentVolume { return o.volumes[name] },
		Object:     func(driver string) *storagev1.CSIDriver { return o.drivers[driver] },
		Attachment: func(name string) *storagev1.VolumeAttachment { return o.attachments[name] },
		Bundles:    o.bundles,
		Held: func(kind, namespace, name string) *hal.Content {
			return o.contents[populator.Ref{Kind: populator.RefKind(kind), Namespace: namespace, Name: name}]
		},
		HasTokens: p.h.Tokens != nil, ServesFlex: p.cfg.FlexVolumes, RepositorySchemes: p.cfg.RepositorySchemes,
		HoldsLimits: p.cfg.HoldsLimits,
		Driver:      facts, Config: p.cfg.driver,
	}
	return o
}

func driverRef(name string) populator.Ref {
	return populator.Ref{Kind: populator.RefDriver, Name: name}
}

func (o *objects) clusterEvent(e hal.ClusterEvent) {
	switch e := e.(type) {
	case hal.Changed:
		o.takeIn(e)
	case hal.Synced:
		o.sourceSynced(e.Source)
	case hal.Trouble:
		o.troubled(e)
	}
}

// takeIn takes in one difference of a source. A pod's data belongs to its uid: a pod that is removed under one name
// and applied under another with the same uid is renamed, and nothing of it goes. A removal that does not name the
// object as it is now comes late: it is of one before.
func (o *objects) takeIn(e hal.Changed) {
	var gone []core.PodUID
	for _, object := range e.Removed {
		if pod, ok := object.(*corev1.Pod); !ok {
			o.put(object, true)
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
			o.put(object, false)
			continue
		}
		if pod == nil || pod.UID == "" {
			o.emit(PodIgnored{})
			continue
		}
		uid := core.PodUID(pod.UID)
		gone = slices.DeleteFunc(gone, func(other core.PodUID) bool { return other == uid })
		o.putPod(uid, pod)
	}
	for _, uid := range gone {
		o.removePod(uid)
	}
	o.endKept()
}

// endKept drops what is kept of the disks of PersistentVolumes that are gone. One of the same name is another.
func (o *objects) endKept() {
	if !o.all {
		return
	}
	for _, owner := range slices.Compact(o.core.Owners()) {
		name, uid, _ := strings.Cut(owner, "/")
		if pv := o.volumes[name]; pv == nil || string(pv.UID) != uid {
			step(o.port, core.OwnerGone{Owner: owner})
		}
	}
}

// put takes in an object that is no pod, or its end.
func (o *objects) put(object any, gone bool) {
	is, isOther := hal.IdentityOf(object), false
	ref := populator.Ref{Namespace: is.Namespace, Name: is.Name}
	switch obj := object.(type) {
	case *corev1.PersistentVolume:
		ref.Kind, isOther = populator.RefVolume, put(o.volumes, obj.Name, obj, gone)
		o.ears.expect(o.cfg.VolumeSources.SecretsOfVolume(obj))
	case *corev1.PersistentVolumeClaim:
		ref.Kind, isOther = populator.RefClaim, put(o.claims, obj.Namespace+"/"+obj.Name, obj, gone)
	case *storagev1.CSIDriver:
		ref.Kind, isOther = populator.RefObject, put(o.drivers, obj.Name, obj, gone)
		if began := o.core.Earlier(); began != 0 { // no record tells of what was told if the journal was lost
			o.ears.said.Lend(obj.Name, began.Add(plugin.LongestToken(obj.Spec.TokenRequests)))
		}
	case *storagev1.VolumeAttachment:
		ref.Kind, isOther = populator.RefAttachment, put(o.attachments, obj.Name, obj, gone)
	case *hal.Content:
		ref.Kind = populator.RefKind(obj.Kind)
		if isOther = put(o.contents, ref, obj, gone); isOther && obj.Kind == hal.TrustBundleKind {
			put(o.bundles, obj.Name, obj, gone)
			o.changed(populator.Ref{Kind: populator.RefBundle})
		}
	}
	if isOther {
		o.changed(ref)
	}
}

func (o *objects) putPod(uid core.PodUID, pod *corev1.Pod) {
	entry := o.pods[uid]
	if entry == nil {
		entry = &podEntry{}
		o.pods[uid] = entry
		o.comes(uid)
	}
	if entry.pod != pod {
		entry.pod, o.named[uid] = pod, podName{pod.Namespace, pod.Name}
		o.ears.expect(o.cfg.VolumeSources.SecretsOfPod(pod))
		o.mark(uid)
	}
}

// put enters or takes away an object and reports whether that changed anything: the same version may come again, and
// objects are immutable. The end of one that had the name before takes nothing away.
func put[K, V comparable](index map[K]V, name K, object V, gone bool) bool {
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
func (o *objects) changed(ref populator.Ref) {
	for _, uid := range o.users[ref] {
		o.mark(uid)
	}
}

// driverMet has the pods populated that wait for what a driver says of itself.
func (o *objects) driverMet(name string) {
	o.changed(driverRef(name))
	o.populateStale()
}

// mark has a pod populated again, once for all that the owner has queued: the objects of a pod come one by one.
func (o *objects) mark(uid core.PodUID) {
	if len(o.stale) == 0 {
		o.h.Runtime.Post(o.populateStale)
	}
	if at, known := slices.BinarySearch(o.stale, uid); !known {
		o.stale = slices.Insert(o.stale, at, uid)
	}
}

func (o *objects) populateStale() {
	stale := o.stale
	if len(stale) == 0 {
		return
	}
	o.stale = nil
	in := o.current()
	for _, uid := range stale {
		o.populate(uid, in)
	}
}

func (o *objects) removePod(uid core.PodUID) {
	entry := o.pods[uid]
	if entry == nil {
		return
	}
	o.forget(uid, entry)
	delete(o.pods, uid)
	if at, known := slices.BinarySearch(o.stale, uid); known {
		o.stale = slices.Delete(o.stale, at, at+1)
	}
	step(o.port, core.Unwanted{Pod: uid})
	if o.cfg.NoRuntime {
		step(o.port, core.Gone{Pod: uid})
	}
}

func (o *objects) forget(uid core.PodUID, entry *podEntry) {
	o.refer(uid, entry, nil)
	o.share(uid, entry, nil)
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
func (o *objects) populate(uid core.PodUID, in populator.Input) {
	entry := o.pods[uid]
	in.Pod = entry.pod
	if o.core != nil { // else the event waits, with the rungs
		in.Memory = &o.memory
	}
	res := populator.Populate(in)
	res.Refs = append(res.Refs, o.keepApart(uid, res.Volumes)...)
	o.refer(uid, entry, res.Refs)
	rungs := res.Rungs()
	failed := o.share(uid, entry, rungs)
	known := entry.volumes
	entry.volumes = make([]named, len(res.Volumes))
	for i := range res.Volumes {
		entry.volumes[i] = nameOf(&res.Volumes[i])
	}
	o.emitProblems(entry, known)
	step(o.port, core.Wanted{Pod: uid, Rungs: rungs, Complete: res.Complete()})
	for _, t := range failed {
		o.shares(uid, t)
	}
}

// current shows the populator the objects and the drivers as they are, but no pod.
func (o *objects) current() populator.Input {
	in := o.input
	in.Registered, in.IsComplete = o.registered(), o.all
	return in
}

// emitProblems emits each problem once, when it comes.
func (o *objects) emitProblems(entry *podEntry, known []named) {
	for _, v := range entry.volumes {
		told := slices.ContainsFunc(known, func(old named) bool {
			return old.volume == v.volume && old.problem != nil && v.problem != nil && *old.problem == *v.problem
		})
		if v.problem != nil && !told {
			o.blocked(core.PodUID(entry.pod.UID), v)
			o.emit(VolumeBlocked{entry.pod.Namespace + "/" + entry.pod.Name, v.volume, v.problem.Field, v.problem.Message})
		}
	}
}

func (o *objects) sourceSynced(source hal.Source) {
	o.synced[source] = true
	if o.all || slices.ContainsFunc(o.cfg.Sources, func(s hal.Source) bool { return !o.synced[s] }) {
		return
	}
	o.all = true
	o.populateStale() // core must know what the pods want before it tears down anything
	o.ears.said.Complete()
	o.emit(AllSynced{len(o.pods)})
	step(o.port, core.AllSynced{})
	// A volume that was refused for a pod that might have been named may come up, and an attachment that nobody has
	// named is not there.
	in := o.current()
	for _, uid := range slices.Sorted(maps.Keys(o.pods)) {
		if slices.ContainsFunc(o.pods[uid].refs, isOpen) {
			o.populate(uid, in)
		}
	}
	o.endUnnamedPods()
	o.endKept()
}

// endUnnamedPods: on a host without a container runtime a pod that no source names has no containers.
func (o *objects) endUnnamedPods() {
	if !o.cfg.NoRuntime || !o.all {
		return
	}
	for _, p := range o.core.Pods() {
		if o.pods[p.UID] == nil {
			step(o.port, core.Gone{Pod: p.UID})
		}
	}
}

func (o *objects) troubled(e hal.Trouble) {
	at := string(e.Source) + "\x00" + e.Where
	if e.Problem == "" {
		delete(o.trouble, at)
		o.emit(SourceInOrder{e.Source, e.Where})
		return
	}
	o.trouble[at] = e
	o.emit(SourceTroubled{e.Source, e.Where, e.Problem})
}

// isNamed reports whether a source has named a pod in this life.
func (o *objects) isNamed(pod core.PodUID) bool { return o.named[pod] != podName{} }

// isWanted reports whether a source names a pod.
func (o *objects) isWanted(pod core.PodUID) bool { return o.pods[pod] != nil }

// podName returns the name of the pod of a rung that was made with some parameters, "" if it is not known. A pod may
// have been renamed since.
func (o *objects) podName(uid core.PodUID, made []core.Param) (namespace, name string) {
	if is, ok := o.named[uid]; ok {
		return is.namespace, is.name
	}
	return plugin.PodOf(made)
}

// named is one volume of a pod: its name there and the top of its ladder.
type named struct {
	volume  string          // the name in its pod
	pv      string          // "" if it has none
	top     hal.Key         // of its ladder
	problem *plugin.Problem // nil for none
}

// volumeNames returns the volumes of a pod: those it wants, and those known of it only by its rungs.
func (o *objects) volumeNames(uid core.PodUID, rungs []hal.Key) []named {
	var names []named
	if entry := o.pods[uid]; entry != nil {
		names = append(names, entry.volumes...)
	}
	for _, key := range rungs {
		if slices.ContainsFunc(names, func(n named) bool { return n.top == key }) {
			continue
		}
		v, _ := o.core.Rung(key)
		names = append(names, named{
			volume: cmp.Or(plugin.SpecOf(v.Made), path.Base(string(key))),
			pv:     plugin.PVOf(v.Made), top: key,
		})
	}
	return names
}

// claimOf is the claim that a PersistentVolume is bound to, as namespace/name; "" for none.
func (o *objects) claimOf(pv string) string {
	if v := o.volumes[pv]; v != nil && v.Spec.ClaimRef != nil {
		return v.Spec.ClaimRef.Namespace + "/" + v.Spec.ClaimRef.Name
	}
	return ""
}

func nameOf(v *populator.Volume) named {
	n := named{volume: v.Name, problem: v.Problem}
	if len(v.Rungs) > 0 {
		n.top, n.pv = v.Rungs[0].Key, plugin.PVOf(v.Rungs[0].Want)
	}
	return n
}

// status is the files and objects that can't be used.
func (o *objects) status() []SourceTrouble {
	var out []SourceTrouble
	for _, at := range slices.Sorted(maps.Keys(o.trouble)) {
		t := o.trouble[at]
		out = append(out, SourceTrouble{
			Source: t.Source, Where: t.Where, Why: t.Problem, Held: t.Held,
			Accept: t.Accept,
		})
	}
	return out
}
