package csi

import (
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/scenarios/world"
)

// run is what a run judges of CSI volumes by pods alone.
type run struct{ world.PlainRun }

// Refuses: a driver gives the files of a volume to one group, and another pod has it of another one, or has had it; or
// of none, as the driver has learnt to, or unlearnt it, in an upgrade (K:G29).
func (*run) Refuses(r *world.Run, p *world.Pod) bool {
	group := world.GroupOf(p.Object)
	if group == "" || !p.IsWanted {
		return false
	}
	return slices.ContainsFunc(p.Uses, func(u world.Use) bool {
		is := func(t world.Traits) bool { return t.MountGroup }
		isNot := func(t world.Traits) bool { return !t.MountGroup }
		traits := r.Traits[u.Driver]
		if u.Raw || !slices.ContainsFunc(traits, is) {
			return false
		}
		isUsed := func(q *world.Pod) bool {
			has := func(o world.Use) bool { return o.Thing() == u.Thing() && o.Driver != "" }
			isOther := slices.ContainsFunc(q.Groups, func(g string) bool { return g != group }) ||
				slices.ContainsFunc(traits, isNot)
			return q != p && (q.IsWanted && slices.ContainsFunc(q.Uses, has) || q.IsRunning &&
				slices.ContainsFunc(q.Given, has)) && isOther
		}
		return slices.ContainsFunc(r.Pods, isUsed) || isKept(r, p, u.Thing())
	})
}

// isKept reports whether a volume is up, or may be, for a pod that wants it no more: its containers may have it.
func isKept(r *world.Run, but *world.Pod, thing string) bool {
	is := false
	r.Core.Beliefs(func(b core.Belief) {
		is = is || b.Pod != "" && b.Pod != but.Uid && b.Volume == thing && b.State != core.Absent
	})
	return is
}
