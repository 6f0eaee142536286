package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// overdue is how long an operation may last, beyond its deadline if it has one, before it counts as Stuck.
const overdue = 30 * time.Second

// rank orders the conditions, best first: a whole has the worst of its parts.
var rank = map[Condition]int{Gone: 0, Ready: 1, Degraded: 2, Working: 3, Waiting: 4, Uncertain: 5, Blocked: 6, Stuck: 7}

func worse(a, b Condition) Condition {
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// questions is what is answered of rungs, volumes and pods. It changes nothing. Owner only.
type questions struct {
	*port
	objects     *objects                             // who wants what
	reached     func(v core.View, why string) string // adds to why what is known of a driver
	isUnwritten func(hal.Key) bool                   // the record of a rung that is up is on its way
	below       func(hal.Key) string                 // what others have mounted below a volume, "" for nothing
	usage       func(top hal.Key) *Usage             // how full a volume is, nil if it is not known
	health      func(top hal.Key) *Health            // what is wrong with a volume, nil if it is not known
	events      func(core.PodUID) []PodEventStatus   // what has happened to the volumes of a pod
	starting    func() string                        // why the start failed last
}

// lookUp returns the status of one rung.
func (q *questions) lookUp(key hal.Key) (RungStatus, bool) {
	v, ok := q.core.Rung(key)
	if !ok {
		return RungStatus{}, false
	}
	return q.rungStatus(v), true
}

func (q *questions) rungStatus(v core.View) RungStatus {
	now := q.h.Runtime.Now()
	r := RungStatus{
		Key: v.Key, Kind: v.Kind, Pod: v.Pod, Volume: v.Volume, Actual: v.State.String(), Desired: v.Desired,
		Fingerprint: v.Fingerprint,
		Attempts:    v.Attempts, Why: v.Reason, Next: v.Why, Below: v.Below,
	}
	switch left := v.Until.Sub(now).Round(100 * time.Millisecond); {
	case v.IsWaiting && v.IsBackoff:
		r.Next = fmt.Sprintf("volnode tries again in %s", left)
	case v.IsWaiting:
		r.Next = fmt.Sprintf("%s for %s", v.Why, left)
		if v.Why == v.Open {
			r.Next += "; volnode waits"
		}
	}
	r.Next = q.naming(v, r.Next)
	if open := max(v.SetUpOpen, v.TearDownOpen); open > now && v.Why != v.Open {
		r.Next += fmt.Sprintf("; %s for %s", v.Open, open.Sub(now).Round(time.Second))
	}
	if v.Step != 0 {
		r.Step = core.Op{ID: v.Step, Verb: v.Verb, Key: v.Key}.String()
		r.Age = now.Sub(v.Since)
	}
	if v.Child != "" {
		r.Why = v.Child
	}
	if at := cmp.Or(plugin.FoundAt(v.Facts), plugin.PathOf(v.Made)); v.Desired == "unwanted" && at != "" &&
		isBusy(r.Why) {
		r.Why += "; processes may still use it: " + usersOf(at)
	}
	r.Why = q.reached(v, r.Why)
	is := condition(v, now)
	r.State, r.Why = q.afflicted(v, is, r.Why)
	if is == Ready && r.State != Ready {
		r.Next = "" // the engine has nothing to do: people have
	}
	if r.State == Ready && q.isUnwritten(v.Key) {
		r.State, r.Next = Working, "up; volnode writes its record"
	}
	return r
}

// naming adds, to a text that names a rung of another pod, the name of that pod: a person may have to delete it.
func (q *questions) naming(v core.View, text string) string {
	on, ok := q.core.Rung(v.On)
	if !ok || on.Pod == "" || on.Pod == v.Pod {
		return text
	}
	namespace, name := q.objects.podName(on.Pod, on.Made)
	if name == "" {
		return text
	}
	return strings.Replace(text, string(v.On), fmt.Sprintf("%s of pod %s/%s", v.On, namespace, name), 1)
}

// isBusy reports whether something did not go because it is in use, as the kernel and drivers say that.
func isBusy(why string) bool {
	why = strings.ToLower(why)
	return strings.Contains(why, "busy") || strings.Contains(why, "in use")
}

// afflicted adds what others have done to the place of a rung.
func (q *questions) afflicted(v core.View, is Condition, why string) (Condition, string) {
	switch {
	case v.Cover.Path != "" && v.Step == 0 && v.Child == "":
		text := v.Cover.Why
		if v.State == core.Present && !v.Cover.IsLost {
			text += "; the data of the volume is untouched below it"
		}
		if v.Desired == "unwanted" {
			return Stuck, text
		}
		return Blocked, text
	case is == Ready && plugin.LostOf(v.Facts) != "":
		return Degraded, plugin.LostOf(v.Facts)
	case is == Ready && q.below(v.Key) != "" && q.cfg.VolumeSources.IsDirectory(v.Kind):
		return Degraded, q.below(v.Key) + ", below the volume, and hides the data there; unmount it"
	}
	return is, why
}

// condition is what a person should think of one rung.
func condition(v core.View, now hal.Instant) Condition {
	switch {
	case v.IsGone && v.Desired == "unwanted":
		return Gone
	case v.Child != "":
		return Stuck
	case v.Step != 0 && now.Sub(max(v.Deadline, v.Since)) > overdue:
		return Stuck
	case v.Step == 0 && v.HasPanicked:
		return Stuck
	case v.Step != 0 && !(v.IsProvided && v.Desired != "unwanted"):
		// a rung that is up stays Ready during an inspection or a refresh, as for waits
		return Working
	case v.IsProvided && v.Short != "":
		return Degraded
	case v.IsProvided && v.Desired != "unwanted":
		return Ready
	case v.State == core.Present && v.IsRebuild:
		return Degraded
	case v.IsBlocked && v.Desired == "unwanted":
		return Stuck
	case v.IsBlocked:
		return Blocked
	case v.State == core.Present && v.Desired != "unwanted":
		return Degraded // it was edited, and can't be what is wanted by now
	case v.SetUpOpen != 0 || v.TearDownOpen != 0:
		return Uncertain
	case v.IsHeldBack:
		return Degraded // its containers may still have what it was
	}
	return Waiting
}

func (q *questions) podStatus(p core.PodView, look func(hal.Key) (RungStatus, bool)) PodStatus {
	s := PodStatus{UID: p.UID, Wanted: p.Wanted, State: Gone, Volumes: []VolumeStatus{}}
	if entry := q.objects.pods[p.UID]; entry != nil {
		s.Namespace, s.Name = entry.pod.Namespace, entry.pod.Name
	}
	for _, key := range p.Rungs {
		if s.Name == "" {
			v, _ := q.core.Rung(key)
			s.Namespace, s.Name = q.objects.podName(p.UID, v.Made)
		}
	}
	for _, n := range q.objects.volumeNames(p.UID, p.Rungs) {
		v := q.volumeStatus(n, look)
		s.State = worse(s.State, v.State)
		s.Volumes = append(s.Volumes, v)
	}
	s.Events, s.Groups = q.events(p.UID), q.groupsOf(p.UID)
	if p.Wanted && len(s.Volumes) == 0 {
		s.State = Ready
	}
	return s
}

func (q *questions) volumeStatus(n named, look func(hal.Key) (RungStatus, bool)) VolumeStatus {
	s := VolumeStatus{
		Name: n.volume, PV: n.pv, Claim: q.objects.claimOf(n.pv), State: Waiting, Usage: q.usage(n.top),
		Health: q.health(n.top),
	}
	if n.problem != nil {
		s.State, s.Why = Blocked, n.problem.Error()
		return s
	}
	top, ok := look(n.top)
	if !ok {
		s.State = Gone
		return s
	}
	if v, ok := q.core.Rung(n.top); ok {
		s.Path = plugin.FoundAt(v.Facts)
	}
	s.State, s.Why = top.State, whyOf(top)
	// A top rung that only waits says less than what it waits for.
	for queue := []hal.Key{n.top}; len(queue) > 0; queue = queue[1:] {
		r, ok := look(queue[0])
		if !ok {
			continue
		}
		s.Keys = append(s.Keys, r.Key)
		queue = append(queue, r.Below...)
		if r.Key != n.top && top.State == Waiting && top.Why == "" && r.State != Ready {
			s.State, s.Why = r.State, whyOf(r)
		}
	}
	return s
}

// held is what core desires of a rung that nobody wants and that containers may still use.
const held = "held"

// whyOf is one line about a rung that is not as it should be, or that is up though nobody wants it.
func whyOf(r RungStatus) string {
	switch {
	case r.State == Ready && r.Desired == held:
		return r.Next
	case r.State == Ready:
		return ""
	case r.Step != "":
		return fmt.Sprintf("%s for %s", r.Step, r.Age.Round(time.Second))
	case r.Why == "" || r.Next == "":
		return r.Why + r.Next
	}
	return r.Why + "; " + r.Next
}

// usersOf says how a person finds out which processes use a place. What walks the volume, such as lsof +D, would hang
// with it.
func usersOf(at string) string {
	if strings.Contains(at, "/volumeDevices/") { // a device is no filesystem
		return fmt.Sprintf("'fuser -v %s' shows them; end them", at)
	}
	return fmt.Sprintf("'fuser -vm %s' shows those on its filesystem; end what uses the volume", at)
}

// volumesOf asks count about each rung at the top of a volume of a pod, those that the pod wants first.
func (q *questions) volumesOf(uid core.PodUID, count func(string, core.View) bool) map[string]MountedVolume {
	volumes := map[string]MountedVolume{}
	if q.core == nil {
		return volumes
	}
	for _, name := range q.objects.volumeNames(uid, q.core.Pod(uid).Rungs) {
		v, ok := q.core.Rung(name.top)
		if ok && count(name.volume, v) {
			volumes[name.volume] = MountedVolume{
				Path: plugin.FoundAt(v.Facts), ReadOnly: plugin.IsReadOnly(v.Made),
				Block: plugin.IsBlock(v.Made), pv: name.pv,
			}
		}
	}
	return volumes
}

// mountedOf is the volumes of a pod that are up, and recorded as such.
func (q *questions) mountedOf(uid core.PodUID) map[string]MountedVolume {
	taken := map[string]bool{}
	return q.volumesOf(uid, func(volume string, v core.View) bool {
		isLeft := taken[volume]
		taken[volume] = true
		return !isLeft && v.State == core.Present && !q.isUnwritten(v.Key)
	})
}

// groupsOf is the groups that a pod's containers need for what is mounted, but for those that the pod names.
func (q *questions) groupsOf(uid core.PodUID) (all []int64) {
	var own []int64
	if entry := q.objects.pods[uid]; entry != nil && entry.pod.Spec.SecurityContext != nil {
		own = entry.pod.Spec.SecurityContext.SupplementalGroups
	}
	mounted := q.mountedOf(uid)
	for _, name := range slices.Sorted(maps.Keys(mounted)) {
		pv := q.objects.volumes[mounted[name].pv]
		if pv == nil {
			continue
		}
		if is := plugin.GroupOf(pv); is != nil && !slices.Contains(own, *is) {
			all = append(all, *is)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lacking says what a wait for a pod waits for.
func (q *questions) lacking(uid core.PodUID, on core.Condition) NotReadyError {
	if q.core == nil {
		why := "volnode has not read the node yet, and tries on"
		if q.starting() != "" {
			why += ": " + q.starting()
		}
		return NotReadyError{Why: why}
	}
	pod := q.podStatus(q.core.Pod(uid), q.lookUp)
	isAsked := func(v VolumeStatus) bool { return v.State == Gone || v.State == Ready && on == core.PodReady }
	e := NotReadyError{Volumes: slices.DeleteFunc(pod.Volumes, isAsked)}
	switch {
	case len(e.Volumes) > 0:
	case on == core.PodReady && q.objects.pods[uid] == nil:
		e.Why = "no manifest names it; volnode serves it once one does"
	default:
		e.Why = "all its volumes have reached the state since"
	}
	return e
}

// unread says what of the node the agent has not read, "" for nothing. Any volume of an earlier life may be there.
func (q *questions) unread() string {
	if q.core == nil {
		return "volnode has not read the node"
	}
	if hidden := q.core.Hidden(); len(hidden) > 0 {
		return "volnode cannot read " + hidden[0]
	}
	return ""
}
