package calm

import (
	"slices"
	"time"

	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// expels judges the pods whose hostPaths the agent refuses, and is then a person who reads why and deletes them. A look
// that failed before calm came is made again by then.
func expels(r *world.Run) bool {
	isIntruder := func(p *world.Pod) bool { return judges.IsIntruder(r, p) }
	if looked := r.Registrars.Calm.Add(dealings.MaxBackoff); slices.ContainsFunc(r.Pods, isIntruder) &&
		r.W.Now() < looked {
		if !r.Until(looked) || !awaitRest(r, "L2", "refused", bound(r)) {
			return false
		}
	}
	if !workload.TurnsAway(r) {
		return false
	}
	isAny := false
	for i, p := range r.Pods {
		switch {
		case !p.IsWanted || !judges.IsIntruder(r, p):
			continue
		case i&1 == 0 && !p.IsLeaving && !judges.LeadsAstray(r, p):
			workload.AsksForAnyType(r, p)
		default:
			judges.Remove(r, p, time.Second)
		}
		isAny = true
	}
	return !isAny || comesToRest(r, "L2", "without the pods that are refused", bound(r))
}
