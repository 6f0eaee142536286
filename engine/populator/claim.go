package populator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

const protection = "kubernetes.io/pvc-protection"

// claim follows a claim to its PersistentVolume. Each must name the other: a claim that alone says so could take
// another's data. That of a generic ephemeral volume must name the pod, too (K:B13).
func (p *populator) claim(v *plugin.Volume) *plugin.Problem {
	namespace, name := p.Pod.Namespace, hal.ClaimName(p.Pod, v.Spec)
	field, advice := func() string { return v.Field(".persistentVolumeClaim.claimName") }, "name another one here"
	if v.Spec.Ephemeral != nil {
		field, advice = func() string { return v.Field(".ephemeral") }, "use persistentVolumeClaim"
	}
	if bad := plugin.BadObjectName(name); bad != "" {
		return plugin.Problemf(field(), "%s", plugin.Says(name, bad))
	}
	p.consult(RefClaim, namespace, name)
	claim := p.Claim(namespace, name)
	if claim == nil {
		return plugin.Problemf(field(), "there is no PersistentVolumeClaim %s in namespace %s; add it, or %s", name,
			namespace, advice)
	}
	of := func(path string) string { return "PersistentVolumeClaim " + namespace + "/" + claim.Name + " " + path }
	switch phase := claim.Status.Phase; {
	case claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, protection):
		return plugin.Problemf(of("metadata.deletionTimestamp"),
			"the claim is being deleted, and nothing protects its volume; create it again, or delete the pod")
	case claim.Spec.VolumeName == "":
		return plugin.Problemf(of("spec.volumeName"),
			"the claim is not bound to a PersistentVolume; volnode does not bind claims, so name one there")
	case v.Spec.Ephemeral != nil && !metav1.IsControlledBy(claim, p.Pod):
		return plugin.Problemf(of("metadata.ownerReferences"),
			"do not name this pod, with uid %s, as the controller, so the claim may be another's; add that, or use "+
				"persistentVolumeClaim", p.Pod.UID)
	case phase != "" && phase != corev1.ClaimBound:
		// A manifest has no status; where there is one, it counts.
		return plugin.Problemf(of("status.phase"),
			"is %s; the claim must be Bound: correct the status, or leave it out", phase)
	}
	p.consult(RefVolume, "", claim.Spec.VolumeName)
	v.Claim, v.PV = claim, p.Volume(claim.Spec.VolumeName)
	if v.PV == nil {
		return plugin.Problemf(of("spec.volumeName"),
			"there is no PersistentVolume %s; add it, or name another one here", claim.Spec.VolumeName)
	}
	v.ReadOnly = v.ReadOnly || v.Spec.PersistentVolumeClaim != nil && v.Spec.PersistentVolumeClaim.ReadOnly
	if problem := bound(v); problem != nil {
		return problem
	}
	if problem := v.HasGroup(); problem != nil {
		return problem
	}
	if problem := p.translate(v); problem != nil {
		return problem
	}
	if problem := p.reachable(v); problem != nil {
		return problem
	}
	return mode(v)
}

// bound checks that the PersistentVolume names the claim.
func bound(v *plugin.Volume) *plugin.Problem {
	ref, claim := v.PV.Spec.ClaimRef, v.Claim
	switch {
	case ref == nil:
		return plugin.Problemf(v.PVField("spec.claimRef"),
			"is not set; name namespace %s and claim %s there to bind the volume",
			claim.Namespace, claim.Name)
	case ref.Namespace != claim.Namespace || ref.Name != claim.Name:
		return plugin.Problemf(v.PVField("spec.claimRef"), "names claim %s/%s, not %s/%s; correct one of them",
			ref.Namespace, ref.Name, claim.Namespace, claim.Name)
	case ref.UID != "" && claim.UID != "" && ref.UID != claim.UID:
		return plugin.Problemf(v.PVField("spec.claimRef.uid"),
			"belongs to an earlier claim of that name (%s, not %s); correct the uid, or leave it out", ref.UID,
			claim.UID)
	}
	return nil
}

// mode checks that the volume is used as what it is (K:B17).
func mode(v *plugin.Volume) *plugin.Problem {
	is := corev1.PersistentVolumeFilesystem
	if v.PV.Spec.VolumeMode != nil {
		is = *v.PV.Spec.VolumeMode
	}
	field := func() string { return v.PVField("spec.volumeMode") }
	switch {
	case is != corev1.PersistentVolumeFilesystem && is != corev1.PersistentVolumeBlock:
		return plugin.Problemf(field(), "%q is neither Filesystem nor Block", is)
	case v.Block && is != corev1.PersistentVolumeBlock:
		return plugin.Problemf(field(), "is Filesystem, and volume %q is used in volumeDevices; use it in volumeMounts",
			v.Spec.Name)
	case !v.Block && is == corev1.PersistentVolumeBlock:
		return plugin.Problemf(field(), "is Block, and volume %q is used in volumeMounts; use it in volumeDevices",
			v.Spec.Name)
	}
	return nil
}
