package workload

import (
	"strings"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// OverwritePack is somebody who writes over the copies of manifests that lie together.
func (t *Scene) OverwritePack() string {
	for _, name := range t.W.Entries(world.CopiesDir) {
		if strings.HasPrefix(name, ".pack-") {
			judges.Wounds(t.R, "manifests/"+name, judges.IsOverwritten, 950, 7) // what it says can still be read
			return ""
		}
	}
	return "no copies of manifests lie together; write: objects from files; and apply more than four of them at once"
}

// planWounds draws how own files are changed in place: under a living agent, or while it is away.
func (g *Workload) planWounds() {
	for n := range 2 {
		when := g.Pick("workload.wound", "", n, 10, 2, 1)
		odds := []uint32{4, 1, 1, 1, 0, 0}
		if g.Setup.Files {
			odds = []uint32{2, 1, 1, 1, 8, 2}
		}
		which := judges.Woundable[g.Pick("workload.wound-which", "", n, odds...)]
		how := world.Wound(g.Pick("workload.wound-how", "", n, 1, 1, 1, 1))
		point := g.Choose.Between(sim.NewID("workload.wound-at", "", uint32(n)), 0, 999)
		length := g.Choose.Between(sim.NewID("workload.wound-length", "", uint32(n)), 1, int64(len(judges.Garbage)))
		if when == 0 {
			continue
		}
		if which == "" && how == judges.IsRegrown {
			how = judges.IsCut // zeros at its end are what a power cut leaves as well: an agent that dies too soon can't know
		}
		g.At(g.Time("workload.wound-time", "", n, cases.Chaos), "own files in place", func() {
			if when == 2 {
				g.R.Sleeps(time.Second + g.Time("workload.away", "wound", n, AwayMost))
			}
			judges.Wounds(g.R, which, how, point, length)
		})
	}
}
