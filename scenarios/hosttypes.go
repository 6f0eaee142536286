package scenarios

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is S21 of the types that hostPaths ask for. The agent looks at a path when its pod comes, when its type is
// edited, and at each start. From then on no pod is ready whose hostPath is not of the type that is wanted by now,
// unless somebody has changed what is there since.

const hostThing = "/opt/thing" // a directory, which somebody replaces by a file

// hostKinds are the types that people edit hostPaths to; the first stands for what its place asks for.
var hostKinds = [...]corev1.HostPathType{
	corev1.HostPathUnset, corev1.HostPathUnset, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
	corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket,
}

// askedFor is the type of file that each type of hostPath asks for.
var askedFor = map[corev1.HostPathType]hal.FileType{
	corev1.HostPathDirectory: hal.TypeDirectory, corev1.HostPathDirectoryOrCreate: hal.TypeDirectory,
	corev1.HostPathFile: hal.TypeFile, corev1.HostPathFileOrCreate: hal.TypeFile, corev1.HostPathSocket: hal.TypeSocket,
	corev1.HostPathCharDev: hal.TypeCharDevice, corev1.HostPathBlockDev: hal.TypeBlockDevice,
}

// planHostTypes draws how people edit the type of the hostPath of a pod, and what they do to what it leads to.
func (g *workload) planHostTypes(s *shape, name string) {
	i := int(s.index)
	for n := range cases.Slots {
		kind := uint8(g.pick("workload.host-type", name, n, 6, 1, 1, 1, 1, 1, 1, 2))
		if kind == 0 {
			continue
		}
		g.at(g.time("workload.host-type-time", name, n, cases.Chaos), name, func() {
			if p := g.current(i); p != nil && p.isWanted && !p.isLeaving {
				g.pods[i].hostKind = hostKindOf(kind, hostPlaces[s.hostPath].path)
				g.pods[i].edits++
				g.apply(i)
				p.isSteady = false
			}
		})
	}
	if hostPlaces[s.hostPath].path != hostThing {
		return
	}
	g.r.w.MakeDir(hostThing)
	for n, kind := range []hal.FileType{hal.TypeFile, hal.TypeDirectory} {
		if g.pick("workload.host-thing", name, 1+n, 1, 1) == 1 {
			g.at(g.time("workload.host-thing-time", name, n, cases.Chaos), name, func() { g.r.retypes(hostThing, kind) })
		}
	}
}

// hostKindOf is what a drawn type is of a place; the last one takes all edits back. Nobody makes a file where a driver
// has its directory.
func hostKindOf(kind uint8, at string) uint8 {
	kind %= uint8(len(hostKinds))
	if hostKinds[kind] == corev1.HostPathFileOrCreate && below(at, lang.RootDir) {
		kind--
	}
	return kind
}

// retypes is somebody who puts a file or a directory in the place of the other.
func (r *run) retypes(at string, kind hal.FileType) {
	if is, _ := r.w.Exists(at); is == kind || r.w.RemoveFile(at) != 0 {
		return
	}
	if r.typedAt = r.w.Now(); kind == hal.TypeDirectory {
		r.w.MakeDir(at)
		return
	}
	r.w.WriteFile(at, nil)
}

// misfit says what a hostPath leads to, if it is not what the pod asks for; "" if it is, or if nobody can tell.
func (r *run) misfit(u use) string {
	if !u.isHost || u.hostKind == corev1.HostPathUnset {
		return ""
	}
	found, errno := r.w.Find(u.path)
	switch {
	case errno != 0:
		return ""
	case !found.Exists:
		return "there is no " + u.path
	case found.Type != askedFor[u.hostKind]:
		return u.path + " is a " + found.Type.String()
	}
	return ""
}

// hearsType notes when the agent is told that the type of a hostPath was edited: it has to look. Once the type is
// edited again it need not have looked for the edit before, and nobody can tell whether it has.
func (r *run) hearsType(p *pod, object *corev1.Pod) {
	at := slices.IndexFunc(object.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
	if at < 0 {
		return
	}
	kind := corev1.HostPathUnset
	if is := object.Spec.Volumes[at].HostPath.Type; is != nil {
		kind = *is
	}
	switch {
	case !p.isTyped:
		r.typed = append(r.typed, p)
	case kind == p.toldType:
		return
	case p.isRetyped:
		p.retypedAt = 0
	default:
		p.retypedAt, p.isRetyped = r.w.Now(), true
	}
	p.toldType, p.isTyped, p.typeToldAt = kind, true, r.w.Now()
}

// forgetsTypes: a new life of the agent has been told of nothing.
func (r *run) forgetsTypes() {
	for _, p := range r.typed {
		p.isTyped, p.isRetyped, p.retypedAt = false, false, 0
	}
	r.typed = r.typed[:0]
}

// wasRetyped: somebody has changed what hostPaths lead to since the agent had to look last at that of p.
func (r *run) wasRetyped(p *pod) bool {
	return r.typedAt > max(r.bornAt, p.retypedAt) || r.wasTurned(p)
}

// seesMisfits is S21 of the types that hostPaths ask for. The owner takes in what it is told at the end of its queue,
// for which no time passes: until then core is as it was before the edit.
func (r *run) seesMisfits() {
	for _, p := range r.typed {
		if p.typeToldAt == r.w.Now() || !p.isWanted || !r.isCurrent(p) || !r.core.Ready(p.uid) || r.wasRetyped(p) {
			continue
		}
		for _, u := range p.uses {
			r.judges("S21")
			if why := r.misfit(u); why != "" {
				r.fail("S21", "stays ready", p.name, "pod "+p.name+" is ready, its hostPath "+u.name+
					" asks for the type "+string(u.hostKind)+", and "+why)
				return
			}
		}
	}
}

// tellsMisfit is L12 of the status of a hostPath that is not of the type that is asked for, edits and a start included:
// it is not Ready, and names the path.
func (r *run) tellsMisfit(p *pod, u use, v *engine.VolumeStatus) bool {
	why := r.misfit(u)
	if why == "" || r.wasRetyped(p) {
		return true
	}
	r.judges("L12")
	if v.State == engine.Ready || !strings.Contains(v.Why, u.path) {
		r.fail("L12", "hostPath", p.name, "pod "+p.name+" asks for the type "+string(u.hostKind)+", "+why+
			", and its status is "+string(v.State)+": "+v.Why)
		return false
	}
	return true
}

// asksForAnyType is a person who reads that a hostPath is not of the type that the pod asks for, and asks for none.
func (r *run) asksForAnyType(p *pod) {
	object, uses := p.object.DeepCopy(), slices.Clone(p.uses)
	object.ResourceVersion += "0"
	for i := range object.Spec.Volumes {
		if of := object.Spec.Volumes[i].HostPath; of != nil {
			of.Type = nil
		}
	}
	for i := range uses {
		if uses[i].isHost {
			uses[i].hostKind, uses[i].exempt = corev1.HostPathUnset, true
		}
	}
	r.apply(object, uses)
	p.isSteady = false
}
