package csi

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The Secret of an azureFile is the driver's (K:B16): of a PersistentVolume that of the claim's namespace, if it names
// none, and of a pod that of the pod's.
func TestSecretsOfFormerPlugins(t *testing.T) {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.AzureFile = &corev1.AzureFilePersistentVolumeSource{SecretName: "s", ShareName: "share"}
	require.Empty(t, secretsOfVolume(pv), "it does not say in which namespace")
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "of-claim"}
	require.Equal(t, []string{"of-claim/s"}, secretsOfVolume(pv))
	other := "other"
	pv.Spec.AzureFile.SecretNamespace = &other
	before := pv.DeepCopy()
	require.Equal(t, []string{"other/s"}, secretsOfVolume(pv))
	require.Equal(t, before, pv, "objects are not changed")

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "of-pod"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "share"},
	}}}
	require.Equal(t, []string{"of-pod/s"}, secretsOfPod(pod))
}
