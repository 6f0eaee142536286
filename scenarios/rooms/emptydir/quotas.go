package emptydir

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S37: a quota holds an emptyDir on disk to its limit, if that is configured, and only then; each has a
// project of its own.

// begin draws whether the agent is to hold limits, and who else uses projects of agents.
func begin(g world.Planner) {
	r := g.Run()
	which := g.Pick("workload.quotas", "", 0, 5, 2, 1)
	if which == 0 {
		return
	}
	r.WillHold = true
	r.W.SetQuotas(which == 1)
	for n := range uint32(3) {
		if how := g.Pick("workload.projects", "", int(n), 2, 1, 1, 1); how > 0 {
			r.W.TakeProject(hal.FirstProject+n, sim.ProjectUse(how-1), fmt.Sprintf("/srv/project-%d", n))
		}
	}
}

// Mends is a person who mounts the disk with quotas.
func (h *run) Mends(r *world.Run) {
	if r.HoldsLimits {
		r.W.SetQuotas(true)
	}
}

// Told: pods that want a limit wait as long as the disk has no quotas.
func (h *run) Told(r *world.Run, p *world.Pod, _ *corev1.Pod) {
	for _, u := range p.Uses {
		if r.HoldsLimits && limitOf(p, u) > 0 {
			r.Faults(p, u)
		}
	}
}

// limitOf is the limit of an emptyDir on disk, 0 for none.
func limitOf(p *world.Pod, u world.Use) int64 {
	at := slices.IndexFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == u.Name })
	if at < 0 || u.Memory {
		return 0
	}
	if is := p.Object.Spec.Volumes[at].EmptyDir; is != nil && is.SizeLimit != nil {
		return is.SizeLimit.Value()
	}
	return 0
}

// limited judges the projects of all directories once the agent has given one.
func limited(r *world.Run, e *sim.Effect) {
	r.Judges("S37")
	for _, p := range r.W.Projects() {
		isOurs := slices.ContainsFunc(p.Tops, func(at string) bool { return strings.HasPrefix(at, lang.RootDir+"/pods/") })
		switch {
		case isOurs && len(p.Tops) > 1 && !p.IsMixed:
			r.Fail("S37", "limited", e.Path, fmt.Sprintf("%s are of one project, %d", strings.Join(p.Tops, " and "), p.Number))
		case isOurs && p.IsTaken:
			r.Fail("S37", "limited", e.Path, fmt.Sprintf("%s is of project %d, which somebody else uses", p.Tops[0], p.Number))
		case isOurs && !hal.IsProject(p.Number):
			r.Fail("S37", "limited", e.Path, fmt.Sprintf("%s is of project %d, which is none of agents", p.Tops[0], p.Number))
		}
	}
}

// isLimited judges the limit of an emptyDir whose pod is reported ready.
func (h *run) isLimited(r *world.Run, p *world.Pod, u world.Use) bool {
	is := h.of(r.W, u.Path)
	if u.Room == nil || u.Room.Source.Name != "emptyDir" || is == nil || p.Told != p.Object {
		return true
	}
	r.Judges("S37")
	var has sim.Project
	for _, project := range r.W.Projects() {
		if number := r.W.ProjectAt(u.Path); number != 0 && number == project.Number {
			has = project
		}
	}
	limit := limitOf(p, u)
	wrong := ""
	switch {
	case has.IsMixed: // its containers have seen to that themselves
	case !r.HoldsLimits && has.Limit != 0:
		wrong = fmt.Sprintf("has a limit of %d bytes, though volnode is to hold none", has.Limit)
	case r.HoldsLimits && limit == 0 && has.Limit != 0:
		wrong = fmt.Sprintf("has a limit of %d bytes, and the pod asks for none", has.Limit)
	case r.HoldsLimits && is.held && has.Limit != limit:
		wrong = fmt.Sprintf("has a limit of %d bytes, and the pod asks for %d", has.Limit, limit)
	case r.HoldsLimits && is.held && limit != 0 && has.Used >= limit+block:
		wrong = fmt.Sprintf("holds %d bytes, and may hold %d", has.Used, limit)
	}
	if wrong != "" {
		r.Fail("S37", "told ready", p.Name, fmt.Sprintf("pod %s is reported ready, and %s %s", p.Name, u.Path, wrong))
	}
	return wrong == ""
}

// block is that of the disk, in bytes, to which a limit is rounded up.
const block = 512

// Reports judges limits once all is as wanted.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, _ *engine.VolumeStatus) bool {
	return h.isLimited(r, p, u)
}
