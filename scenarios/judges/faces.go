package judges

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S35 and L15: all that the engine answers agrees, one answer with another and with what the engine
// believes (S35); in calm also with what is there (L15).

// interview is what the engine has answered, all of it between two equal statuses.
type interview struct {
	status   engine.Status
	isSynced bool
	plan     []core.Op
	pods     []PodAnswers
	attached map[string]bool // by driver^handle
	nothing  error           // of the wait for nothing
	isCalm   bool            // who waits is told at once: no record is being written
	together error           // of the wait for the end of all pods
}

// PodAnswers is what the engine has answered of one pod.
type PodAnswers struct {
	Uid               core.PodUID
	Mounted, Possibly map[string]engine.MountedVolume
	Groups            []int64
	ready, Gone       error    // of waits
	Named             []string // the volumes that its manifest names
	own               []int64  // the supplemental groups that it names
}

// moment is how long a wait of an interview lasts.
const moment = time.Millisecond

// stranger is a pod that nobody has heard of.
const stranger core.PodUID = "stranger"

// interviews asks the engine all there is to ask, from a task of its agent. It reports false if something has changed
// meanwhile, or an answer is missing.
func interviews(r *world.Run, m *engine.VolumeManager) (i interview, ok bool) {
	ctx := r.W.Context(0)
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	before, err := m.Status(ctx)
	note(err)
	all := []PodAnswers{{Uid: stranger}}
	for _, p := range r.Pods {
		all = append(all, PodAnswers{Uid: p.Uid, Named: names(p), own: ownGroups(p)})
	}
	uids := make([]core.PodUID, len(all))
	// A status can change and change back between two looks, and a wait may tell of that: then core has decided
	// something.
	isSteady, decided := true, r.Decisions
	wait := func(err error) error {
		s, failed := m.Status(ctx)
		note(failed)
		isSteady = isSteady && r.Decisions == decided && isAsBefore(&before, &s)
		return err
	}
	for n := range all {
		a := &all[n]
		uids[n] = a.Uid
		a.ready = wait(m.WaitForAttachAndMount(r.W.Context(moment), a.Uid))
		a.Gone = wait(m.WaitForUnmount(r.W.Context(moment), a.Uid))
	}
	i.pods = all
	i.together = wait(m.WaitForAllPodsUnmount(r.W.Context(moment), uids))
	i.nothing = wait(m.WaitForNothing(r.W.Context(moment)))
	i.isSynced, err = m.ReconcilerStatesHasBeenSynced(ctx) // answered once the waits are forgotten
	note(err)
	if r.Core == nil {
		return i, false
	}
	step := r.Core.Seq() // what no clock ends is asked within one step
	for k := range i.pods {
		a := &i.pods[k]
		a.Mounted, err = m.GetMountedVolumesForPod(ctx, a.Uid)
		note(err)
		a.Groups, err = m.GetExtraSupplementalGroupsForPod(ctx, a.Uid)
		note(err)
		a.Possibly, err = m.GetPossiblyMountedVolumesForPod(ctx, a.Uid)
		_ = wait(err) // a record that is being written is no step
		note(err)
	}
	i.attached = map[string]bool{}
	for _, k := range before.Rungs {
		if k.Volume != "" {
			i.attached[k.Volume], err = m.VolumeIsAttached(ctx, k.Volume)
			note(err)
		}
	}
	i.plan, err = m.Plan(ctx)
	note(err)
	i.status, err = m.Status(ctx)
	note(err)
	if r.Core == nil || r.Core.Seq() != step {
		return i, false // what is believed by now is newer than the status
	}
	return i, first == nil && isSteady && isAsBefore(&before, &i.status)
}

// isAsBefore reports whether two statuses are equal in what no clock changes.
func isAsBefore(a, b *engine.Status) bool {
	return a.Node == b.Node && a.Synced == b.Synced && slices.Equal(a.Sources, b.Sources) &&
		slices.EqualFunc(a.Rungs, b.Rungs, func(x, y engine.RungStatus) bool {
			return x.Key == y.Key && x.State == y.State && x.Actual == y.Actual && x.Desired == y.Desired &&
				x.Fingerprint == y.Fingerprint &&
				x.Step == y.Step
		}) &&
		slices.EqualFunc(a.Pods, b.Pods, func(x, y engine.PodStatus) bool {
			return x.UID == y.UID && x.State == y.State && x.Wanted == y.Wanted &&
				slices.EqualFunc(x.Volumes, y.Volumes, isSameVolume)
		}) &&
		slices.EqualFunc(a.Drivers, b.Drivers, func(x, y engine.DriverStatus) bool {
			return x.Name == y.Name && x.Socket == y.Socket && x.Registered == y.Registered &&
				x.Connected == y.Connected && x.Waiting == y.Waiting
		})
}

func isSameVolume(x, y engine.VolumeStatus) bool {
	return x.Name == y.Name && x.State == y.State && x.Path == y.Path && slices.Equal(x.Keys, y.Keys)
}

// AsksAround has somebody ask the engine everything, while the world goes on.
func AsksAround(r *world.Run) {
	m, life := r.M, r.W.Life()
	if m == nil || !r.Alive() {
		return // before it has read its node it can answer nothing
	}
	r.W.Go(func() {
		i, ok := interviews(r, m)
		if ok && r.W.Life() == life && r.Alive() {
			agrees(r, &i)
		}
	})
}

// agrees is S35.
func agrees(r *world.Run, i *interview) bool {
	r.Judges("S35")
	why := cmp.Or(i.contradicts(), disbelieves(r, i), misgroups(r, i))
	if why != "" {
		r.Fail("S35", "answers", "agent", "the engine's answers disagree: "+why)
	}
	return why == "" && Eventless(r, &i.status, false)
}

// contradicts says which two answers disagree, "" if none do.
func (i *interview) contradicts() string {
	s := &i.status
	rungs, known := map[hal.Key]*engine.RungStatus{}, map[core.PodUID]*engine.PodStatus{}
	for k := range s.Rungs {
		rungs[s.Rungs[k].Key] = &s.Rungs[k]
	}
	for p := range s.Pods {
		known[s.Pods[p].UID] = &s.Pods[p]
	}
	if i.isSynced != s.Synced {
		return fmt.Sprintf("ReconcilerStatesHasBeenSynced is %v, and the status says %v", i.isSynced, s.Synced)
	}
	isAnyLeft := slices.ContainsFunc(s.Rungs, func(k engine.RungStatus) bool { return k.State != engine.Gone })
	isAnyWanted := slices.ContainsFunc(s.Pods, func(p engine.PodStatus) bool { return p.Wanted })
	if isEmpty := !isAnyLeft && !isAnyWanted; i.nothing == nil && !isEmpty || i.isCalm && isEmpty && i.nothing != nil {
		return fmt.Sprintf("the wait for nothing ends with %v, and the status has %d rungs and %d pods", i.nothing,
			len(s.Rungs), len(s.Pods))
	}
	for _, k := range s.Rungs {
		if is := i.attached[k.Volume]; k.Volume != "" && !is && k.Actual != "Absent" {
			return fmt.Sprintf("volume %s is not attached, and %s is %s", k.Volume, k.Key, k.Actual)
		}
		if k.State == engine.Waiting && k.Attempts > 0 && k.Why == "" &&
			strings.HasPrefix(k.Next, "volnode tries again") {
			return fmt.Sprintf("%s is tried again after %d attempts, and the status does not say why", k.Key,
				k.Attempts)
		}
	}
	isGone := true
	for k := range i.pods {
		a := &i.pods[k]
		isGone = isGone && a.Gone == nil
		if why := a.Contradicts(known[a.Uid], rungs, i.isCalm); why != "" {
			return fmt.Sprintf("of pod %s, %s", a.Uid, why)
		}
	}
	if i.isCalm && (i.together == nil) != isGone {
		return fmt.Sprintf("the wait for the end of all pods ends with %v, and those for each of them not so",
			i.together)
	}
	for _, op := range i.plan {
		if k := rungs[op.Key]; k == nil || op.Verb == core.SetUp && k.Desired != "wanted" && k.Step == "" {
			return fmt.Sprintf("%s is planned, and the status does not want it", op)
		}
	}
	return ""
}

// names is the volumes that the manifest of p names.
func names(p *world.Pod) (names []string) {
	for i := 0; p.Told != nil && i < len(p.Told.Spec.Volumes); i++ {
		names = append(names, p.Told.Spec.Volumes[i].Name)
	}
	return names
}

// ownGroups is the supplemental groups that the manifest of p names.
func ownGroups(p *world.Pod) []int64 {
	if p.Told == nil || p.Told.Spec.SecurityContext == nil {
		return nil
	}
	return p.Told.Spec.SecurityContext.SupplementalGroups
}

// Contradicts compares the answers of one pod with its status, which is nil for one that is not in it.
func (a *PodAnswers) Contradicts(p *engine.PodStatus, rungs map[hal.Key]*engine.RungStatus, isCalm bool) string {
	if p == nil {
		p = &engine.PodStatus{UID: a.Uid, State: engine.Gone}
	}
	isUp, isDown, worst, former := p.Wanted, true, engine.Gone, 0
	for _, v := range p.Volumes {
		m, isMounted := a.Mounted[v.Name]
		_, isPossible := a.Possibly[v.Name]
		actual := "Absent"
		if len(v.Keys) > 0 && rungs[v.Keys[0]] != nil {
			actual = rungs[v.Keys[0]].Actual
			desired := rungs[v.Keys[0]].Desired
			if p.Wanted && !isMounted && (desired == "unwanted" || desired == "held" &&
				!slices.Contains(a.Named, v.Name)) {
				// the pod does not have it any more, and it may be there or come up: who waits does not wait for that
				former++
			}
		}
		// it can't be resolved: what it had, its status does not say
		isBroken := v.State == engine.Blocked && len(v.Keys) == 0
		isUp, isDown = isUp && v.State == engine.Ready, isDown && (v.State == engine.Gone || isBroken && !isPossible)
		if severity[v.State] > severity[worst] {
			worst = v.State
		}
		isTwice := len(slices.DeleteFunc(slices.Clone(p.Volumes),
			func(o engine.VolumeStatus) bool { return o.Name != v.Name })) > 1
		switch {
		case isTwice: // another volume had its name
		case v.State == engine.Ready && !isMounted, isMounted && !isPossible, isMounted &&
			actual != "Present" && !isBroken,
			!isPossible && actual != "Absent", isPossible && v.State == engine.Gone:
			return fmt.Sprintf("volume %s is %s and %s, mounted %v, possibly mounted %v", v.Name, v.State, actual,
				isMounted, isPossible)
		case isMounted && v.Path != "" && m.Path != v.Path:
			return fmt.Sprintf("volume %s is at %s, and mounted at %s", v.Name, v.Path, m.Path)
		}
	}
	if p.Wanted && len(p.Volumes) == 0 {
		worst = engine.Ready
	}
	switch {
	case worst != p.State:
		return fmt.Sprintf("its state is %s, and the worst of its volumes is %s", p.State, worst)
	case isCalm && isUp && a.ready != nil:
		return fmt.Sprintf("all volumes are Ready, and who waits for that is told: %v", a.ready)
	case a.ready == nil && len(a.Mounted)+former != len(p.Volumes):
		return fmt.Sprintf("who waits is told that it is ready, and %d of %d volumes are mounted", len(a.Mounted),
			len(p.Volumes))
	case a.Gone == nil && (len(a.Possibly) > 0 || !isDown && !p.Wanted):
		return fmt.Sprintf("who waits is told that it is gone, and its status is %s, with %d volumes possibly mounted",
			p.State, len(a.Possibly))
	case isCalm && isDown && len(a.Possibly) == 0 && !p.Wanted && a.Gone != nil:
		return fmt.Sprintf("nothing of it is left, and who waits for that is told: %v", a.Gone)
	}
	return a.misleads(p)
}

// severity orders the states, best first.
var severity = map[engine.Condition]int{
	engine.Gone: 0, engine.Ready: 1, engine.Degraded: 2, engine.Working: 3, engine.Waiting: 4, engine.Uncertain: 5,
	engine.Blocked: 6, engine.Stuck: 7,
}

// misleads looks whether the errors of waits name what the status does.
func (a *PodAnswers) misleads(p *engine.PodStatus) string {
	for _, err := range []error{a.ready, a.Gone} {
		e, ok := errors.AsType[*engine.NotReadyError](err)
		if !ok {
			continue
		}
		for _, told := range e.Volumes {
			at := slices.IndexFunc(p.Volumes, func(v engine.VolumeStatus) bool {
				return v.Name == told.Name && v.State == told.State
			})
			if at < 0 {
				return fmt.Sprintf("a wait says that volume %s is %s, and the status does not", told.Name, told.State)
			}
		}
		isLeft := func(v engine.VolumeStatus) bool {
			return v.State != engine.Gone && (errors.Is(err, a.Gone) || v.State != engine.Ready)
		}
		if len(e.Volumes) == 0 && slices.ContainsFunc(p.Volumes, isLeft) {
			return fmt.Sprintf("a wait names no volume, and the status does: %v", err)
		}
	}
	return ""
}

// misgroups compares the groups that containers are to have with the objects that the agent has heard of.
func misgroups(r *world.Run, i *interview) string {
	for k := range i.pods {
		a := &i.pods[k]
		var want []int64
		at := slices.IndexFunc(i.status.Pods, func(p engine.PodStatus) bool { return p.UID == a.Uid })
		for v := 0; at >= 0 && v < len(i.status.Pods[at].Volumes); v++ {
			volume := &i.status.Pods[at].Volumes[v]
			_, isUp := a.Mounted[volume.Name]
			if group := r.Heard.GroupOf(volume.PV); isUp && group != 0 && !slices.Contains(a.own, group) {
				want = append(want, group)
			}
		}
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(want, a.Groups) || at >= 0 &&
			!slices.Equal(want, i.status.Pods[at].Groups) {
			return fmt.Sprintf("pod %s needs the groups %v for its volumes, and is given %v", a.Uid, want, a.Groups)
		}
	}
	return ""
}

// disbelieves compares the answers with what core believes.
func disbelieves(r *world.Run, i *interview) (why string) {
	told := map[hal.Key]*engine.RungStatus{}
	for k := range i.status.Rungs {
		told[i.status.Rungs[k].Key] = &i.status.Rungs[k]
	}
	inUse := map[string]bool{}
	left := map[core.PodUID]int{}
	r.Core.Beliefs(func(b core.Belief) {
		k := told[b.Key]
		switch {
		case k == nil && !b.IsGone:
			why = string(b.Key) + " is believed to be " + b.State.String() + ", and the status does not have it"
		case k != nil && (k.Actual != b.State.String() || k.Volume != b.Volume || k.Pod != b.Pod ||
			(k.Desired == "wanted") != b.IsWanted):
			why = fmt.Sprintf("%s is believed to be %s, wanted %v, and the status says %s, %s", b.Key, b.State,
				b.IsWanted, k.Actual, k.Desired)
		}
		if !b.IsGone {
			inUse[b.Volume] = true
			left[b.Pod]++
		}
	})
	for _, volume := range sortedKeys(i.attached) {
		isUsed := inUse[volume] || len(r.Core.Hidden()) > 0 // what nobody could look at may be of any volume
		if why == "" && i.attached[volume] != isUsed {
			why = fmt.Sprintf("volume %s is attached: %v, and what is believed of it says %v", volume, !isUsed, isUsed)
		}
	}
	for _, a := range i.pods {
		if why == "" && (len(a.Possibly) > left[a.Uid] || len(a.Possibly) == 0 && left[a.Uid] > 0) {
			why = fmt.Sprintf("%d volumes of pod %s are possibly mounted, and %d are believed to be left",
				len(a.Possibly), a.Uid, left[a.Uid])
		}
	}
	return why
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }

// FacesTruth is L15, in calm: what the engine answers is what is there. With nobody, all pods are deleted.
func FacesTruth(r *world.Run) bool {
	if !r.Alive() || r.Broken != "" {
		return true
	}
	var i interview
	var ok bool
	m := r.M
	r.W.Do(func() { i, ok = interviews(r, m) })
	if !ok || !r.Alive() {
		return true
	}
	i.isCalm = true
	if !agrees(r, &i) {
		return false
	}
	r.Judges("L15")
	if why := lies(r, &i); why != "" {
		r.Fail("L15", "answers", "agent", "in calm the engine's answers are not what is there: "+why)
		return false
	}
	return true
}

// lies says what of the answers is not so.
func lies(r *world.Run, i *interview) string {
	s := &i.status
	switch {
	case s.Node != lang.NodeName:
		return fmt.Sprintf("the node is called %q", s.Node)
	case !i.isSynced:
		return "not every source is synced"
	case s.Journal.Why != "":
		return "the journal is in trouble: " + s.Journal.Why
	}
	for _, d := range r.W.Drivers() {
		isKnown := func(k engine.DriverStatus) bool { return k.Name == d.Name && k.Registered && k.Connected }
		if d.Up && !slices.ContainsFunc(s.Drivers, isKnown) {
			return "driver " + d.Name + " is up, and the status does not have it registered and connected"
		}
	}
	for _, k := range s.Drivers {
		if k.Registered && !r.Registrars.Registered[k.Name] {
			return "driver " + k.Name + " is registered, and its registration has ended"
		}
	}
	for _, p := range r.Pods {
		if why := liesOf(r, p, i); why != "" {
			return "of pod " + p.Name + ", " + why
		}
	}
	return ""
}

// isAtWork reports whether something is under way for a pod, or may yet act, or has been answered in a way that ends
// nothing.
func isAtWork(r *world.Run, p *world.Pod) bool {
	is := false
	r.Core.Beliefs(func(b core.Belief) {
		mayAct := b.InFlight || b.HasChild || b.SetUpOpen != 0 || b.TearDownOpen != 0
		is = is || b.Pod == p.Uid && mayAct
	})
	return is
}

// liesOf is lies of one pod.
func liesOf(r *world.Run, p *world.Pod, i *interview) string {
	at := slices.IndexFunc(i.pods, func(a PodAnswers) bool { return a.Uid == p.Uid })
	is := slices.IndexFunc(i.status.Pods, func(s engine.PodStatus) bool { return s.UID == p.Uid })
	a := &i.pods[at]
	switch {
	case isAtWork(r, p):
		return "" // a helper that hangs in the kernel may act for a day
	case !p.IsWanted && !p.IsRunning && p.Told == nil && (is >= 0 || a.Gone != nil || len(a.Possibly) > 0):
		return "it is deleted, and the engine reports it there"
	case !p.IsWanted || !p.IsRunning || !r.IsCurrent(p) || IsHeldBack(r, p) || p.IsLeaving:
		return ""
	case is < 0 || !i.status.Pods[is].Wanted || i.status.Pods[is].Namespace+"/"+i.status.Pods[is].Name != p.Name:
		return "it is wanted, and the status does not say so"
	case a.ready != nil || a.Gone == nil && len(p.Uses) > 0:
		return fmt.Sprintf("it runs, and who waits for it is told: %v; who waits for its end: %v", a.ready, a.Gone)
	}
	for _, u := range p.Uses {
		m, isMounted := a.Mounted[u.Name]
		if !isMounted || m.Path != u.Path || m.ReadOnly != u.ReadOnly || m.Block != u.Raw {
			return fmt.Sprintf("volume %s is at %s, and the engine reports it mounted %v, as %+v", u.Name, u.Path,
				isMounted, m)
		}
		if name := u.Driver + "^" + u.Volume; u.Driver != "" && !i.attached[name] {
			return "volume " + name + " is in use, and the engine reports it not attached"
		}
	}
	return ""
}
