package scenarios

import (
	"time"

	"github.com/volnode/volnode/scenarios/cases"
)

// This file is how volumes go to another node in hunts.

const awayMost = 8 * time.Minute

// How a volume goes to another node.
const (
	whileAway = 2 + iota // the agent is away until the controller detaches by force
	// the node is said to be out of service: the pods are deleted and the volume detached, and containers run on.
	byForce
	underPods // somebody detaches the volume under pods that are wanted
)

// planMoves draws when a volume goes to another node: its pods here go, at times with the agent away for longer than
// the controller waits.
func (g *workload) planMoves(volume int) {
	v := volumesOfHunts[volume]
	for n := range 2 {
		how := g.pick("workload.move", v.handle, n, 2, 3, 2, 1, 1)
		if how == 0 {
			continue
		}
		g.at(g.time("workload.move-time", v.handle, n, cases.Chaos), v.handle, func() {
			for i, name := range g.names {
				lasts := cases.Grace
				if how == byForce { // its containers run on while the volume is gone
					lasts = awayMost
				}
				if p := g.current(i); p != nil && p.isWanted && g.pods[i].volumes&(1<<volume) != 0 && how != underPods {
					g.r.remove(p, g.time("workload.grace", name, cases.Slots*4+n, lasts))
				}
			}
			there := time.Second + g.time("workload.there", v.handle, n, awayMost)
			switch how {
			case byForce, underPods:
				if g.pick("workload.force-away", v.handle, n, 1, 1) == 1 {
					g.r.sleeps(time.Second + g.time("workload.away", v.handle, n, awayMost))
				}
				g.r.detachesByForce(v.driver, v.handle, there)
				return
			case whileAway:
				g.r.sleeps(forceAfter + attachPeriod + g.time("workload.away", v.handle, n, 2*time.Minute))
			}
			g.r.handsOver(v.driver, v.handle, there)
		})
	}
}
