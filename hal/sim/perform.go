package sim

import (
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// amount is how much of an operation's effect happens.
type amount uint8

const (
	nothing amount = iota
	part
	whole
)

// perform is what a driver does for a request, as far as amount says, and the status it would answer with.
func (d *driver) perform(r *rpc, much amount) hal.Code {
	switch r.method {
	case "NodeStageVolume":
		return d.stage(r, much)
	case "NodeUnstageVolume":
		return d.unstage(r, much)
	case "NodePublishVolume":
		return d.publish(r, much)
	case "NodeUnpublishVolume":
		return d.unpublish(r, much)
	case "NodeGetVolumeStats":
		return d.finds(r, d.is.Stats)
	case "NodeGetVolumeHealth":
		return d.ails(r)
	case "NodeGetStorageHealth":
		if !d.is.StorageHealth {
			return hal.CodeUnimplemented
		}
		r.tells(d.health)
	case "CreateVolume":
		return d.create(r, much)
	case "DeleteVolume":
		return d.delete(r, much)
	case "ControllerPublishVolume", "ControllerUnpublishVolume":
		return d.attach(r, much)
	case "NotifyRegistrationStatus":
		d.accepted = d.accepted || r.readOnly
		if !r.readOnly && much != nothing {
			d.refused()
		}
	}
	return hal.CodeOK
}

// finds finds the volume where it is asked for, if the driver can say what is asked of it.
func (d *driver) finds(r *rpc, can bool) hal.Code {
	switch v := d.volume(r.volume); {
	case !can:
		return hal.CodeUnimplemented
	case r.volume == "" || r.target == "":
		return hal.CodeInvalidArgument
	case v == nil || findHold(v.published, r.target) == nil && findHold(v.staged, r.target) == nil:
		return hal.CodeNotFound
	}
	return hal.CodeOK
}

// ails says what is wrong with a volume. What a driver that quotes secrets says of it does.
func (d *driver) ails(r *rpc) hal.Code {
	code := d.finds(r, d.is.Health)
	if code == hal.CodeOK {
		r.tells(d.volume(r.volume).health)
	}
	return code
}

// tells has a driver say what is wrong.
func (r *rpc) tells(all []hal.HealthEntry) {
	r.result.health = slices.Clone(all)
	for i := range r.result.health {
		r.result.health[i].Message += " " + r.words()
	}
}

// stagingMount is the path at which a driver's staging mount stands.
func (d *driver) stagingMount(staging string) string {
	if d.is.Style == StageBelow {
		return staging + "/mount"
	}
	return staging
}

// isOfAnotherGroup: what is staged at the path was given to another group than is asked for.
func (d *driver) isOfAnotherGroup(v *volume, r *rpc) bool {
	h := findHold(v.staged, r.staging)
	return h != nil && d.knows(h) && h.group != r.group
}

func (d *driver) stage(r *rpc, much amount) hal.Code {
	w := d.w
	switch {
	case !d.is.Staging:
		return hal.CodeUnimplemented
	case r.volume == "" || r.staging == "" || r.group != "" && !d.is.MountGroup:
		return hal.CodeInvalidArgument
	}
	v := d.volume(r.volume)
	switch {
	case v == nil:
		return hal.CodeNotFound
	case d.is.Attach && !v.attached:
		return hal.CodeFailedPrecondition
	case d.isOfAnotherGroup(v, r):
		return hal.CodeAlreadyExists
	case much == nothing:
		return hal.CodeOK
	}
	if d.is.Style != StageNothing && !r.block {
		if code := d.stageMount(r, v, much); code != hal.CodeOK {
			return code
		}
	}
	if much == whole {
		v.staged = d.setHold(v.staged, r.staging, r)
		w.tell(actor{rpc: r}, Effect{Kind: EffectStaged, Path: r.staging, Outcome: hal.Done})
	}
	return hal.CodeOK
}

func (d *driver) stageMount(r *rpc, v *volume, much amount) hal.Code {
	w := d.w
	path := d.stagingMount(r.staging)
	if d.is.Style == StageBelow {
		if errno := w.makeOne(actor{rpc: r}, path, hal.TypeDirectory, 0o750); errno != 0 && errno != syscall.EEXIST {
			return hal.CodeInternal
		}
	}
	switch {
	case d.takes(v, path) || d.hides(v, path) || much == part && d.is.Style == StageBelow:
		return hal.CodeOK
	case d.isTaken(path):
		return hal.CodeInternal
	}
	if d.mend(r, path) != 0 || d.attachVolume(r, v, path, false) != 0 {
		return hal.CodeInternal
	}
	if d.is.Style == StageMounts && !r.isHidden {
		d.meddle(v, path, true)
	}
	return hal.CodeOK
}

// takes says whether the driver takes what is mounted at path for the volume.
func (d *driver) takes(v *volume, path string) bool {
	return !d.w.isBroken(path) && (d.w.shows(v, path) != nil || d.is.Credulous && len(d.w.mounts.stack(path)) > 0)
}

// isTaken says whether somebody else's mount is at path: a driver does not mount over it.
func (d *driver) isTaken(path string) bool {
	stack := d.w.mounts.stack(path)
	return len(stack) > 0 && stack[len(stack)-1].isForeign
}

// attachVolume mounts a volume's root at path.
func (d *driver) attachVolume(r *rpc, v *volume, path string, readOnly bool) syscall.Errno {
	w, by := d.w, actor{rpc: r}
	conn, errno := d.connect(v)
	switch {
	case errno != 0:
		return errno
	case r.isHidden:
		return d.hide(r, v, path)
	}
	if v.sb == nil {
		errno := w.mounts.bind(by, bindSpec(v.backing, path, readOnly), walkAll)
		if stack := w.mounts.stack(path); errno == 0 {
			stack[len(stack)-1].conn = conn
		}
		return errno
	}
	to, _, errno := w.walk(path, walkAll)
	switch {
	case errno != 0:
		return errno
	case !to.n.isDir():
		return syscall.ENOTDIR
	case to.n.gone:
		return syscall.ENOENT
	}
	m := w.mounts.newMount(v.sb.root)
	m.readOnly, m.conn = readOnly, conn
	w.mounts.place(by, to, m)
	return 0
}

func (d *driver) unstage(r *rpc, much amount) hal.Code {
	w := d.w
	switch {
	case !d.is.Staging:
		return hal.CodeUnimplemented
	case r.volume == "" || r.staging == "":
		return hal.CodeInvalidArgument
	}
	v := d.volume(r.volume)
	if v == nil {
		return d.notThere()
	}
	if d.is.Watchful && len(v.published) > 0 && d.knows(&v.published[0]) {
		return hal.CodeFailedPrecondition
	}
	if much == nothing {
		return hal.CodeOK
	}
	path := d.stagingMount(r.staging)
	there := findHold(v.staged, r.staging) != nil
	if d.sees(v, path) {
		there = true
		if !d.is.Leaves && d.unmount(r, path) != 0 {
			return hal.CodeInternal
		}
	}
	if d.is.Style == StageBelow && much == whole {
		if errno := d.remove(r, path); errno != 0 && errno != syscall.ENOENT {
			return hal.CodeInternal
		}
	}
	if much != whole {
		return hal.CodeOK
	}
	if findHold(v.staged, r.staging) != nil {
		v.staged = dropHold(v.staged, r.staging)
		w.tell(actor{rpc: r}, Effect{Kind: EffectUnstaged, Path: r.staging, Outcome: hal.Done})
	}
	if !there {
		return d.notThere()
	}
	return hal.CodeOK
}

// notThere is the answer to taking down what is not up.
func (d *driver) notThere() hal.Code {
	if d.is.NotFound {
		return hal.CodeNotFound
	}
	return hal.CodeOK
}

func (d *driver) publish(r *rpc, much amount) hal.Code {
	w := d.w
	if r.volume == "" || r.target == "" || r.group != "" && !d.is.MountGroup {
		return hal.CodeInvalidArgument
	}
	v := d.volume(r.volume)
	if v == nil && r.inline && much != nothing {
		v = d.addVolume(r.volume)
		v.inline = true
	}
	if v == nil {
		if r.inline {
			return hal.CodeOK
		}
		return hal.CodeNotFound
	}
	source, code := d.sourceOf(r, v)
	if code != hal.CodeOK || much == nothing {
		return code
	}
	if d.is.PublishesNothing {
		if errno := w.makeOne(actor{rpc: r}, r.target, hal.TypeDirectory, 0o750); errno != 0 &&
			errno != syscall.EEXIST {
			return hal.CodeInternal
		}
	} else if r.block && d.is.PlacesNodes {
		if !d.placeNode(r, v) {
			return hal.CodeInternal
		}
	} else if m := w.shows(v, r.target); m != nil && !m.isDead() {
		if m.readOnly != r.readOnly && !d.is.Credulous {
			return hal.CodeAlreadyExists
		}
	} else if d.takes(v, r.target) || d.hides(v, r.target) {
		much = whole // it looks no further
	} else if d.isTaken(r.target) {
		return hal.CodeInternal
	} else if code := d.bindTo(r, v, source, much); code != hal.CodeOK {
		return code
	}
	if much == whole {
		v.published = d.setHold(v.published, r.target, r)
		w.tell(actor{rpc: r}, Effect{Kind: EffectPublished, Path: r.target, Outcome: hal.Done})
		d.ruins(v, r.target)
	}
	return hal.CodeOK
}

// placeNode makes the device node of a volume at the target of its publish. It reports whether one is there.
func (d *driver) placeNode(r *rpc, v *volume) bool {
	errno := d.w.makeOne(actor{rpc: r}, r.target, hal.TypeBlockDevice, 0o660)
	at, _, failed := d.w.walk(r.target, walkAll)
	if errno != 0 && errno != syscall.EEXIST || failed != 0 || at.n.kind != hal.TypeBlockDevice {
		return false
	}
	at.n.dev = hal.Device{Major: deviceMajor, Minor: v.number}
	return true
}

// isNodeOf reports whether the device node of a volume is at a path.
func (w *World) isNodeOf(v *volume, path string) bool {
	at, _, errno := w.look(path, walkAll)
	return errno == 0 && at.n.kind == hal.TypeBlockDevice && at.n.dev == hal.Device{Major: deviceMajor, Minor: v.number}
}

// sourceOf is what a publish binds, "" for the volume's own root.
func (d *driver) sourceOf(r *rpc, v *volume) (string, hal.Code) {
	staged := d.is.Staging && !r.inline
	if staged {
		h := findHold(v.staged, r.staging)
		if h == nil || !d.knows(h) {
			return "", hal.CodeFailedPrecondition
		}
	}
	switch {
	case r.block:
		return v.device, hal.CodeOK
	case !staged || d.is.Style == StageNothing:
		return "", hal.CodeOK
	}
	path := d.stagingMount(r.staging)
	if d.is.Checks && !d.sees(v, path) || d.w.isBroken(path) && !d.hides(v, path) {
		return "", hal.CodeFailedPrecondition
	}
	return path, hal.CodeOK
}

func (d *driver) bindTo(r *rpc, v *volume, source string, much amount) hal.Code {
	if r.replied && d.is.ActsUntold { // as most drivers do, it makes the directories above
		d.w.makeDirs(r.target[:lastSlash(r.target)])
	}
	w := d.w
	kind, mode := hal.TypeDirectory, uint32(0o750)
	if r.block {
		kind, mode = hal.TypeFile, 0o660
	}
	if errno := w.makeOne(actor{rpc: r}, r.target, kind, mode); errno != 0 && errno != syscall.EEXIST {
		return hal.CodeInternal
	}
	if much == part {
		return hal.CodeOK
	}
	errno := d.mend(r, r.target)
	switch {
	case errno != 0:
	case r.isHidden:
		errno = d.hide(r, v, r.target)
	case source == "":
		errno = d.attachVolume(r, v, r.target, r.readOnly)
	default:
		errno = w.mounts.bind(actor{rpc: r}, bindSpec(source, r.target, r.readOnly), walkAll)
	}
	if errno != 0 {
		return hal.CodeInternal
	}
	if !r.block && !r.isHidden {
		d.boundAt(v, r.target)
	}
	return hal.CodeOK
}

// boundAt is what others may do to a new mount. One that a driver made of what it found at a staging path need not be
// the volume.
func (d *driver) boundAt(v *volume, target string) {
	w := d.w
	if w.shows(v, target) != nil {
		d.meddle(v, target, false)
		return
	}
	if stack := w.mounts.stack(target); len(stack) > 0 {
		stack[len(stack)-1].isForeign, w.hadForeign = true, true
	}
}

func (d *driver) unpublish(r *rpc, much amount) hal.Code {
	w := d.w
	if r.volume == "" || r.target == "" {
		return hal.CodeInvalidArgument
	}
	v := d.volume(r.volume)
	if v == nil {
		return d.notThere()
	}
	if much == nothing {
		return hal.CodeOK
	}
	there := findHold(v.published, r.target) != nil
	stack := w.mounts.stack(r.target)
	isOthers := d.isTaken(r.target) && d.is.Checks
	if (len(stack) > 0 || d.hides(v, r.target)) && !isOthers {
		there = true
		if !d.leaves(v, r.target) && d.unmount(r, r.target) != 0 {
			return hal.CodeInternal
		}
	}
	if much == part {
		return hal.CodeOK
	}
	if !d.is.KeepsNodes && !isOthers && !d.leaves(v, r.target) {
		switch d.remove(r, r.target) {
		case 0, syscall.ENOENT, syscall.ENOTDIR:
		default:
			return hal.CodeInternal
		}
	}
	if findHold(v.published, r.target) != nil {
		v.published = dropHold(v.published, r.target)
		w.tell(actor{rpc: r}, Effect{Kind: EffectUnpublished, Path: r.target, Outcome: hal.Done})
	}
	if v.inline && len(v.published) == 0 {
		d.removeVolume(v)
	}
	if !there {
		return d.notThere()
	}
	return hal.CodeOK
}

// leaves says whether the driver leaves what it has published at a path mounted.
func (d *driver) leaves(v *volume, target string) bool {
	at, _, errno := d.w.walk(target, walkAll)
	return d.is.Leaves && d.w.shows(v, target) != nil && errno == 0 && at.n.isDir()
}

func (d *driver) create(r *rpc, much amount) hal.Code {
	if r.name == "" {
		return hal.CodeInvalidArgument
	}
	r.result.volume = d.name + "-" + r.name
	if much != nothing && d.volume(r.result.volume) == nil {
		d.addVolume(r.result.volume)
	}
	return hal.CodeOK
}

func (d *driver) delete(r *rpc, much amount) hal.Code {
	if r.volume == "" {
		return hal.CodeInvalidArgument
	}
	v := d.volume(r.volume)
	switch {
	case v == nil:
	case len(v.staged)+len(v.published) > 0 || v.attached:
		return hal.CodeFailedPrecondition
	case much != nothing:
		d.removeVolume(v)
	}
	return hal.CodeOK
}

func (d *driver) attach(r *rpc, much amount) hal.Code {
	v := d.volume(r.volume)
	up := r.method == "ControllerPublishVolume"
	switch {
	case !d.is.Attach:
		return hal.CodeUnimplemented
	case r.volume == "":
		return hal.CodeInvalidArgument
	case v == nil && up:
		return hal.CodeNotFound
	case v != nil && much != nothing:
		v.attached = up
	}
	return hal.CodeOK
}
