// Package intree translates volumes of the sources for which Kubernetes once had plugins of its own into volumes of the
// CSI drivers that serve them now (K:B16, K:G65).
package intree

import (
	corev1 "k8s.io/api/core/v1"
	csitranslation "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// Source is the field of a PersistentVolume's source for which Kubernetes had a plugin of its own, and that a CSI
// driver serves now (K:G65); "" if it has none. The names are those of a pod's volumes, too.
func Source(of *corev1.PersistentVolumeSource) string {
	switch {
	case of.AWSElasticBlockStore != nil:
		return "awsElasticBlockStore"
	case of.AzureDisk != nil:
		return "azureDisk"
	case of.AzureFile != nil:
		return "azureFile"
	case of.Cinder != nil:
		return "cinder"
	case of.GCEPersistentDisk != nil:
		return "gcePersistentDisk"
	case of.PortworxVolume != nil:
		return "portworxVolume"
	case of.VsphereVolume != nil:
		return "vsphereVolume"
	}
	return ""
}

// Volume translates a PersistentVolume with such a source into one of a CSI driver, and returns another as it is. pv
// is not changed. It fails if the source does not say which volume it is.
func Volume(pv *corev1.PersistentVolume) (*corev1.PersistentVolume, error) {
	if Source(&pv.Spec.PersistentVolumeSource) == "" {
		return pv, nil
	}
	return csitranslation.New().TranslateInTreePVToCSI(klog.Logger{}, pv)
}

// PodVolume translates a volume of a pod that names such a source itself (K:B16) into a PersistentVolume; of another
// it returns nil. Pods that name the same volume get the same name. It fails as [Volume] does.
func PodVolume(spec *corev1.Volume, namespace string) (*corev1.PersistentVolume, error) {
	if lib := csitranslation.New(); lib.IsInlineMigratable(spec) {
		return lib.TranslateInTreeInlineVolumeToCSI(klog.Logger{}, spec, namespace)
	}
	return nil, nil
}
