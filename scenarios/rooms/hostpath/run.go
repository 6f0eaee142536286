package hostpath

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/hostpath"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what must be true of hostPaths.
//
// S34: none leads to a place whose content the agent deletes or owns, and the agent deletes nothing of the places where
// one may. L12: the status says why one is refused.
//
// S21 of the types that they ask for: the agent looks at a path when its pod comes, when its type is edited, and at
// each start. From then on no pod is ready whose hostPath is not of the type that is wanted by now, unless somebody has
// changed what is there since.

// run is what a run notes of hostPaths.
type run struct {
	world.PlainRun
	told []told // of the present life of the agent
}

// told is what the present life of the agent was told of the type of a pod's hostPath.
type told struct {
	pod      *world.Pod
	kind     corev1.HostPathType
	at       hal.Instant // when it was told last of another one than before
	isEdited bool        // it was told of an edit
	editedAt hal.Instant // when it had to look again, as the type was edited; 0 if nobody can tell
}

// askedFor is the type of file that each type of hostPath asks for.
var askedFor = map[corev1.HostPathType]hal.FileType{
	corev1.HostPathDirectory: hal.TypeDirectory, corev1.HostPathDirectoryOrCreate: hal.TypeDirectory,
	corev1.HostPathFile: hal.TypeFile, corev1.HostPathFileOrCreate: hal.TypeFile, corev1.HostPathSocket: hal.TypeSocket,
	corev1.HostPathCharDev: hal.TypeCharDevice, corev1.HostPathBlockDev: hal.TypeBlockDevice,
}

// typeOf is the type that a hostPath asks for.
func typeOf(src *corev1.HostPathVolumeSource) corev1.HostPathType {
	if src.Type == nil {
		return corev1.HostPathUnset
	}
	return *src.Type
}

// use is how containers use a hostPath. Of an unset type nothing is asked, not even that it is there.
func use(v world.Claimed) (world.Use, bool) {
	src := v.Spec.HostPath
	return world.Use{Path: src.Path, Exempt: typeOf(src) == corev1.HostPathUnset}, true
}

// wanted is the type that a pod asks for where it uses a hostPath; false if the use is none.
func wanted(p *world.Pod, u world.Use) (corev1.HostPathType, bool) {
	if u.IsHosts() {
		for i := range p.Object.Spec.Volumes {
			if v := &p.Object.Spec.Volumes[i]; v.Name == u.Name && v.HostPath != nil {
				return typeOf(v.HostPath), true
			}
		}
	}
	return "", false
}

// misfit says what a hostPath leads to, if it is not what the pod asks for; "" if it is, or if nobody can tell.
func misfit(r *world.Run, p *world.Pod, u world.Use) string {
	kind, isHost := wanted(p, u)
	if !isHost || kind == corev1.HostPathUnset {
		return ""
	}
	found, errno := r.W.Find(u.Path)
	switch {
	case errno != 0:
		return ""
	case !found.Exists:
		return "there is no " + u.Path
	case found.Type != askedFor[kind]:
		return u.Path + " is a " + found.Type.String()
	}
	return ""
}

// leadsInto says which place of the agent's a use of a hostPath leads to, "" if none.
func leadsInto(r *world.Run, p *world.Pod, u world.Use) string {
	if _, isHost := wanted(p, u); !isHost {
		return ""
	}
	found, errno := r.W.Find(u.Path)
	if errno != 0 {
		return ""
	}
	for _, below := range found.Below {
		names := strings.Split(below, "/")
		// Drivers in pods have the directories of drivers.
		isDriver := strings.HasPrefix(below, "plugins/kubernetes.io/csi/") && len(names) == 4
		isShared := strings.HasPrefix(below, "plugins/kubernetes.io/") && len(names) > 3 && !isDriver
		if names[0] == "volnode" || names[0] == "pods" && len(names) > 1 || isShared {
			return lang.RootDir + "/" + below
		}
	}
	return ""
}

// leadsAstray reports whether a pod has a hostPath that leads to a place of the agent.
func leadsAstray(r *world.Run, p *world.Pod) bool {
	return slices.ContainsFunc(p.Uses, func(u world.Use) bool { return leadsInto(r, p, u) != "" })
}

// Refuses: a hostPath leads to a place of the agent, or to something of another type than the pod asks for.
func (*run) Refuses(r *world.Run, p *world.Pod) bool {
	return leadsAstray(r, p) ||
		slices.ContainsFunc(p.Uses, func(u world.Use) bool { return misfit(r, p, u) != "" })
}

// Born forgets what the life before was told.
func (h *run) Born(*world.Run) { h.told = h.told[:0] }

// Told notes when the agent is told that the type of a hostPath was edited: it has to look. Once the type is edited
// again it need not have looked for the edit before, and nobody can tell whether it has.
func (h *run) Told(r *world.Run, p *world.Pod, object *corev1.Pod) {
	var src *corev1.HostPathVolumeSource
	for i := range object.Spec.Volumes {
		if src = object.Spec.Volumes[i].HostPath; src != nil {
			break
		}
	}
	if src == nil {
		return
	}
	kind := typeOf(src)
	at := h.find(p)
	switch {
	case at == nil:
		h.told = append(h.told, told{pod: p, kind: kind, at: r.W.Now()})
		return
	case kind == at.kind:
		return
	case at.isEdited:
		at.editedAt = 0
	default:
		at.editedAt, at.isEdited = r.W.Now(), true
	}
	at.kind, at.at = kind, r.W.Now()
}

// find is what the agent was told of a pod, nil if nothing.
func (h *run) find(p *world.Pod) *told {
	for i := range h.told {
		if h.told[i].pod == p {
			return &h.told[i]
		}
	}
	return nil
}

// lookedAt is when the agent had to look last at the hostPath of a pod.
func (h *run) lookedAt(r *world.Run, p *world.Pod) hal.Instant {
	if at := h.find(p); at != nil {
		return max(r.BornAt, at.editedAt)
	}
	return r.BornAt
}

// wasTurned: somebody has turned a link since the agent had to look last where that of p leads.
func (h *run) wasTurned(r *world.Run, p *world.Pod) bool { return r.TurnedAt > h.lookedAt(r, p) }

// wasRetyped: somebody has changed what hostPaths lead to since the agent had to look last at that of p.
func (h *run) wasRetyped(r *world.Run, p *world.Pod) bool {
	return max(r.TypedAt, r.TurnedAt) > h.lookedAt(r, p)
}

// LetsIn is S34 of a pod that is reported ready.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		if _, isHost := wanted(p, u); !isHost {
			continue
		}
		r.Judges("S34")
		if at := leadsInto(r, p, u); at != "" && !h.wasTurned(r, p) {
			r.Fail("S34", "told ready", p.Name,
				"pod "+p.Name+" is reported ready, and its hostPath "+u.Path+" leads to "+at+
					", whose content the agent deletes or owns")
			return false
		}
		leaves(r, u)
	}
	return true
}

// Stepped is S21 of the types that hostPaths ask for. The owner takes in what it is told at the end of its queue, for
// which no time passes: until then core is as it was before the edit.
func (h *run) Stepped(r *world.Run) {
	for i := range h.told {
		p := h.told[i].pod
		if h.told[i].at == r.W.Now() || !p.IsWanted || !r.IsCurrent(p) || !r.Core.Ready(p.Uid) || h.wasRetyped(r, p) {
			continue
		}
		for _, u := range p.Uses {
			r.Judges("S21")
			if why := misfit(r, p, u); why != "" {
				kind, _ := wanted(p, u)
				r.Fail("S21", "stays ready", p.Name, "pod "+p.Name+" is ready, its hostPath "+u.Name+
					" asks for the type "+string(kind)+", and "+why)
				return
			}
		}
	}
}

// Reports is S34 of the status: a hostPath that leads to a place of the agent is Blocked and says where it leads. And
// L12 of one that is not of the type that is asked for, edits and a start included: it is not Ready, and names the
// path.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, v *engine.VolumeStatus) bool {
	status := ", and its status is " + string(v.State) + ": " + v.Why
	if at := leadsInto(r, p, u); at != "" && !h.wasTurned(r, p) {
		r.Judges("S34")
		if v.State != engine.Blocked || !strings.Contains(v.Why, u.Path) {
			r.Fail("S34", "status", p.Name, "the hostPath "+u.Path+" of pod "+p.Name+" leads to "+at+status)
			return false
		}
	}
	if why := misfit(r, p, u); why != "" && !h.wasRetyped(r, p) {
		r.Judges("L12")
		if v.State == engine.Ready || !strings.Contains(v.Why, u.Path) {
			kind, _ := wanted(p, u)
			r.Fail("L12", "hostPath", p.Name, "pod "+p.Name+" asks for the type "+string(kind)+", "+why+status)
			return false
		}
	}
	return true
}

// Waits: who looks for a hostPath on a silent server waits for it, and may still make it.
func (*run) Waits(r *world.Run, b *core.Belief) bool {
	return b.Kind == hostpath.Kind && b.InFlight && r.W.IsShareSilent(shareDir)
}

// Corrects asks for no type where another one is found. Where a hostPath leads, no edit of its type changes.
func (*run) Corrects(r *world.Run, p *world.Pod) bool {
	isMisfit := slices.ContainsFunc(p.Uses, func(u world.Use) bool { return misfit(r, p, u) != "" })
	if leadsAstray(r, p) || !isMisfit {
		return false
	}
	object, uses := p.Object.DeepCopy(), slices.Clone(p.Uses)
	object.ResourceVersion += "0"
	for i := range uses {
		if _, isHost := wanted(p, uses[i]); isHost {
			uses[i].Exempt = true
		}
	}
	for i := range object.Spec.Volumes {
		if src := object.Spec.Volumes[i].HostPath; src != nil {
			src.Type = nil
		}
	}
	dealings.Apply(r, object, uses)
	p.IsSteady = false
	return true
}
