package calm

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is L16: a driver answers each call with a plain error, after it has done nothing, a part or all of what it
// was asked for. Once that has ended, what a pod has of it is gone, or ready, within seconds: an answered call is no
// call that may still act, and nobody waits long for it.

// soon is how long that may take: two rungs, each with the longest wait after an answer and a call of a few seconds,
// and the lines for them.
const soon = 30 * time.Second

// Ails draws a driver that answers with errors for a while in calm.
func Ails(g *workload.Workload) world.Ailment {
	a := world.Ailment{Driver: [...]string{"", "disk.example", "file.example"}[g.Pick("workload.ails", "", 0, 3, 1, 1)]}
	if a.Driver != "" {
		a.How = [...]sim.Breakage{sim.Busy, sim.Partly, sim.Wholly}[g.Pick("workload.ails-how", a.Driver, 0, 1, 1, 1)]
		// the short waits are for ten minutes
		a.Lasts = time.Minute + g.Time("workload.ails-lasts", a.Driver, 0, 8*time.Minute)
	}
	return a
}

// recovers has a pod of the driver that ails go and come again.
func recovers(r *world.Run) bool {
	p := patient(r)
	if p == nil {
		return true
	}
	ails := func() {
		dealings.Breaks(r, r.Ailing.Driver, r.Ailing.How)
		r.W.After(r.Ailing.Lasts, "the driver works again", func() { dealings.Breaks(r, r.Ailing.Driver, sim.Works) })
	}
	ails()
	judges.Remove(r, p, time.Second)
	if !inTime(r, p, "gone", func() bool { return !p.IsRunning && p.Told == nil && !judges.HasRungs(r, p) }) {
		return false
	}
	ails()
	dealings.Apply(r, p.Object, p.Uses)
	if !inTime(r, p, "ready", func() bool { return p.IsRunning }) {
		return false
	}
	return comesToRest(r, "L2", "recovered", bound(r))
}

// patient is a running pod with volumes of the driver that ails, whose volumes are all plain; nil if there is none.
func patient(r *world.Run) *world.Pod {
	if r.Ailing.Driver == "" {
		return nil
	}
	odd := map[string]bool{}
	for _, d := range r.W.Drivers() {
		isFramed := r.Untold.Framed[d.Name] && r.Core.ActsAfterReply(d.Name) // then an answer of it ends no call
		odd[d.Name] = odd[d.Name] || !judges.IsPrompt(d) || !r.Registrars.Connected[d.Name] || isFramed
	}
	isOdd := func(u world.Use) bool {
		return odd[u.Driver] || r.Exclusive[u.Thing()] || r.Away[u.Driver+"^"+u.Volume] != nil ||
			dealings.IsDisturbed(r, u.Path) ||
			isHeldOpen(r, u) || r.IsSilent(u) || dealings.HasFailed(r, u)
	}
	for _, p := range r.Pods {
		if p.IsWanted && p.IsRunning && uses(p, r.Ailing.Driver) && !slices.ContainsFunc(p.Uses, isOdd) &&
			!judges.IsHeldBack(r, p) {
			return p
		}
	}
	return nil
}

// inTime waits for the end of the cause, and then for what must follow soon.
func inTime(r *world.Run, p *world.Pod, what string, done func() bool) bool {
	if !r.Until(r.W.Now().Add(r.Ailing.Lasts)) {
		return false
	}
	r.Judges("L16")
	for end := r.W.Now().Add(soon); !done(); {
		if r.W.Now() >= end {
			r.Fail("L16", what, p.Name, strings.Join([]string{
				"driver", r.Ailing.Driver, "answered with errors for", r.Ailing.Lasts.String(), "and works again; pod",
				p.Name, "is not", what,
				soon.String(), "later:", judges.TellWhy(r, p.Name),
			}, " "))
			return false
		}
		if !r.Until(min(end, r.W.Now().Add(time.Second))) {
			return false
		}
	}
	return true
}

// outwaits lets a stall of the agent end: how long a scenario stops it does not bind the engine. It reports whether the
// run goes on.
func outwaits(r *world.Run) bool {
	for r.W.IsStalled() {
		if !r.Until(r.W.Now().Add(time.Minute)) {
			return false
		}
	}
	return true
}
