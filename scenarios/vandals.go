package scenarios

import (
	"strconv"

	"github.com/volnode/volnode/hal/sim"
)

// This file is what containers and people do to the directories of pods in a hunt.

const (
	leastNames, mostNames = 1_000, 1_000_000 // that containers write to an emptyDir which they fill
)

// planFiles draws whether the containers of pod i fill its emptyDir with more files than one operation deletes, as deep as they like.
func (g *workload) planFiles(i int, name string) {
	if g.pods[i].scratch == noScratch || g.pick("workload.files", name, 0, 12, 1) == 0 {
		return
	}
	names := g.choose.Between(sim.NewID("workload.files-many", name, 0), leastNames, mostNames)
	g.at(g.time("workload.files-time", name, 0, g.setup.Chaos), name, func() {
		if p := g.current(i); p != nil && p.isRunning {
			g.r.fills(p, int(names))
		}
	})
}

// fills has the containers of p write so many files to its emptyDirs.
func (r *run) fills(p *pod, names int) {
	for _, u := range p.given {
		if u.driver == "" && !u.exempt {
			_ = r.w.Fill(u.path, names) // somebody may have taken the directory away
		}
	}
}

// fill is a statement: a container writes so many files.
func (t *story) fill(names, volume, name string) string {
	u, why := t.container(volume, name)
	if why != "" {
		return why
	}
	n, _ := strconv.Atoi(names) // match has looked at it
	if errno := t.w.Fill(u.path, n); errno != 0 {
		return errno.Error()
	}
	return ""
}

// expectNames is a statement: so many names, or fewer, are left of the files of pods.
func (t *story) expectNames(names string) string {
	most, _ := strconv.Atoi(names) // match has looked at it
	if n := t.w.Names(rootDir + "/pods"); n > most {
		return strconv.Itoa(n) + " names are below the directories of pods"
	}
	return ""
}
