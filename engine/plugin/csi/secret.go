package csi

import (
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/intree"
)

// secret reads the secret that a parameter of the rung refers to, if any, at the moment it is used.
func (w work) secret(param string) (hal.Secret, core.Result, bool) {
	ref := w.param(param)
	if ref == "" {
		return hal.Secret{}, core.Result{}, true
	}
	namespace, name, _ := strings.Cut(ref, "/")
	s, err := w.h.Cluster.Secret(w.c, namespace, name)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return hal.Secret{}, op.NotDone("the volume refers to Secret " + ref + ", but there is none; add it"), false
	case err != nil:
		return hal.Secret{}, op.NotDone("Secret " + ref + ": volnode cannot read it: " + err.Error()), false
	}
	if bad := plugin.BadCSIMap(plugin.Pairs(s.Reveal())); bad != "" {
		return hal.Secret{}, op.NotDone("Secret " + ref + " " + bad), false
	}
	return s, core.Result{}, true
}

// secretsOfPod names the secrets that the drivers of a pod's inline volumes are given.
func secretsOfPod(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if src := pod.Spec.Volumes[i].CSI; src != nil && src.NodePublishSecretRef != nil {
			names = append(names, pod.Namespace+"/"+src.NodePublishSecretRef.Name)
		}
		if pv, err := intree.PodVolume(&pod.Spec.Volumes[i], pod.Namespace); err == nil && pv != nil {
			names = append(names, secretsOfVolume(pv)...)
		}
	}
	return names
}

// secretsOfVolume names the secrets that a PersistentVolume's driver is given on a node.
func secretsOfVolume(pv *corev1.PersistentVolume) []string {
	var names []string
	pv, err := intree.Volume(pv)
	if err != nil {
		return nil // no driver is asked for it
	}
	if src := pv.Spec.CSI; src != nil {
		for _, ref := range []*corev1.SecretReference{src.NodeStageSecretRef, src.NodePublishSecretRef} {
			if ref != nil {
				names = append(names, ref.Namespace+"/"+ref.Name)
			}
		}
	}
	return names
}
