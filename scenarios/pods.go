package scenarios

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// pod is one pod of the world: what the cluster wants of it, and whether its containers run.
type pod struct {
	name   string // namespace/name
	uid    core.PodUID
	object *corev1.Pod // as it was applied last
	uses   []use
	given  []use // with which its containers were started

	isWanted  bool
	isSteady  bool  // wanted all along, and never edited
	isLeaving bool  // its object says that it is being deleted, and is there until its containers have ended
	isRunning bool  // its containers run
	hasData   bool  // they have run since it was wanted: what they wrote is there until somebody deletes the pod
	expected  *move // it is looked whether it comes, or goes, promptly: see isolation.go
	isWaiting bool  // the present life of the agent has been asked to say when it is ready
	isPinned  bool  // its containers keep its volumes busy
	told      *corev1.Pod
	release   []func() // what its containers hold open
	writer    *writer  // nil if its containers write nothing
	stops     uint64   // counts deletions: a container that is about to stop belongs to one of them
	// the life of the agent that was told that its containers have ended, since it was told of the pod
	freedIn uint32

	toldType   corev1.HostPathType // of its hostPath, as the present life of the agent was told last
	isTyped    bool                // it was
	typeToldAt hal.Instant         // and when
	isRetyped  bool                // it was told of an edit of that
	retypedAt  hal.Instant         // when that life had to look again, as the type was edited; 0 if nobody can tell
}

// has reports whether the containers of p, which run, may use what is at a place: not a volume that was added to the
// pod after they were started, or taken from it before, as long as it has never been up, nor one that it had before it
// came again without it, nor one that an agent believed to be up when it died, and had told nobody of.
func (p *pod) has(at *place) bool {
	is := func(u use) bool { return u.driver == at.driver && u.volume == at.volume }
	return at.mayBeUsed && !at.isFormer || slices.ContainsFunc(p.given, is)
}

// use is one volume of a pod: where its containers find it.
type use struct {
	name           string
	path           string
	driver, volume string // of a CSI volume
	spec           string // the name after which its paths are called
	memory         bool   // an emptyDir in memory
	readOnly       bool   // of a CSI volume
	bare           bool   // of a CSI volume whose driver mounts nothing, and is configured so
	raw            bool   // a block device
	ephemeral      bool   // an inline volume
	exempt         bool   // nothing is looked for
	isHost         bool   // a hostPath
	hostKind       corev1.HostPathType
}

// register makes the world know a pod by its uid.
func (r *run) register(object *corev1.Pod, uses []use) *pod {
	p := r.byUID[core.PodUID(object.UID)]
	if p == nil {
		p = &pod{uid: core.PodUID(object.UID)}
		if r.allWrite {
			p.writer = &writer{}
		}
		r.pods = append(r.pods, p)
		r.byUID[p.uid] = p
	}
	p.name, p.object, p.uses = object.Namespace+"/"+object.Name, object, uses
	return p
}

// apply makes or edits a pod of the cluster. uses is what follows from the objects as they were at first.
func (r *run) apply(object *corev1.Pod, uses []use) {
	if p := r.byUID[core.PodUID(object.UID)]; p != nil && p.told == object && !p.isWanted {
		object = object.DeepCopy() // the agent has not heard of the deletion; what it knows is not this pod
	}
	p := r.register(object, r.usesNow(object, uses))
	p.isSteady = !p.isWanted && p.stops == 0
	p.isWanted, p.isLeaving = true, false
	r.give(object)
	if !p.isRunning {
		r.await(p)
	}
}

// terminates deletes a pod gracefully, as an API server does: its object says that it is being deleted, no container of
// it starts any more, those that run end after grace, and then the object goes.
func (r *run) terminates(p *pod, grace time.Duration) {
	if !p.isWanted || p.isLeaving {
		return
	}
	object, stops := p.object.DeepCopy(), p.stops
	object.ResourceVersion += "0"
	object.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	p.object, p.isLeaving, p.isSteady = object, true, false
	r.give(object)
	r.w.After(grace, "the end of "+p.name, func() {
		if p.stops == stops && p.isLeaving {
			r.remove(p, 0)
		}
	})
}

// remove deletes a pod by force: its object goes at once, and its containers end after grace; without a runtime they
// have ended.
func (r *run) remove(p *pod, grace time.Duration) {
	if !p.isWanted {
		return
	}
	r.unwants(p)
	r.take(p.object)
	r.stops(p, grace)
}

// unwants: nobody wants p any more, and its data may go.
func (r *run) unwants(p *pod) {
	p.isWanted, p.isSteady, p.isLeaving, p.hasData = false, false, false, false
	p.stops++
	r.losesBlocks(p)
}

// stops lets the containers of a pod that is deleted end.
func (r *run) stops(p *pod, grace time.Duration) {
	if r.cfg.NoRuntime {
		r.halt(p)
		if p.told == nil {
			r.tellGone(p)
		}
		return
	}
	r.ends(p, p.stops, grace)
}

// hungAgain is how often it is looked whether containers that hang have ended.
const hungAgain = 30 * time.Second

// ends lets the containers of a deleted pod end in a while. Those that wait for a server that is silent can't be
// killed.
func (r *run) ends(p *pod, stops uint64, in time.Duration) {
	r.w.After(in, "containers end "+p.name, func() {
		switch {
		case p.stops != stops || p.isWanted:
		case r.hangs(p):
			r.ends(p, stops, hungAgain)
		default:
			r.halt(p)
			if p.told == nil {
				r.tellGone(p)
			}
		}
	})
}

// hangs reports whether the containers of a deleted pod wait for a server that is silent.
func (r *run) hangs(p *pod) bool {
	return !p.isWanted && p.isRunning && slices.ContainsFunc(p.given, r.isSilent)
}

// isHung: the rung is kept for containers of a deleted pod that can't be killed, as they wait for the server of the
// broken driver. It is up; or its filesystem has failed under them, or under what depends on it.
func (r *run) isHung(b *core.Belief) bool {
	if r.broken == "" || b.IsWanted || b.State == core.Absent || b.InFlight {
		return false
	}
	return slices.ContainsFunc(r.pods, func(p *pod) bool {
		isOf := p.uid == b.Pod || slices.ContainsFunc(p.given,
			func(u use) bool { return u.driver+"^"+u.volume == b.Volume })
		return isOf && r.hangs(p) && (b.State == core.Present || r.isHeldUnder(p, b))
	})
}

// isHeldUnder reports whether the containers of p hold a rung that is not up, and nothing is about to be tried: it is
// held, or a publish of p that is.
func (r *run) isHeldUnder(p *pod, b *core.Belief) bool {
	isHeld := false
	r.core.Beliefs(func(o core.Belief) {
		why, _ := r.core.Prospect(o.Key)
		isHeld = isHeld || why.IsHeld && o.Pod == p.uid && (o.Key == b.Key || b.Pod == "" && o.Volume == b.Volume)
	})
	return isHeld && !b.IsTimed && b.SetUpOpen == 0 && b.TearDownOpen == 0
}

// isSilent reports whether the server of a volume does not answer.
func (r *run) isSilent(u use) bool { return u.driver != "" && r.w.IsSilent(u.driver, u.volume) }

// answers is the host's answer to an agent that has been told that a pod is gone: whether its containers are. It does
// not ask of a pod that is renamed.
func (r *run) answers(removed []any) {
	for _, o := range removed {
		object, ok := o.(*corev1.Pod)
		if !ok {
			continue
		}
		if p := r.byUID[core.PodUID(object.UID)]; p != nil && p.told == nil && !p.isWanted && !p.isRunning {
			r.tellGone(p)
		}
	}
}

// tellsUnnamed is the answer without a runtime, as the sources have said all: it is of each pod that they do not name.
func (r *run) tellsUnnamed() {
	for _, p := range r.pods {
		if r.cfg.NoRuntime && p.told == nil && !p.isRunning {
			r.tellGone(p)
		}
	}
}

// halt ends the containers of p.
func (r *run) halt(p *pod) {
	p.isRunning = false
	if !p.isWanted {
		r.losesBlocks(p) // its emptyDirs go, with what was written since it was deleted
	}
	p.letGo()
}

// frees: nobody need think any more that containers of p run. An agent that is away when they end does not hear of it
// if p is wanted again by the time it is back.
func (r *run) frees(p *pod) {
	for _, at := range r.list {
		at.mayBeUsed = at.mayBeUsed && r.podOf(at.path) != p
	}
}

// letGo ends what the containers of p hold open.
func (p *pod) letGo() {
	for _, release := range p.release {
		release()
	}
	p.release = nil
}

// tellGone is the host's answer, as long as it is asked: no container of p runs. Without a runtime the agent takes it
// from its sources, once they have said all and do not name p: see frees.
func (r *run) tellGone(p *pod) {
	r.changesFor(p)
	if r.m == nil || !r.w.AgentLives() || r.cfg.NoRuntime && !r.synced {
		return
	}
	p.freedIn = r.w.Life()
	if r.frees(p); !r.cfg.NoRuntime {
		r.m.ContainersGone(p.uid)
	}
	if p.told == nil {
		r.expects(p)
	}
}

// await has the engine say when p is ready. The question dies with the agent.
func (r *run) await(p *pod) {
	if p.isWaiting || r.m == nil || !r.w.AgentLives() {
		return
	}
	p.isWaiting = true
	m, life, asked := r.m, r.w.Life(), question{p.told, r.toldOf(p)}
	r.w.Go(func() {
		err := m.WaitForAttachAndMount(r.w.Context(0), p.uid)
		if r.w.Life() != life {
			return
		}
		p.isWaiting = false
		if err == nil {
			for _, at := range r.list {
				at.isSaid = at.isSaid || at.mayBeUsed && r.podOf(at.path) == p
			}
			r.ready(p, asked)
		} else {
			r.reveals("wait", p.name, err.Error())
			r.wording("wait", p.name, err.Error())
		}
	})
}

// question is what the agent had been told when it was asked whether a pod is ready.
type question struct {
	pod     *corev1.Pod
	volumes string
}

// ready: the engine says that all volumes of p are there. If it had been told of p as it is when it was asked, the
// containers of p start.
func (r *run) ready(p *pod, asked question) {
	if !p.isWanted || p.isRunning || p.isLeaving {
		return
	}
	switch {
	case !r.isCurrent(p):
		r.askAgain(p)
		return
	case asked != question{p.object, r.toldOf(p)}:
		r.await(p) // it was asked too early; now it knows of whom
		return
	}
	if r.isLetIn(p) || !r.finds(p) {
		r.askAgain(p)
		return
	}
	r.isolatesData(p)
	p.isRunning, p.hasData, p.given = true, true, p.uses
	r.leavesBehind(p)
	for i := range p.uses {
		if p.uses[i].ephemeral { // it may have been made again since its containers ended
			r.losesInline(dataID(p, &p.uses[i]))
		}
	}
	r.startWriting(p)
	if !p.isPinned {
		return
	}
	for _, u := range p.uses {
		if release, err := r.w.Hold(u.path); err == nil {
			p.release = append(p.release, release)
		}
	}
}

// finds is S21: containers of p that start find all their volumes, and no helper of an earlier run may yet take one
// away. It reports whether they do.
func (r *run) finds(p *pod) bool {
	for _, c := range r.w.Outlived() {
		if strings.Contains(string(c.Key), string(p.uid)) {
			r.fail("S21", "told ready", p.name,
				"pod "+p.name+" is told to be ready, and a helper of an earlier run may still act on its volume: "+c.What)
			return false
		}
	}
	if u := r.onFailed(p); u != nil {
		r.fail("S33", "told ready", p.name, "pod "+p.name+" is told to be ready, and its volume "+u.name+
			" was published on a filesystem that had failed")
		return false
	}
	for _, u := range p.uses {
		r.judges("S21")
		if r.isLeftBehind(p, u) {
			r.fail("S10", "told ready", p.name,
				"pod "+p.name+" is told to be ready, and its volume "+u.name+" is of a stage that has ended and was "+
					"made again")
			return false
		}
		if m := r.hider(u); m.ID != 0 {
			if r.mustKnow(p, u, m) {
				r.fail("S21", "told ready", p.name,
					"pod "+p.name+" is told to be ready, and what somebody has mounted on "+m.Path+" hides its volume "+u.name)
			}
			return false
		}
		why := r.lacks(u)
		if why == "" {
			continue
		}
		if at := r.byPath[u.path]; at != nil && at.isMixedUp {
			r.rejects(at)
		} else if !r.isDisturbed(u.path) {
			r.fail("S21", "told ready", p.name, "pod "+p.name+" is told to be ready, and of its volume "+u.name+" "+why)
		}
		return false
	}
	return true
}

// isLeftBehind: what is mounted for a pod is dead, and the stage that it should be of is alive and believed to be what
// it is; and yet the pod is believed to be ready. A publish belongs to one stage (laws 1.3).
func (r *run) isLeftBehind(p *pod, u use) bool {
	if u.driver == "" || u.raw || u.bare || !r.w.IsDead(u.path) || r.core == nil || !r.core.Ready(p.uid) {
		return false
	}
	for _, s := range r.list {
		if s.isPublish || s.driver != u.driver || s.volume != u.volume || s.isTouched || r.w.IsDead(s.path) {
			continue
		}
		stack := r.w.MountsAt(s.path)
		b, known := r.core.Belief(s.key)
		if known && b.State == core.Present && !b.InFlight && len(stack) == 1 &&
			stack[0].Fingerprint() == b.Fingerprint {
			return true
		}
	}
	return false
}

// askAgain asks a moment later whether p is ready.
func (r *run) askAgain(p *pod) {
	r.w.After(time.Second, "ask again "+p.name, func() {
		if p.isWanted && !p.isRunning {
			r.await(p)
		}
	})
}

// lacks says what is missing of a volume where its pod looks for it, "" if nothing.
func (r *run) lacks(u use) string {
	switch {
	case u.exempt:
		return ""
	case u.bare:
	case u.driver != "" && !r.w.Shows(u.driver, u.volume, u.path):
		return "nothing is mounted at " + u.path
	case u.driver != "":
		return r.misses(u)
	case u.memory && len(r.w.MountsAt(u.path)) == 0:
		return "no memory is mounted at " + u.path
	}
	if _, there := r.w.Exists(u.path); !there {
		return "there is no " + u.path
	}
	return ""
}

// misses is S19 of a volume that is mounted.
func (r *run) misses(u use) string {
	stack := r.w.MountsAt(u.path)
	if top := stack[len(stack)-1]; top.ReadOnly != u.readOnly {
		return map[bool]string{
			true:  "the mount is writable, and it was asked for read-only",
			false: "the mount is read-only",
		}[u.readOnly]
	}
	return ""
}

// hears notes what the present life of the agent is told.
func (r *run) hears(e hal.ClusterEvent) {
	r.changesByNews(e)
	r.looksForOpen()
	r.notes(e)
	switch e := e.(type) {
	case hal.Changed:
		for _, o := range e.Removed {
			if object, ok := o.(*corev1.Pod); ok {
				r.tells(object, true)
			}
			r.heard.drop(o)
			if is, ok := o.(*storagev1.VolumeAttachment); ok {
				r.tieTold(is)
			}
		}
		for _, o := range e.Applied {
			switch object := o.(type) {
			case *corev1.Pod:
				r.tells(object, false)
			case *corev1.PersistentVolume:
				r.hearsOfVolume(object)
			case *storagev1.VolumeAttachment:
				r.tieTold(object)
			}
			r.heard.put(o)
		}
		r.recalls(e)
	case hal.Synced:
		r.synced = true
		r.recallsAll()
	case hal.Trouble:
		if r.files {
			r.hearsOfMissing(e)
		}
	}
}

// hearsOfVolume notes whether a volume is for one pod, as the agent knows it from now on.
func (r *run) hearsOfVolume(v *corev1.PersistentVolume) {
	if v.Spec.CSI != nil {
		r.exclusive[v.Spec.CSI.Driver+"^"+v.Spec.CSI.VolumeHandle] = slices.Contains(v.Spec.AccessModes,
			corev1.ReadWriteOncePod)
	}
}

// tells notes that the agent is told of a pod. A manifest's object is another one than ours, of the same
// resourceVersion.
func (r *run) tells(object *corev1.Pod, gone bool) {
	p := r.byUID[core.PodUID(object.UID)]
	if p != nil && !gone {
		r.comesAgain(p)
		r.hearsType(p, object)
	}
	switch {
	case p == nil:
	case gone && (p.told == nil || hal.IdentityOf(p.told) == hal.IdentityOf(object)):
		p.told, p.expected = nil, nil
	case gone:
	case object == p.object || r.files && object.ResourceVersion == p.object.ResourceVersion:
		p.told = p.object
		r.expects(p)
	default:
		p.told = object
	}
}
