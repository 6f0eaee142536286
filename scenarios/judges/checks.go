package judges

import (
	"path"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is the checks at the instant of an effect, against the truth.

// Effect looks at each effect at its instant.
func Effect(r *world.Run, e sim.Effect) {
	beside(r, &e)
	dealings.Meets(r, &e)
	Betrays(r, &e)
	dealings.ChangesBy(r, &e)
	switch e.Kind {
	case sim.EffectSent:
		r.Actual.Effects++
		Sent(r, &e)
	case sim.EffectActed, sim.EffectAnswered:
		if e.Code == hal.CodeAlreadyExists {
			r.Denied[e.Driver+"^"+e.Volume] = true
		}
		if e.Kind == sim.EffectAnswered {
			isAnswered(r, &e)
		}
	case sim.EffectEnded:
		if p := PlaceOf(r, &e); p != nil {
			p.Calls = slices.DeleteFunc(p.Calls, func(c world.OpenCall) bool { return c.Id == e.Call })
		}
	case sim.EffectStaged, sim.EffectPublished:
		held(r, &e, true)
	case sim.EffectUnstaged, sim.EffectUnpublished:
		held(r, &e, false)
		wipes(r, &e)
	case sim.EffectMount:
		mounted(r, &e)
	case sim.EffectUnmount:
		unmounted(r, &e)
		dealings.Deletes(r, &e)
	case sim.EffectMade, sim.EffectWritten, sim.EffectSynced:
		count(r, &e)
		if e.Kind == sim.EffectWritten && e.Actor == "agent" && path.Dir(e.Path) == JournalDir {
			r.Writes()
		}
		if e.Kind == sim.EffectMade {
			madeRight(r, &e)
		}
		leaves(r, &e)
		dealings.Announces(r, &e)
		dealings.Deletes(r, &e)
	case sim.EffectRemoved, sim.EffectRemovedTree, sim.EffectRenamed:
		count(r, &e)
		leaves(r, &e)
		keeps(r, &e)
		removed(r, &e)
		dealings.Deletes(r, &e)
	case sim.EffectAgentDied:
		diesForgetful(r)
		r.DiesUnwritten()
		r.M, r.Core, r.Measured = nil, nil, nil
		Delays(r, Shortly)
		r.Actual.Crashes++
	case sim.EffectDriverUp:
		driverUp(r, e.Driver)
	case sim.EffectDriverDown:
		Delays(r, Lengthy)
	case sim.EffectAgentStarted:
		begins(r)
		if r.Root.Forgotten {
			Delays(r, Shortly) // what it finds without a record may be of a call that still acts
		}
	case sim.EffectDiskFailed:
		dealings.DiskFails(r, &e)
	case sim.EffectNodeDown:
		nodeDown(r)
	case sim.EffectNodeUp:
		nodeUp(r)
	default:
	}
	r.Sees(&e)
}

// driverUp: a version of a driver that gains or loses SINGLE_NODE_MULTI_WRITER wants its volumes in another access
// mode.
func driverUp(r *world.Run, name string) {
	for _, d := range r.W.Drivers() {
		if d.Name != name {
			continue // it may be another version by now, of which nobody has heard
		}
		if before, known := r.Writers[name]; known && before != d.Is.MultiWriter {
			r.IsEdited = true
		}
		r.Writers[name] = d.Is.MultiWriter
		is := world.Traits{Staging: d.Is.Staging, MultiWriter: d.Is.MultiWriter, MountGroup: d.Is.MountGroup}
		if !slices.Contains(r.Traits[name], is) {
			r.Traits[name] = append(r.Traits[name], is)
		}
	}
}

func count(r *world.Run, e *sim.Effect) {
	if e.Actor == "agent" {
		r.Actual.Effects++
	}
}

func nodeDown(r *world.Run) {
	lasting := r.W.Staged()
	for _, p := range r.List {
		p.IsHeld, p.IsTouched, p.Calls, p.Untold, p.IsBetrayed, p.IsFramed = false, false, nil, nil, false, false
		p.SetUpUntil, p.DownUntil, p.Copied = 0, 0, hal.Mount{} // what a copy of the journal tells of is of another boot
		// A driver that still holds it has mounted it again.
		p.IsStruck, p.IsHurt, p.IsStranded, p.Forgotten = false, false, false, nil
		p.IsTold = p.IsTold && !r.Root.Forgotten // names told of it, and may be gone: the next start says
		for _, h := range lasting {
			p.IsHeld = p.IsHeld || h.Path == p.Path && h.Driver == p.Driver && h.Volume == p.Volume && !p.IsPublish
		}
	}
	clear(r.Foreign)
	r.WasDown = true
	clear(r.Lost) // containers that start again know of no loss
	r.LosesBlocks(nil)
	r.IsBegun = false
	for _, p := range r.Pods {
		r.Halt(p)
		r.Frees(p)
	}
}

func nodeUp(r *world.Run) {
	if r.Files {
		UncoversManifests(r)
		UnlinksAgain(r)
	}
}

// PlaceOf returns the place of an RPC's rung; nil of a call that is about no path.
func PlaceOf(r *world.Run, e *sim.Effect) *world.Place {
	path, isPublish := e.Staging, false
	switch e.Method {
	case world.Publish, world.Unpublish:
		path, isPublish = e.Target, true
	case world.Stage, world.Unstage:
	default:
		return nil
	}
	for p := r.ByPath[path]; p != nil; p = p.Earlier {
		if p.Key == e.Key {
			return p
		}
	}
	p := &world.Place{
		Key: e.Key, Path: path, Driver: e.Driver, Volume: e.Volume, Thing: e.Driver + "^" + e.Volume,
		IsPublish: isPublish, Earlier: r.ByPath[path],
	}
	r.Places[e.Key], r.ByPath[path] = p, p
	r.List = append(r.List, p)
	return p
}

// Sent judges an RPC as it leaves the agent.
func Sent(r *world.Run, e *sim.Effect) {
	if world.Contrary[e.Method] == "" {
		return
	}
	p := PlaceOf(r, e)
	if !dealings.Renews(r, p, e) {
		r.Actual.Mounting++
	}
	r.Places[p.Key], p.IsTrace, p.IsUnheard = p, false, false
	dealings.Asks(r, e)
	dealings.Intrudes(r, p, e.Method)
	dealings.TieSent(r, p, e)
	crowded(r, p, e)
	r.Repeated(p, e)
	dealings.Paces(r, p, e)
	r.Judges("S8")
	if e.Deadline <= e.At {
		r.Fail("S8", "sent "+e.Method, string(p.Key),
			e.Method+" of "+p.Volume+" has no deadline in the future: it may act at any time")
	}
	if e.Method == world.Stage || e.Method == world.Publish {
		p.SetUpUntil = max(p.SetUpUntil, e.Deadline.Add(sim.LateWindow))
	} else {
		p.DownUntil = max(p.DownUntil, e.Deadline.Add(sim.LateWindow))
	}
	switch e.Method {
	case world.Publish:
		publishSent(r, e)
		claimed(r, p)
	case world.Unstage:
		unstageSent(r, p, e)
		tearsDown(r, e.Method, p)
	case world.Unpublish:
		dealings.UnpublishSent(r, p)
		dealings.DeletesInline(r, p, e)
		tearsDown(r, e.Method, p)
	}
	if r.Alive() && r.Core.ActsAfterReply(p.Driver) && (e.Method == world.Unpublish || e.Method == world.Unstage) {
		r.Untold.Durable[p.Driver] = true
	}
	for i := range p.Calls {
		p.Calls[i].IsUndone = p.Calls[i].IsUndone || p.Calls[i].Method == world.Contrary[e.Method]
	}
	p.Calls = append(p.Calls, world.OpenCall{Id: e.Call, Method: e.Method, Run: e.Run})
}

// crowded is S6: a call occupies its rung as long as it may act. A call that is still awaited excludes all; one that
// was given up all but its own repetition and, if it is a setup, its undo.
func crowded(r *world.Run, p *world.Place, e *sim.Effect) {
	for _, c := range p.Calls {
		r.Judges("S6")
		isSetUp := c.Method == world.Stage || c.Method == world.Publish
		if c.Method == e.Method || isSetUp && world.Contrary[c.Method] == e.Method {
			if c.Run != e.Run || !awaited(r, c.Id) {
				continue
			}
			r.Fail("S6", "sent "+e.Method, string(p.Key),
				e.Method+" is sent for "+p.Volume+" while the agent waits for an earlier "+c.Method)
			return
		}
		r.Fail("S6", "sent "+e.Method, string(p.Key),
			e.Method+" is sent for "+p.Volume+" while an earlier "+c.Method+" may still act")
		return
	}
}

// beside is S6 for helpers: one of an earlier run excludes everything on its rung until it is dead.
func beside(r *world.Run, e *sim.Effect) {
	if e.Key == "" || e.Run != r.W.Life() || e.Actor != "agent" && e.Kind != sim.EffectSent {
		return
	}
	for _, c := range r.W.Outlived() {
		r.Judges("S6")
		if c.Key == e.Key {
			r.Fail("S6", "beside a helper", string(e.Key),
				e.Kind.String()+" of "+string(e.Key)+" while a helper of an earlier run may still act: "+c.What)
			return
		}
	}
}

func awaited(r *world.Run, id uint64) bool {
	return slices.ContainsFunc(r.W.Active(), func(a sim.ActiveCall) bool { return a.Call == id && a.Awaited })
}

// publishSent is S4.
func publishSent(r *world.Run, e *sim.Effect) {
	if e.Staging == "" {
		return
	}
	s := r.ByPath[e.Staging]
	for s != nil && (s.Driver != e.Driver || s.Volume != e.Volume) {
		s = s.Earlier
	}
	if s != nil && s.IsTouched {
		return
	}
	r.Judges("S4")
	if s == nil || !s.IsHeld {
		r.Fail("S4", "sent "+world.Publish, string(e.Key),
			"volume "+e.Volume+" is published, and it is not staged at "+e.Staging)
		return
	}
	if slices.ContainsFunc(s.Calls, func(c world.OpenCall) bool { return c.Method == world.Unstage }) {
		r.Fail("S4", "sent "+world.Publish, string(e.Key),
			"volume "+e.Volume+" is published while an unstage of it may still act")
	}
}

// claimed is S9: a claim that is ReadWriteOncePod has one publish.
func claimed(r *world.Run, p *world.Place) {
	if !r.Exclusive[p.Driver+"^"+p.Volume] {
		return
	}
	for _, q := range r.List {
		r.Judges("S9")
		up := q.IsHeld || slices.ContainsFunc(q.Calls, func(c world.OpenCall) bool { return c.Method == world.Publish })
		if q != p && q.IsPublish && q.Driver == p.Driver && q.Volume == p.Volume && up && !q.IsTouched {
			r.Fail("S9", "sent "+world.Publish, string(p.Key),
				"the claim of volume "+p.Volume+" is for one pod, and it is or may yet be published at "+q.Path)
			return
		}
	}
}

// unstageSent is S5.
func unstageSent(r *world.Run, s *world.Place, e *sim.Effect) {
	for _, p := range r.List {
		if !p.IsPublish || p.Driver != s.Driver || p.Volume != s.Volume {
			continue
		}
		r.Judges("S5")
		why := ""
		switch {
		case p.IsTouched:
		case p.IsHeld:
			why = "is published at " + p.Path
		case slices.ContainsFunc(p.Calls, func(c world.OpenCall) bool { return c.Method == world.Publish }):
			why = "may still be published at " + p.Path + " by an earlier call"
		}
		if why != "" {
			r.Fail("S5", "sent "+e.Method, string(s.Key), "volume "+s.Volume+" is unstaged, and it "+why)
			return
		}
	}
}

// tearsDown is S22.
func tearsDown(r *world.Run, what string, p *world.Place) {
	r.Judges("S22")
	if !r.Synced {
		r.Fail("S22", "sent "+what, string(p.Key), "volume "+p.Volume+" is taken down before the source is synced")
	}
}

// held notes what a driver holds.
func held(r *world.Run, e *sim.Effect, up bool) {
	p := PlaceOf(r, e)
	if up && !p.IsHeld {
		p.Tie, p.IsHurt = dealings.AttachedAs(r, p.Thing), p.IsPublish && dealings.IsHurt(r, p.Thing)
	}
	p.IsHeld, p.IsHurt, p.IsStruck = up, p.IsHurt && up, p.IsStruck && up
	if p.IsUndone = p.IsUndone && !up; !up {
		p.Leftover = 0
	}
	if stack := r.W.MountsAt(p.Path); p.IsHurt {
		// After half of an unstage it is staged again; and a driver that stages no more publishes another mount.
		p.IsHurt = len(stack) > 0 && hal.IsFailed(stack[len(stack)-1].Fingerprint())
	}
	p.MayBeUsed = p.MayBeUsed && (up || p.IsPublish)
	Refine(r, p.Key)
	if up {
		dealings.Intrudes(r, p, e.Kind.String())
		dealings.ArrivesTwice(r, p, e.Kind.String())
	}
	if e.Kind != sim.EffectUnstaged {
		return
	}
	for _, q := range r.List {
		if q.IsPublish && q.IsHeld && !q.IsTouched && !p.IsTouched && q.Driver == p.Driver && q.Volume == p.Volume {
			r.Fail("S5", "unstaged", string(p.Key), "volume "+p.Volume+" goes down while it is published at "+q.Path)
			return
		}
	}
}

// mounted is S18.
func mounted(r *world.Run, e *sim.Effect) {
	if e.Actor == "agent" {
		r.Actual.Effects++
		r.Actual.Mounting++
	}
	if e.Actor == "" {
		mountedOver(r, e.Mount)
		touch(r, e.Path)
		return
	}
	delete(r.Root.Outdated, e.Path)
	if MixesUp(r, e); !world.IsOurs(e.Path) {
		return
	}
	if e.Actor == "agent" {
		keepsData(r, e)
	}
	r.Judges("S18")
	if stack := r.W.MountsAt(e.Path); len(stack) > 1 {
		if !isExcused(r, e, stack[len(stack)-2]) && !isUnseen(r, e, stack[:len(stack)-1]) {
			r.Fail("S18", "mount", e.Path,
				"a second mount is made at "+e.Path+", on top of "+stack[len(stack)-2].Fingerprint())
		}
	}
}

func unmounted(r *world.Run, e *sim.Effect) {
	switch {
	case e.Actor == "":
		touch(r, e.Path)
		isInMemory := e.Mount.FSType == "tmpfs" || e.Mount.FSType == "hugetlbfs"
		if owner := r.PodOf(e.Path); owner != nil && isInMemory && !dealings.IsForeign(r, e.Mount) &&
			IsPodPlace(r, e.Path) {
			Loses(r, owner, e.Path)
		}
	case e.Actor == "agent":
		r.Actual.Effects++
		r.Actual.Mounting++
		takes(r, e)
		undoes(r, e)
	case wasSetUp(r.ByPath[e.Path], e.Call):
		// Its driver takes a dead mount off before it mounts again, and dies in between: no agent hears of it at that
		// instant.
		touch(r, e.Path)
	}
	for p := r.ByPath[e.Path]; p != nil; p = p.Earlier {
		Refine(r, p.Key)
	}
}

// wasSetUp: the call is one that brings the place up.
func wasSetUp(p *world.Place, call uint64) bool {
	return p != nil && slices.ContainsFunc(p.Calls, func(c world.OpenCall) bool {
		return c.Id == call && (c.Method == world.Stage || c.Method == world.Publish)
	})
}

// takes is S7 and S22 for what the agent does by itself.
func takes(r *world.Run, e *sim.Effect) {
	if !world.IsOurs(e.Path) || e.Run != r.W.Life() {
		return
	}
	if !r.Synced {
		r.Fail("S22", e.Kind.String(), e.Path, e.Path+" is taken down before the source is synced")
	}
	owner := r.PodOf(e.Path)
	if owner == nil || !owner.IsRunning {
		return
	}
	for _, u := range owner.Uses {
		if (e.Path == u.Path || world.Below(e.Path, u.Path)) && !r.Root.Outdated[u.Path] {
			r.Fail("S7", e.Kind.String(), e.Path,
				"volume "+u.Name+" is taken from pod "+owner.Name+", whose containers run")
		}
	}
}

// removed is S1: a name goes that is not the agent's to remove.
func removed(r *world.Run, e *sim.Effect) {
	if e.Actor == "agent" && !world.Below(e.Path, lang.RootDir) {
		r.Fail("S1", e.Kind.String(), e.Path, e.Path+" of the host is removed")
	}
	if e.Actor != "agent" || !world.IsOurs(e.Path) {
		return
	}
	r.Judges("S1")
	for _, p := range r.List {
		if world.Below(e.Path, p.Path) {
			r.Fail("S1", e.Kind.String(), e.Path, "data of volume "+p.Volume+" is deleted through "+p.Path)
			return
		}
	}
	isVolume := world.Below(e.Path, plugin.ImagesDir(lang.RootDir)) // its room judges that
	if m, _ := world.DirectoryAt(e.Path); e.Kind == sim.EffectRemovedTree && m == nil && !isVolume {
		r.Fail("S1", e.Kind.String(), e.Path,
			"the agent deletes everything below "+e.Path+", which is no volume that it may delete")
	}
	if strings.Contains(e.Path, "kubernetes.io~empty-dir/") {
		takesDirectory(r, e)
	}
	keepsData(r, e)
}

// takesDirectory is S1 for the data of a pod whose containers run.
func takesDirectory(r *world.Run, e *sim.Effect) {
	owner := r.PodOf(e.Path)
	if owner == nil || !owner.IsRunning {
		return
	}
	for _, u := range owner.Uses {
		if u.Driver == "" && !u.Exempt && (e.Path == u.Path || world.Below(e.Path, u.Path)) {
			r.Fail("S1", e.Kind.String(), e.Path,
				"the volume "+u.Name+" of pod "+owner.Name+", whose containers run, is deleted")
		}
	}
}
