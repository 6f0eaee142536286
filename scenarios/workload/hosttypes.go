package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S21 of the types that hostPaths ask for. The agent looks at a path when its pod comes, when its type is
// edited, and at each start. From then on no pod is ready whose hostPath is not of the type that is wanted by now,
// unless somebody has changed what is there since.

// planHostTypes draws how people edit the type of the hostPath of a pod, and what they do to what it leads to.
func (g *Workload) planHostTypes(s *world.Shape, name string) {
	i := int(s.Index)
	for n := range cases.Slots {
		kind := uint8(g.Pick("workload.host-type", name, n, 6, 1, 1, 1, 1, 1, 1, 2))
		if kind == 0 {
			continue
		}
		g.At(g.Time("workload.host-type-time", name, n, cases.Chaos), name, func() {
			if p := g.Current(i); p != nil && p.IsWanted && !p.IsLeaving {
				g.Pods[i].HostKind = hostKindOf(kind, world.HostPlaces[s.HostPath].Path)
				g.Pods[i].Edits++
				g.Apply(i)
				p.IsSteady = false
			}
		})
	}
	if world.HostPlaces[s.HostPath].Path != world.HostThing {
		return
	}
	g.R.W.MakeDir(world.HostThing)
	for n, kind := range []hal.FileType{hal.TypeFile, hal.TypeDirectory} {
		if g.Pick("workload.host-thing", name, 1+n, 1, 1) == 1 {
			g.At(g.Time("workload.host-thing-time", name, n, cases.Chaos), name,
				func() { retypes(g.R, world.HostThing, kind) })
		}
	}
}

// hostKindOf is what a drawn type is of a place; the last one takes all edits back. Nobody makes a file where a driver
// has its directory.
func hostKindOf(kind uint8, at string) uint8 {
	kind %= uint8(len(world.HostKinds))
	if world.HostKinds[kind] == corev1.HostPathFileOrCreate && world.Below(at, lang.RootDir) {
		kind--
	}
	return kind
}

// retypes is somebody who puts a file or a directory in the place of the other.
func retypes(r *world.Run, at string, kind hal.FileType) {
	if is, _ := r.W.Exists(at); is == kind || r.W.RemoveFile(at) != 0 {
		return
	}
	if r.TypedAt = r.W.Now(); kind == hal.TypeDirectory {
		r.W.MakeDir(at)
		return
	}
	r.W.WriteFile(at, nil)
}

// ForgetsTypes: a new life of the agent has been told of nothing.
func ForgetsTypes(r *world.Run) {
	for _, p := range r.Typed {
		p.IsTyped, p.IsRetyped, p.RetypedAt = false, false, 0
	}
	r.Typed = r.Typed[:0]
}

// wasRetyped: somebody has changed what hostPaths lead to since the agent had to look last at that of p.
func wasRetyped(r *world.Run, p *world.Pod) bool {
	return r.TypedAt > max(r.BornAt, p.RetypedAt) || dealings.WasTurned(r, p)
}

// SeesMisfits is S21 of the types that hostPaths ask for. The owner takes in what it is told at the end of its queue,
// for which no time passes: until then core is as it was before the edit.
func SeesMisfits(r *world.Run) {
	for _, p := range r.Typed {
		if p.TypeToldAt == r.W.Now() || !p.IsWanted || !r.IsCurrent(p) || !r.Core.Ready(p.Uid) || wasRetyped(r, p) {
			continue
		}
		for _, u := range p.Uses {
			r.Judges("S21")
			if why := judges.Misfit(r, u); why != "" {
				r.Fail("S21", "stays ready", p.Name, "pod "+p.Name+" is ready, its hostPath "+u.Name+
					" asks for the type "+string(u.HostKind)+", and "+why)
				return
			}
		}
	}
}

// tellsMisfit is L12 of the status of a hostPath that is not of the type that is asked for, edits and a start included:
// it is not Ready, and names the path.
func tellsMisfit(r *world.Run, p *world.Pod, u world.Use, v *engine.VolumeStatus) bool {
	why := judges.Misfit(r, u)
	if why == "" || wasRetyped(r, p) {
		return true
	}
	r.Judges("L12")
	if v.State == engine.Ready || !strings.Contains(v.Why, u.Path) {
		r.Fail("L12", "hostPath", p.Name, "pod "+p.Name+" asks for the type "+string(u.HostKind)+", "+why+
			", and its status is "+string(v.State)+": "+v.Why)
		return false
	}
	return true
}

// AsksForAnyType is a person who reads that a hostPath is not of the type that the pod asks for, and asks for none.
func AsksForAnyType(r *world.Run, p *world.Pod) {
	object, uses := p.Object.DeepCopy(), slices.Clone(p.Uses)
	object.ResourceVersion += "0"
	for i := range object.Spec.Volumes {
		if of := object.Spec.Volumes[i].HostPath; of != nil {
			of.Type = nil
		}
	}
	for i := range uses {
		if uses[i].IsHost {
			uses[i].HostKind, uses[i].Exempt = corev1.HostPathUnset, true
		}
	}
	dealings.Apply(r, object, uses)
	p.IsSteady = false
}
