package world

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what the objects of a world mean: which volume a pod finds where. It follows the objects as they are at
// each moment, for a name can pass from one volume to another: a PersistentVolume's handle is edited, or a claim is
// created again.

// Objects are some objects by their names, claims by namespace/name.
type Objects struct {
	volumes map[string]*corev1.PersistentVolume
	claims  map[string]*corev1.PersistentVolumeClaim
	Drivers map[string]*storagev1.CSIDriver

	Attachments map[string]*storagev1.VolumeAttachment
	turns       int // how often a name got another meaning
}

// NewObjects is a cluster without objects.
func NewObjects() Objects {
	return Objects{
		map[string]*corev1.PersistentVolume{},
		map[string]*corev1.PersistentVolumeClaim{},
		map[string]*storagev1.CSIDriver{},
		map[string]*storagev1.VolumeAttachment{},
		0,
	}
}

// Put adds an object, or puts it in place of the one with its name.
func (o *Objects) Put(object any) {
	if o.renames(object) {
		o.turns++
	}
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		o.volumes[v.Name] = lang.AsCSI(v)
	case *corev1.PersistentVolumeClaim:
		o.claims[v.Namespace+"/"+v.Name] = v
	case *storagev1.CSIDriver:
		o.Drivers[v.Name] = v
	case *storagev1.VolumeAttachment:
		o.Attachments[v.Name] = v
	}
}

// Drop takes an object away, and not another one that has its name by now.
func (o *Objects) Drop(object any) {
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
		delete(o.Drivers, v.Name)
	case *storagev1.VolumeAttachment:
		if is := o.Attachments[v.Name]; is != nil && is.UID == v.UID {
			delete(o.Attachments, v.Name)
		}
	}
}

// HasVolume reports whether there is a PersistentVolume of which is is true.
func (o *Objects) HasVolume(is func(*corev1.PersistentVolume) bool) bool {
	for _, v := range o.volumes {
		if is(v) {
			return true
		}
	}
	return false
}

// Claimed returns the claim and the PersistentVolume of a volume of a pod; nil for what there is not.
func (o *Objects) Claimed(pod *corev1.Pod, v *corev1.Volume) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	claim := o.claims[pod.Namespace+"/"+hal.ClaimName(pod, v)]
	if claim == nil {
		return nil, nil
	}
	return claim, o.volumes[claim.Spec.VolumeName]
}

// GroupOf is the group that containers need for a PersistentVolume of that name, 0 if it names none.
func (o *Objects) GroupOf(volume string) int64 {
	if v := o.volumes[volume]; v != nil {
		group, _ := strconv.ParseInt(v.Annotations[GroupAnnotation], 10, 64)
		return group
	}
	return 0
}

// identity names what the claims of a pod stand for, one line for each.
func (o *Objects) identity(pod *corev1.Pod) string {
	var b strings.Builder
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if hal.ClaimName(pod, v) == "" {
			continue
		}
		claim, pv := o.Claimed(pod, v)
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
func (o *Objects) renames(object any) bool {
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		old, v := o.volumes[v.Name], lang.AsCSI(v)
		return old != nil && old.Spec.CSI != nil && v.Spec.CSI != nil &&
			(old.Spec.CSI.Driver != v.Spec.CSI.Driver || old.Spec.CSI.VolumeHandle != v.Spec.CSI.VolumeHandle)
	case *corev1.PersistentVolumeClaim:
		old := o.claims[v.Namespace+"/"+v.Name]
		return old != nil && old.Spec.VolumeName != v.Spec.VolumeName
	}
	return false
}

// Recalls is S22 for what pods need: the agent is not told that a claim, a volume or a driver is gone that nobody has
// deleted, whatever has become of its manifest.
func (r *Run) Recalls(e hal.Changed) {
	for _, o := range e.Removed {
		delete(r.Recalled, sim.ObjectName(o))
		if !r.Heard.has(o) { // it is not there with another uid
			r.forgot(o)
		}
	}
	for _, o := range e.Applied {
		r.Recalled[sim.ObjectName(o)] = o
	}
}

// RecallsAll is S22 at a start: once its sources are synced, it knows what earlier lives of the agent knew.
func (r *Run) RecallsAll() {
	for _, name := range slices.Sorted(maps.Keys(r.Recalled)) {
		if o := r.Recalled[name]; !r.Heard.has(o) {
			r.forgot(o)
		}
	}
}

// CopiesDir is where the agent keeps what it knows of manifests.
const CopiesDir = lang.RootDir + "/volnode/manifests"

// savedAgain is when a copy of a manifest that could not be written was written again.
const savedAgain = 11 * time.Second

// CantSave notes that the agent can't write there. It removes its ledger then, so that the next start knows that it
// does not know all. Where nothing is on the node, that start can take nothing down, and may forget.
func (r *Run) CantSave(i sim.Injected) {
	if i.Object != CopiesDir && !Below(i.Object, CopiesDir) {
		return
	}
	r.Root.Unsaved = true
	r.Root.Behind++
	life := r.W.Life()
	r.W.After(savedAgain, "copies of manifests are written again", func() {
		if r.W.AgentLives() && r.W.Life() == life {
			r.Root.Behind--
		}
	})
}

// forgot judges that the agent does not know an object any more. It may forget what it can't read in its own files.
func (r *Run) forgot(object any) {
	r.Judges("S22")
	if r.Files && r.Root.LostAt == 0 && r.Now.has(object) {
		r.Fail("S22", "recall", sim.ObjectName(object), "the agent forgets "+sim.ObjectName(object)+
			", which it knew, and which nobody has deleted")
	}
}

// isOne compares the uid that people gave an object with the one that the agent knows: it makes a uid for an object
// without one.
func isOne(given, told types.UID) bool {
	return given == told || given == "" && !strings.HasPrefix(string(told), givenUID)
}

// has reports whether a claim, a volume or a driver is there, with its uid.
func (o *Objects) has(object any) bool {
	switch v := object.(type) {
	case *corev1.PersistentVolume:
		is := o.volumes[v.Name]
		return is != nil && isOne(is.UID, v.UID)
	case *corev1.PersistentVolumeClaim:
		is := o.claims[v.Namespace+"/"+v.Name]
		return is != nil && isOne(is.UID, v.UID)
	case *storagev1.CSIDriver:
		return o.Drivers[v.Name] != nil
	}
	return false
}

// Becomes notes what an object is from now on, and what pods use by it.
func (r *Run) Becomes(object any) {
	if r.Last.renames(object) {
		r.IsRenamed, r.IsEdited = true, true
	}
	r.Now.Put(object)
	r.Last.Put(object)
	r.resolve()
}

// resolve makes what the pods use follow from the objects as they are.
func (r *Run) resolve() {
	if !r.IsRenamed {
		return
	}
	for _, p := range r.Pods {
		if p.IsWanted {
			p.Uses = r.usesOf(p.Object, p.Uses)
		}
	}
}

// UsesNow is what a pod uses, which is uses as long as no name has changed its meaning.
func (r *Run) UsesNow(object *corev1.Pod, uses []Use) []Use {
	if !r.IsRenamed {
		return uses
	}
	if p := r.ByUID[core.PodUID(object.UID)]; p != nil {
		uses = p.Uses
	}
	return r.usesOf(object, uses)
}

// ToldOf is what the present life of the agent has been told of the meaning of a pod's claims, and how often it was
// told another one, as an old version may come in between; "" as long as no name has changed its meaning.
func (r *Run) ToldOf(p *Pod) string {
	if !r.IsRenamed {
		return ""
	}
	return strconv.Itoa(r.Heard.turns) + " " + r.Heard.identity(p.Object)
}

// IsCurrent reports whether the agent has been told of a pod, and of what its claims stand for, as they are.
func (r *Run) IsCurrent(p *Pod) bool {
	return p.Told == p.Object && (!r.IsRenamed || r.Heard.identity(p.Object) == r.Now.identity(p.Object))
}

// MayRun reports whether containers of the pod whose publish a place is run on it, or might, for all that the agent
// knows: it was up for that pod, which has not ended since, be it that the pod was not ready for another volume's sake.
func (r *Run) MayRun(at *Place) bool {
	if !at.IsPublish {
		return false
	}
	owner := r.PodOf(at.Path)
	return at.MayBeUsed || r.IsPresumed(at.Key, owner) || owner != nil && owner.IsRunning &&
		slices.ContainsFunc(owner.Given, func(g Use) bool {
			return g.Path == at.Path && g.Driver == at.Driver && g.Volume == at.Volume
		})
}

// LeavesBehind: containers of p are started. What the agent takes down by then is not theirs.
func (r *Run) LeavesBehind(p *Pod) {
	for _, at := range r.List {
		b, ok := r.Core.Belief(at.Key)
		isGoing := ok && !b.IsWanted && (b.InFlight && b.Verb == core.TearDown || b.TearDownOpen != 0)
		at.IsFormer = at.IsFormer || isGoing && r.PodOf(at.Path) == p
	}
}

// IsPresumed: the journal was lost, and an earlier life has left the volume there, or the names for it, for a pod that
// is wanted. A start that finds them without a record can't know that no container uses it; a deletion that reaches the
// agent together with the creation that follows does not say so either. Nor can it know it where a boot begins with
// mounts of others at all places of a ladder that the journal tells of.
func (r *Run) IsPresumed(key hal.Key, owner *Pod) bool {
	at := r.Places[key]
	if !r.Root.Forgotten && !(at != nil && at.IsMimicked) || !r.Alive() || owner == nil || !owner.IsWanted {
		return false
	}
	b, known := r.Core.Belief(key)
	why, _ := r.Core.Prospect(key)
	return known && b.State == core.Unknown && why.IsUsed
}

// BearsPresumed reports whether the agent presumes containers of a pod on a rung, as isPresumed has it, or on what
// depends on it.
func (r *Run) BearsPresumed(b *core.Belief, p *Pod) bool {
	is := b.Pod == p.Uid && r.IsPresumed(b.Key, p)
	r.Core.Beliefs(func(o core.Belief) {
		is = is || b.Pod == "" && o.Pod == p.Uid && o.Volume == b.Volume && r.IsPresumed(o.Key, p)
	})
	return is
}

// IsContested: an old copy of the journal tells of one volume at a path of p, and the names on the node of another,
// which containers are presumed to use: neither can move before the pod ends. b is one of the two, or what bears it.
func (r *Run) IsContested(b *core.Belief, p *Pod) bool {
	var here []core.Belief
	r.Core.Beliefs(func(o core.Belief) {
		if o.Pod == p.Uid && o.State == core.Unknown {
			here = append(here, o)
		}
	})
	return slices.ContainsFunc(here, func(o core.Belief) bool {
		return o.Volume == b.Volume && slices.ContainsFunc(here, func(q core.Belief) bool {
			return q.Path == o.Path && q.Volume != o.Volume && (r.IsPresumed(q.Key, p) || r.IsPresumed(o.Key, p))
		})
	})
}

// IsOccupied reports whether containers may run on another volume where a pod finds one of its own, or where that is
// staged.
func (r *Run) IsOccupied(p *Pod) bool {
	return r.isStuck(p) || r.holdsPresumed(p) || slices.ContainsFunc(p.Uses, func(u Use) bool {
		return u.Driver != "" && slices.ContainsFunc(r.List, func(at *Place) bool {
			isThere := at.Path == u.Path || u.Raw && path.Dir(at.Path) == path.Dir(u.Path)
			return isThere && (at.Driver != u.Driver || at.Volume != u.Volume) && (r.MayRun(at) || at.IsUnheard)
		})
	})
}

// holdsPresumed reports whether the agent presumes containers of a pod on another volume at a path of it, after the
// loss of the journal.
func (r *Run) holdsPresumed(p *Pod) bool {
	if !r.Root.Forgotten || !r.Alive() {
		return false
	}
	is := false
	r.Core.Beliefs(func(b core.Belief) {
		is = is || b.Pod == p.Uid && slices.ContainsFunc(p.Uses, func(u Use) bool {
			return u.Driver != "" && u.Path == b.Path && u.Driver+"^"+u.Volume != b.Volume
		}) && (r.IsPresumed(b.Key, p) || r.IsContested(&b, p))
	})
	return is
}

// isStuck reports whether a broken driver does not let go of what it has, or may have, at a path of a pod that is to be
// another volume's.
func (r *Run) isStuck(p *Pod) bool {
	if r.Broken == "" || !r.Alive() {
		return false
	}
	isStuck := false
	r.Core.Beliefs(func(b core.Belief) {
		isStuck = isStuck || r.IsBroken(string(b.Key)) && slices.ContainsFunc(p.Uses, func(u Use) bool {
			return u.Driver != "" && u.Driver+"^"+u.Volume != b.Volume &&
				(b.Path == u.Path || u.Raw && path.Base(b.Path) == u.Spec)
		})
	})
	return isStuck
}

// usesOf is what the containers of a pod find. What can't be told any more, for its claim or its volume is deleted, is
// what it was.
func (r *Run) usesOf(pod *corev1.Pod, before []Use) []Use {
	uses := make([]Use, 0, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		isUsed, isBlock, readOnly := Used(pod, v.Name)
		if !isUsed {
			continue
		}
		u, ok := r.useOf(pod, v, isBlock, readOnly)
		if !ok {
			u = Use{Name: v.Name, Exempt: true}
			if at := slices.IndexFunc(before, func(u Use) bool { return u.Name == v.Name }); at >= 0 {
				u = before[at]
			}
		}
		uses = append(uses, u)
	}
	return uses
}

func (r *Run) useOf(pod *corev1.Pod, v *corev1.Volume, isBlock, readOnly bool) (u Use, ok bool) {
	c := Claimed{UID: string(pod.UID), Spec: v, IsBlock: isBlock, ReadOnly: readOnly}
	if hal.ClaimName(pod, v) != "" {
		if _, c.PV = r.Now.Claimed(pod, v); c.PV == nil {
			return Use{Name: v.Name}, false
		}
	} else {
		c.PV = lang.PodVolumeAsCSI(v)
	}
	u, ok = c.use()
	u.Bare = r.Bare[u.Driver]
	return u, ok
}
