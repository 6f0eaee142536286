package workload

import (
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what the workload of a hunt does to the root directory.

// PlanRoot draws whose root directory it is, and what becomes of the host.
func (g *Workload) PlanRoot() {
	if g.Pick("workload.root", "", 0, 20, 1) == 1 {
		judges.IsAnothers(g.R)
	}
	if g.Pick("workload.host-name", "", 0, 3, 1) == 1 {
		g.At(g.Time("workload.host-name-time", "", 0, cases.Chaos), "host name", func() { g.R.Host = "renamed" })
	}
	if g.Pick("workload.machine", "", 0, 30, 1) == 1 {
		g.At(g.Time("workload.machine-time", "", 0, cases.Chaos), "machine", func() {
			g.R.Sleeps(time.Second + g.Time("workload.away", "machine", 0, AwayMost))
			judges.IsCopied(g.R)
		})
	}
	for n := range 2 {
		if g.Pick("workload.stray", "", n, 6, 1) == 1 {
			where := g.Pick("workload.stray-where", "", n, slices.Repeat([]uint32{1}, len(judges.StrayPlaces))...)
			what := g.Pick("workload.stray-what", "", n, 1, 1, 1)
			g.At(g.Time("workload.stray-time", "", n, cases.Chaos), "stray entry",
				func() { judges.Strays(g.R, judges.StrayPlaces[where], what) })
		}
	}
	g.planLosses()
	g.planWounds()
	g.planDenials()
}

// planDenials draws directories that a start can't list for a while, or a data file that it can't read, at times after
// the journal was lost.
func (g *Workload) planDenials() {
	if g.Pick("workload.deny", "", 0, 12, 1) == 0 {
		return
	}
	which := g.Pick("workload.deny-where", "", 0, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2)
	why := [...]syscall.Errno{syscall.EIO, syscall.EACCES}[g.Pick("workload.deny-why", "", 0, 1, 1)]
	isForgotten := g.Pick("workload.deny-forgotten", "", 0, 1, 1) == 1
	g.At(g.Time("workload.deny-time", "", 0, cases.Chaos), "denied directory", func() {
		last := time.Second + g.Time("workload.deny-lasts", "", 0, AwayMost)
		at := lang.RootDir + "/" + deniable[which]
		switch p := g.Current(int(which) * 3 % len(g.Pods)); {
		case p == nil:
		case which < 2:
			at = lang.RootDir + "/pods/" + string(p.Uid) + "/volumes" + [...]string{"", "/kubernetes.io~csi"}[which]
		case int(which) == len(deniable)-1:
			if n := slices.IndexFunc(p.Uses, func(u world.Use) bool { return u.Driver != "" && !u.Raw }); n >= 0 {
				at = path.Dir(p.Uses[n].Path) + "/vol_data.json"
			}
		}
		g.R.Sleeps(last / 4)
		judges.Denies(g.R, at, why, last)
		if isForgotten {
			judges.LosesOwn(g.R, "journal")
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
func (g *Workload) planLosses() {
	for n := range 2 {
		how := g.Pick("workload.own-files", "", n, 16, 2, 2, 1, 1, 1)
		which := judges.OwnFiles[g.Pick("workload.own-which", "", n, 3, 1, 1, 1, 1)]
		if how == 0 {
			continue
		}
		g.At(g.Time("workload.own-time", "", n, cases.Chaos), "own files", func() {
			if how > 1 && how < 5 {
				g.R.Sleeps(time.Second + g.Time("workload.away", "own files", n, AwayMost))
			}
			if how == 3 {
				judges.Rots(g.R)
				return
			}
			if how > 3 {
				judges.EmptiesOwn(g.R, which)
				return
			}
			judges.LosesOwn(g.R, which)
		})
	}
}
