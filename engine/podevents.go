package engine

import (
	"maps"
	"slices"
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

// The reasons of a [PodEvent]. Spelt as the incumbent spells them; a teardown that fails has none there (K:H26).
const (
	ReasonFailedMount           = "FailedMount"     // K:H21; also what keeps a setup from being tried
	ReasonFailedMapVolume       = "FailedMapVolume" // K:H22: the same of a raw block volume
	ReasonFailedUnMount         = "FailedUnMount"
	ReasonFailedUnmapDevice     = "FailedUnmapDevice"
	ReasonSuccessfulMountVolume = "SuccessfulMountVolume" // K:H22: a raw block volume is up
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

// mostVolumeEvents and mostPodEvents bound what is kept of one volume of a pod, and of a pod whose volumes were renamed
// again and again: what happened last. What happens to one volume pushes out nothing of another one.
const mostVolumeEvents, mostPodEvents = 5, 200

// podEvents notes what the users of pods should hear. It changes nothing. Owner only.
type podEvents struct {
	*port
	objects *objects // which volumes pods have
	// known is what each pod has, in the order in which it happened last.
	known map[core.PodUID][]noted
	swept int // pods in known when those that are gone were forgotten last
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

// ended notes that a raw block volume has come up.
func (e *podEvents) ended(o *core.Op, res *core.Result) {
	if res.Outcome == hal.Done && o.Verb == core.SetUp && o.Pod != "" && plugin.IsBlock(o.Params) {
		is := podEvent{Type: TypeNormal, Reason: ReasonSuccessfulMountVolume, Message: "the device is in place"}
		e.note(o.Key, is, true)
	}
}

// troubled notes what core has met.
func (e *podEvents) troubled(t core.Trouble) {
	if e.stopping || op.IsKept(t.Why) {
		return
	}
	reason := pick(t.Params, ReasonFailedUnMount, ReasonFailedUnmapDevice)
	if t.IsUp {
		reason = pick(t.Params, ReasonFailedMount, ReasonFailedMapVolume)
	}
	e.note(t.Key, podEvent{Type: TypeWarning, Reason: reason, Message: t.Why}, !t.IsStill)
}

// pick is the reason for a volume with a filesystem, or the one for a raw block volume.
func pick(params []core.Param, filesystem, block string) string {
	if plugin.IsBlock(params) {
		return block
	}
	return filesystem
}

// shares notes for a pod why a rung has not come up that other pods have wanted before it.
func (e *podEvents) shares(uid core.PodUID, r *core.Rung) {
	is := podEvent{Type: TypeWarning, Message: e.core.Lacking(r.Key)}
	is.Reason = pick(r.Want, ReasonFailedMount, ReasonFailedMapVolume)
	e.noteOf(uid, r.Key, is, false)
}

// note notes the same of each volume that has a rung in its ladder.
func (e *podEvents) note(key hal.Key, is podEvent, isNew bool) {
	v, ok := e.core.Rung(key)
	switch {
	case !ok:
	case v.Pod != "":
		e.noteOf(v.Pod, key, is, isNew)
	default:
		for _, s := range e.objects.sharing[key] {
			e.noteOf(s.pod, key, is, isNew)
		}
	}
}

// noteOf does that for the volumes of one pod.
func (e *podEvents) noteOf(uid core.PodUID, key hal.Key, is podEvent, isNew bool) {
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
			e.happens(uid, name, is, isNew)
		}
	}
}

// standsOn reports whether a rung depends on the rung key.
func (e *podEvents) standsOn(of, key hal.Key) bool {
	v, _ := e.core.Rung(of)
	return slices.ContainsFunc(v.Below, func(b hal.Key) bool { return b == key || e.standsOn(b, key) })
}

// blocked notes that a volume of a pod can't be served.
func (e *podEvents) blocked(uid core.PodUID, volume string, p *plugin.Problem) {
	is := podEvent{Type: TypeWarning, Reason: ReasonFailedMount, Volume: volume, Message: p.Error()}
	e.happens(uid, e.objects.named[uid], is, true)
}

// happens notes one event, and tells it. What is not new is the last event of its volume again, and not told, if it
// reads as that one does.
func (e *podEvents) happens(uid core.PodUID, name podName, is podEvent, isNew bool) {
	all, now := e.known[uid], e.h.Runtime.Now()
	of := noted{podEvent: is, first: now}
	at := -1
	var its []int // where the events of its volume are
	for i, n := range all {
		if n.podEvent == is {
			at = i
		}
		if n.Volume == is.Volume {
			its = append(its, i)
		}
	}
	switch {
	case at >= 0 && !isNew && at == its[len(its)-1]:
		return
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
	of.last = now
	of.count++
	e.known[uid] = append(all, of)
	if told := (PodEvent{uid, name.namespace, name.name, of.status(now)}); e.isHeard(told.level()) {
		e.emit(told)
	}
}

// leastSwept is how many pods come before the first sweep.
const leastSwept = 64

// sweep forgets the pods of which nothing is left, once as many have come as there were.
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
