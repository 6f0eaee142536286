package judges

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/world"
)

// askedFor is the type of file that each type of hostPath asks for.
var askedFor = map[corev1.HostPathType]hal.FileType{
	corev1.HostPathDirectory: hal.TypeDirectory, corev1.HostPathDirectoryOrCreate: hal.TypeDirectory,
	corev1.HostPathFile: hal.TypeFile, corev1.HostPathFileOrCreate: hal.TypeFile, corev1.HostPathSocket: hal.TypeSocket,
	corev1.HostPathCharDev: hal.TypeCharDevice, corev1.HostPathBlockDev: hal.TypeBlockDevice,
}

// Misfit says what a hostPath leads to, if it is not what the pod asks for; "" if it is, or if nobody can tell.
func Misfit(r *world.Run, u world.Use) string {
	if !u.IsHost || u.HostKind == corev1.HostPathUnset {
		return ""
	}
	found, errno := r.W.Find(u.Path)
	switch {
	case errno != 0:
		return ""
	case !found.Exists:
		return "there is no " + u.Path
	case found.Type != askedFor[u.HostKind]:
		return u.Path + " is a " + found.Type.String()
	}
	return ""
}

// hearsType notes when the agent is told that the type of a hostPath was edited: it has to look. Once the type is
// edited again it need not have looked for the edit before, and nobody can tell whether it has.
func hearsType(r *world.Run, p *world.Pod, object *corev1.Pod) {
	at := slices.IndexFunc(object.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil })
	if at < 0 {
		return
	}
	kind := corev1.HostPathUnset
	if is := object.Spec.Volumes[at].HostPath.Type; is != nil {
		kind = *is
	}
	switch {
	case !p.IsTyped:
		r.Typed = append(r.Typed, p)
	case kind == p.ToldType:
		return
	case p.IsRetyped:
		p.RetypedAt = 0
	default:
		p.RetypedAt, p.IsRetyped = r.W.Now(), true
	}
	p.ToldType, p.IsTyped, p.TypeToldAt = kind, true, r.W.Now()
}

// IsIntruder reports whether a pod has a hostPath that it must not have, or that is not of the type that it asks for.
func IsIntruder(r *world.Run, p *world.Pod) bool {
	return LeadsAstray(r, p) || slices.ContainsFunc(p.Uses, func(u world.Use) bool { return Misfit(r, u) != "" })
}

// LeadsAstray reports whether a pod has a hostPath that leads to a place of the agent.
func LeadsAstray(r *world.Run, p *world.Pod) bool {
	return slices.ContainsFunc(p.Uses, func(u world.Use) bool {
		return u.IsHost && dealings.LeadsInto(r,
			u.Path) != ""
	})
}

// deletesOfHosts is S34 of names that go.
func deletesOfHosts(r *world.Run, e *sim.Effect) {
	if e.Actor == "agent" && (e.Path == world.HostFile || world.Below(world.HostFile, e.Path)) {
		r.Fail("S34", e.Kind.String(), e.Path, "the agent deletes "+e.Path+", which a hostPath leads to")
	}
}
