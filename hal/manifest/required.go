package manifest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/internal/wording"
)

// This file is what an object can't be without: the API server refuses it then, in these words. A text that is cut
// short between two lines may still be good YAML: what it lacks shows that. It is no validation of the rest.

// incomplete says which objects lack what they can't be without.
func (c content) incomplete() (problems []string) {
	for _, o := range c.objects {
		if l := lackOf(o.value); len(l.all) > 0 {
			problems = append(problems, fmt.Sprintf("%s: %s %s: %v; the API server refuses that, too: %s", o.where,
				o.id.Kind, o.id.Name, together(l.all), l.advice()))
		}
	}
	return problems
}

func lackOf(value any) lack {
	l := lack{}
	switch o := value.(type) {
	case *corev1.Pod:
		l.pod(&o.Spec)
	case *corev1.PersistentVolume:
		l.persistentVolume(&o.Spec)
	case *corev1.PersistentVolumeClaim:
		l.of(len(o.Spec.AccessModes) > 0, "spec.accessModes")
		_, asks := o.Spec.Resources.Requests[corev1.ResourceStorage]
		l.of(asks, "spec.resources[storage]")
	}
	return l
}

// lack is what is missing.
type lack struct {
	all        []string
	value      bool // a value is missing, and not only the volume that a container names
	isMisspelt bool // such a name resembles that of a volume that is there
}

// advice says what to do: a name that somebody misspelt needs no more than the right name.
func (l *lack) advice() string {
	switch {
	case l.value:
		return "complete the object, or write the file again if its end is missing"
	case l.isMisspelt:
		return "correct the name, or add the volume to spec.volumes"
	}
	return "add the volume to spec.volumes, or write the file again if its end is missing"
}

func (l *lack) of(isThere bool, format string, args ...any) {
	l.value = l.value || !isThere
	l.is(isThere, "Required value", format, args...)
}

func (l *lack) is(isGood bool, what, format string, args ...any) {
	if !isGood {
		l.all = append(l.all, fmt.Sprintf(format, args...)+": "+what)
	}
}

func (l *lack) pod(spec *corev1.PodSpec) {
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		l.of(v.Name != "", "spec.volumes[%d].name", i)
		l.of(v.HostPath == nil || v.HostPath.Path != "", "spec.volumes[%d].hostPath.path", i)
		claim := v.PersistentVolumeClaim
		l.of(claim == nil || claim.ClaimName != "", "spec.volumes[%d].persistentVolumeClaim.claimName", i)
		l.of(v.CSI == nil || v.CSI.Driver != "", "spec.volumes[%d].csi.driver", i)
	}
	l.of(len(spec.Containers) > 0, "spec.containers")
	l.containers("spec.containers", spec, spec.Containers)
	l.containers("spec.initContainers", spec, spec.InitContainers)
}

func (l *lack) containers(field string, spec *corev1.PodSpec, all []corev1.Container) {
	for i := range all {
		c, at := &all[i], fmt.Sprintf("%s[%d]", field, i)
		l.of(c.Name != "", "%s.name", at)
		l.of(c.Image != "", "%s.image", at)
		for j, m := range c.VolumeMounts {
			l.used(spec, m.Name, fmt.Sprintf("%s.volumeMounts[%d]", at, j))
			l.of(m.MountPath != "", "%s.volumeMounts[%d].mountPath", at, j)
		}
		for j, d := range c.VolumeDevices {
			l.used(spec, d.Name, fmt.Sprintf("%s.volumeDevices[%d]", at, j))
			l.of(d.DevicePath != "", "%s.volumeDevices[%d].devicePath", at, j)
		}
	}
}

// used: what a container mounts is a volume of its pod.
func (l *lack) used(spec *corev1.PodSpec, name, at string) {
	if l.of(name != "", "%s.name", at); name == "" {
		return
	}
	isThere := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	var names []string
	for _, v := range spec.Volumes {
		names = append(names, v.Name)
	}
	what := fmt.Sprintf("Not found: %.100q", name)
	if near := wording.Nearest(name, names); near != "" {
		what += fmt.Sprintf(" (did you mean %q?)", near)
		l.isMisspelt = l.isMisspelt || !isThere
	}
	l.is(isThere, what, "%s.name", at)
}

func (l *lack) persistentVolume(spec *corev1.PersistentVolumeSpec) {
	l.of(len(spec.AccessModes) > 0, "spec.accessModes")
	l.of(len(spec.Capacity) > 0, "spec.capacity")
	hasSource := spec.PersistentVolumeSource != corev1.PersistentVolumeSource{}
	l.value = l.value || !hasSource
	l.is(hasSource, "Required value: must specify a volume type", "spec")
	if spec.CSI == nil {
		return
	}
	l.of(spec.CSI.Driver != "", "spec.csi.driver")
	l.of(spec.CSI.VolumeHandle != "", "spec.csi.volumeHandle")
	for i, ref := range []*corev1.SecretReference{spec.CSI.NodeStageSecretRef, spec.CSI.NodePublishSecretRef} {
		field := []string{"nodeStageSecretRef", "nodePublishSecretRef"}[i]
		l.of(ref == nil || ref.Name != "", "spec.csi.%s.name", field)
		l.of(ref == nil || ref.Namespace != "", "spec.csi.%s.namespace", field)
	}
}

// decodeNew is decode for what does not count yet. What counted before there was this check goes on to count.
func (o Options) decodeNew(name string, data []byte) (content, error) {
	c, problems := o.decodeAll(name, data)
	if problems = append(problems, c.incomplete()...); len(problems) > 0 {
		return content{}, together(problems)
	}
	return c, nil
}
