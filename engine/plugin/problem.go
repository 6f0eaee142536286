package plugin

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Problemf is a [Problem] of field.
func Problemf(field, format string, args ...any) *Problem {
	return &Problem{Field: field, Message: fmt.Sprintf(format, args...)}
}

// Field is the path of a field of the volume's entry in the pod: v.Field(".csi.driver") is
// "spec.volumes[data].csi.driver".
func (v Volume) Field(suffix string) string {
	return "spec.volumes[" + v.Spec.Name + "]" + suffix
}

// PVField is the path of a field of the volume's PersistentVolume, as somebody wrote it.
func (v Volume) PVField(path string) string {
	if v.InTree != "" && v.Claim == nil {
		return v.Field("." + v.InTree)
	}
	if v.InTree != "" && strings.HasPrefix(path, "spec.csi.") {
		path = "spec." + v.InTree
	}
	return "PersistentVolume " + v.PV.Name + " " + path
}

// BadNames says whether the pod's uid or the volume's name can't be a part of a path.
func (v Volume) BadNames() *Problem {
	if bad := BadPodUID(string(v.Pod.UID)); bad != "" {
		return Problemf("metadata.uid", "%s; give the pod a uid made of letters, digits, . and -",
			Says(string(v.Pod.UID), bad))
	}
	if bad := BadVolumeName(v.Spec.Name); bad != "" {
		return Problemf(v.Field(".name"), "%s; name the volume with a-z, 0-9 and -", Says(v.Spec.Name, bad))
	}
	return nil
}

// maxPath is PATH_MAX without its NUL.
const maxPath = 4095

// BadHostPath says why a field that names a path of the host can't be served, nil if it can.
func BadHostPath(field, path string) *Problem {
	switch {
	case !strings.HasPrefix(path, "/"):
		return Problemf(field, "%q is not an absolute path", path)
	case slices.Contains(strings.Split(path, "/"), ".."):
		return Problemf(field, `%q contains ".."; write the path without it`, path)
	case len(path) > maxPath:
		return Problemf(field, "has %d bytes; a path has at most %d", len(path), maxPath)
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Problemf(field, "%q has control characters", path)
	}
	return nil
}

// WantsOwnership says that the pod wants the files of a volume to be given to a group or an SELinux context, which
// volnode does not do.
func (v Volume) WantsOwnership() *Problem {
	if c := v.Pod.Spec.SecurityContext; c != nil && c.FSGroup != nil {
		return Problemf("spec.securityContext.fsGroup",
			"volume %q would need group %d, but volnode does not change the owner; set the group on the volume "+
				"and remove fsGroup",
			v.Spec.Name, *c.FSGroup)
	}
	return v.WantsContext()
}

// Group is the group that the files of the pod's volumes are to be given to, "" for none.
func (v Volume) Group() (string, *Problem) {
	c := v.Pod.Spec.SecurityContext
	if c == nil || c.FSGroup == nil {
		return "", nil
	}
	if *c.FSGroup < 0 || *c.FSGroup > math.MaxInt32 {
		return "", Problemf("spec.securityContext.fsGroup", "%d is not between 0 and %d", *c.FSGroup, math.MaxInt32)
	}
	return strconv.FormatInt(*c.FSGroup, 10), nil
}

// groupAnnotation names the group that containers need for a PersistentVolume.
const groupAnnotation = "pv.beta.kubernetes.io/gid"

// GroupOf is the group that containers need for a PersistentVolume, nil for none.
func GroupOf(pv *corev1.PersistentVolume) *int64 {
	group, err := strconv.ParseInt(pv.Annotations[groupAnnotation], 10, 32)
	if err != nil || group < 0 {
		return nil
	}
	return &group
}

// HasGroup checks the group that containers need for the volume.
func (v Volume) HasGroup() *Problem {
	if is := v.PV.Annotations[groupAnnotation]; is != "" && GroupOf(v.PV) == nil {
		return Problemf(v.PVField("metadata.annotations["+groupAnnotation+"]"),
			"%q is no group; give a number from 0 to %d, or remove the annotation", is, math.MaxInt32)
	}
	return nil
}

// WantsContext is the SELinux part of [Volume.WantsOwnership].
func (v Volume) WantsContext() *Problem {
	message := "volume %q would need this SELinux context, but volnode does not set it; remove seLinuxOptions"
	if c := v.Pod.Spec.SecurityContext; c != nil && c.SELinuxOptions != nil {
		return Problemf("spec.securityContext.seLinuxOptions", message, v.Spec.Name)
	}
	for c := range Containers(v.Pod) {
		if c.SecurityContext != nil && c.SecurityContext.SELinuxOptions != nil && c.uses(v.Spec.Name) {
			return Problemf(c.Field()+".securityContext.seLinuxOptions", message, v.Spec.Name)
		}
	}
	return nil
}

// Unregistered says that a driver is not registered, which others are, and what to do.
func Unregistered(driver string, registered []string) string {
	others := ", and no other driver is"
	if len(registered) > 0 {
		others = "; registered: " + strings.Join(registered, ", ")
	}
	return "driver " + driver + " is not registered" + others +
		"; volnode waits for its registration socket in plugins_registry below the root directory; " +
		"start the driver"
}

// Container is what volumes need to know of a container of any sort.
type Container struct {
	List, Name      string // "containers", "app"
	Mounts          []corev1.VolumeMount
	Devices         []corev1.VolumeDevice
	SecurityContext *corev1.SecurityContext
}

// Field is the path of the container's entry in the pod: "spec.containers[app]".
func (c Container) Field() string { return "spec." + c.List + "[" + c.Name + "]" }

func (c Container) uses(volume string) bool {
	return slices.ContainsFunc(c.Mounts, func(m corev1.VolumeMount) bool { return m.Name == volume }) ||
		slices.ContainsFunc(c.Devices, func(d corev1.VolumeDevice) bool { return d.Name == volume })
}

// Containers are the containers of a pod that may use its volumes: init, app and ephemeral (K:B10).
func Containers(pod *corev1.Pod) iter.Seq[Container] {
	return func(yield func(Container) bool) {
		for i := range pod.Spec.InitContainers {
			c := &pod.Spec.InitContainers[i]
			if !yield(Container{"initContainers", c.Name, c.VolumeMounts, c.VolumeDevices, c.SecurityContext}) {
				return
			}
		}
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if !yield(Container{"containers", c.Name, c.VolumeMounts, c.VolumeDevices, c.SecurityContext}) {
				return
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			c := &pod.Spec.EphemeralContainers[i]
			if !yield(Container{"ephemeralContainers", c.Name, c.VolumeMounts, c.VolumeDevices, c.SecurityContext}) {
				return
			}
		}
	}
}

// Exclusive is what of the volume one pod has for itself, as its PersistentVolume says ReadWriteOncePod; "" if nothing.
func (v Volume) Exclusive(volume string) string {
	if v.PV == nil || !slices.Contains(v.PV.Spec.AccessModes, corev1.ReadWriteOncePod) {
		return ""
	}
	return ExclusiveOf(volume)
}

// ExclusiveOf is what one pod has of a volume for itself.
func ExclusiveOf(volume string) string { return "rwop/" + volume }
