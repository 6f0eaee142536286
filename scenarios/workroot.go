package scenarios

import (
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what the workload of a hunt does to the root directory.

// planRoot draws whose root directory it is, and what becomes of the host.
func (g *workload) planRoot() {
	if g.pick("workload.root", "", 0, 20, 1) == 1 {
		g.r.isAnothers()
	}
	if g.pick("workload.host-name", "", 0, 3, 1) == 1 {
		g.at(g.time("workload.host-name-time", "", 0, cases.Chaos), "host name", func() { g.r.host = "renamed" })
	}
	if g.pick("workload.machine", "", 0, 30, 1) == 1 {
		g.at(g.time("workload.machine-time", "", 0, cases.Chaos), "machine", func() {
			g.r.sleeps(time.Second + g.time("workload.away", "machine", 0, awayMost))
			g.r.isCopied()
		})
	}
	for n := range 2 {
		if g.pick("workload.stray", "", n, 6, 1) == 1 {
			where := g.pick("workload.stray-where", "", n, slices.Repeat([]uint32{1}, len(strayPlaces))...)
			what := g.pick("workload.stray-what", "", n, 1, 1, 1)
			g.at(g.time("workload.stray-time", "", n, cases.Chaos), "stray entry",
				func() { g.r.strays(strayPlaces[where], what) })
		}
	}
	g.planLosses()
	g.planWounds()
	g.planDenials()
}

// planDenials draws directories that a start can't list for a while, or a data file that it can't read, at times after
// the journal was lost.
func (g *workload) planDenials() {
	if g.pick("workload.deny", "", 0, 12, 1) == 0 {
		return
	}
	which := g.pick("workload.deny-where", "", 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2)
	why := [...]syscall.Errno{syscall.EIO, syscall.EACCES}[g.pick("workload.deny-why", "", 0, 1, 1)]
	isForgotten := g.pick("workload.deny-forgotten", "", 0, 1, 1) == 1
	g.at(g.time("workload.deny-time", "", 0, cases.Chaos), "denied directory", func() {
		last := time.Second + g.time("workload.deny-lasts", "", 0, awayMost)
		at := lang.RootDir + "/" + deniable[which]
		switch p := g.current(int(which) * 3 % len(g.pods)); {
		case p == nil:
		case which < 2:
			at = lang.RootDir + "/pods/" + string(p.uid) + "/volumes" + [...]string{"", "/kubernetes.io~csi"}[which]
		case int(which) == len(deniable)-1:
			if n := slices.IndexFunc(p.uses, func(u use) bool { return u.driver != "" && !u.raw }); n >= 0 {
				at = path.Dir(p.uses[n].path) + "/vol_data.json"
			}
		}
		g.r.sleeps(last / 4)
		g.r.denies(at, why, last)
		if isForgotten {
			g.r.losesOwn("journal")
		}
	})
}

// deniable is directories that a start lists. The first two and the last stand for those of a pod that is not there.
var deniable = []string{
	"pods", "pods", "plugins/kubernetes.io/csi/disk.example", "plugins/kubernetes.io/csi/file.example",
	"plugins/kubernetes.io/csi/volumeDevices",
	"plugins/kubernetes.io/csi/volumeDevices/staging", "plugins/kubernetes.io/csi/volumeDevices/publish",
	"plugins/kubernetes.io/csi/volumeDevices/publish/pv-4",
	"plugins/kubernetes.io/csi/disk.example/" + plugin.HandleHash("vol-1"),
	"pods",
}

// planLosses draws what becomes of the agent's own files: somebody removes them under a living agent, or while it is
// away, or the journal rots.
func (g *workload) planLosses() {
	for n := range 2 {
		how := g.pick("workload.own-files", "", n, 16, 2, 2, 1, 1, 1)
		which := ownFiles[g.pick("workload.own-which", "", n, 3, 1, 1, 1, 1)]
		if how == 0 {
			continue
		}
		g.at(g.time("workload.own-time", "", n, cases.Chaos), "own files", func() {
			if how > 1 && how < 5 {
				g.r.sleeps(time.Second + g.time("workload.away", "own files", n, awayMost))
			}
			if how == 3 {
				g.r.rots()
				return
			}
			if how > 3 {
				g.r.emptiesOwn(which)
				return
			}
			g.r.losesOwn(which)
		})
	}
}
