package calm

import (
	"slices"
	"time"

	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// makesRoom is a person who reads that the journal is full and does what that asks for: they remove pods, which go, as
// that needs no room. There is room for one that waited then: it comes up. In the end they configure a larger journal,
// and bring the pods back.
func makesRoom(r *world.Run) bool {
	if r.Roomy == 0 {
		return true
	}
	gone := slices.DeleteFunc(slices.Clone(r.Pods), func(p *world.Pod) bool { return !p.IsWanted })
	last := slices.IndexFunc(gone, func(p *world.Pod) bool { return !p.IsRunning && !workload.KeepsFormer(r, p) })
	if last < 0 {
		last = slices.IndexFunc(gone, func(p *world.Pod) bool { return !workload.KeepsFormer(r, p) })
	}
	if last >= 0 {
		for i, p := range gone {
			if i != last {
				judges.Remove(r, p, time.Second)
			}
		}
		if !r.Until(r.W.Now().Add(workload.LongestAway + dealings.Slowest)) {
			return false
		}
		mayHaveEdit := workload.KeepsFormer(r, gone[last]) // an edit may come as late as now
		if workload.HasRoomFor(r, gone[last]) && !mayHaveEdit && !comesToRest(r, "L2", "with room for one", bound(r)) {
			return false
		}
	}
	for _, p := range gone {
		judges.Remove(r, p, time.Second) // those that are left
	}
	if !comesToRest(r, "L4", "without room", bound(r)) {
		return false
	}
	r.Cfg.JournalMost, r.Roomy = r.Roomy, 0
	r.Sleeps(time.Second)
	for _, p := range gone {
		dealings.Apply(r, p.Object, p.Uses)
	}
	return r.Until(r.W.Now().Add(2 * time.Second))
}
