package workload

import (
	"path"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S34: no hostPath leads to a place whose content the agent deletes or owns, and the agent deletes nothing
// of the places where one may.

// PlanHostPath draws where the hostPath of pod i leads.
func (g *Workload) PlanHostPath(s *world.Shape, name string) {
	s.HostPath = 1 + uint8(g.Pick("workload.host-path", name, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1))
	if s.HostPath == 1 && g.Pick("workload.host-thing", name, 0, 2, 1) == 1 {
		s.HostPath = uint8(len(world.HostPlaces)) - 1
	}
	g.planHostTypes(s, name)
	if s.HostPath == 1 {
		return
	}
	w := g.R.W
	w.MakeDir(world.HostUnit)
	_ = w.Symlink(lang.RootDir+"/pods", world.HostLink) // another pod may have drawn it before
	_ = w.Symlink(world.HostUnit, world.HostTurn)
	if _, isMade := w.Exists(world.HostBind); !isMade {
		w.MakeDir(world.HostBind)
		_ = w.BindMount(lang.RootDir, world.HostBind, false)
	}
	if world.HostPlaces[s.HostPath].Path == world.HostTurn {
		g.At(g.Time("workload.host-path-time", name, 0, cases.Chaos), name, func() {
			_ = w.RemoveFile(world.HostTurn) // it was made at the beginning
			_ = w.Symlink(world.EmptyDirOfFirst, world.HostTurn)
			g.R.TurnedAt = w.Now()
		})
	}
}

// IsIntruding is that of a rung, once nothing of an earlier look of the agent is left.
func IsIntruding(r *world.Run, b *core.Belief) bool {
	p := r.ByUID[b.Pod]
	return !b.InFlight && !b.HasChild && strings.HasPrefix(string(b.Key), "hostpath/") && p != nil &&
		judges.IsIntruder(r, p)
}

// TurnsAway is S34 of the status, a hostPath that the agent refuses says where it leads, and L12 of those that are not
// of the type that is asked for.
func TurnsAway(r *world.Run) bool {
	status, ok := judges.Status(r)
	if !ok {
		return true
	}
	for _, s := range status.Pods {
		p := r.ByUID[s.UID]
		if p == nil || !p.IsWanted || !r.IsCurrent(p) {
			continue
		}
		for _, u := range p.Uses {
			at := slices.IndexFunc(s.Volumes, func(v engine.VolumeStatus) bool { return v.Name == u.Name })
			if at >= 0 && u.IsHost && !(tellsWhere(r, p, u, &s.Volumes[at]) && tellsMisfit(r, p, u, &s.Volumes[at])) {
				return false
			}
		}
	}
	return true
}

// tellsWhere is S34 of one status.
func tellsWhere(r *world.Run, p *world.Pod, u world.Use, v *engine.VolumeStatus) bool {
	if dealings.LeadsInto(r, u.Path) == "" || dealings.WasTurned(r, p) {
		return true
	}
	r.Judges("S34")
	if v.State != engine.Blocked || !strings.Contains(v.Why, u.Path) {
		r.Fail("S34", "status", p.Name,
			"the hostPath "+u.Path+" of pod "+p.Name+" leads to "+dealings.LeadsInto(r, u.Path)+", and its status is "+
				string(v.State)+": "+v.Why)
		return false
	}
	return true
}

// TurnsBack is a person who turns a link back to where it led, and starts those again who have opened what it led to.
func TurnsBack(r *world.Run) {
	if to, _ := r.W.Find(world.HostTurn); r.TurnedAt != 0 && len(to.Below) > 0 {
		_ = r.W.RemoveFile(world.HostTurn) // it is there, as it leads somewhere
		_ = r.W.Symlink(world.HostUnit, world.HostTurn)
		for _, p := range r.Pods {
			if slices.ContainsFunc(p.Given, func(u world.Use) bool { return u.Path == world.HostTurn }) {
				p.LetGo()
			}
		}
	}
	if kind, _ := r.W.Exists(world.HostThing); kind == hal.TypeFile {
		retypes(r, world.HostThing, hal.TypeDirectory)
	}
}

// HostActions are the statements about links and mounts that people make on the host.
func HostActions() []Action {
	return []Action{
		{"link PATH to PATH", func(t *Scene, a []string) string { return t.link(a[0], a[1]) }},
		{"bind PATH to PATH", func(t *Scene, a []string) string { return t.bindHost(a[0], a[1]) }},
	}
}

// link makes a link, or turns the one that is there.
func (t *Scene) link(at, to string) string {
	t.W.MakeDir(path.Dir(at))
	_ = t.W.RemoveFile(at) // it need not be there
	t.R.TurnedAt = t.W.Now()
	if err := t.W.Symlink(to, at); err != nil {
		return err.Error()
	}
	return ""
}

// bindHost has the host mount a directory a second time.
func (t *Scene) bindHost(from, at string) string {
	t.W.MakeDir(at)
	if errno := t.W.BindMount(from, at, false); errno != 0 {
		return errno.Error()
	}
	return ""
}

// ExpectNothingAt says what is at a path of the host where nothing should be.
func (t *Scene) ExpectNothingAt(at string) string {
	if kind, there := t.W.Exists(at); there {
		return "a " + kind.String() + " is there"
	}
	return ""
}
