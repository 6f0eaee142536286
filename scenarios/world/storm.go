package world

import (
	"fmt"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is the bounds on how much an engine may do: one that goes round in circles breaks L7, and does not hang the
// hunt. They are far above what a sound engine was seen to do in the worst of many thousand schedules: that is told
// behind each.

const (
	mostSteps    = 500_000 // events of one world, and stepsOfOne for each pod of a crowd; seen: 10,174
	stepsOfOne   = 1_000   // seen: 100
	mostCalls    = 2_000   // HAL calls at one instant, and callsOfOne for each pod of a crowd; seen: 18
	callsOfOne   = 10
	MostRequests = 60          // RPCs of one method for one rung within StormWindow; seen: 18
	StormWindow  = time.Minute // in which they are counted
)

// storm counts what the agent does at one instant.
type storm struct {
	at    hal.Instant
	calls uint64 // how many there were before
}

// isStorm looks for a storm after a step of the world.
func (r *Run) isStorm() bool {
	now, calls := r.W.Now(), r.W.Trace().Count(sim.MarkCall)
	if now != r.storm.at {
		r.storm = storm{now, calls}
	}
	most, mostAtOnce := mostSteps+stepsOfOne*uint64(r.Crowd.Pods), mostCalls+callsOfOne*uint64(r.Crowd.Pods)
	why := ""
	switch {
	case calls-r.storm.calls > mostAtOnce:
		why = fmt.Sprintf("more than %d calls of the host at one instant", mostAtOnce)
	case r.W.Steps() > most:
		why = fmt.Sprintf("more than %d events in %s", most, now.Sub(0).Round(time.Second))
	default:
		return false
	}
	op, site, object := r.W.Trace().LastCall()
	r.Fail("L7", "storm", object, fmt.Sprintf("%s; the last call is %s of operation %d", why, site, op))
	return true
}

// requests counts the RPCs of one method for one rung.
type requests struct {
	since hal.Instant
	count int
}

// Repeated is the storm of one RPC: backoff allows for a few in each minute, and what resets it is rare.
func (r *Run) Repeated(p *Place, e *sim.Effect) {
	if p.sent == nil {
		p.sent = map[string]*requests{}
	}
	n := p.sent[e.Method]
	if n == nil {
		n = &requests{since: e.At}
		p.sent[e.Method] = n
	}
	if e.At.Sub(n.since) > StormWindow {
		n.since, n.count = e.At, 0
	}
	if n.count++; n.count > MostRequests {
		r.Fail("L7", "storm of "+e.Method, string(p.Key),
			fmt.Sprintf("%s is sent for %s more than %d times within %s, by operation %d at last",
				e.Method, p.Volume, MostRequests, StormWindow, e.Op))
	}
}
