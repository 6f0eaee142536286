package lang

import (
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EBSDriver serves what awsElasticBlockStore names.
const EBSDriver = "ebs.csi.aws.com"

// AsCSI returns what a PersistentVolume of awsElasticBlockStore is to its CSI driver, and another as it is. Scenarios
// know no other source for which Kubernetes once had a plugin. Nothing of it is taken from the engine.
func AsCSI(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	src := pv.Spec.AWSElasticBlockStore
	if src == nil {
		return pv
	}
	pv = pv.DeepCopy()
	pv.Spec.PersistentVolumeSource = ebs(src)
	return pv
}

// PodVolumeAsCSI returns the PersistentVolume for a volume of that source which a pod names itself; nil of another.
func PodVolumeAsCSI(v *corev1.Volume) *corev1.PersistentVolume {
	src := v.AWSElasticBlockStore
	if src == nil {
		return nil
	}
	is := ebs(src)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: EBSDriver + "-" + is.CSI.VolumeHandle},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: is, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		},
	}
}

func ebs(src *corev1.AWSElasticBlockStoreVolumeSource) corev1.PersistentVolumeSource {
	id := src.VolumeID
	if strings.HasPrefix(id, "aws://") { // aws://ZONE/ID
		id = path.Base(id)
	}
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
		Driver: EBSDriver, VolumeHandle: id, ReadOnly: src.ReadOnly, FSType: src.FSType,
		VolumeAttributes: map[string]string{"partition": strconv.Itoa(int(src.Partition))},
	}}
}

// Volumes returns the PersistentVolumes of a scenario as their drivers know them.
func (s *Scenario) Volumes() (all []*corev1.PersistentVolume) {
	for _, o := range s.Objects {
		switch o := o.Value.(type) {
		case *corev1.PersistentVolume:
			all = append(all, AsCSI(o))
		case *corev1.Pod:
			for i := range o.Spec.Volumes {
				if pv := PodVolumeAsCSI(&o.Spec.Volumes[i]); pv != nil {
					all = append(all, pv)
				}
			}
		}
	}
	return all
}
