package nfs

import (
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/nfs"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what servers do, and what must be true of what pods have of them: S21, that a pod which is reported
// ready finds its export, read-only if that was asked, and nothing of it gives rights on the node.

// run is what a run notes of NFS volumes.
type run struct{ world.PlainRun }

// begin makes the exports, and draws when their server is silent, and when it exports them again.
func begin(g world.Planner) {
	w := g.Run().W
	for _, export := range []string{data, home} {
		w.Export(export)
		for n := range 2 {
			switch g.Pick("workload.nfs-server", export, n, 4, 1, 1) {
			case 1:
				g.At(g.Time("workload.nfs-time", export, n, cases.Chaos), export, func() {
					w.SilenceShare(export,
						time.Second+g.Time("workload.nfs-silent", export, n, cases.Chaos/cases.Slots))
				})
			case 2:
				g.At(g.Time("workload.nfs-time", export, n, cases.Chaos), export, func() { w.ExportShareAgain(export) })
			}
		}
	}
}

// Waits: who mounts or unmounts an export of a silent server waits for it.
func (*run) Waits(r *world.Run, b *core.Belief) bool {
	return b.Kind == nfs.Kind && b.InFlight && (r.W.IsShareSilent(data) || r.W.IsShareSilent(home))
}

// LetsIn is S21 of a pod that is reported ready.
func (*run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		if u.Room == nil || u.Room.Source.Name != "nfs" {
			continue
		}
		stack := r.W.MountsAt(u.Path)
		if len(stack) == 0 {
			continue // S21 says so
		}
		r.Judges("S21")
		if why := misfit(u, stack[len(stack)-1]); why != "" {
			r.Fail("S21", "nfs", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+" "+why)
			return false
		}
	}
	return true
}

// misfit says how a mount differs from what a pod asks for, "" if it does not.
func misfit(u world.Use, m hal.Mount) string {
	has := map[string]bool{}
	for _, option := range m.Options {
		has[option] = true
	}
	switch {
	case m.Source != u.Share:
		return "is of " + m.Source + ", and not of " + u.Share
	case m.ReadOnly != u.ReadOnly:
		return map[bool]string{true: "is writable", false: "is read-only"}[u.ReadOnly]
	case !has["nodev"] || !has["nosuid"]:
		return "lets a server give rights on the node: it is not nodev and nosuid"
	}
	return ""
}
