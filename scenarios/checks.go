package scenarios

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is the checks at the instant of an effect, against the truth.

// place is one path at which a driver may hold a volume, for one rung: the truth of it.
type place struct {
	lapse
	key            hal.Key
	path           string
	driver, volume string
	thing          string // driver^volume
	isPublish      bool
	isHeld         bool // staged, or published
	mayBeUsed      bool // it was believed to be up since the containers of its pod were started
	isSaid         bool // who waits for its pod has been told that it is ready since
	isFormer       bool // no container has it: its pod came back without it, or the life that believed it up told nobody
	isTouched      bool // somebody else has changed what is there: see foreign.go
	isMixedUp      bool // somebody else has mounted here what the agent can't tell from its own
	touchedAt      hal.Instant
	setUpUntil     hal.Instant // until when a setup that was sent may act, as far as the agent knows
	downUntil      hal.Instant // the same of a teardown
	calls          []openCall
	untold         []uint64 // calls that act though they were answered with an error that ends them, as far as anybody can know
	isBetrayed     bool     // one of them has acted
	isFramed       bool     // somebody else has done there what one of them could have done
	checked        seen
	isStruck       bool                 // its filesystem failed while it was believed to be up
	isHurt         bool                 // its filesystem could be seen to have failed: of a stage now, of a publish when it was made
	tie            types.UID            // of the attachment of the volume with which a driver came to hold it
	began          hal.Instant          // of the setup that was sent last
	sent           map[string]*requests // by method
	series         map[string]*series   // by method
	earlier        *place               // of another rung at this path
}

// openCall is an RPC that may still act.
type openCall struct {
	id       uint64
	method   string
	run      uint32
	isUndone bool // what undoes it was sent since
}

const (
	stage     = "NodeStageVolume"
	unstage   = "NodeUnstageVolume"
	publish   = "NodePublishVolume"
	unpublish = "NodeUnpublishVolume"
)

// contrary is the call that undoes one, or that one undoes.
var contrary = map[string]string{stage: unstage, unstage: stage, publish: unpublish, unpublish: publish}

// effect looks at each effect at its instant.
func (r *run) effect(e sim.Effect) {
	r.beside(&e)
	r.meets(&e)
	r.betrays(&e)
	r.changesBy(&e)
	switch e.Kind {
	case sim.EffectSent:
		r.actual.effects++
		r.sent(&e)
	case sim.EffectActed, sim.EffectAnswered:
		if e.Code == hal.CodeAlreadyExists {
			r.denied[e.Driver+"^"+e.Volume] = true
		}
		if e.Kind == sim.EffectAnswered {
			r.isAnswered(&e)
		}
	case sim.EffectEnded:
		if p := r.placeOf(&e); p != nil {
			p.calls = slices.DeleteFunc(p.calls, func(c openCall) bool { return c.id == e.Call })
		}
	case sim.EffectStaged, sim.EffectPublished:
		r.held(&e, true)
	case sim.EffectUnstaged, sim.EffectUnpublished:
		r.held(&e, false)
		r.wipes(&e)
	case sim.EffectMount:
		r.mounted(&e)
	case sim.EffectUnmount:
		r.unmounted(&e)
		r.deletes(&e)
	case sim.EffectMade, sim.EffectWritten, sim.EffectSynced:
		r.count(&e)
		if e.Kind == sim.EffectMade {
			r.madeRight(&e)
		}
		r.leaves(&e)
		r.announces(&e)
		r.deletes(&e)
	case sim.EffectRemoved, sim.EffectRemovedTree, sim.EffectRenamed:
		r.count(&e)
		r.leaves(&e)
		r.keeps(&e)
		r.deletesOfHosts(&e)
		r.removed(&e)
		r.deletes(&e)
	case sim.EffectAgentDied:
		r.diesForgetful()
		r.m, r.core = nil, nil
		r.delays(shortly)
		r.actual.crashes++
	case sim.EffectDriverUp:
		r.driverUp(e.Driver)
	case sim.EffectDriverDown:
		r.delays(lengthy)
	case sim.EffectAgentStarted:
		if r.root.forgotten {
			r.delays(shortly) // what it finds without a record may be of a call that still acts
		}
	case sim.EffectDiskFailed:
		r.diskFails(&e)
	case sim.EffectNodeDown:
		r.nodeDown()
	case sim.EffectNodeUp:
		r.nodeUp()
	default:
	}
}

// driverUp: a version of a driver that gains or loses SINGLE_NODE_MULTI_WRITER wants its volumes in another access mode.
func (r *run) driverUp(name string) {
	for _, d := range r.w.Drivers() {
		if d.Name != name {
			continue // it may be another version by now, of which nobody has heard
		}
		if before, known := r.writers[name]; known && before != d.Is.MultiWriter {
			r.isEdited = true
		}
		r.writers[name] = d.Is.MultiWriter
		if is := (traits{d.Is.Staging, d.Is.MultiWriter}); !slices.Contains(r.traits[name], is) {
			r.traits[name] = append(r.traits[name], is)
		}
	}
}

func (r *run) count(e *sim.Effect) {
	if e.Actor == "agent" {
		r.actual.effects++
	}
}

func (r *run) nodeDown() {
	lasting := r.w.Staged()
	for _, p := range r.list {
		p.isHeld, p.isTouched, p.calls, p.untold, p.isBetrayed, p.isFramed = false, false, nil, nil, false, false
		p.setUpUntil, p.downUntil, p.copied = 0, 0, hal.Mount{}                    // what a copy of the journal tells of is of another boot
		p.isStruck, p.isHurt, p.isStranded, p.forgotten = false, false, false, nil // a driver that still holds it has mounted it again
		for _, h := range lasting {
			p.isHeld = p.isHeld || h.Path == p.path && h.Driver == p.driver && h.Volume == p.volume && !p.isPublish
		}
	}
	clear(r.foreign)
	r.wasDown = true
	clear(r.lost) // containers that start again know of no loss
	r.losesBlocks(nil)
	r.isBegun = false
	for _, p := range r.pods {
		r.halt(p)
		r.frees(p)
	}
}

func (r *run) nodeUp() {
	if r.files {
		r.uncoversManifests()
		r.unlinksAgain()
	}
}

// placeOf returns the place of an RPC's rung; nil of a call that is about no path.
func (r *run) placeOf(e *sim.Effect) *place {
	path, isPublish := e.Staging, false
	switch e.Method {
	case publish, unpublish:
		path, isPublish = e.Target, true
	case stage, unstage:
	default:
		return nil
	}
	for p := r.byPath[path]; p != nil; p = p.earlier {
		if p.key == e.Key {
			return p
		}
	}
	p := &place{
		key: e.Key, path: path, driver: e.Driver, volume: e.Volume, thing: e.Driver + "^" + e.Volume, isPublish: isPublish, earlier: r.byPath[path],
	}
	r.places[e.Key], r.byPath[path] = p, p
	r.list = append(r.list, p)
	return p
}

// sent judges an RPC as it leaves the agent.
func (r *run) sent(e *sim.Effect) {
	if contrary[e.Method] == "" {
		return
	}
	r.actual.mounting++
	p := r.placeOf(e)
	r.places[p.key], p.isTrace, p.isUnheard = p, false, false
	r.asks(e)
	r.intrudes(p, e.Method)
	r.tieSent(p, e)
	r.crowded(p, e)
	r.repeated(p, e)
	r.paces(p, e)
	r.judges("S8")
	if e.Deadline <= e.At {
		r.fail("S8", "sent "+e.Method, string(p.key), e.Method+" is sent for "+p.volume+" without a deadline that is still to come: it may act at any time")
	}
	if e.Method == stage || e.Method == publish {
		p.setUpUntil = max(p.setUpUntil, e.Deadline.Add(sim.LateWindow))
	} else {
		p.downUntil = max(p.downUntil, e.Deadline.Add(sim.LateWindow))
	}
	switch e.Method {
	case publish:
		r.publishSent(e)
		r.claimed(p)
	case unstage:
		r.unstageSent(p, e)
		r.tearsDown(e.Method, p)
	case unpublish:
		r.unpublishSent(p)
		r.deletesInline(p, e)
		r.tearsDown(e.Method, p)
	}
	if r.alive() && r.core.ActsAfterReply(p.driver) && (e.Method == unpublish || e.Method == unstage) {
		r.untold.durable[p.driver] = true
	}
	for i := range p.calls {
		p.calls[i].isUndone = p.calls[i].isUndone || p.calls[i].method == contrary[e.Method]
	}
	p.calls = append(p.calls, openCall{id: e.Call, method: e.Method, run: e.Run})
}

// crowded is S6: a call occupies its rung as long as it may act. A call that is still awaited excludes all; one that was given up all but its own
// repetition and, if it is a setup, its undo.
func (r *run) crowded(p *place, e *sim.Effect) {
	for _, c := range p.calls {
		r.judges("S6")
		isSetUp := c.method == stage || c.method == publish
		if c.method == e.Method || isSetUp && contrary[c.method] == e.Method {
			if c.run != e.Run || !r.awaited(c.id) {
				continue
			}
			r.fail("S6", "sent "+e.Method, string(p.key), e.Method+" is sent for "+p.volume+" while a "+c.method+" for it is awaited")
			return
		}
		r.fail("S6", "sent "+e.Method, string(p.key), e.Method+" is sent for "+p.volume+" while an earlier "+c.method+" may still act")
		return
	}
}

// beside is S6 for helpers: one of an earlier run excludes everything on its rung until it is dead.
func (r *run) beside(e *sim.Effect) {
	if e.Key == "" || e.Run != r.w.Life() || e.Actor != "agent" && e.Kind != sim.EffectSent {
		return
	}
	for _, c := range r.w.Outlived() {
		r.judges("S6")
		if c.Key == e.Key {
			r.fail("S6", "beside a helper", string(e.Key), e.Kind.String()+" of "+string(e.Key)+" while a helper of an earlier run may still act: "+c.What)
			return
		}
	}
}

func (r *run) awaited(id uint64) bool {
	return slices.ContainsFunc(r.w.Active(), func(a sim.ActiveCall) bool { return a.Call == id && a.Awaited })
}

// publishSent is S4.
func (r *run) publishSent(e *sim.Effect) {
	if e.Staging == "" {
		return
	}
	s := r.byPath[e.Staging]
	for s != nil && (s.driver != e.Driver || s.volume != e.Volume) {
		s = s.earlier
	}
	if s != nil && s.isTouched {
		return
	}
	r.judges("S4")
	if s == nil || !s.isHeld {
		r.fail("S4", "sent "+publish, string(e.Key), "volume "+e.Volume+" is published, and it is not staged at "+e.Staging)
		return
	}
	if slices.ContainsFunc(s.calls, func(c openCall) bool { return c.method == unstage }) {
		r.fail("S4", "sent "+publish, string(e.Key), "volume "+e.Volume+" is published while an unstage of it may still act")
	}
}

// claimed is S9: a claim that is ReadWriteOncePod has one publish.
func (r *run) claimed(p *place) {
	if !r.exclusive[p.driver+"^"+p.volume] {
		return
	}
	for _, q := range r.list {
		r.judges("S9")
		up := q.isHeld || slices.ContainsFunc(q.calls, func(c openCall) bool { return c.method == publish })
		if q != p && q.isPublish && q.driver == p.driver && q.volume == p.volume && up && !q.isTouched {
			r.fail("S9", "sent "+publish, string(p.key), "the claim of volume "+p.volume+" is for one pod, and it is or may yet be published at "+q.path)
			return
		}
	}
}

// unstageSent is S5.
func (r *run) unstageSent(s *place, e *sim.Effect) {
	for _, p := range r.list {
		if !p.isPublish || p.driver != s.driver || p.volume != s.volume {
			continue
		}
		r.judges("S5")
		why := ""
		switch {
		case p.isTouched:
		case p.isHeld:
			why = "is published at " + p.path
		case slices.ContainsFunc(p.calls, func(c openCall) bool { return c.method == publish }):
			why = "may still be published at " + p.path + " by an earlier call"
		}
		if why != "" {
			r.fail("S5", "sent "+e.Method, string(s.key), "volume "+s.volume+" is unstaged, and it "+why)
			return
		}
	}
}

// tearsDown is S22.
func (r *run) tearsDown(what string, p *place) {
	r.judges("S22")
	if !r.synced {
		r.fail("S22", "sent "+what, string(p.key), "volume "+p.volume+" is taken down before the source is synced")
	}
}

// held notes what a driver holds.
func (r *run) held(e *sim.Effect, up bool) {
	p := r.placeOf(e)
	if up && !p.isHeld {
		p.tie, p.isHurt = r.attachedAs(p.thing), p.isPublish && r.isHurt(p.thing)
	}
	p.isHeld, p.isHurt, p.isStruck = up, p.isHurt && up, p.isStruck && up
	if p.isUndone = p.isUndone && !up; !up {
		p.leftover = 0
	}
	if stack := r.w.MountsAt(p.path); p.isHurt {
		// After half of an unstage it is staged again; and a driver that stages no more publishes another mount.
		p.isHurt = len(stack) > 0 && hal.IsFailed(stack[len(stack)-1].Fingerprint())
	}
	p.mayBeUsed = p.mayBeUsed && (up || p.isPublish)
	r.refine(p.key)
	if up {
		r.intrudes(p, e.Kind.String())
		r.arrivesTwice(p, e.Kind.String())
	}
	if e.Kind != sim.EffectUnstaged {
		return
	}
	for _, q := range r.list {
		if q.isPublish && q.isHeld && !q.isTouched && !p.isTouched && q.driver == p.driver && q.volume == p.volume {
			r.fail("S5", "unstaged", string(p.key), "volume "+p.volume+" goes down while it is published at "+q.path)
			return
		}
	}
}

// mounted is S18.
func (r *run) mounted(e *sim.Effect) {
	if e.Actor == "agent" {
		r.actual.effects++
		r.actual.mounting++
	}
	if e.Actor == "" {
		r.mountedOver(e.Mount)
		r.touch(e.Path)
		return
	}
	if r.mixesUp(e); !isOurs(e.Path) {
		return
	}
	if e.Actor == "agent" {
		r.keepsData(e)
	}
	r.judges("S18")
	if stack := r.w.MountsAt(e.Path); len(stack) > 1 {
		if !r.isExcused(e, stack[len(stack)-2]) && !r.isUnseen(e, stack[:len(stack)-1]) {
			r.fail("S18", "mount", e.Path, "a second mount is made at "+e.Path+", on top of "+stack[len(stack)-2].Fingerprint())
		}
	}
}

func (r *run) unmounted(e *sim.Effect) {
	switch {
	case e.Actor == "":
		r.touch(e.Path)
		if owner := r.podOf(e.Path); owner != nil && e.Mount.FSType == "tmpfs" && !r.isForeign(e.Mount) && r.isEmptyDir(e.Path) {
			r.loses(owner, e.Path)
		}
	case e.Actor == "agent":
		r.actual.effects++
		r.actual.mounting++
		r.takes(e)
		r.undoes(e)
	case r.byPath[e.Path].wasSetUp(e.Call):
		r.touch(e.Path) // its driver takes a dead mount off before it mounts again, and dies in between: no agent hears of it at that instant
	}
	for p := r.byPath[e.Path]; p != nil; p = p.earlier {
		r.refine(p.key)
	}
}

// wasSetUp: the call is one that brings the place up.
func (p *place) wasSetUp(call uint64) bool {
	return p != nil && slices.ContainsFunc(p.calls, func(c openCall) bool { return c.id == call && (c.method == stage || c.method == publish) })
}

// takes is S7 and S22 for what the agent does by itself.
func (r *run) takes(e *sim.Effect) {
	if !isOurs(e.Path) || e.Run != r.w.Life() {
		return
	}
	if !r.synced {
		r.fail("S22", e.Kind.String(), e.Path, e.Path+" is taken down before the source is synced")
	}
	owner := r.podOf(e.Path)
	if owner == nil || !owner.isRunning {
		return
	}
	for _, u := range owner.uses {
		if e.Path == u.path || below(e.Path, u.path) {
			r.fail("S7", e.Kind.String(), e.Path, "volume "+u.name+" is taken from pod "+owner.name+", whose containers run")
		}
	}
}

// removed is S1: a name goes that is not the agent's to remove.
func (r *run) removed(e *sim.Effect) {
	if e.Actor == "agent" && !below(e.Path, lang.RootDir) {
		r.fail("S1", e.Kind.String(), e.Path, e.Path+" of the host is removed")
	}
	if e.Actor != "agent" || !isOurs(e.Path) {
		return
	}
	r.judges("S1")
	for _, p := range r.list {
		if below(e.Path, p.path) {
			r.fail("S1", e.Kind.String(), e.Path, "data of volume "+p.volume+" is deleted through "+p.path)
			return
		}
	}
	if e.Kind == sim.EffectRemovedTree && !strings.Contains(e.Path, "kubernetes.io~empty-dir/") {
		r.fail("S1", e.Kind.String(), e.Path, "all that is below "+e.Path+" is deleted, whoever wrote it: it is no emptyDir")
	}
	if strings.Contains(e.Path, "kubernetes.io~empty-dir/") {
		r.takesDirectory(e)
	}
	r.keepsData(e)
}

// takesDirectory is S1 for the emptyDir of a pod whose containers run.
func (r *run) takesDirectory(e *sim.Effect) {
	owner := r.podOf(e.Path)
	if owner == nil || !owner.isRunning {
		return
	}
	for _, u := range owner.uses {
		if u.driver == "" && !u.exempt && (e.Path == u.path || below(e.Path, u.path)) {
			r.fail("S1", e.Kind.String(), e.Path, "the emptyDir "+u.name+" of pod "+owner.name+", whose containers run, is deleted")
		}
	}
}
