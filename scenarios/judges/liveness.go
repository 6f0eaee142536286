package judges

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/scenarios/world"
)

// Rebuilt returns the volumes, as driver^handle, whose stage must be made again, which is done once no container runs
// on it. Until then nothing new is made upon it.
func Rebuilt(r *world.Run) []string {
	var all []string
	r.Core.Beliefs(func(b core.Belief) {
		if b.IsHeldBack && b.Pod == "" {
			all = append(all, b.Volume)
		}
	})
	return all
}

// IsHeldBack: the pod or a volume of it was edited, and what the edit asks for is made once no container runs on it;
// or another pod has its claim.
func IsHeldBack(r *world.Run, p *world.Pod) bool {
	if r.IsRenamed && r.IsOccupied(p) || r.IsRefused(p) {
		return true
	}
	rebuilt, isHeld := Rebuilt(r), false
	r.Core.Beliefs(func(b core.Belief) { isHeld = isHeld || b.Pod == p.Uid && (b.IsHeldBack || AwaitsClaim(r, &b)) })
	return isHeld || slices.ContainsFunc(p.Uses, func(u world.Use) bool {
		return u.Driver != "" && slices.Contains(rebuilt, u.Driver+"^"+u.Volume)
	})
}

// AwaitsClaim: the rung is of a ReadWriteOncePod claim that another pod has, be it that its containers keep its volume
// from being made again.
func AwaitsClaim(r *world.Run, b *core.Belief) bool {
	if !r.Exclusive[b.Volume] || b.Pod == "" || b.State != core.Absent || !b.IsWanted || b.InFlight ||
		b.SetUpOpen != 0 || b.TearDownOpen != 0 {
		return false
	}
	isTaken := false
	r.Core.Beliefs(func(o core.Belief) {
		isTaken = isTaken || o.Key != b.Key && o.Volume == b.Volume && o.Pod != "" &&
			(o.State == core.Present || o.IsHeldBack)
	})
	return isTaken
}

// Status asks the engine for its status.
func Status(r *world.Run) (s engine.Status, ok bool) {
	if !r.Alive() {
		return s, false
	}
	m := r.M
	r.W.Do(func() {
		status, err := m.Status(r.W.Context(0))
		s, ok = status, err == nil
	})
	r.ReadsStatus(s)
	return s, ok
}

// TellWhy is what the engine itself says of a rung or pod.
func TellWhy(r *world.Run, object string) string {
	s, ok := Status(r)
	if !ok {
		return "the agent does not answer"
	}
	for _, rung := range s.Rungs {
		if string(rung.Key) == object {
			return strings.Join([]string{string(rung.State), rung.Actual, rung.Desired, rung.Step, rung.Why, rung.Next},
				"; ")
		}
	}
	for _, p := range s.Pods {
		if p.Namespace+"/"+p.Name == object {
			return fmt.Sprintf("%s %+v", p.State, p.Volumes)
		}
	}
	for _, d := range s.Drivers {
		if d.Name == object || d.Name == "" {
			return fmt.Sprintf("%+v", d)
		}
	}
	return "the engine does not know it"
}
