package scenarios

import (
	"strconv"
	"time"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is how people edit manifests in the worlds of a hunt.

// What somebody does to the manifest of a pod that is there.
const (
	noEdit = iota
	renames
	givesUID
	swapsNames
)

// planEdit draws what somebody does to the manifest of pod i.
func (g *workload) planEdit(i int, name string, n int, from, window time.Duration) {
	how := g.pick("workload.manifest", name, n, 3*g.setup.Idle, 2, 1, 1)
	if how == noEdit {
		return
	}
	g.at(from+g.time("workload.manifest-time", name, n, window), name, func() {
		p := g.current(i)
		if p == nil || !p.isWanted || p.isLeaving {
			return
		}
		inPlace := g.r.files && g.pick("workload.in-place", name, n, 1, 1) == 1
		grace := g.time("workload.grace", name, cases.Slots*8+n, cases.Grace)
		switch how {
		case renames:
			g.pods[i].renames++
			g.replaces([]*pod{p}, grace, inPlace, i)
		case givesUID:
			g.pods[i].generation++
			g.replaces([]*pod{p}, grace, inPlace, i)
		case swapsNames:
			g.swaps(i, (i+1)%len(g.pods), grace, inPlace)
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

// plansFiles draws what people do to the directory of manifests, and to files of it.
func (g *workload) plansFiles() {
	if !g.r.files {
		return
	}
	for n := range 3 {
		how := g.pick("workload.directory", "", n, 4, 2, 1, 2, 1)
		if how == leavesIt {
			continue
		}
		g.at(g.time("workload.directory-time", "", n, cases.Chaos), "manifests", func() {
			last := time.Second + g.time("workload.directory-lasts", "", n, awayMost)
			switch how {
			case coversIt:
				g.r.coversManifests(last)
			case coversItAtAStart:
				g.r.sleeps(last / 2)
				g.r.coversManifests(last)
			case spoilsIt:
				g.r.spoils("junk-"+strconv.Itoa(n), 4*last)
			case emptiesIt:
				for i, name := range g.names {
					if p := g.current(i); p != nil {
						g.r.remove(p, g.time("workload.grace", name, cases.Slots*16+n, cases.Grace))
					}
				}
			}
		})
	}
	g.planSwaps()
	for i, name := range g.names {
		how := g.pick("workload.file", name, 0, 6, 1, 1)
		if how == 0 {
			continue
		}
		g.at(g.time("workload.file-time", name, 0, cases.Chaos), name, func() {
			switch p := g.current(i); {
			case p == nil || !p.isWanted:
			case how == 1:
				g.r.replacesFile(p, time.Second+g.time("workload.file-lasts", name, 0, awayMost))
			default:
				g.r.movesFile(p.object, lang.ManifestDir+"/moved-"+name+".yaml")
			}
		})
	}
	g.plansMisplaced()
	for i, name := range g.names {
		for n := range 2 {
			if g.pick("workload.rewritten", name, n, 5, 1) == 0 {
				continue
			}
			g.at(g.time("workload.rewritten-time", name, n, cases.Chaos), name, func() {
				if p := g.current(i); p != nil {
					g.r.takesAway(p, g.time("workload.rewritten-lasts", name, n, rewriteMost))
				}
			})
		}
	}
}

// plansMisplaced draws which documents of pods, claims and volumes are in a bad file for a while.
func (g *workload) plansMisplaced() {
	for i, name := range g.names {
		if g.pick("workload.misplaced", name, 0, 7, 1) == 0 {
			continue
		}
		g.at(g.time("workload.misplaced-time", name, 0, cases.Chaos), name, func() {
			if p := g.current(i); p != nil && p.isWanted {
				g.misplaces(sim.ObjectName(p.object), name)
			}
		})
	}
	for i := range g.edits {
		name := "pv-" + strconv.Itoa(i)
		which := g.pick("workload.misplaced", name, 0, 14, 1, 1)
		if which == 0 {
			continue
		}
		g.at(g.time("workload.misplaced-time", name, 0, cases.Chaos), name, func() {
			g.misplaces([]string{"pvc default/claim-" + strconv.Itoa(i), "pv " + name}[which-1], name)
		})
	}
}

func (g *workload) misplaces(object, name string) {
	how := badness(g.pick("workload.misplaced-how", name, 0, 2, 1, 1, 1, 1, 1, 1, 1))
	g.r.misplaces(object, how, time.Second+g.time("workload.misplaced-lasts", name, 0, awayMost))
}

// swaps has two pods that are there change their names.
func (g *workload) swaps(i, j int, grace time.Duration, inPlace bool) {
	p, q := g.current(i), g.current(j)
	if i == j || q == nil || !q.isWanted || q.isLeaving {
		return
	}
	a, b := &g.pods[i], &g.pods[j]
	a.index, b.index = b.index, a.index
	a.renames, b.renames = b.renames, a.renames
	g.replaces([]*pod{p, q}, grace, inPlace, i, j)
}

// replaces has pods be as the shapes of those indices are now, in one edit.
func (g *workload) replaces(pods []*pod, grace time.Duration, inPlace bool, indices ...int) {
	var edits []edit
	for _, i := range indices {
		g.pods[i].edits++
		b := g.stock.pod(g.pods[i])
		edits = append(edits, edit(b))
	}
	g.r.replaces(pods, edits, grace, inPlace)
	for _, i := range indices {
		g.manners(i)
	}
}

// exportsVolume has somebody export a volume and its claim again: they are what they were, with other uids.
func (g *workload) exportsVolume(i int) {
	name := "pv-" + strconv.Itoa(i)
	for n := range 2 {
		if g.pick("workload.export", name, n, 10, 1) == 0 {
			continue
		}
		g.at(g.time("workload.export-time", name, n, cases.Chaos), name, func() {
			before := g.edits[i]
			g.edits[i].lives++
			g.r.exchanges(
				[]any{g.stock.volume(i, before), g.stock.claim(i, before.lives)},
				[]any{g.stock.volume(i, g.edits[i]), g.stock.claim(i, g.edits[i].lives)}, false)
		})
	}
}
