package populator

import (
	"reflect"
	"slices"
	"strings"

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
func usesOf(containers []plugin.Container) map[string]use {
	uses := map[string]use{}
	mounted := map[string]string{} // volume: the field that mounts it
	for _, c := range containers {
		for _, m := range c.Mounts {
			u, known := uses[m.Name]
			u.readOnly = m.ReadOnly && (u.readOnly || !known)
			if u.problem == nil {
				u.problem = unsupported(&c, &m)
			}
			uses[m.Name], mounted[m.Name] = u, c.Field
		}
	}
	for _, c := range containers {
		for _, d := range c.Devices {
			u := uses[d.Name]
			u.block, u.readOnly = true, false
			if by, also := mounted[d.Name]; also && u.problem == nil {
				u.problem = plugin.Problemf(c.Field+".volumeDevices["+d.DevicePath+"]",
					"volume %q is also mounted as a filesystem, by %s; use it in one way", d.Name, by)
			}
			uses[d.Name] = u
		}
	}
	return uses
}

// unsupported says which option of a mount volnode does not serve.
func unsupported(c *plugin.Container, m *corev1.VolumeMount) *plugin.Problem {
	field := func(name string) string { return c.Field + ".volumeMounts[" + m.MountPath + "]." + name }
	switch {
	case m.SubPath != "":
		return plugin.Problemf(field("subPath"), "volnode does not serve parts of a volume; mount volume %q as a whole", m.Name)
	case m.SubPathExpr != "":
		return plugin.Problemf(field("subPathExpr"), "volnode does not serve parts of a volume; mount volume %q as a whole", m.Name)
	case m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone:
		return plugin.Problemf(field("mountPropagation"), "volnode serves None alone; %s on volume %q is not supported", *m.MountPropagation, m.Name)
	case m.RecursiveReadOnly != nil && *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled:
		return plugin.Problemf(field("recursiveReadOnly"), "volnode can't promise it for volume %q; use IfPossible or Disabled", m.Name)
	}
	return nil
}

// missing lists the volumes that containers use and the pod does not have.
func missing(pod *corev1.Pod, containers []plugin.Container) []Volume {
	var all []Volume
	add := func(c *plugin.Container, list, path, name string) {
		known := slices.ContainsFunc(all, func(v Volume) bool { return v.Name == name })
		if !known && count(pod, name) == 0 {
			problem := plugin.Problemf(c.Field+"."+list+"["+path+"].name", "the pod has no volume %q; add it to spec.volumes, or correct the name", name)
			all = append(all, Volume{Name: name, Problem: problem})
		}
	}
	for _, c := range containers {
		for _, m := range c.Mounts {
			add(&c, "volumeMounts", m.MountPath, m.Name)
		}
		for _, d := range c.Devices {
			add(&c, "volumeDevices", d.DevicePath, d.Name)
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
	var set []string
	sources := reflect.ValueOf(&v.VolumeSource).Elem()
	for i, name := range sourceNames {
		if !sources.Field(i).IsNil() {
			set = append(set, name)
		}
	}
	slices.Sort(set)
	return set
}

// sourceNames are the fields of a [corev1.VolumeSource], all of them pointers, in their order.
var sourceNames = namesOfSources()

func namesOfSources() []string {
	t := reflect.TypeFor[corev1.VolumeSource]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}
