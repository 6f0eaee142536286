package world

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/scenarios/lang"
)

// Pod is one pod of the world: what the cluster wants of it, and whether its containers run.
type Pod struct {
	Name   string // namespace/name
	Uid    core.PodUID
	Object *corev1.Pod // as it was applied last
	Uses   []Use
	Given  []Use // with which its containers were started

	IsWanted  bool
	IsSteady  bool  // wanted all along, and never edited
	IsLeaving bool  // its object says that it is being deleted, and is there until its containers have ended
	IsRunning bool  // its containers run
	HasData   bool  // they have run since it was wanted: what they wrote is there until somebody deletes the pod
	Expected  *Move // it is looked whether it comes, or goes, promptly: see isolation.go
	IsWaiting bool  // the present life of the agent has been asked to say when it is ready
	IsPinned  bool  // its containers keep its volumes busy
	Told      *corev1.Pod
	Release   []func() // what its containers hold open
	Writer    *Writer  // nil if its containers write nothing
	Takes     bool     // its containers give its emptyDirs to a user and a group of their own, as many images do
	Groups    []string // that its versions want its files to be of, "" for none
	Stops     uint64   // counts deletions: a container that is about to stop belongs to one of them
	// the life of the agent that was told that its containers have ended, since it was told of the pod
	FreedIn uint32
}

// Has reports whether the containers of p, which run, may use what is at a place: not a volume that was added to the
// pod after they were started, or taken from it before, as long as it has never been up, nor one that it had before it
// came again without it, nor one that an agent believed to be up when it died, and had told nobody of.
func (p *Pod) Has(at *Place) bool {
	is := func(u Use) bool { return u.Driver == at.Driver && u.Volume == at.Volume }
	return at.MayBeUsed && !at.IsFormer || slices.ContainsFunc(p.Given, is)
}

// Use is one volume of a pod: where its containers find it.
type Use struct {
	Name           string
	Room           *Room // of its source; nil if that is not known
	Path           string
	Driver, Volume string            // of a CSI volume
	Spec           string            // the name after which its paths are called
	Share          string            // what the host has mounted from a server, on which it lies; "" if it lies elsewhere
	Image          string            // the reference of an image
	Told           map[string]string // what the driver of a FlexVolume is to be told of it
	Disk           string            // what core calls a disk with a filesystem of its own
	Portals        []string          // of a disk on the storage network, those of its target, or the port of its array
	Memory         bool              // an emptyDir in memory
	ReadOnly       bool              // of a CSI volume
	Bare           bool              // of a CSI volume whose driver mounts nothing, and is configured so
	Raw            bool              // a block device
	Ephemeral      bool              // an inline volume
	Exempt         bool              // nothing is looked for
}

// IsOfArray reports whether a use is of a disk on the storage network.
func (u *Use) IsOfArray() bool { return len(u.Portals) > 0 }

// Thing names what a use is of among all volumes that pods can share, as core does: of a CSI volume driver^handle.
func (u *Use) Thing() string {
	if kinds := u.kinds(); u.Driver == "" && u.Spec != "" && len(kinds) > 0 {
		return string(kinds[0].Name) + "^" + u.Spec
	}
	return u.Driver + "^" + u.Volume
}

// Upon names the volume, as core does, whose shared rung a use depends on; "" if it depends on none.
func (u *Use) Upon() string {
	switch {
	case u.Image != "":
		return "image^" + u.Image
	case u.Disk != "":
		return u.Disk
	case u.Driver != "":
		return u.Driver + "^" + u.Volume
	}
	return ""
}

// GroupOf is the group that a pod wants its files to be of, "" for none.
func GroupOf(pod *corev1.Pod) string {
	if pod == nil || pod.Spec.SecurityContext == nil || pod.Spec.SecurityContext.FSGroup == nil {
		return ""
	}
	return strconv.FormatInt(*pod.Spec.SecurityContext.FSGroup, 10)
}

// UserOf is who all containers of a pod run as; 0 if they differ, or if the pod does not say.
func UserOf(pod *corev1.Pod) (user uint32, isSaid bool) {
	var all []int64
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		switch {
		case c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil:
			all = append(all, *c.SecurityContext.RunAsUser)
		case pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.RunAsUser != nil:
			all = append(all, *pod.Spec.SecurityContext.RunAsUser)
		default:
			return 0, false
		}
	}
	if len(slices.Compact(all)) != 1 {
		return 0, false
	}
	return uint32(all[0]), true
}

// ModeOf is the mode of a directory of a volume that is given to a group, if there is one (K:G102).
func ModeOf(mode uint32, group string) uint32 {
	if group == "" {
		return mode
	}
	return mode | 0o2000
}

// Register makes the world know a pod by its uid.
func (r *Run) Register(object *corev1.Pod, uses []Use) *Pod {
	p := r.ByUID[core.PodUID(object.UID)]
	if p == nil {
		p = &Pod{Uid: core.PodUID(object.UID)}
		if r.AllWrite {
			p.Writer = &Writer{}
		}
		r.Pods = append(r.Pods, p)
		r.ByUID[p.Uid] = p
	}
	if group := GroupOf(object); !slices.Contains(p.Groups, group) {
		p.Groups = append(p.Groups, group)
	}
	p.Name, p.Object, p.Uses = object.Namespace+"/"+object.Name, object, uses
	return p
}

// Unwants: nobody wants p any more, and its data may go.
func (r *Run) Unwants(p *Pod) {
	p.IsWanted, p.IsSteady, p.IsLeaving, p.HasData = false, false, false, false
	p.Stops++
	r.LosesBlocks(p)
}

// HungAgain is how often it is looked whether containers that hang have ended.
const HungAgain = 30 * time.Second

// Hangs reports whether the containers of a deleted pod wait for a server that is silent.
func (r *Run) Hangs(p *Pod) bool {
	return !p.IsWanted && p.IsRunning && slices.ContainsFunc(p.Given, r.IsSilent)
}

// IsHung: the rung is kept for containers of a deleted pod that can't be killed, as they wait for the server of the
// broken driver. It is up; or its filesystem has failed under them, or under what depends on it.
func (r *Run) IsHung(b *core.Belief) bool {
	if r.Broken == "" || b.IsWanted || b.State == core.Absent || b.InFlight {
		return false
	}
	return slices.ContainsFunc(r.Pods, func(p *Pod) bool {
		isOf := p.Uid == b.Pod || slices.ContainsFunc(p.Given, func(u Use) bool {
			upon := u.Upon()
			return upon != "" && upon == b.Volume
		})
		return isOf && r.Hangs(p) && (b.State == core.Present || r.isHeldUnder(p, b))
	})
}

// isHeldUnder reports whether the containers of p hold a rung that is not up, and nothing is about to be tried: it is
// held, or a publish of p that is.
func (r *Run) isHeldUnder(p *Pod, b *core.Belief) bool {
	isHeld := false
	r.Core.Beliefs(func(o core.Belief) {
		why, _ := r.Core.Prospect(o.Key)
		isHeld = isHeld || why.IsHeld && o.Pod == p.Uid && (o.Key == b.Key || b.Pod == "" && o.Volume == b.Volume)
	})
	return isHeld && !b.IsTimed && b.SetUpOpen == 0 && b.TearDownOpen == 0
}

// IsSilent reports whether the server of a volume does not answer.
func (r *Run) IsSilent(u Use) bool {
	return u.Driver != "" && r.W.IsSilent(u.Driver, u.Volume) || u.Share != "" && r.W.IsShareSilent(u.Share) ||
		u.IsOfArray() && !slices.ContainsFunc(u.Portals, func(at string) bool { return !r.W.IsPortalAway(at) })
}

// Halt ends the containers of p.
func (r *Run) Halt(p *Pod) {
	p.IsRunning = false
	if !p.IsWanted {
		r.LosesBlocks(p) // its emptyDirs go, with what was written since it was deleted
	}
	p.LetGo()
}

// Frees: nobody need think any more that containers of p run. An agent that is away when they end does not hear of it
// if p is wanted again by the time it is back.
func (r *Run) Frees(p *Pod) {
	for _, at := range r.List {
		if r.PodOf(at.Path) == p {
			if at.IsUnheard = false; at.MayBeUsed {
				at.Unwritten = 2 // the first write may have begun before
			}
			at.MayBeUsed = false
		}
	}
}

// Writes: the agent has written to its journal.
func (r *Run) Writes() {
	for _, at := range r.List {
		at.Unwritten -= min(at.Unwritten, 1)
	}
}

// DiesUnwritten: the agent has died, and with it goes what it has heard and not written.
func (r *Run) DiesUnwritten() {
	for _, at := range r.List {
		at.IsUnheard, at.Unwritten = at.IsUnheard || at.Unwritten > 0, 0
	}
}

// LetGo ends what the containers of p hold open.
func (p *Pod) LetGo() {
	for _, release := range p.Release {
		release()
	}
	p.Release = nil
}

// Question is what the agent had been told when it was asked whether a pod is ready.
type Question struct {
	Pod     *corev1.Pod
	Volumes string
}

// IsLeftBehind: what is mounted for a pod is dead, and the stage that it should be of is alive and believed to be what
// it is; and yet the pod is believed to be ready. A publish belongs to one stage (laws 1.3).
func (r *Run) IsLeftBehind(p *Pod, u Use) bool {
	if u.Driver == "" || u.Raw || u.Bare || !r.W.IsDead(u.Path) || r.Core == nil || !r.Core.Ready(p.Uid) {
		return false
	}
	for _, s := range r.List {
		if s.IsPublish || s.Driver != u.Driver || s.Volume != u.Volume || s.IsTouched || r.W.IsDead(s.Path) {
			continue
		}
		stack := r.W.MountsAt(s.Path)
		b, known := r.Core.Belief(s.Key)
		if known && b.State == core.Present && !b.InFlight && len(stack) == 1 &&
			stack[0].Fingerprint() == b.Fingerprint {
			return true
		}
	}
	return false
}

// Lacks says what is missing of a volume where its pod looks for it, "" if nothing.
func (r *Run) Lacks(u Use) string {
	switch {
	case u.Exempt:
		return ""
	case u.Bare:
	case u.Driver != "" && !r.W.Shows(u.Driver, u.Volume, u.Path):
		return "nothing is mounted at " + u.Path
	case u.Driver != "":
		return r.misses(u)
	}
	if _, there := r.W.Exists(u.Path); !there {
		return "there is no " + u.Path
	}
	if u.Raw && u.Room != nil && u.Room.RawKind != "" {
		return RawDiffers(r.W, u.Path)
	}
	if u.Room != nil && u.Room.Differs != nil {
		return u.Room.Differs(r.W, u.Path, u.Memory)
	}
	return ""
}

// misses is S19 of a volume that is mounted.
func (r *Run) misses(u Use) string {
	stack := r.W.MountsAt(u.Path)
	if len(stack) == 0 {
		return "" // a device node says nothing of it
	}
	if top := stack[len(stack)-1]; top.ReadOnly != u.ReadOnly {
		return map[bool]string{
			true:  "the mount is writable, and it was asked for read-only",
			false: "the mount is read-only",
		}[u.ReadOnly]
	}
	return ""
}

// HearsOfVolume notes whether a volume is for one pod, as the agent knows it from now on.
func (r *Run) HearsOfVolume(v *corev1.PersistentVolume) {
	if u, ok := (Claimed{Spec: &corev1.Volume{}, PV: lang.AsCSI(v)}).use(); ok {
		r.Exclusive[u.Thing()] = slices.Contains(v.Spec.AccessModes, corev1.ReadWriteOncePod)
	}
}
