package workload

import (
	"strconv"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is how people edit manifests in the worlds of a hunt.

// What somebody does to the manifest of a pod that is there.
const (
	noEdit = iota
	renames
	givesUID
	swapsNames
)

// PlanEdit draws what somebody does to the manifest of pod i.
func (g *Workload) PlanEdit(i int, name string, n int, from, window time.Duration) {
	how := g.Pick("workload.manifest", name, n, 3*g.Setup.Idle, 2, 1, 1)
	if how == noEdit {
		return
	}
	g.At(from+g.Time("workload.manifest-time", name, n, window), name, func() {
		p := g.Current(i)
		if p == nil || !p.IsWanted || p.IsLeaving {
			return
		}
		inPlace := g.R.Files && g.Pick("workload.in-place", name, n, 1, 1) == 1
		grace := g.Time("workload.grace", name, cases.Slots*8+n, cases.Grace)
		switch how {
		case renames:
			g.Pods[i].Renames++
			g.replaces([]*world.Pod{p}, grace, inPlace, i)
		case givesUID:
			g.Pods[i].Generation++
			g.replaces([]*world.Pod{p}, grace, inPlace, i)
		case swapsNames:
			g.swaps(i, (i+1)%len(g.Pods), grace, inPlace)
		}
	})
}

// What somebody does to the directory of manifests.
const (
	leavesIt = iota
	coversIt
	coversItAtAStart
	spoilsIt
	emptiesIt
)

// PlansFiles draws what people do to the directory of manifests, and to files of it.
func (g *Workload) PlansFiles() {
	if !g.R.Files {
		return
	}
	for n := range 3 {
		how := g.Pick("workload.directory", "", n, 4, 2, 1, 2, 1)
		if how == leavesIt {
			continue
		}
		g.At(g.Time("workload.directory-time", "", n, cases.Chaos), "manifests", func() {
			last := time.Second + g.Time("workload.directory-lasts", "", n, AwayMost)
			switch how {
			case coversIt:
				coversManifests(g.R, last)
			case coversItAtAStart:
				g.R.Sleeps(last / 2)
				coversManifests(g.R, last)
			case spoilsIt:
				spoils(g.R, "junk-"+strconv.Itoa(n), 4*last)
			case emptiesIt:
				for i, name := range g.Names {
					if p := g.Current(i); p != nil {
						judges.Remove(g.R, p, g.Time("workload.grace", name, cases.Slots*16+n, cases.Grace))
					}
				}
			}
		})
	}
	g.planSwaps()
	for i, name := range g.Names {
		how := g.Pick("workload.file", name, 0, 6, 1, 1)
		if how == 0 {
			continue
		}
		g.At(g.Time("workload.file-time", name, 0, cases.Chaos), name, func() {
			switch p := g.Current(i); {
			case p == nil || !p.IsWanted:
			case how == 1:
				replacesFile(g.R, p, time.Second+g.Time("workload.file-lasts", name, 0, AwayMost))
			default:
				movesFile(g.R, p.Object, lang.ManifestDir+"/moved-"+name+".yaml")
			}
		})
	}
	g.plansMisplaced()
	for i, name := range g.Names {
		for n := range 2 {
			if g.Pick("workload.rewritten", name, n, 5, 1) == 0 {
				continue
			}
			g.At(g.Time("workload.rewritten-time", name, n, cases.Chaos), name, func() {
				to := ""
				if g.Pick("workload.rewritten-elsewhere", name, n, 1, 1) == 1 {
					to = "rewritten-" + name + ".yaml"
				}
				if p := g.Current(i); p != nil {
					takesAway(g.R, p, g.Time("workload.rewritten-lasts", name, n, rewriteMost), to)
				}
			})
		}
	}
}

// plansMisplaced draws which documents of pods, claims and volumes are in a bad file for a while.
func (g *Workload) plansMisplaced() {
	for i, name := range g.Names {
		if g.Pick("workload.misplaced", name, 0, 7, 1) == 0 {
			continue
		}
		g.At(g.Time("workload.misplaced-time", name, 0, cases.Chaos), name, func() {
			if p := g.Current(i); p != nil && p.IsWanted {
				g.misplaces(sim.ObjectName(p.Object), name)
			}
		})
	}
	for i := range g.Edits {
		name := "pv-" + strconv.Itoa(i)
		which := g.Pick("workload.misplaced", name, 0, 14, 1, 1)
		if which == 0 {
			continue
		}
		g.At(g.Time("workload.misplaced-time", name, 0, cases.Chaos), name, func() {
			g.misplaces([]string{"pvc default/claim-" + strconv.Itoa(i), "pv " + name}[which-1], name)
		})
	}
}

func (g *Workload) misplaces(object, name string) {
	how := badness(g.Pick("workload.misplaced-how", name, 0, 2, 1, 1, 1, 1, 1, 1, 1))
	misplaces(g.R, object, how, time.Second+g.Time("workload.misplaced-lasts", name, 0, AwayMost))
}

// swaps has two pods that are there change their names.
func (g *Workload) swaps(i, j int, grace time.Duration, inPlace bool) {
	p, q := g.Current(i), g.Current(j)
	if i == j || q == nil || !q.IsWanted || q.IsLeaving {
		return
	}
	a, b := &g.Pods[i], &g.Pods[j]
	a.Index, b.Index = b.Index, a.Index
	a.Renames, b.Renames = b.Renames, a.Renames
	g.replaces([]*world.Pod{p, q}, grace, inPlace, i, j)
}

// replaces has pods be as the shapes of those indices are now, in one edit.
func (g *Workload) replaces(pods []*world.Pod, grace time.Duration, inPlace bool, indices ...int) {
	var edits []edit
	for _, i := range indices {
		g.Pods[i].Edits++
		b := g.Stock.pod(g.Pods[i])
		edits = append(edits, edit(b))
	}
	replaces(g.R, pods, edits, grace, inPlace)
	for _, i := range indices {
		g.manners(i)
	}
}

// ExportsVolume has somebody export a volume and its claim again: they are what they were, with other uids.
func (g *Workload) ExportsVolume(i int) {
	name := "pv-" + strconv.Itoa(i)
	for n := range 2 {
		if g.Pick("workload.export", name, n, 10, 1) == 0 {
			continue
		}
		g.At(g.Time("workload.export-time", name, n, cases.Chaos), name, func() {
			before := g.Edits[i]
			g.Edits[i].Lives++
			exchanges(g.R,
				[]any{g.Stock.volume(i, before), g.Stock.claim(i, before.Lives)},
				[]any{g.Stock.volume(i, g.Edits[i]), g.Stock.claim(i, g.Edits[i].Lives)}, false)
		})
	}
}
