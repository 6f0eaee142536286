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
	volume   string
	block    bool // by volumeDevices
	mounted  bool // by volumeMounts
	readOnly bool // every volumeMount of it is read-only
	problem  *plugin.Problem
}

// usesOf finds how each volume is used, and appends that to uses, which is empty. A volume that nobody uses is not in
// it.
func usesOf(pod *corev1.Pod, uses []use) []use {
	of := func(volume string) *use {
		if i := slices.IndexFunc(uses, func(u use) bool { return u.volume == volume }); i >= 0 {
			return &uses[i]
		}
		uses = append(uses, use{volume: volume})
		return &uses[len(uses)-1]
	}
	for c := range plugin.Containers(pod) {
		for i := range c.Mounts {
			u, m := of(c.Mounts[i].Name), &c.Mounts[i]
			u.readOnly = m.ReadOnly && (u.readOnly || !u.mounted)
			u.mounted = true
			if u.problem == nil {
				u.problem = unsupported(&c, m)
			}
		}
	}
	for c := range plugin.Containers(pod) {
		for _, d := range c.Devices {
			u := of(d.Name)
			u.block, u.readOnly = true, false
			if u.mounted && u.problem == nil {
				u.problem = plugin.Problemf(c.Field()+".volumeDevices["+d.DevicePath+"]",
					"volume %q is also mounted as a filesystem, by %s; use it in one way", d.Name,
					lastMounting(pod, d.Name))
			}
		}
	}
	return uses
}

// lastMounting is the field of the last container that mounts a volume.
func lastMounting(pod *corev1.Pod, volume string) (field string) {
	for c := range plugin.Containers(pod) {
		if slices.ContainsFunc(c.Mounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) {
			field = c.Field()
		}
	}
	return field
}

// unsupported says which option of a mount volnode does not serve.
func unsupported(c *plugin.Container, m *corev1.VolumeMount) *plugin.Problem {
	field := func(name string) string { return c.Field() + ".volumeMounts[" + m.MountPath + "]." + name }
	switch {
	case m.SubPath != "":
		return plugin.Problemf(field("subPath"), "volnode does not serve parts of a volume; mount volume %q as a whole",
			m.Name)
	case m.SubPathExpr != "":
		return plugin.Problemf(field("subPathExpr"),
			"volnode does not serve parts of a volume; mount volume %q as a whole", m.Name)
	case m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone:
		return plugin.Problemf(field("mountPropagation"), "volnode serves None alone; %s on volume %q is not supported",
			*m.MountPropagation, m.Name)
	case m.RecursiveReadOnly != nil && *m.RecursiveReadOnly == corev1.RecursiveReadOnlyEnabled:
		return plugin.Problemf(field("recursiveReadOnly"),
			"volnode can't promise it for volume %q; use IfPossible or Disabled", m.Name)
	}
	return nil
}

// missing lists the volumes that containers use and the pod does not have.
func missing(pod *corev1.Pod) []Volume {
	var all []Volume
	add := func(c *plugin.Container, list, path, name string) {
		known := slices.ContainsFunc(all, func(v Volume) bool { return v.Name == name })
		if !known && count(pod, name) == 0 {
			problem := plugin.Problemf(c.Field()+"."+list+"["+path+"].name",
				"the pod has no volume %q; add it to spec.volumes, or correct the name", name)
			all = append(all, Volume{Name: name, Problem: problem})
		}
	}
	for c := range plugin.Containers(pod) {
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

// sourceOf names the first of the sources that a volume has set, as it is spelled in a manifest, and says how many it
// has set. It knows those of Kubernetes that volnode does not.
func sourceOf(v *corev1.Volume) (name string, number int) {
	sources := reflect.ValueOf(&v.VolumeSource).Elem()
	for i := range sourceNames {
		if sources.Field(i).IsNil() {
			continue
		}
		if number == 0 {
			name = sourceNames[i]
		}
		number++
	}
	return name, number
}

// setIn is how many sources a PersistentVolume has set.
func setIn(of *corev1.PersistentVolumeSource) (number int) {
	sources := reflect.ValueOf(of).Elem()
	for i := range sources.NumField() {
		if !sources.Field(i).IsNil() {
			number++
		}
	}
	return number
}

// sourcesOf names all of them, sorted.
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
