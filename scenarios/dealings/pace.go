package dealings

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
	"github.com/volnode/volnode/scenarios/world"
)

// This file is a part of L7: how often a driver may be asked the same while nothing changes but by the engine's own
// calls. The engine waits 500 ms, doubled up to 4 s for ten minutes, and then up to 2 min 2 s, less up to a tenth
// (engine/core/backoff.go). What is allowed here is a little more.

const (
	firstCalls = 10                                       // while the waits grow, and what the last change has set off
	shortWait  = 3400 * time.Millisecond                  // between two calls at the pace of the first minutes
	shortWaits = 12 * time.Minute                         // for how long that pace holds, from the first call on
	longWait   = MaxBackoff - MaxBackoff/10 - time.Second // within which there are two calls at most from then on
)

// Changes notes that something has changed by which a driver may be asked again.
func Changes(r *world.Run) { r.ChangedAt = r.W.Now() }

// ChangesFor notes that something has changed for a pod.
func ChangesFor(r *world.Run, p *world.Pod) {
	if p == nil {
		return
	}
	now := r.W.Now()
	for _, u := range p.Uses {
		r.ChangedOf[u.Driver+"^"+u.Volume] = now
	}
	for _, at := range r.List {
		if r.PodOf(at.Path) == p {
			r.ChangedOf[at.Thing] = now
		}
	}
}

// ChangesByNews: what the agent is told of a pod changes something for the pod's own volumes alone.
func ChangesByNews(r *world.Run, e hal.ClusterEvent) {
	is, ok := e.(hal.Changed)
	if !ok {
		Changes(r)
		return
	}
	for _, o := range slices.Concat(is.Applied, is.Removed) {
		if object, isPod := o.(*corev1.Pod); isPod {
			ChangesFor(r, r.ByUID[core.PodUID(object.UID)])
			continue
		}
		Changes(r)
	}
}

// Breaks breaks a driver, or (Works) mends it.
func Breaks(r *world.Run, driver string, how sim.Breakage) {
	Changes(r)
	r.IsRuined = how == sim.Spoils || how == sim.Loses
	r.W.BreakDriver(driver, how)
}

// ChangesBy looks whether an effect is such a change. What calls of the engine do that are in time is none.
func ChangesBy(r *world.Run, e *sim.Effect) {
	switch e.Kind {
	case sim.EffectAgentStarted, sim.EffectAgentDied, sim.EffectNodeDown, sim.EffectNodeUp:
		Changes(r)
	case sim.EffectDriverUp, sim.EffectDriverDown, sim.EffectRefused:
		ChangesOf(r, e.Driver)
	case sim.EffectFreed:
		for _, at := range r.List {
			if at.Path == e.Path {
				r.ChangedOf[at.Thing] = r.W.Now()
			}
		}
	case sim.EffectSent, sim.EffectStarted:
	default:
		isRuin := e.Kind == sim.EffectDiskFailed || e.Kind == sim.EffectMount || e.Kind == sim.EffectUnmount
		if e.Late || e.Call == 0 && e.Actor != "agent" && !(isRuin && r.IsRuined) {
			ChangesOf(r, cmp.Or(e.Driver, driverOfSocket(r, e.Path)))
		}
	}
}

// driverOfSocket is the driver whose socket is at a path, or in whose directory it is, "" if it is no driver's.
func driverOfSocket(r *world.Run, at string) string {
	rest, is := strings.CutPrefix(at, lang.RootDir+"/plugins_registry/")
	if !is {
		rest = strings.TrimPrefix(at, lang.RootDir+"/plugins/")
	}
	for _, d := range r.W.Drivers() { // no name of a driver begins another one
		if rest != at && strings.HasPrefix(rest, d.Name) {
			return d.Name
		}
	}
	return ""
}

// ChangesOf notes that something has changed for the volumes of a driver, or ("") for all.
func ChangesOf(r *world.Run, driver string) {
	if driver == "" {
		Changes(r)
		return
	}
	r.ChangedOf[driver] = r.W.Now()
}

// Paces judges a call of a method for a place: asked again and again, it is asked ever less often.
func Paces(r *world.Run, p *world.Place, e *sim.Effect) {
	n := p.Series[e.Method]
	if p.Series == nil {
		p.Series = map[string]*world.Series{}
	}
	hung := hung(p, e)
	// A first call long ago was done: what it has brought has fallen since.
	isAlone := n != nil && n.Count == 1 && e.At.Sub(n.Began) > MaxBackoff
	isDue := n != nil && e.Method == world.Publish && p.IsHeld && Renewing(r, p.Driver) &&
		e.At.Sub(n.Recent[1]) > renewsAtMost-lags // a minute after the last time, whatever came of that
	if n == nil || isAlone || isDue || max(r.ChangedAt, r.ChangedOf[p.Driver], r.ChangedOf[p.Thing]) >= n.Recent[1] ||
		hung > n.Hung {
		n = &world.Series{Began: e.At, Hung: hung}
		p.Series[e.Method] = n
	}
	r.Judges("L7")
	n.Count++
	lasts, why := e.At.Sub(n.Began), ""
	switch {
	case lasts < shortWaits && n.Count > firstCalls+int(lasts/shortWait):
		why = fmt.Sprintf("%d times within %s", n.Count, lasts)
	case lasts >= shortWaits && n.Recent[0] >= n.Began.Add(shortWaits) && e.At.Sub(n.Recent[0]) < longWait:
		why = fmt.Sprintf("3 times within %s, after %s", e.At.Sub(n.Recent[0]), lasts)
	}
	if why != "" {
		r.Fail("L7", "pace of "+e.Method, string(p.Key),
			fmt.Sprintf("%s is sent for %s %s in which nothing else changes, by operation %d at last",
				e.Method, p.Volume, why, e.Op))
	}
	n.Recent = [2]hal.Instant{n.Recent[1], e.At}
}

// hung returns the last call of a method for a place that is under way as it is asked the same again: a driver that
// answered until then hangs, and that is a change by itself, as the late end of such a call is.
func hung(p *world.Place, e *sim.Effect) (last uint64) {
	for _, k := range p.Calls {
		if k.Method == e.Method && k.Id != e.Call {
			last = max(last, k.Id)
		}
	}
	return last
}

// Outlasts lets a driver be broken for so long that all waits are long.
func Outlasts(r *world.Run) bool { return r.Until(r.W.Now().Add(2 * shortWaits)) }
