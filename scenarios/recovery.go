package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
)

// This file is L16: a driver answers each call with a plain error, after it has done nothing, a part or all of what it
// was asked for. Once that has ended, what a pod has of it is gone, or ready, within seconds: an answered call is no
// call that may still act, and nobody waits long for it.

// soon is how long that may take: two rungs, each with the longest wait after an answer and a call of a few seconds,
// and the lines for them.
const soon = 30 * time.Second

// ailment is what a driver does in calm for a while.
type ailment struct {
	driver string
	how    sim.Breakage
	lasts  time.Duration
}

// ails draws a driver that answers with errors for a while in calm.
func (g *workload) ails() ailment {
	a := ailment{driver: [...]string{"", "disk.example", "file.example"}[g.pick("workload.ails", "", 0, 3, 1, 1)]}
	if a.driver != "" {
		a.how = [...]sim.Breakage{sim.Busy, sim.Partly, sim.Wholly}[g.pick("workload.ails-how", a.driver, 0, 1, 1, 1)]
		// the short waits are for ten minutes
		a.lasts = time.Minute + g.time("workload.ails-lasts", a.driver, 0, 8*time.Minute)
	}
	return a
}

// recovers has a pod of the driver that ails go and come again.
func (r *run) recovers() bool {
	p := r.patient()
	if p == nil {
		return true
	}
	ails := func() {
		r.breaks(r.ailing.driver, r.ailing.how)
		r.w.After(r.ailing.lasts, "the driver works again", func() { r.breaks(r.ailing.driver, sim.Works) })
	}
	ails()
	r.remove(p, time.Second)
	if !r.inTime(p, "gone", func() bool { return !p.isRunning && p.told == nil && !r.hasRungs(p) }) {
		return false
	}
	ails()
	r.apply(p.object, p.uses)
	if !r.inTime(p, "ready", func() bool { return p.isRunning }) {
		return false
	}
	return r.comesToRest("L2", "recovered", r.bound())
}

// patient is a running pod with volumes of the driver that ails, whose volumes are all plain; nil if there is none.
func (r *run) patient() *pod {
	if r.ailing.driver == "" {
		return nil
	}
	odd := map[string]bool{}
	for _, d := range r.w.Drivers() {
		isFramed := r.untold.framed[d.Name] && r.core.ActsAfterReply(d.Name) // then an answer of it ends no call
		odd[d.Name] = odd[d.Name] || !isPrompt(d) || !r.registrars.connected[d.Name] || isFramed
	}
	isOdd := func(u use) bool {
		return odd[u.driver] || r.exclusive[u.driver+"^"+u.volume] || r.away[u.driver+"^"+u.volume] != nil ||
			r.isDisturbed(u.path) ||
			r.isHeldOpen(u) || r.isSilent(u) || r.hasFailed(u)
	}
	for _, p := range r.pods {
		if p.isWanted && p.isRunning && r.uses(p, r.ailing.driver) && !slices.ContainsFunc(p.uses, isOdd) &&
			!r.isHeldBack(p) {
			return p
		}
	}
	return nil
}

// inTime waits for the end of the cause, and then for what must follow soon.
func (r *run) inTime(p *pod, what string, done func() bool) bool {
	if !r.until(r.w.Now().Add(r.ailing.lasts)) {
		return false
	}
	r.judges("L16")
	for end := r.w.Now().Add(soon); !done(); {
		if r.w.Now() >= end {
			r.fail("L16", what, p.name, strings.Join([]string{
				"driver", r.ailing.driver, "answered with errors for", r.ailing.lasts.String(), "and works again; pod",
				p.name, "is not", what,
				soon.String(), "later:", r.tellWhy(p.name),
			}, " "))
			return false
		}
		if !r.until(min(end, r.w.Now().Add(time.Second))) {
			return false
		}
	}
	return true
}

// outwaits lets a stall of the agent end: how long a story stops it is no bound on the engine. It reports whether the
// run goes on.
func (r *run) outwaits() bool {
	for r.w.IsStalled() {
		if !r.until(r.w.Now().Add(time.Minute)) {
			return false
		}
	}
	return true
}
