package calm

import (
	"slices"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// expels judges the pods of which the agent must refuse a volume, and is then a person who reads why and edits or
// deletes them. A look that failed before calm came is made again by then.
func expels(r *world.Run) bool {
	if looked := r.Registrars.Calm.Add(dealings.MaxBackoff); slices.ContainsFunc(r.Pods, r.IsRefused) &&
		r.W.Now() < looked {
		if !r.Until(looked) || !awaitRest(r, "L2", "refused", bound(r)) {
			return false
		}
	}
	if !reports(r) {
		return false
	}
	isAny := false
	for i, p := range r.Pods {
		if !p.IsWanted || !r.IsRefused(p) {
			continue
		}
		corrects := func(m world.RoomRun) bool { return m.Corrects(r, p) }
		if i&1 == 1 || p.IsLeaving || !slices.ContainsFunc(r.Rooms, corrects) || r.IsRefused(p) {
			judges.Remove(r, p, time.Second)
		}
		isAny = true
	}
	return !isAny || comesToRest(r, "L2", "without the pods that are refused", bound(r))
}

// reports has the sources judge the status of each volume of a pod of which the agent knows all. They skip a volume
// with an operation under way: its status shows the operation, and no reason.
func reports(r *world.Run) bool {
	status, ok := judges.Status(r)
	if !ok {
		return true
	}
	for _, s := range status.Pods {
		p := r.ByUID[s.UID]
		if p == nil || !p.IsWanted || !r.IsCurrent(p) {
			continue
		}
		for _, u := range p.Uses {
			at := slices.IndexFunc(s.Volumes, func(v engine.VolumeStatus) bool { return v.Name == u.Name })
			isWrong := func(m world.RoomRun) bool { return !m.Reports(r, p, u, &s.Volumes[at]) }
			if at >= 0 && s.Volumes[at].State != engine.Working && slices.ContainsFunc(r.Rooms, isWrong) {
				return false
			}
		}
	}
	return true
}

// isRefused: the rung is of a volume that its source must refuse, and nothing of an earlier look of the agent is left.
func isRefused(r *world.Run, b *core.Belief) bool {
	if b.InFlight || b.HasChild {
		return false
	}
	isKind := func(k plugin.Kind) bool { return k.Name == b.Kind }
	at := slices.IndexFunc(world.Rooms, func(m *world.Room) bool {
		return slices.ContainsFunc(m.Source.Kinds, isKind)
	})
	if at < 0 {
		return false
	}
	volume := b.Volume
	if of, is := r.Core.Rung(b.Key); is && volume == string(b.Key) && len(of.Below) > 0 { // it holds what is below it
		if held, is := r.Core.Belief(of.Below[0]); is {
			volume = held.Volume
		}
	}
	return slices.ContainsFunc(r.Pods, func(p *world.Pod) bool {
		has := func(u world.Use) bool { return u.Upon() != "" && u.Upon() == volume }
		return (b.Pod == p.Uid || b.Pod == "" && p.IsWanted && slices.ContainsFunc(p.Uses, has)) &&
			r.Rooms[at].Refuses(r, p)
	})
}
