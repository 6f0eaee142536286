package engine

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// The types of a [PodEvent], as in core/v1.
const (
	TypeNormal  = "Normal"
	TypeWarning = "Warning"
)

// newsAfter is how long after the last time an event that comes again is news.
const newsAfter = 10 * time.Minute

// The reasons of a [PodEvent]. Spelt as the incumbent spells them; there, a teardown that fails has none (K:H26), and
// nor has data that is lost.
const (
	ReasonFailedMount           = "FailedMount"     // K:H21; also what keeps a setup from being tried, of any volume
	ReasonFailedMapVolume       = "FailedMapVolume" // K:H22: a setup of a raw block volume
	ReasonFailedUnMount         = "FailedUnMount"
	ReasonFailedUnmapDevice     = "FailedUnmapDevice"
	ReasonSuccessfulMountVolume = "SuccessfulMountVolume" // K:H22: a raw block volume is up

	ReasonVolumeLost              = "VolumeLost"              // its data is gone
	ReasonVolumeConditionAbnormal = "VolumeConditionAbnormal" // K:G71: its driver says that something is wrong with it
)

// PodEventStatus is a [PodEvent] as the status shows it: what happened more than once is there once.
type PodEventStatus struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Volume  string `json:"volume"` // its name in the pod
	Message string `json:"message"`
	Count   int    `json:"count"`
	// First and Last are how long ago it happened first and last.
	First time.Duration `json:"firstNanoseconds"`
	Last  time.Duration `json:"lastNanoseconds"`
}

// mostVolumeEvents and mostPodEvents bound what is kept of one volume of a pod with one reason, and of a pod whose
// volumes were renamed again and again: what happened last. What happens to one volume pushes out nothing of another
// one, and what a driver says of its health no failure.
const mostVolumeEvents, mostPodEvents = 5, 200

// podEvents notes what the users of pods should hear. It changes nothing. Owner only.
type podEvents struct {
	*port
	objects *objects // which volumes pods have
	// known is what each pod has, in the order in which it happened last.
	known     map[core.PodUID][]noted
	naming    func(core.View, string) string // adds to a text that names a rung the name of its pod
	running   func() int                     // operations that are under way
	isLooking bool                           // an instant is set to look for those that do not end
	swept     int                            // pods in known when those that are gone were forgotten last
}

// podEvent is what happens to a volume of a pod.
type podEvent struct{ Type, Reason, Volume, Message string }

// noted is what has happened, once or more often.
type noted struct {
	podEvent
	count int         // how often
	first hal.Instant // when it happened first
	last  hal.Instant // and last
}

// ended notes that a raw block volume has come up, and that a volume has lost its data.
func (e *podEvents) ended(o *core.Op, res *core.Result) {
	if res.Outcome == hal.Done && o.Verb == core.SetUp && o.Pod != "" && plugin.IsBlock(o.Params) {
		e.note(o.Key, podEvent{Type: TypeNormal, Reason: ReasonSuccessfulMountVolume, Message: "the device is in place"})
	}
	if lost := plugin.LostOf(res.Facts); lost != "" && lost != plugin.LostOf(o.Facts) {
		e.note(o.Key, podEvent{Type: TypeWarning, Reason: ReasonVolumeLost, Message: lost})
	}
}

// abnormal notes what a driver says is wrong with a volume.
func (e *podEvents) abnormal(top hal.Key, what []hal.HealthEntry) {
	e.note(top, podEvent{Type: TypeWarning, Reason: ReasonVolumeConditionAbnormal, Message: HealthText(what)})
}

// HealthText is what is wrong with a volume, or a driver's storage, as one line: "INACCESSIBLE PathLost: no path is
// left; DEGRADED …".
func HealthText(all []hal.HealthEntry) string {
	var parts []string
	for _, of := range all {
		part := strings.TrimSpace(of.Status + " " + of.Reason)
		if of.Concerns != "" {
			part += " (" + of.Concerns + ")"
		}
		if of.Message != "" {
			part += ": " + of.Message
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// troubled notes what core has met.
func (e *podEvents) troubled(t core.Trouble) {
	if !e.stopping && !op.IsKept(t.Why) {
		e.note(t.Key, e.eventOf(t))
	}
}

// eventOf is a trouble as an event. One of a raw block volume has a reason of its own.
func (e *podEvents) eventOf(t core.Trouble) podEvent {
	v, _ := e.core.Rung(t.Key)
	is := podEvent{Type: TypeWarning, Message: e.naming(v, t.Why)}
	switch isBlock := plugin.IsBlock(t.Params); {
	case t.IsUp && isBlock:
		is.Reason = ReasonFailedMapVolume
	case t.IsUp:
		is.Reason = ReasonFailedMount
	case isBlock:
		is.Reason = ReasonFailedUnmapDevice
	default:
		is.Reason = ReasonFailedUnMount
	}
	return is
}

// shares notes for a pod what keeps a rung from being up that other pods have wanted before it.
func (e *podEvents) shares(uid core.PodUID, t core.Trouble) { e.noteOf(uid, t.Key, e.eventOf(t)) }

// overdueEvery is how often it is looked for operations that do not end, while any is under way.
const overdueEvery = overdue

// began has the operations that do not end looked for.
func (e *podEvents) began() {
	if e.isLooking {
		return
	}
	e.isLooking = true
	e.h.Runtime.At(e.h.Runtime.Now().Add(overdueEvery), e.lookAtOverdue)
}

func (e *podEvents) lookAtOverdue() {
	e.isLooking = false
	if e.stopping || e.running() == 0 {
		return
	}
	since := e.h.Runtime.Now().Add(-overdue)
	e.core.Overdue(since, e.troubled)
	e.began()
}

// note notes the same of each volume that has a rung in its ladder.
func (e *podEvents) note(key hal.Key, is podEvent) {
	v, ok := e.core.Rung(key)
	switch {
	case !ok:
	case v.Pod != "":
		e.noteOf(v.Pod, key, is)
	default:
		for _, s := range e.objects.sharing[key] {
			e.noteOf(s.pod, key, is)
		}
	}
}

// noteOf does that for the volumes of one pod.
func (e *podEvents) noteOf(uid core.PodUID, key hal.Key, is podEvent) {
	rungs := e.core.Pod(uid).Rungs
	var name podName
	for _, own := range rungs {
		if v, _ := e.core.Rung(own); name == (podName{}) {
			name.namespace, name.name = e.objects.podName(uid, v.Made)
		}
	}
	for _, n := range e.objects.volumeNames(uid, rungs) {
		if n.top == key || e.standsOn(n.top, key) {
			is.Volume = n.volume
			e.happens(uid, name, is)
		}
	}
}

// standsOn reports whether a rung depends on the rung key.
func (e *podEvents) standsOn(of, key hal.Key) bool {
	v, _ := e.core.Rung(of)
	return slices.ContainsFunc(v.Below, func(b hal.Key) bool { return b == key || e.standsOn(b, key) })
}

// problemsWait is how long a problem of a volume lasts before it is an event: after a start, drivers register and
// objects come within seconds.
const problemsWait = 10 * time.Second

// blocked notes that a volume of a pod can't be served, if that lasts.
func (e *podEvents) blocked(uid core.PodUID, v named) {
	e.h.Runtime.At(e.h.Runtime.Now().Add(problemsWait), func() {
		entry := e.objects.pods[uid]
		isStill := func(n named) bool { return n.volume == v.volume && n.problem != nil && *n.problem == *v.problem }
		if entry == nil || e.stopping || !slices.ContainsFunc(entry.volumes, isStill) {
			return
		}
		e.happens(uid, e.objects.named[uid], podEvent{
			Type: TypeWarning, Reason: ReasonFailedMount, Volume: v.volume, Message: v.problem.Error(),
		})
	})
}

// comes forgets what happened to an earlier pod of the uid.
func (e *podEvents) comes(uid core.PodUID) {
	delete(e.known, uid)
}

// happens notes one event, and tells it.
func (e *podEvents) happens(uid core.PodUID, name podName, is podEvent) {
	all, now := e.known[uid], e.h.Runtime.Now()
	of := noted{podEvent: is, first: now}
	at := -1
	var its []int // where those of its volume with its reason are
	for i, n := range all {
		if n.podEvent == is {
			at = i
		}
		if n.Volume == is.Volume && n.Reason == is.Reason {
			its = append(its, i)
		}
	}
	switch {
	case at >= 0:
		of = all[at]
	case len(its) == mostVolumeEvents:
		at = its[0]
	case len(all) == mostPodEvents:
		at = 0
	}
	if at >= 0 {
		all = slices.Delete(all, at, at+1)
	}
	if len(all) == 0 {
		e.sweep()
	}
	isNews := of.count == 0 || of.last.Add(newsAfter) < now
	of.last = now
	of.count++
	e.known[uid] = append(all, of)
	if told := (PodEvent{uid, name.namespace, name.name, isNews, of.status(now)}); e.isHeard(told.level()) {
		e.emit(told)
	}
}

// leastSwept is how many pods come before the first sweep.
const leastSwept = 64

// sweep forgets pods of which nothing is left. It looks for them each time that known has doubled.
func (e *podEvents) sweep() {
	if e.core == nil || len(e.known) < 2*e.swept+leastSwept {
		return
	}
	isThere := map[core.PodUID]bool{}
	for _, p := range e.core.Pods() {
		isThere[p.UID] = true
	}
	maps.DeleteFunc(e.known, func(uid core.PodUID, _ []noted) bool { return !isThere[uid] })
	e.swept = len(e.known)
}

// status is what is known of a pod, in the order in which it happened last.
func (e *podEvents) status(uid core.PodUID) []PodEventStatus {
	var all []PodEventStatus
	for _, of := range e.known[uid] {
		all = append(all, of.status(e.h.Runtime.Now()))
	}
	return all
}

func (n noted) status(now hal.Instant) PodEventStatus {
	return PodEventStatus{
		Type: n.Type, Reason: n.Reason, Volume: n.Volume, Message: n.Message, Count: n.count, First: now.Sub(n.first),
		Last: now.Sub(n.last),
	}
}
