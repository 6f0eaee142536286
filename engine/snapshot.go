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

// snapshot composes the status. Owner only.
func (m *VolumeManager) snapshot() Status {
	s := Status{
		Node: m.cfg.NodeName, Synced: m.objects.all, Journal: m.journalStatus(), Drivers: m.drivers.status(),
		Sources: m.sourceStatus(), Defects: m.defects,
		Pods: []PodStatus{}, Rungs: []RungStatus{}, // as JSON none is [], not null
	}
	if s.Starting = m.core == nil; s.Starting {
		return s
	}
	rungs, views := map[hal.Key]RungStatus{}, m.core.View()
	s.Drivers = append(s.Drivers, m.drivers.away(views)...)
	for _, v := range views {
		r := m.rungStatus(v)
		rungs[v.Key] = r
		s.Rungs = append(s.Rungs, r)
	}
	look := func(key hal.Key) (RungStatus, bool) {
		r, ok := rungs[key]
		return r, ok
	}
	for _, p := range m.core.Pods() {
		s.Pods = append(s.Pods, m.podStatus(p, look))
	}
	return s
}

// lookUp returns the status of one rung. Owner only.
func (m *VolumeManager) lookUp(key hal.Key) (RungStatus, bool) {
	v, ok := m.core.Rung(key)
	if !ok {
		return RungStatus{}, false
	}
	return m.rungStatus(v), true
}

func (m *VolumeManager) rungStatus(v core.View) RungStatus {
	now := m.h.Runtime.Now()
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
	r.Next = m.naming(v, r.Next)
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
	r.Why = m.drivers.reached(v, r.Why)
	is := condition(v, now)
	r.State, r.Why = m.afflicted(v, is, r.Why)
	if is == Ready && r.State != Ready {
		r.Next = "" // the engine has nothing to do: people have
	}
	if r.State == Ready && m.commits.isUnwritten(v.Key) {
		r.State, r.Next = Working, "up; volnode writes its record"
	}
	return r
}

// naming adds, to a text that names a rung of another pod, the name of that pod: a person may have to delete it.
func (m *VolumeManager) naming(v core.View, text string) string {
	on, ok := m.core.Rung(v.On)
	if !ok || on.Pod == "" || on.Pod == v.Pod {
		return text
	}
	namespace, name := m.objects.podName(on.Pod, on.Made)
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
func (m *VolumeManager) afflicted(v core.View, is Condition, why string) (Condition, string) {
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
	case is == Ready && m.drift.below[v.Key] != "" && m.cfg.VolumeSources.IsDirectory(v.Kind):
		return Degraded, m.drift.below[v.Key] + ", below the volume, and hides the data there; unmount it"
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

func (m *VolumeManager) podStatus(p core.PodView, look func(hal.Key) (RungStatus, bool)) PodStatus {
	s := PodStatus{UID: p.UID, Wanted: p.Wanted, State: Gone, Volumes: []VolumeStatus{}}
	if entry := m.objects.pods[p.UID]; entry != nil {
		s.Namespace, s.Name = entry.pod.Namespace, entry.pod.Name
	}
	for _, key := range p.Rungs {
		if s.Name == "" {
			v, _ := m.core.Rung(key)
			s.Namespace, s.Name = m.objects.podName(p.UID, v.Made)
		}
	}
	for _, n := range m.objects.volumeNames(p.UID, p.Rungs) {
		v := m.volumeStatus(n, look)
		s.State = worse(s.State, v.State)
		s.Volumes = append(s.Volumes, v)
	}
	if p.Wanted && len(s.Volumes) == 0 {
		s.State = Ready
	}
	return s
}

func (m *VolumeManager) volumeStatus(n named, look func(hal.Key) (RungStatus, bool)) VolumeStatus {
	s := VolumeStatus{Name: n.volume, PV: n.pv, State: Waiting}
	if n.problem != nil {
		s.State, s.Why = Blocked, n.problem.Error()
		return s
	}
	top, ok := look(n.top)
	if !ok {
		s.State = Gone
		return s
	}
	if v, ok := m.core.Rung(n.top); ok {
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

// whyOf is one line about a rung that is not as it should be.
func whyOf(r RungStatus) string {
	switch {
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

func (m *VolumeManager) sourceStatus() []SourceTrouble {
	var out []SourceTrouble
	for _, at := range slices.Sorted(maps.Keys(m.objects.trouble)) {
		t := m.objects.trouble[at]
		out = append(out, SourceTrouble{
			Source: t.Source, Where: t.Where, Why: t.Problem, Held: t.Held,
			Accept: t.Accept,
		})
	}
	for _, s := range m.hidden.left {
		t := SourceTrouble{Source: "node", Where: s.Path, Why: s.Why, Hidden: s.IsHidden}
		if t.Hidden {
			t.Why += "; volnode sets up and tears down nothing there until it can read it, and tries each minute; make it " +
				"readable"
		}
		out = append(out, t)
	}
	return out
}

func (m *VolumeManager) journalStatus() JournalStatus {
	s := JournalStatus{Damage: m.own.damage, Why: m.starting.why}
	if m.commits.journal == nil {
		return s
	}
	stats := m.commits.journal.Stats()
	s.Records, s.Bytes, s.Size, s.Why = stats.Records, stats.Bytes, stats.Size, stats.Why
	return s
}
