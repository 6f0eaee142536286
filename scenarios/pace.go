package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is a part of L7: how often a driver may be asked the same while nothing changes but by the engine's own
// calls. The engine waits 500 ms, doubled up to 4 s for ten minutes, and then up to 2 min 2 s, less up to a tenth
// (engine/core/backoff.go). What is allowed here is a little more.

const (
	firstCalls = 10                                       // while the waits grow, and what the last change has set off
	shortWait  = 3400 * time.Millisecond                  // between two calls at the pace of the first minutes
	shortWaits = 12 * time.Minute                         // for how long that pace holds, from the first call on
	longWait   = maxBackoff - maxBackoff/10 - time.Second // within which there are two calls at most from then on
)

// series is the calls of one method for one rung since something changed.
type series struct {
	began  hal.Instant
	count  int
	recent [2]hal.Instant // the last two
	hung   uint64         // the call before it that was given up and is still under way, 0 if none was
}

// changes notes that something has changed by which a driver may be asked again.
func (r *run) changes() { r.changedAt = r.w.Now() }

// changesFor notes that something has changed for a pod.
func (r *run) changesFor(p *pod) {
	if p == nil {
		return
	}
	now := r.w.Now()
	for _, u := range p.uses {
		r.changedOf[u.driver+"^"+u.volume] = now
	}
	for _, at := range r.list {
		if r.podOf(at.path) == p {
			r.changedOf[at.thing] = now
		}
	}
}

// changesByNews: what the agent is told of a pod changes something for the pod's own volumes alone.
func (r *run) changesByNews(e hal.ClusterEvent) {
	is, ok := e.(hal.Changed)
	if !ok {
		r.changes()
		return
	}
	for _, o := range slices.Concat(is.Applied, is.Removed) {
		if object, isPod := o.(*corev1.Pod); isPod {
			r.changesFor(r.byUID[core.PodUID(object.UID)])
			continue
		}
		r.changes()
	}
}

// breaks breaks a driver, or (Works) mends it.
func (r *run) breaks(driver string, how sim.Breakage) {
	r.changes()
	r.isRuined = how == sim.Spoils || how == sim.Loses
	r.w.BreakDriver(driver, how)
}

// changesBy looks whether an effect is such a change. What calls of the engine do that are in time is none.
func (r *run) changesBy(e *sim.Effect) {
	switch e.Kind {
	case sim.EffectAgentStarted, sim.EffectAgentDied, sim.EffectNodeDown, sim.EffectNodeUp:
		r.changes()
	case sim.EffectDriverUp, sim.EffectDriverDown, sim.EffectRefused:
		r.changesOf(e.Driver)
	case sim.EffectFreed:
		for _, at := range r.list {
			if at.path == e.Path {
				r.changedOf[at.thing] = r.w.Now()
			}
		}
	case sim.EffectSent, sim.EffectStarted:
	default:
		isRuin := e.Kind == sim.EffectDiskFailed || e.Kind == sim.EffectMount || e.Kind == sim.EffectUnmount
		if e.Late || e.Call == 0 && e.Actor != "agent" && !(isRuin && r.isRuined) {
			r.changesOf(cmp.Or(e.Driver, r.driverOfSocket(e.Path)))
		}
	}
}

// driverOfSocket is the driver whose socket is at a path, or in whose directory it is, "" if it is no driver's.
func (r *run) driverOfSocket(at string) string {
	rest, is := strings.CutPrefix(at, lang.RootDir+"/plugins_registry/")
	if !is {
		rest = strings.TrimPrefix(at, lang.RootDir+"/plugins/")
	}
	for _, d := range r.w.Drivers() { // no name of a driver begins another one
		if rest != at && strings.HasPrefix(rest, d.Name) {
			return d.Name
		}
	}
	return ""
}

// changesOf notes that something has changed for the volumes of a driver, or ("") for all.
func (r *run) changesOf(driver string) {
	if driver == "" {
		r.changes()
		return
	}
	r.changedOf[driver] = r.w.Now()
}

// paces judges a call of a method for a place: asked again and again, it is asked ever less often.
func (r *run) paces(p *place, e *sim.Effect) {
	n := p.series[e.Method]
	if p.series == nil {
		p.series = map[string]*series{}
	}
	hung := p.hung(e)
	// A first call long ago was done: what it has brought has fallen since.
	isAlone := n != nil && n.count == 1 && e.At.Sub(n.began) > maxBackoff
	if n == nil || isAlone || max(r.changedAt, r.changedOf[p.driver], r.changedOf[p.thing]) >= n.recent[1] ||
		hung > n.hung {
		n = &series{began: e.At, hung: hung}
		p.series[e.Method] = n
	}
	r.judges("L7")
	n.count++
	lasts, why := e.At.Sub(n.began), ""
	switch {
	case lasts < shortWaits && n.count > firstCalls+int(lasts/shortWait):
		why = fmt.Sprintf("%d times within %s", n.count, lasts)
	case lasts >= shortWaits && n.recent[0] >= n.began.Add(shortWaits) && e.At.Sub(n.recent[0]) < longWait:
		why = fmt.Sprintf("3 times within %s, after %s", e.At.Sub(n.recent[0]), lasts)
	}
	if why != "" {
		r.fail("L7", "pace of "+e.Method, string(p.key),
			fmt.Sprintf("%s is sent for %s %s in which nothing else changes, by operation %d at last",
				e.Method, p.volume, why, e.Op))
	}
	n.recent = [2]hal.Instant{n.recent[1], e.At}
}

// hung returns the last call of a method for a place that is under way as it is asked the same again: a driver that
// answered until then hangs, and that is a change by itself, as the late end of such a call is.
func (p *place) hung(e *sim.Effect) (last uint64) {
	for _, k := range p.calls {
		if k.method == e.Method && k.id != e.Call {
			last = max(last, k.id)
		}
	}
	return last
}

// outlasts lets a driver be broken for so long that all waits are long.
func (r *run) outlasts() bool { return r.until(r.w.Now().Add(2 * shortWaits)) }
