package workload

import (
	"time"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is how volumes go to another node in hunts.

// AwayMost is how long an agent is away at most.
const AwayMost = 8 * time.Minute

// How a volume goes to another node.
const (
	whileAway = 2 + iota // the agent is away until the controller detaches by force
	// the node is said to be out of service: the pods are deleted and the volume detached, and containers run on.
	byForce
	underPods // somebody detaches the volume under pods that are wanted
)

// PlanMoves draws when a volume goes to another node: its pods here go, at times with the agent away for longer than
// the controller waits.
func (g *Workload) PlanMoves(volume int) {
	v := world.VolumesOfHunts[volume]
	for n := range 2 {
		how := g.Pick("workload.move", v.Handle, n, 2, 3, 2, 1, 1)
		if how == 0 {
			continue
		}
		g.At(g.Time("workload.move-time", v.Handle, n, cases.Chaos), v.Handle, func() {
			for i, name := range g.Names {
				lasts := cases.Grace
				if how == byForce { // its containers run on while the volume is gone
					lasts = AwayMost
				}
				if p := g.Current(i); p != nil && p.IsWanted && g.Pods[i].Volumes&(1<<volume) != 0 && how != underPods {
					judges.Remove(g.R, p, g.Time("workload.grace", name, cases.Slots*4+n, lasts))
				}
			}
			there := time.Second + g.Time("workload.there", v.Handle, n, AwayMost)
			switch how {
			case byForce, underPods:
				if g.Pick("workload.force-away", v.Handle, n, 1, 1) == 1 {
					g.R.Sleeps(time.Second + g.Time("workload.away", v.Handle, n, AwayMost))
				}
				dealings.DetachesByForce(g.R, v.Driver, v.Handle, there)
				return
			case whileAway:
				g.R.Sleeps(dealings.ForceAfter + dealings.AttachPeriod +
					g.Time("workload.away", v.Handle, n, 2*time.Minute))
			}
			dealings.HandsOver(g.R, v.Driver, v.Handle, there)
		})
	}
}
