package scenarios

import (
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is what must become of a volume that is detached from this node while something of it is up, and of a
// filesystem that fails.
//
// S32: what is up belongs to one attachment of the volume. Once the agent has been told that this one has ended, it
// brings up nothing more on it, and no pod is ready on it, also when the volume is attached again. S33: a pod is not
// told to be ready by a publish on a filesystem that could be seen to have failed when it was made. L14: when a
// filesystem can be seen to have failed, the pods that have it are not told to be ready any more.

// failureTold is how long a pod may be told to be ready on a filesystem that can be seen to have failed: the agent
// looks every two minutes, unless something keeps it from looking.
const failureTold = 10 * time.Minute

// isTold reports whether the cluster says of a volume whether it is attached.
func (r *run) isTold(thing, driver string) bool {
	is := r.heard.drivers[driver]
	return r.attached[thing] != nil && is != nil && (is.Spec.AttachRequired == nil || *is.Spec.AttachRequired)
}

// attachedAs is the uid of the present attachment of a volume, "" while it has none.
func (r *run) attachedAs(thing string) types.UID {
	if a := r.attached[thing]; a != nil && a.object != nil {
		return a.object.UID
	}
	return ""
}

// tieSent is S32 for a call that brings a volume up.
func (r *run) tieSent(p *place, e *sim.Effect) {
	began := e.Deadline.Add(-setUpTime)
	isSetUp := e.Method == stage || e.Method == publish
	if isSetUp {
		p.began = began
	}
	if !isSetUp || !r.isTold(p.thing, p.driver) || e.Run != r.w.Life() || r.openAt.Add(lagging) >= began {
		return
	}
	r.judges("S32")
	var told []types.UID    // the attachments that the operation may know of
	over := []types.UID{""} // those whose end it must know of
	for _, n := range r.news["attachment "+attachmentName(p.driver, p.volume)] {
		switch is, ok := n.object.(*storagev1.VolumeAttachment); {
		case !ok:
		case n.until == 0 || n.until.Add(lagging) >= began:
			told = append(told, is.UID)
		default:
			over = append(over, is.UID)
		}
	}
	if len(told) == 0 {
		r.fail("S32", "sent "+e.Method, string(p.key),
			"volume "+p.volume+" comes up at "+p.path+", and the agent was told that it is not attached to this node")
		return
	}
	for _, s := range r.list {
		if e.Method == publish && !s.isPublish && s.thing == p.thing && s.isHeld && !s.isTouched &&
			slices.Contains(over, s.tie) && !slices.Contains(told, s.tie) {
			r.fail("S32", "sent "+e.Method, string(p.key),
				"volume "+p.volume+" is published on a stage of an earlier attachment, which has ended")
			return
		}
	}
}

// isUntied reports whether the agent was told that an attachment has ended with which the last setup of a place may
// have begun: what that has made, or may make, is void. An attachment that a list lacks once all is told has ended
// while no agent lived. A life knows of what changed before it by the uid that the record of an earlier setup has.
func (r *run) isUntied(p *place) bool {
	if !r.isTold(p.thing, p.driver) {
		return false
	}
	name := attachmentName(p.driver, p.volume)
	isOfBefore := func(at hal.Instant) bool { return p.began < at && at <= r.bornAt }
	if r.synced && slices.ContainsFunc(r.attached[p.thing].changes, isOfBefore) {
		return true
	}
	all := r.news["attachment "+name]
	for i, n := range all {
		is, ok := n.object.(*storagev1.VolumeAttachment)
		switch {
		case !ok:
		case n.until == 0:
			if r.synced && r.heard.attachments[name] == nil {
				return true
			}
		case n.until.Add(lagging) >= p.began && (n.isGone || i+1 < len(all) && !isOf(all[i+1].object, is.UID)):
			return true
		}
	}
	return false
}

// isUntold reports whether the journal was lost that said with which attachment a place was made, or what it depends on.
// That may be another one than now, for all that the present life can know, so it is void.
func (r *run) isUntold(p *place) bool {
	return r.root.forgotten && r.isTold(p.thing, p.driver) && slices.ContainsFunc(r.list, func(at *place) bool {
		return at.thing == p.thing && (at == p || !at.isPublish) && at.began != 0 && at.began < r.bornAt
	})
}

// isOf reports whether an object is the attachment of that uid.
func isOf(object any, uid types.UID) bool {
	is, ok := object.(*storagev1.VolumeAttachment)
	return ok && is.UID == uid
}

// tieTold looks in a while whether a pod is still told to be ready on what the agent was told to be of an attachment
// that has ended.
func (r *run) tieTold(is *storagev1.VolumeAttachment) {
	life := r.w.Life()
	r.w.After(lagging, "attachment "+is.Name, func() {
		if r.w.Life() != life || !r.alive() || r.stop {
			return
		}
		if r.w.IsStalled() || r.openAt.Add(lagging) >= r.w.Now() {
			r.tieTold(is)
			return
		}
		for _, p := range r.pods {
			if !p.isWanted || !r.isCurrent(p) || !r.core.Ready(p.uid) {
				continue
			}
			for _, u := range p.uses {
				if at := r.tiedOtherwise(p, u); at != nil {
					r.fail("S32", "believed ready", p.name,
						"pod "+p.name+" is believed to be ready, and its volume "+u.name+" at "+at.path+
							" is of an attachment that has ended, as the agent was told")
					return
				}
			}
		}
	})
}

// tiedOtherwise returns what is up of a volume of a pod on another attachment than the one that the agent has been told
// of; nil if nothing is. While it is told that an attachment stands which has ended, what comes up may be of a later
// one, of which it can't know yet.
func (r *run) tiedOtherwise(p *pod, u use) *place {
	thing := u.driver + "^" + u.volume
	if u.driver == "" || u.ephemeral || !r.isTold(thing, u.driver) {
		return nil
	}
	r.judges("S32")
	told := types.UID("")
	if is := r.heard.attachments[attachmentName(u.driver, u.volume)]; is != nil {
		told = is.UID
	}
	at := slices.IndexFunc(r.list, func(at *place) bool {
		isHis := !at.isPublish || r.podOf(at.path) == p
		return at.thing == thing && isHis && at.isHeld && !at.isTouched && at.tie != told &&
			(told == "" || r.attached[thing].nth(u.driver, u.volume, at.tie) <= r.attached[thing].nth(u.driver,
				u.volume, told))
	})
	if at < 0 {
		return nil
	}
	return r.list[at]
}

// isHurt reports whether the stage of a volume is mounted, and its filesystem could be seen to have failed before now.
func (r *run) isHurt(thing string) bool {
	return slices.ContainsFunc(r.list, func(s *place) bool {
		return s.thing == thing && !s.isPublish && s.isHeld && s.isHurt && !s.isTouched
	})
}

// isDirect reports whether a version of a driver that is there does not stage: what its publish mounts first may be as
// the driver has made it.
func (r *run) isDirect(driver string) bool {
	return slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool { return d.Name == driver && !d.Is.Staging })
}

// onFailed is S33: it returns the volume of a pod that was published on a filesystem that could be seen to have failed
// by then; nil if none was.
func (r *run) onFailed(p *pod) *use {
	for i := range p.uses {
		u := &p.uses[i]
		at := r.byPath[u.path]
		if u.driver == "" || at == nil || !at.isPublish || at.driver != u.driver || at.volume != u.volume ||
			at.isTouched {
			continue
		}
		r.judges("S33")
		if at.isHurt && r.isHurt(at.thing) && !r.isDirect(u.driver) {
			return u
		}
	}
	return nil
}

// diskFails takes in that the filesystem of a volume has failed.
func (r *run) diskFails(e *sim.Effect) {
	thing := e.Driver + "^" + e.Volume
	r.isCut[thing], r.failedAt = true, r.w.Now()
	for _, at := range r.list {
		if at.thing != thing || !at.isHeld || !at.mayBeUsed {
			continue // what it shows when it is looked at first may be how its driver has made it
		}
		at.isStruck = true
		if stack := r.w.MountsAt(at.path); !at.isPublish && len(stack) > 0 {
			at.isHurt = hal.IsFailed(stack[len(stack)-1].Fingerprint())
		}
	}
	r.seesFailure(thing, nil)
}

// seesFailure is L14. seen is the mounts that could be seen to have failed when it was looked last.
func (r *run) seesFailure(thing string, seen []hal.MountID) {
	life := r.w.Life()
	r.w.After(failureTold, "failed "+thing, func() {
		if r.stop {
			return
		}
		var failed []hal.MountID
		for _, at := range r.list {
			if at.thing != thing || !at.isPublish || !at.isStruck || !r.alive() || r.w.IsStalled() {
				continue
			}
			owner, stack := r.podOf(at.path), r.w.MountsAt(at.path)
			if owner == nil || len(stack) == 0 || !hal.IsFailed(stack[len(stack)-1].Fingerprint()) {
				continue
			}
			top := stack[len(stack)-1]
			failed = append(failed, top.ID)
			if !slices.Contains(seen, top.ID) || life != r.w.Life() {
				continue
			}
			r.judges("L14")
			if r.core.Ready(owner.uid) {
				r.fail("L14", "believed ready", owner.name,
					"pod "+owner.name+" is believed to be ready, and the filesystem at "+at.path+
						" has failed, as can be seen since "+failureTold.String())
				return
			}
		}
		if len(failed) > 0 {
			r.seesFailure(thing, failed)
		}
	})
}

// occupiesFailed: a volume of a pod is on a filesystem that has failed, and its driver mounts it for each pod alone, or
// where the agent does not look. Others that want it get the same filesystem, and are refused again and again, until a
// person deletes the pod. What its containers have counts as well: the pod may have been edited since.
func (r *run) occupiesFailed(p *pod) bool {
	return slices.ContainsFunc(slices.Concat(p.uses, p.given), func(u use) bool {
		return u.driver != "" && r.w.DiskFailed(u.path) != sim.NoDiskFailure &&
			slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool {
				return d.Name == u.driver && (!d.Is.Staging || d.Is.Style != sim.StageMounts)
			})
	})
}

// hasFailed: the filesystem of a volume has failed, be it that nobody has noticed yet. It is made again once no
// container runs on it.
func (r *run) hasFailed(u use) bool {
	return u.driver != "" && r.w.DiskFailed(u.path) != sim.NoDiskFailure
}

// backendActions are the statements about what is behind a volume: its server, its disk, its attachment to this node.
func backendActions() []action {
	return []action{
		{
			"silence server of HANDLE of driver DRIVER for TIME",
			func(t *scene, a []string) string { return t.silence(a[1], a[0], duration(a[2])) },
		},
		{"export HANDLE of driver DRIVER again", func(t *scene, a []string) string { return t.exportAgain(a[1], a[0]) }},
		{"mount share PATH", func(t *scene, a []string) string { t.w.MountShare(a[0]); return "" }},
		{"silence share PATH for TIME", func(t *scene, a []string,
		) string {
			return t.silenceShare(a[0], duration(a[1]))
		}},
		{
			"hand over HANDLE of driver DRIVER for TIME",
			func(t *scene, a []string) string { t.r.handsOver(a[1], a[0], duration(a[2])); return "" },
		},
		{"detach HANDLE of driver DRIVER by force for TIME", func(t *scene, a []string) string {
			t.r.detachesByForce(a[1], a[0], duration(a[2]))
			return ""
		}},
		{
			"fail disk of HANDLE of driver DRIVER FAILURE",
			func(t *scene, a []string) string { return t.failDisk(a[1], a[0], a[2]) },
		},
		{"expect HANDLE of driver DRIVER away", func(t *scene, a []string) string { return t.expectAway(a[0], a[1]) }},
		{"silence cluster for TIME", func(t *scene, a []string) string {
			t.w.BreakWatch("", duration(a[0]))
			return ""
		}},
	}
}

// unpublishSent is S7 and a part of S22.
func (r *run) unpublishSent(p *place) {
	owner := r.podOf(p.path)
	r.judges("S7")
	switch {
	case owner == nil:
	case p.isOutdated:
		owner.letGo() // who has put back the old journal sees to that
	case owner.isRunning && owner.has(p):
		r.fail("S7", "sent "+unpublish, string(p.key),
			"the volume is taken from pod "+owner.name+", whose containers run")
	case owner.isSteady && !r.isEdited && !r.isCut[p.thing] && !r.isUntied(p) && !r.isUntold(p) &&
		!r.denied[p.thing] && !r.exclusive[p.thing]:
		r.fail("S22", "sent "+unpublish, string(p.key),
			"the volume is taken from pod "+owner.name+", which was wanted all along")
	}
}
