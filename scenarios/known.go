package scenarios

import (
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what the objects of a world mean: which volume a pod finds where. It follows the objects as they are at
// each moment, for a name can pass from one volume to another: a PersistentVolume's handle is edited, or a claim is
// created again.

// objects are some objects by their names, claims by namespace/name.
type objects struct {
	volumes map[string]*corev1.PersistentVolume
	claims  map[string]*corev1.PersistentVolumeClaim
	drivers map[string]*storagev1.CSIDriver

	attachments map[string]*storagev1.VolumeAttachment
}

func newObjects() objects {
	return objects{
		map[string]*corev1.PersistentVolume{},
		map[string]*corev1.PersistentVolumeClaim{},
		map[string]*storagev1.CSIDriver{},
		map[string]*storagev1.VolumeAttachment{},
	}
}

func (o *objects) put(object any) {
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		o.volumes[v.Name] = v
	case *corev1.PersistentVolumeClaim:
		o.claims[v.Namespace+"/"+v.Name] = v
	case *storagev1.CSIDriver:
		o.drivers[v.Name] = v
	case *storagev1.VolumeAttachment:
		o.attachments[v.Name] = v
	}
}

// drop takes an object away, and not another one that has its name by now.
func (o *objects) drop(object any) {
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		if is := o.volumes[v.Name]; is != nil && is.UID == v.UID {
			delete(o.volumes, v.Name)
		}
	case *corev1.PersistentVolumeClaim:
		if is := o.claims[v.Namespace+"/"+v.Name]; is != nil && is.UID == v.UID {
			delete(o.claims, v.Namespace+"/"+v.Name)
		}
	case *storagev1.CSIDriver:
		delete(o.drivers, v.Name)
	case *storagev1.VolumeAttachment:
		if is := o.attachments[v.Name]; is != nil && is.UID == v.UID {
			delete(o.attachments, v.Name)
		}
	}
}

// claimed returns the claim and the PersistentVolume of a volume of a pod; nil for what there is not.
func (o *objects) claimed(pod *corev1.Pod, v *corev1.Volume) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim := o.claims[pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName]
	if claim == nil {
		return nil, nil
	}
	return claim, o.volumes[claim.Spec.VolumeName]
}

// identity names what the claims of a pod stand for, one line for each.
func (o *objects) identity(pod *corev1.Pod) string {
	var b strings.Builder
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim == nil {
			continue
		}
		claim, pv := o.claimed(pod, v)
		if claim != nil {
			b.WriteString(claim.Spec.VolumeName)
		}
		if pv != nil && pv.Spec.CSI != nil {
			b.WriteString(" " + pv.Spec.CSI.Driver + "^" + pv.Spec.CSI.VolumeHandle)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// renames reports whether an object gives a name another meaning than it had.
func (o *objects) renames(object any) bool {
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		old := o.volumes[v.Name]
		return old != nil && old.Spec.CSI != nil && v.Spec.CSI != nil &&
			(old.Spec.CSI.Driver != v.Spec.CSI.Driver || old.Spec.CSI.VolumeHandle != v.Spec.CSI.VolumeHandle)
	case *corev1.PersistentVolumeClaim:
		old := o.claims[v.Namespace+"/"+v.Name]
		return old != nil && old.Spec.VolumeName != v.Spec.VolumeName
	}
	return false
}

// recalls is S22 for what pods need: the agent is not told that a claim, a volume or a driver is gone that nobody has
// deleted, whatever has become of its manifest.
func (r *run) recalls(e hal.Changed) {
	for _, o := range e.Removed {
		delete(r.recalled, sim.ObjectName(o))
		if !r.heard.has(o) { // it is not there with another uid
			r.forgot(o)
		}
	}
	for _, o := range e.Applied {
		r.recalled[sim.ObjectName(o)] = o
	}
}

// recallsAll is S22 at a start: once its sources are synced, it knows what earlier lives of the agent knew.
func (r *run) recallsAll() {
	for _, name := range slices.Sorted(maps.Keys(r.recalled)) {
		if o := r.recalled[name]; !r.heard.has(o) {
			r.forgot(o)
		}
	}
}

// copiesDir is where the agent keeps what it knows of manifests.
const copiesDir = lang.RootDir + "/volnode/manifests"

// cantSave notes that the agent can't write there. It removes its ledger then, so that the next start knows that it does
// not know all. Where nothing is on the node, that start can take nothing down, and may forget.
func (r *run) cantSave(i sim.Injected) {
	r.root.unsaved = r.root.unsaved || i.Object == copiesDir || below(i.Object, copiesDir)
}

// isBare: there is nothing of a volume or a pod on the node.
func (r *run) isBare() bool {
	return len(r.w.Staged())+len(r.w.Published()) == 0 && r.namesLeft(func(string) bool { return false }) == "" &&
		!slices.ContainsFunc(r.w.Mounts(), func(m hal.Mount) bool { return isOurs(m.Path) })
}

// forgot judges that the agent does not know an object any more. It may forget what it can't read in its own files.
func (r *run) forgot(object any) {
	r.judges("S22")
	if r.files && r.root.lostAt == 0 && r.now.has(object) {
		r.fail("S22", "recall", sim.ObjectName(object), "the agent forgets "+sim.ObjectName(object)+
			", which it knew, and which nobody has deleted")
	}
}

// isOne compares the uid that people gave an object with the one that the agent knows: it makes a uid for an object
// without one.
func isOne(given, told types.UID) bool {
	return given == told || given == "" && !strings.HasPrefix(string(told), givenUID)
}

// has reports whether a claim, a volume or a driver is there, with its uid.
func (o *objects) has(object any) bool {
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		is := o.volumes[v.Name]
		return is != nil && isOne(is.UID, v.UID)
	case *corev1.PersistentVolumeClaim:
		is := o.claims[v.Namespace+"/"+v.Name]
		return is != nil && isOne(is.UID, v.UID)
	case *storagev1.CSIDriver:
		return o.drivers[v.Name] != nil
	}
	return false
}

// becomes notes what an object is from now on, and what pods use by it.
func (r *run) becomes(object any) {
	if r.last.renames(object) {
		r.isRenamed, r.isEdited = true, true
	}
	r.now.put(object)
	r.last.put(object)
	r.resolve()
}

// resolve makes what the pods use follow from the objects as they are.
func (r *run) resolve() {
	if !r.isRenamed {
		return
	}
	for _, p := range r.pods {
		if p.isWanted {
			p.uses = r.usesOf(p.object, p.uses)
		}
	}
}

// usesNow is what a pod uses, which is uses as long as no name has changed its meaning.
func (r *run) usesNow(object *corev1.Pod, uses []use) []use {
	if !r.isRenamed {
		return uses
	}
	if p := r.byUID[core.PodUID(object.UID)]; p != nil {
		uses = p.uses
	}
	return r.usesOf(object, uses)
}

// toldOf is what the present life of the agent has been told of the meaning of a pod's claims; "" as long as no name
// has changed its meaning.
func (r *run) toldOf(p *pod) string {
	if !r.isRenamed {
		return ""
	}
	return r.heard.identity(p.object)
}

// isCurrent reports whether the agent has been told of a pod, and of what its claims stand for, as they are.
func (r *run) isCurrent(p *pod) bool {
	return p.told == p.object && (!r.isRenamed || r.heard.identity(p.object) == r.now.identity(p.object))
}

// mayRun reports whether containers of the pod whose publish a place is run on it, or might, for all that the agent
// knows: it was up for that pod, which has not ended since, be it that the pod was not ready for another volume's sake.
func (r *run) mayRun(at *place) bool {
	if !at.isPublish {
		return false
	}
	owner := r.podOf(at.path)
	return at.mayBeUsed || r.isPresumed(at.key, owner) || owner != nil && owner.isRunning &&
		slices.ContainsFunc(owner.given, func(g use) bool {
			return g.path == at.path && g.driver == at.driver && g.volume == at.volume
		})
}

// leavesBehind: containers of p are started. What the agent takes down by then is not theirs.
func (r *run) leavesBehind(p *pod) {
	for _, at := range r.list {
		b, ok := r.core.Belief(at.key)
		isGoing := ok && !b.IsWanted && (b.InFlight && b.Verb == core.TearDown || b.TearDownOpen != 0)
		at.isFormer = at.isFormer || isGoing && r.podOf(at.path) == p
	}
}

// isPresumed: the journal was lost, and an earlier life has left the volume there, or the names for it, for a pod that
// is wanted. A start that finds them without a record can't know that no container uses it; a deletion that reaches the
// agent together with the creation that follows does not say so either. Nor can it know it where a boot begins with
// mounts of others at all places of a ladder that the journal tells of.
func (r *run) isPresumed(key hal.Key, owner *pod) bool {
	at := r.places[key]
	if !r.root.forgotten && !(at != nil && at.isMimicked) || !r.alive() || owner == nil || !owner.isWanted {
		return false
	}
	b, known := r.core.Belief(key)
	why, _ := r.core.Prospect(key)
	return known && b.State == core.Unknown && why.IsUsed
}

// bearsPresumed reports whether the agent presumes containers of a pod on a rung, as isPresumed has it, or on what
// depends on it.
func (r *run) bearsPresumed(b *core.Belief, p *pod) bool {
	is := b.Pod == p.uid && r.isPresumed(b.Key, p)
	r.core.Beliefs(func(o core.Belief) {
		is = is || b.Pod == "" && o.Pod == p.uid && o.Volume == b.Volume && r.isPresumed(o.Key, p)
	})
	return is
}

// isContested: an old copy of the journal tells of one volume at a path of p, and the names on the node of another,
// which containers are presumed to use: neither can move before the pod ends. b is one of the two, or what bears it.
func (r *run) isContested(b *core.Belief, p *pod) bool {
	var here []core.Belief
	r.core.Beliefs(func(o core.Belief) {
		if o.Pod == p.uid && o.State == core.Unknown {
			here = append(here, o)
		}
	})
	return slices.ContainsFunc(here, func(o core.Belief) bool {
		return o.Volume == b.Volume && slices.ContainsFunc(here, func(q core.Belief) bool {
			return q.Path == o.Path && q.Volume != o.Volume && (r.isPresumed(q.Key, p) || r.isPresumed(o.Key, p))
		})
	})
}

// isOccupied reports whether containers may run on another volume where a pod finds one of its own, or where that is
// staged.
func (r *run) isOccupied(p *pod) bool {
	return r.isStuck(p) || r.holdsPresumed(p) || slices.ContainsFunc(p.uses, func(u use) bool {
		return u.driver != "" && slices.ContainsFunc(r.list, func(at *place) bool {
			isThere := at.path == u.path || u.raw && path.Dir(at.path) == path.Dir(u.path)
			return isThere && (at.driver != u.driver || at.volume != u.volume) && r.mayRun(at)
		})
	})
}

// holdsPresumed reports whether the agent presumes containers of a pod on another volume at a path of it, after the
// loss of the journal.
func (r *run) holdsPresumed(p *pod) bool {
	if !r.root.forgotten || !r.alive() {
		return false
	}
	is := false
	r.core.Beliefs(func(b core.Belief) {
		is = is || b.Pod == p.uid && slices.ContainsFunc(p.uses, func(u use) bool {
			return u.driver != "" && u.path == b.Path && u.driver+"^"+u.volume != b.Volume
		}) && (r.isPresumed(b.Key, p) || r.isContested(&b, p))
	})
	return is
}

// isStuck reports whether a broken driver does not let go of what it has, or may have, at a path of a pod that is to be
// another volume's.
func (r *run) isStuck(p *pod) bool {
	if r.broken == "" || !r.alive() {
		return false
	}
	isStuck := false
	r.core.Beliefs(func(b core.Belief) {
		isStuck = isStuck || r.isBroken(string(b.Key)) && slices.ContainsFunc(p.uses, func(u use) bool {
			return u.driver != "" && u.driver+"^"+u.volume != b.Volume &&
				(b.Path == u.path || u.raw && path.Base(b.Path) == u.spec)
		})
	})
	return isStuck
}

// usesOf is what the containers of a pod find. What can't be told any more, for its claim or its volume is deleted, is
// what it was.
func (r *run) usesOf(pod *corev1.Pod, before []use) []use {
	uses := make([]use, 0, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		isUsed, isBlock, readOnly := used(pod, v.Name)
		if !isUsed {
			continue
		}
		u, ok := r.useOf(pod, v, isBlock, readOnly)
		if !ok {
			u = use{name: v.Name, exempt: true}
			if at := slices.IndexFunc(before, func(u use) bool { return u.name == v.Name }); at >= 0 {
				u = before[at]
			}
		}
		uses = append(uses, u)
	}
	return uses
}

func (r *run) useOf(pod *corev1.Pod, v *corev1.Volume, isBlock, readOnly bool) (u use, ok bool) {
	uid := string(pod.UID)
	u.name = v.Name
	switch {
	case v.EmptyDir != nil:
		u.memory, u.path = v.EmptyDir.Medium == corev1.StorageMediumMemory,
			plugin.EmptyDirPlace(lang.RootDir, uid, v.Name).Path
	case v.HostPath != nil:
		u.exempt, u.path, u.isHost = isAnyType(v.HostPath), v.HostPath.Path, true
		if v.HostPath.Type != nil {
			u.hostKind = *v.HostPath.Type
		}
	case v.CSI != nil:
		u.driver, u.volume, u.spec = v.CSI.Driver, inlineHandle(uid, v.Name), v.Name
		u.path, u.ephemeral = publishedAt(uid, v.Name), true
		u.readOnly = readOnly || v.CSI.ReadOnly != nil && *v.CSI.ReadOnly
	case v.PersistentVolumeClaim != nil:
		_, pv := r.now.claimed(pod, v)
		if pv == nil || pv.Spec.CSI == nil {
			return u, false
		}
		u.driver, u.volume, u.spec = pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle, pv.Name
		u.readOnly = readOnly || v.PersistentVolumeClaim.ReadOnly || pv.Spec.CSI.ReadOnly
		u.path = publishedAt(uid, pv.Name)
		if isBlock {
			u.path, u.raw = plugin.BlockPublishPlace(lang.RootDir, uid, pv.Name).Path, true
		}
	default:
		return u, false
	}
	u.bare = r.bare[u.driver]
	return u, true
}
