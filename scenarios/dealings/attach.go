package dealings

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is the cluster's attach/detach controller and a second node: as much of them as it takes to see whether
// what this node says of its volumes can be relied upon. The controller gives a volume of a driver that attaches to the
// other node once nobody wants it here: when this node says that nothing of it is left, or by force, six minutes later,
// if the node says nothing. The other node uses it for a while, and gives it back.

const (
	AttachPeriod = 10 * time.Second // in which the controller looks at what it waits for
	ForceAfter   = 6 * time.Minute  // then it detaches though the node reports the volume in use
)

func name(v *world.HandOver) string { return v.Driver + "^" + v.Handle }

// AttachmentName is how Kubernetes calls the VolumeAttachment of a volume on this node.
func AttachmentName(driver, handle string) string {
	return "csi-" + world.Sha256Of(handle+driver+lang.NodeName)
}

// AttachmentUID is the uid of the VolumeAttachment with which a volume is attached for the n-th time.
func AttachmentUID(driver, handle string, times int) types.UID {
	return types.UID(fmt.Sprintf("attached-%s-%d", world.Sha256Of(driver + "^" + handle)[:12], times))
}

// nth is which attachment of its volume has a uid: 0 if none has.
func nth(a *world.Attachment, driver, handle string, uid types.UID) int {
	for n := a.Times; n > 0; n-- {
		if AttachmentUID(driver, handle, n) == uid {
			return n
		}
	}
	return 0
}

// Attaches attaches a volume to this node; of a driver that has its volumes attached the cluster says so.
func Attaches(r *world.Run, driver, handle string) {
	name := driver + "^" + handle
	r.W.SetAttached(driver, handle, true)
	if !slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool { return d.Name == driver && d.Is.Attach }) {
		return
	}
	a := r.Attached[name]
	if a == nil {
		a = &world.Attachment{}
		r.Attached[name] = a
	}
	if a.Object != nil {
		return
	}
	a.Times++
	a.Changes = append(a.Changes, r.W.Now())
	pv := "of-" + world.Sha256Of(name)[:12] // nobody reads it
	a.Object = &storagev1.VolumeAttachment{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: AttachmentName(driver, handle), UID: AttachmentUID(driver, handle, a.Times),
			ResourceVersion: strconv.Itoa(a.Times),
		},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver, NodeName: lang.NodeName,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
		},
		Status: storagev1.VolumeAttachmentStatus{
			Attached:           true,
			AttachmentMetadata: map[string]string{"device": strconv.Itoa((a.Times + 1) / 2)},
		},
	}
	r.Give(a.Object)
}

// detaches takes a volume from this node.
func detaches(r *world.Run, driver, handle string) {
	if a := r.Attached[driver+"^"+handle]; a != nil && a.Object != nil {
		r.Take(a.Object)
		a.Object, a.Changes = nil, append(a.Changes, r.W.Now())
	}
	r.W.SetAttached(driver, handle, false)
}

// DetachesByForce has the controller take a volume from this node at once, whoever uses it, and give it to the other
// node for a while.
func DetachesByForce(r *world.Run, driver, handle string, lasts time.Duration) {
	if r.Away[driver+"^"+handle] != nil {
		return
	}
	v := &world.HandOver{Driver: driver, Handle: handle, Lasts: lasts, IsForced: true, IsFenced: true}
	r.Away[name(v)] = v
	moves(r, v)
}

// HandsOver has the controller give a volume to the other node as soon as it can, for a while.
func HandsOver(r *world.Run, driver, handle string, lasts time.Duration) {
	if r.Away[driver+"^"+handle] != nil {
		return
	}
	v := &world.HandOver{Driver: driver, Handle: handle, Lasts: lasts}
	r.Away[name(v)] = v
	controls(r, v)
}

// controls is one look of the controller.
func controls(r *world.Run, v *world.HandOver) {
	now := r.W.Now()
	switch {
	case IsWantedHere(r, v):
		v.Unused = 0
	case v.Unused == 0:
		v.Unused = now
	}
	switch {
	case r.Stop && v.Unused == 0: // calm: what has not begun does not begin any more
		delete(r.Away, name(v))
		return
	case v.Unused == 0:
	case r.Alive():
		asksInUse(r, v)
	case now.Sub(v.Unused) >= ForceAfter:
		v.IsFenced = true
		moves(r, v)
		return
	}
	look(r, v, func(v *world.HandOver) { controls(r, v) })
}

// look comes back to a volume, unless it has gone over meanwhile.
func look(r *world.Run, v *world.HandOver, f func(*world.HandOver)) {
	there := v.IsThere
	r.W.After(AttachPeriod, "attach "+name(v), func() {
		if v.IsThere == there {
			f(v)
		}
	})
}

// IsWantedHere reports whether a pod that is wanted on the node uses the volume.
func IsWantedHere(r *world.Run, v *world.HandOver) bool {
	return slices.ContainsFunc(r.Pods, func(p *world.Pod) bool {
		return p.IsWanted && slices.ContainsFunc(p.Uses,
			func(u world.Use) bool { return u.Driver == v.Driver && u.Volume == v.Handle })
	})
}

// asksInUse asks this node whether anything of the volume is left. The answer is made some time between the question
// and its arrival: what there was at both is not to be denied.
func asksInUse(r *world.Run, v *world.HandOver) {
	if v.Life == r.W.Life() {
		return // the question is under way
	}
	v.Life = r.W.Life()
	m, before := r.M, Here(r, v)
	r.W.Go(func() {
		isInUse, err := m.VolumeIsAttached(r.W.Context(0), name(v))
		v.Life = 0
		if err != nil || isInUse || v.IsThere {
			return
		}
		if NotUsed(r, v, before); len(Here(r, v)) == 0 && !IsWantedHere(r, v) {
			moves(r, v)
		}
	})
}

// NotUsed is S8 for the answer that a volume is not in use. before is what there was of it at the question.
func NotUsed(r *world.Run, v *world.HandOver, before []Remnant) {
	r.Judges("S8")
	for _, what := range Here(r, v) {
		if slices.Contains(before, what) {
			r.Fail("S8", "in use", name(v), "volume "+name(v)+" is reported not in use, and "+what.why)
			return
		}
	}
}

// Remnant is one thing of a volume on this node: a hold, a mount, a call that may still act.
type Remnant struct {
	path string
	call uint64
	why  string
}

// Here is what there is, or may still come, of a volume on this node.
func Here(r *world.Run, v *world.HandOver) []Remnant {
	var all []Remnant
	for _, p := range r.List {
		if p.Driver != v.Driver || p.Volume != v.Handle || p.IsTouched || p.IsUnseen {
			continue
		}
		if why := Stands(r, p); why != "" {
			all = append(all, Remnant{path: p.Path, why: why})
		}
		for _, c := range p.Calls {
			all = append(all, Remnant{p.Path, c.Id, "a " + c.Method + " of it may still act"})
		}
	}
	return all
}

// moves detaches a volume from this node; the other one stages and uses it, and gives it back.
func moves(r *world.Run, v *world.HandOver) {
	v.IsThere = true
	detaches(r, v.Driver, v.Handle)
	r.W.After(v.Lasts, "given back "+name(v), func() { back(r, v) })
}

// back attaches the volume to this node again. A controller does not ask what is left of it here: after a detachment by
// force that is dead, and stays so.
func back(r *world.Run, v *world.HandOver) {
	delete(r.Away, name(v))
	Attaches(r, v.Driver, v.Handle)
}

// ArrivesTwice is S9 between nodes: what the other node has does not come up here; if this one was cut off from it, not
// by a call that was sent after the agent was told.
func ArrivesTwice(r *world.Run, p *world.Place, what string) {
	r.Judges("S9")
	if v := r.Away[p.Driver+"^"+p.Volume]; v != nil && v.IsThere && (!v.IsFenced || knowsAway(r, p)) {
		r.Fail("S9", what, string(p.Key), "volume "+p.Volume+" comes up at "+p.Path+", and another node has it")
	}
}

// knowsAway: for longer than a call may act, the agent has been told that a volume is not attached to this node.
func knowsAway(r *world.Run, p *world.Place) bool {
	since := r.W.Now().Add(-setUpTime - sim.LateWindow - lagging)
	all := r.News["attachment "+AttachmentName(p.Driver, p.Volume)]
	return isTold(r, p.Thing, p.Driver) && len(all) > 0 && all[len(all)-1].IsGone && all[len(all)-1].Until <= since
}
