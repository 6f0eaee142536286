package populator

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal/intree"
)

// translate puts a volume of the CSI driver in place of a PersistentVolume with a source for which Kubernetes once had
// a plugin (K:B16), unless a source of the table serves it as it is.
func (p *populator) translate(v *plugin.Volume) *plugin.Problem {
	if n := setIn(&v.PV.Spec.PersistentVolumeSource); n > 1 {
		return plugin.Problemf(v.PVField("spec"), "names %d sources; keep one", n)
	}
	source := intree.Source(&v.PV.Spec.PersistentVolumeSource)
	if source == "" || p.Sources.ServesVolume(v.PV) {
		return nil
	}
	pv, err := intree.Volume(v.PV)
	if err != nil {
		return plugin.Problemf(v.PVField("spec."+source), "can't be read as a volume of its CSI driver: %s; correct it, "+
			"or write the volume as spec.csi", err)
	}
	v.PV, v.InTree = pv, source
	return nil
}

// translateInline does so for a volume of the pod that names such a source itself. Of another it leaves v.PV nil.
func (p *populator) translateInline(v *plugin.Volume, source string) *plugin.Problem {
	pv, err := intree.PodVolume(v.Spec, p.Pod.Namespace)
	switch {
	case err != nil:
		return plugin.Problemf(v.Field("."+source), "can't be read as a volume of its CSI driver: %s; correct it, or use "+
			"a persistentVolumeClaim", err)
	case pv == nil:
		return nil
	}
	if plugin.BadObjectName(pv.Name) != "" { // it is a part of paths
		sum := sha256.Sum256([]byte(pv.Name))
		pv.Name = pv.Spec.CSI.Driver + "-" + hex.EncodeToString(sum[:16])
	}
	v.PV, v.InTree = pv, source
	return mode(v)
}
