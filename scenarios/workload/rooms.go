package workload

import (
	"slices"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what pods of hunts have of the sources of [world.Rooms], and what the world does to that.

// PlanRooms draws which volumes pod i has, and whether they are harmed.
func (g *Workload) PlanRooms(i int, name string) {
	s := &g.Pods[i]
	for n, m := range world.Rooms {
		if m.Hunted.Site == "" {
			continue
		}
		s.Chosen[n] = uint8(g.Pick(m.Hunted.Site, name, 0, m.Hunted.Weights()...))
		if c := s.Chosen[n]; c != 0 && !g.has(&m.Hunted.Volumes[c-1]) {
			s.Chosen[n] = 0
		}
		if s.Chosen[n] != 0 && len(m.Harms) > 0 {
			g.planHarm(i, name, m)
		}
	}
}

// has reports whether pods of the world can have such a volume.
func (g *Workload) has(v *world.HuntedShape) bool {
	return (v.PV == nil || g.IsPersistent) && (!v.InTree || g.IsInTree)
}

// groups are those of pods' files. To root's they are given like to any other.
var groups = [...]uint16{0, 2000, 2001}

// PlanGroup draws which group the files of pod i are to be of, and when that is edited.
func (g *Workload) PlanGroup(i int, name string) {
	s := &g.Pods[i]
	isRefused := func(m *world.Room) bool { return m.IsOfNoGroup && s.Chosen[slices.Index(world.Rooms, m)] != 0 }
	if !g.HasGroups || slices.ContainsFunc(world.Rooms, isRefused) {
		return
	}
	s.Group = groups[g.Pick("workload.group", name, 0, 1, 2, 1)]
	s.User = uint16(1000 * g.Pick("workload.user", name, 0, 1, 1))
	if g.Pick("workload.group-edit", name, 0, 3, 1) == 1 {
		to := groups[g.Pick("workload.group", name, 1, 1, 1, 1)]
		g.At(g.Time("workload.group-time", name, 0, cases.Chaos), name, func() {
			if p := g.Current(i); p != nil && p.IsWanted && !p.IsLeaving {
				s.Group = to
				s.Edits++
				g.Apply(i)
				p.IsSteady = false
			}
		})
	}
}

// PlanRare draws which of the rare volumes of a source pod i has, and what happens to it.
func (g *Workload) PlanRare(m *world.Room, i int, name string) {
	g.Pods[i].Chosen[slices.Index(world.Rooms, m)] = m.Rare.Plan(g, m, i, name)
}

// EditVolume has somebody edit the rare volume of a source that pod i has, if the pod is there.
func (g *Workload) EditVolume(i int, m *world.Room, to uint8) {
	if p := g.Current(i); p != nil && p.IsWanted && !p.IsLeaving {
		g.Pods[i].Edited[slices.Index(world.Rooms, m)] = to
		g.Pods[i].Edits++
		g.Apply(i)
		p.IsSteady = false
	}
}

// Persists reports whether sources besides CSI have PersistentVolumes.
func (g *Workload) Persists() bool { return g.IsPersistent }

// InTree reports whether the driver of awsElasticBlockStore serves this node.
func (g *Workload) InTree() bool { return g.IsInTree }

// Run is the run that the hunt makes.
func (g *Workload) Run() *world.Run { return g.R }

// Volumes is how many PersistentVolumes the world has.
func (g *Workload) Volumes() int { return g.Setup.Volumes }

func (g *Workload) planHarm(i int, name string, m *world.Room) {
	which := g.Pick(m.HarmSite, name, 0, m.HarmWeights()...)
	if which == 0 {
		return
	}
	harm := m.Harms[which-1]
	g.At(g.Time(m.HarmSite, name, 1, g.Setup.Chaos), name, func() {
		p := g.Current(i)
		if p == nil || !p.IsWanted || !p.IsRunning {
			return
		}
		for _, u := range p.Given {
			if u.Room == m && harm.Do(g.R.W, u.Path) == 0 {
				g.R.Harms(p, u)
			}
		}
	})
}
