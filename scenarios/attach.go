package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is the cluster's attach/detach controller and a second node: as much of them as it takes to see whether
// what this node says of its volumes can be relied upon. The controller gives a volume of a driver that attaches to the
// other node once nobody wants it here: when this node says that nothing of it is left, or by force, six minutes later,
// if the node says nothing. The other node uses it for a while, and gives it back.

const (
	attachPeriod = 10 * time.Second // in which the controller looks at what it waits for
	forceAfter   = 6 * time.Minute
)

// handOver is one volume on its way to the other node and back.
type handOver struct {
	driver, handle string
	unused         hal.Instant // since when no pod here wants it; 0 while one does
	life           uint32      // the life of the agent that has been asked, 0 for none
	lasts          time.Duration
	isThere        bool // the other node has it
	isFenced       bool // by force: what is left of it here reaches the volume no more
	isForced       bool // somebody says that this node is out of service: it goes at once
}

func (v *handOver) name() string { return v.driver + "^" + v.handle }

// attachment is a volume of a driver that attaches, as it is attached to this node now: its VolumeAttachment, and since
// when; and how often it was.
type attachment struct {
	object  *storagev1.VolumeAttachment // nil while it is not
	times   int
	changes []hal.Instant // when it began or ended
}

// attachmentName is how Kubernetes calls the VolumeAttachment of a volume on this node.
func attachmentName(driver, handle string) string {
	return "csi-" + sha256Of(handle+driver+lang.NodeName)
}

// attachmentUID is the uid of the VolumeAttachment with which a volume is attached for the n-th time.
func attachmentUID(driver, handle string, times int) types.UID {
	return types.UID(fmt.Sprintf("attached-%s-%d", sha256Of(driver + "^" + handle)[:12], times))
}

// nth is which attachment of its volume has a uid: 0 if none has.
func (a *attachment) nth(driver, handle string, uid types.UID) int {
	for n := a.times; n > 0; n-- {
		if attachmentUID(driver, handle, n) == uid {
			return n
		}
	}
	return 0
}

// attaches attaches a volume to this node; of a driver that has its volumes attached the cluster says so.
func (r *run) attaches(driver, handle string) {
	name := driver + "^" + handle
	r.w.SetAttached(driver, handle, true)
	if !slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool { return d.Name == driver && d.Is.Attach }) {
		return
	}
	a := r.attached[name]
	if a == nil {
		a = &attachment{}
		r.attached[name] = a
	}
	if a.object != nil {
		return
	}
	a.times++
	a.changes = append(a.changes, r.w.Now())
	pv := "of-" + sha256Of(name)[:12] // nobody reads it
	a.object = &storagev1.VolumeAttachment{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"},
		ObjectMeta: metav1.ObjectMeta{
			Name: attachmentName(driver, handle), UID: attachmentUID(driver, handle, a.times),
			ResourceVersion: strconv.Itoa(a.times),
		},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver, NodeName: lang.NodeName, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &pv},
		},
		Status: storagev1.VolumeAttachmentStatus{
			Attached:           true,
			AttachmentMetadata: map[string]string{"device": strconv.Itoa((a.times + 1) / 2)},
		},
	}
	r.give(a.object)
}

// detaches takes a volume from this node.
func (r *run) detaches(driver, handle string) {
	if a := r.attached[driver+"^"+handle]; a != nil && a.object != nil {
		r.take(a.object)
		a.object, a.changes = nil, append(a.changes, r.w.Now())
	}
	r.w.SetAttached(driver, handle, false)
}

// detachesByForce has the controller take a volume from this node at once, whoever uses it, and give it to the other
// node for a while.
func (r *run) detachesByForce(driver, handle string, lasts time.Duration) {
	if r.away[driver+"^"+handle] != nil {
		return
	}
	v := &handOver{driver: driver, handle: handle, lasts: lasts, isForced: true, isFenced: true}
	r.away[v.name()] = v
	r.moves(v)
}

// handsOver has the controller give a volume to the other node as soon as it can, for a while.
func (r *run) handsOver(driver, handle string, lasts time.Duration) {
	if r.away[driver+"^"+handle] != nil {
		return
	}
	v := &handOver{driver: driver, handle: handle, lasts: lasts}
	r.away[v.name()] = v
	r.controls(v)
}

// controls is one look of the controller.
func (r *run) controls(v *handOver) {
	now := r.w.Now()
	switch {
	case r.isWantedHere(v):
		v.unused = 0
	case v.unused == 0:
		v.unused = now
	}
	switch {
	case r.stop && v.unused == 0: // calm: what has not begun does not begin any more
		delete(r.away, v.name())
		return
	case v.unused == 0:
	case r.alive():
		r.asksInUse(v)
	case now.Sub(v.unused) >= forceAfter:
		v.isFenced = true
		r.moves(v)
		return
	}
	r.look(v, r.controls)
}

// look comes back to a volume, unless it has gone over meanwhile.
func (r *run) look(v *handOver, f func(*handOver)) {
	there := v.isThere
	r.w.After(attachPeriod, "attach "+v.name(), func() {
		if v.isThere == there {
			f(v)
		}
	})
}

func (r *run) isWantedHere(v *handOver) bool {
	return slices.ContainsFunc(r.pods, func(p *pod) bool {
		return p.isWanted && slices.ContainsFunc(p.uses,
			func(u use) bool { return u.driver == v.driver && u.volume == v.handle })
	})
}

// asksInUse asks this node whether anything of the volume is left. The answer is made some time between the question
// and its arrival: what there was at both is not to be denied.
func (r *run) asksInUse(v *handOver) {
	if v.life == r.w.Life() {
		return // the question is under way
	}
	v.life = r.w.Life()
	m, before := r.m, r.here(v)
	r.w.Go(func() {
		isInUse, err := m.VolumeIsAttached(r.w.Context(0), v.name())
		v.life = 0
		if err != nil || isInUse || v.isThere {
			return
		}
		if r.notUsed(v, before); len(r.here(v)) == 0 && !r.isWantedHere(v) {
			r.moves(v)
		}
	})
}

// notUsed is S8 for the answer that a volume is not in use. before is what there was of it at the question.
func (r *run) notUsed(v *handOver, before []remnant) {
	r.judges("S8")
	for _, what := range r.here(v) {
		if slices.Contains(before, what) {
			r.fail("S8", "in use", v.name(), "volume "+v.name()+" is told not to be in use, and "+what.why)
			return
		}
	}
}

// remnant is one thing of a volume on this node: a hold, a mount, a call that may still act.
type remnant struct {
	path string
	call uint64
	why  string
}

// here is what there is, or may still come, of a volume on this node.
func (r *run) here(v *handOver) []remnant {
	var all []remnant
	for _, p := range r.list {
		if p.driver != v.driver || p.volume != v.handle || p.isTouched || p.isUnseen {
			continue
		}
		if why := r.stands(p); why != "" {
			all = append(all, remnant{path: p.path, why: why})
		}
		for _, c := range p.calls {
			all = append(all, remnant{p.path, c.id, "a " + c.method + " of it may still act"})
		}
	}
	return all
}

// moves detaches a volume from this node; the other one stages and uses it, and gives it back.
func (r *run) moves(v *handOver) {
	v.isThere = true
	r.detaches(v.driver, v.handle)
	r.w.After(v.lasts, "given back "+v.name(), func() { r.back(v) })
}

// back attaches the volume to this node again. A controller does not ask what is left of it here: after a detachment by
// force that is dead, and stays so.
func (r *run) back(v *handOver) {
	delete(r.away, v.name())
	r.attaches(v.driver, v.handle)
}

// arrivesTwice is S9 between nodes: what the other node has does not come up here; if this one was cut off from it, not
// by a call that was sent after the agent was told.
func (r *run) arrivesTwice(p *place, what string) {
	r.judges("S9")
	if v := r.away[p.driver+"^"+p.volume]; v != nil && v.isThere && (!v.isFenced || r.knowsAway(p)) {
		r.fail("S9", what, string(p.key), "volume "+p.volume+" comes up at "+p.path+", and another node has it")
	}
}

// knowsAway: for longer than a call may act, the agent has been told that a volume is not attached to this node.
func (r *run) knowsAway(p *place) bool {
	since := r.w.Now().Add(-setUpTime - sim.LateWindow - lagging)
	all := r.news["attachment "+attachmentName(p.driver, p.volume)]
	return r.isTold(p.thing, p.driver) && len(all) > 0 && all[len(all)-1].isGone && all[len(all)-1].until <= since
}
