package dealings

import (
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what must become of a volume that is detached from this node while something of it is up, and of a
// filesystem that fails.
//
// S32: what is up belongs to one attachment of the volume. Once the agent has been told that this one has ended, it
// brings up nothing more on it, and no pod is ready on it, also when the volume is attached again. S33: a pod is not
// told to be ready by a publish on a filesystem that could be seen to have failed when it was made. L14: when a
// filesystem can be seen to have failed, the pods that have it are not told to be ready any more.

// FailureTold is how long a pod may be told to be ready on a filesystem that can be seen to have failed: the agent
// looks every two minutes, unless something keeps it from looking.
const FailureTold = 10 * time.Minute

// isTold reports whether the cluster says of a volume whether it is attached.
func isTold(r *world.Run, thing, driver string) bool {
	is := r.Heard.Drivers[driver]
	return r.Attached[thing] != nil && is != nil && (is.Spec.AttachRequired == nil || *is.Spec.AttachRequired)
}

// AttachedAs is the uid of the present attachment of a volume, "" while it has none.
func AttachedAs(r *world.Run, thing string) types.UID {
	if a := r.Attached[thing]; a != nil && a.Object != nil {
		return a.Object.UID
	}
	return ""
}

// TieSent is S32 for a call that brings a volume up.
func TieSent(r *world.Run, p *world.Place, e *sim.Effect) {
	began := e.Deadline.Add(-setUpTime)
	isSetUp := e.Method == world.Stage || e.Method == world.Publish
	if isSetUp {
		p.Began = began
	}
	if !isSetUp || !isTold(r, p.Thing, p.Driver) || e.Run != r.W.Life() || r.OpenAt.Add(lagging) >= began {
		return
	}
	r.Judges("S32")
	var told []types.UID    // the attachments that the operation may know of
	over := []types.UID{""} // those whose end it must know of
	for _, n := range r.News["attachment "+AttachmentName(p.Driver, p.Volume)] {
		switch is, ok := n.Object.(*storagev1.VolumeAttachment); {
		case !ok:
		case n.Until == 0 || n.Until.Add(lagging) >= began:
			told = append(told, is.UID)
		default:
			over = append(over, is.UID)
		}
	}
	if len(told) == 0 {
		r.Fail("S32", "sent "+e.Method, string(p.Key),
			"volume "+p.Volume+" comes up at "+p.Path+", and the agent knows that it is not attached to this node")
		return
	}
	for _, s := range r.List {
		if e.Method == world.Publish && !s.IsPublish && s.Thing == p.Thing && s.IsHeld && !s.IsTouched &&
			slices.Contains(over, s.Tie) && !slices.Contains(told, s.Tie) {
			r.Fail("S32", "sent "+e.Method, string(p.Key),
				"volume "+p.Volume+" is published on a stage of an earlier attachment, which has ended")
			return
		}
	}
}

// isUntied reports whether the agent was told that an attachment has ended with which the last setup of a place may
// have begun: what that has made, or may make, is void. An attachment that a list lacks once all is told has ended
// while no agent lived. A life knows of what changed before it by the uid that the record of an earlier setup has.
func isUntied(r *world.Run, p *world.Place) bool {
	if !isTold(r, p.Thing, p.Driver) {
		return false
	}
	name := AttachmentName(p.Driver, p.Volume)
	isOfBefore := func(at hal.Instant) bool { return p.Began < at && at <= r.BornAt }
	if r.Synced && slices.ContainsFunc(r.Attached[p.Thing].Changes, isOfBefore) {
		return true
	}
	all := r.News["attachment "+name]
	for i, n := range all {
		is, ok := n.Object.(*storagev1.VolumeAttachment)
		switch {
		case !ok:
		case n.Until == 0:
			if r.Synced && r.Heard.Attachments[name] == nil {
				return true
			}
		case n.Until.Add(lagging) >= p.Began && (n.IsGone || i+1 < len(all) && !isOf(all[i+1].Object, is.UID)):
			return true
		}
	}
	return false
}

// isUntold reports whether the journal was lost that said with which attachment a place was made, or what it depends
// on. That may be another one than now, for all that the present life can know, so it is void.
func isUntold(r *world.Run, p *world.Place) bool {
	return r.Root.Forgotten && isTold(r, p.Thing, p.Driver) && slices.ContainsFunc(r.List, func(at *world.Place) bool {
		return at.Thing == p.Thing && (at == p || !at.IsPublish) && at.Began != 0 && at.Began < r.BornAt
	})
}

// isOf reports whether an object is the attachment of that uid.
func isOf(object any, uid types.UID) bool {
	is, ok := object.(*storagev1.VolumeAttachment)
	return ok && is.UID == uid
}

// TieTold looks in a while whether a pod is still told to be ready on what the agent was told to be of an attachment
// that has ended.
func TieTold(r *world.Run, is *storagev1.VolumeAttachment) {
	life := r.W.Life()
	r.W.After(lagging, "attachment "+is.Name, func() {
		if r.W.Life() != life || !r.Alive() || r.Stop {
			return
		}
		if r.W.IsStalled() || r.OpenAt.Add(lagging) >= r.W.Now() {
			TieTold(r, is)
			return
		}
		for _, p := range r.Pods {
			if !p.IsWanted || !r.IsCurrent(p) || !r.Core.Ready(p.Uid) {
				continue
			}
			for _, u := range p.Uses {
				if at := TiedOtherwise(r, p, u); at != nil {
					r.Fail("S32", "believed ready", p.Name,
						"the engine believes pod "+p.Name+" to be ready, and the agent knows that the attachment of its "+
							"volume "+u.Name+" at "+at.Path+" has ended")
					return
				}
			}
		}
	})
}

// TiedOtherwise returns what is up of a volume of a pod on another attachment than the one that the agent has been told
// of; nil if nothing is. While it is told that an attachment stands which has ended, what comes up may be of a later
// one, of which it can't know yet.
func TiedOtherwise(r *world.Run, p *world.Pod, u world.Use) *world.Place {
	thing := u.Driver + "^" + u.Volume
	if u.Driver == "" || u.Ephemeral || !isTold(r, thing, u.Driver) {
		return nil
	}
	r.Judges("S32")
	told := types.UID("")
	if is := r.Heard.Attachments[AttachmentName(u.Driver, u.Volume)]; is != nil {
		told = is.UID
	}
	at := slices.IndexFunc(r.List, func(at *world.Place) bool {
		isHis := !at.IsPublish || r.PodOf(at.Path) == p
		return at.Thing == thing && isHis && at.IsHeld && !at.IsTouched && at.Tie != told &&
			(told == "" || nth(r.Attached[thing], u.Driver, u.Volume, at.Tie) <= nth(r.Attached[thing], u.Driver,
				u.Volume, told))
	})
	if at < 0 {
		return nil
	}
	return r.List[at]
}

// IsHurt reports whether the stage of a volume is mounted, and its filesystem could be seen to have failed before now.
func IsHurt(r *world.Run, thing string) bool {
	return slices.ContainsFunc(r.List, func(s *world.Place) bool {
		return s.Thing == thing && !s.IsPublish && s.IsHeld && s.IsHurt && !s.IsTouched
	})
}

// isDirect reports whether a version of a driver that is there does not stage: what its publish mounts first may be as
// the driver has made it.
func isDirect(r *world.Run, driver string) bool {
	return slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool { return d.Name == driver && !d.Is.Staging })
}

// onFailed is S33: it returns the volume of a pod that was published on a filesystem that could be seen to have failed
// by then; nil if none was.
func onFailed(r *world.Run, p *world.Pod) *world.Use {
	for i := range p.Uses {
		u := &p.Uses[i]
		at := r.ByPath[u.Path]
		if u.Driver == "" || at == nil || !at.IsPublish || at.Driver != u.Driver || at.Volume != u.Volume ||
			at.IsTouched {
			continue
		}
		r.Judges("S33")
		if at.IsHurt && IsHurt(r, at.Thing) && !isDirect(r, u.Driver) {
			return u
		}
	}
	return nil
}

// DiskFails takes in that the filesystem of a volume has failed.
func DiskFails(r *world.Run, e *sim.Effect) {
	thing := e.Driver + "^" + e.Volume
	r.IsCut[thing], r.FailedAt = true, r.W.Now()
	for _, at := range r.List {
		if at.Thing != thing || !at.IsHeld || !at.MayBeUsed {
			continue // what it shows when it is looked at first may be how its driver has made it
		}
		at.IsStruck = true
		if stack := r.W.MountsAt(at.Path); !at.IsPublish && len(stack) > 0 {
			at.IsHurt = hal.IsFailed(stack[len(stack)-1].Fingerprint())
		}
	}
	seesFailure(r, thing, nil)
}

// seesFailure is L14. seen is the mounts that could be seen to have failed when it was looked last.
func seesFailure(r *world.Run, thing string, seen []hal.MountID) {
	life := r.W.Life()
	r.W.After(FailureTold, "failed "+thing, func() {
		if r.Stop {
			return
		}
		var failed []hal.MountID
		for _, at := range r.List {
			if at.Thing != thing || !at.IsPublish || !at.IsStruck || !r.Alive() || r.W.IsStalled() {
				continue
			}
			owner, stack := r.PodOf(at.Path), r.W.MountsAt(at.Path)
			if owner == nil || len(stack) == 0 || !hal.IsFailed(stack[len(stack)-1].Fingerprint()) {
				continue
			}
			top := stack[len(stack)-1]
			failed = append(failed, top.ID)
			if !slices.Contains(seen, top.ID) || life != r.W.Life() {
				continue
			}
			r.Judges("L14")
			if r.Core.Ready(owner.Uid) {
				r.Fail("L14", "believed ready", owner.Name,
					"the engine believes pod "+owner.Name+" to be ready, and the filesystem at "+at.Path+
						" has visibly failed for "+FailureTold.String())
				return
			}
		}
		if len(failed) > 0 {
			seesFailure(r, thing, failed)
		}
	})
}

// OccupiesFailed: a volume of a pod is on a filesystem that has failed, and its driver mounts it for each pod alone, or
// where the agent does not look. Others that want it get the same filesystem, and are refused again and again, until a
// person deletes the pod. What its containers have counts as well: the pod may have been edited since.
func OccupiesFailed(r *world.Run, p *world.Pod) bool {
	return slices.ContainsFunc(slices.Concat(p.Uses, p.Given), func(u world.Use) bool {
		return HasFailed(r, u) && (u.IsOfArray() || slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool {
			return d.Name == u.Driver && (!d.Is.Staging || d.Is.Style != sim.StageMounts)
		}))
	})
}

// HasFailed: the filesystem of a volume has failed, be it that nobody has noticed yet. It is made again once no
// container runs on it.
func HasFailed(r *world.Run, u world.Use) bool {
	return (u.Driver != "" || u.IsOfArray()) && r.W.DiskFailed(u.Path) != sim.NoDiskFailure
}

// UnpublishSent is S7 and a part of S22.
func UnpublishSent(r *world.Run, p *world.Place) {
	owner := r.PodOf(p.Path)
	r.Judges("S7")
	switch {
	case owner == nil:
	case p.IsOutdated:
		owner.LetGo() // who has put back the old journal sees to that
	case owner.IsRunning && owner.Has(p):
		r.Fail("S7", "sent "+world.Unpublish, string(p.Key),
			"the agent takes the volume from pod "+owner.Name+", whose containers run")
	case owner.IsSteady && !r.IsEdited && !r.IsCut[p.Thing] && !isUntied(r, p) && !isUntold(r, p) &&
		!r.Denied[p.Thing] && !r.Exclusive[p.Thing] && !isRegrouped(r, owner, p.Driver):
		r.Fail("S22", "sent "+world.Unpublish, string(p.Key),
			"the agent takes the volume from pod "+owner.Name+", which was wanted all along")
	}
}

// isRegrouped reports whether the files of a pod's volumes are to be given to its group by one version of a driver, and
// by another one not: who was not up with the one is made again for the other.
func isRegrouped(r *world.Run, owner *world.Pod, driver string) bool {
	gives := func(t world.Traits) bool { return t.MountGroup }
	gone := func(t world.Traits) bool { return !t.MountGroup }
	return world.GroupOf(owner.Object) != "" && slices.ContainsFunc(r.Traits[driver], gives) &&
		slices.ContainsFunc(r.Traits[driver], gone)
}
