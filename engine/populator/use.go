package populator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
)

// use is how the containers of a pod use one volume.
type use struct {
	block    bool // by volumeDevices
	readOnly bool // every volumeMount of it is read-only
	problem  *plugin.Problem
}

// usesOf finds how each volume is used, by its name. A volume that nobody uses is not in it.
func usesOf(pod *corev1.Pod) map[string]use {
	uses := map[string]use{}
	mounted := map[string]string{} // volume: the field that mounts it
	for _, c := range plugin.Containers(pod) {
		for _, m := range c.Mounts {
			u, known := uses[m.Name]
			u.readOnly = m.ReadOnly && (u.readOnly || !known)
			if u.problem == nil {
				u.problem = unsupported(fmt.Sprintf("%s.volumeMounts[%s]", c.Field, m.MountPath), m)
			}
			uses[m.Name], mounted[m.Name] = u, c.Field
		}
	}
	for _, c := range plugin.Containers(pod) {
		for _, d := range c.Devices {
			u := uses[d.Name]
			u.block, u.readOnly = true, false
			if by, also := mounted[d.Name]; also && u.problem == nil {
				u.problem = plugin.Problemf(fmt.Sprintf("%s.volumeDevices[%s]", c.Field, d.DevicePath),
					"volume %q is also mounted as a filesystem, by %s; use it in one way", d.Name, by)
			}
			uses[d.Name] = u
		}
	}
	return uses
}

// unsupported says which option of a mount volnode does not serve.
func unsupported(field string, m corev1.VolumeMount) *plugin.Problem {
	switch {
	case m.SubPath != "":
		return plugin.Problemf(field+".subPath", "volnode does not serve parts of a volume; mount volume %q as a whole", m.Name)
	case m.SubPathExpr != "":
		return plugin.Problemf(field+".subPathExpr", "volnode does not serve parts of a volume; mount volume %q as a whole", m.Name)
	case m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone:
		return plugin.Problemf(field+".mountPropagation", "volnode serves None alone; %s on volume %q is not supported", *m.MountPropagation, m.Name)
	case m.RecursiveReadOnly != nil && *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled:
		return plugin.Problemf(field+".recursiveReadOnly", "volnode can't promise it for volume %q; use IfPossible or Disabled", m.Name)
	}
	return nil
}

// missing lists the volumes that containers use and the pod does not have.
func missing(pod *corev1.Pod) []Volume {
	var all []Volume
	add := func(field, name string) {
		known := slices.ContainsFunc(all, func(v Volume) bool { return v.Name == name })
		if !known && count(pod, name) == 0 {
			problem := plugin.Problemf(field, "the pod has no volume %q; add it to spec.volumes, or correct the name", name)
			all = append(all, Volume{Name: name, Problem: problem})
		}
	}
	for _, c := range plugin.Containers(pod) {
		for _, m := range c.Mounts {
			add(fmt.Sprintf("%s.volumeMounts[%s].name", c.Field, m.MountPath), m.Name)
		}
		for _, d := range c.Devices {
			add(fmt.Sprintf("%s.volumeDevices[%s].name", c.Field, d.DevicePath), d.Name)
		}
	}
	return all
}

func count(pod *corev1.Pod, volume string) int {
	n := 0
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].Name == volume {
			n++
		}
	}
	return n
}

// sourcesOf names the sources that a volume has set, as they are spelled in a manifest. It knows those of Kubernetes that volnode does not.
func sourcesOf(v *corev1.Volume) []string {
	text, err := json.Marshal(v.VolumeSource)
	if err != nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(fields))
}
