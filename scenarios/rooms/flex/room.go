// Package flex is FlexVolumes as scenarios know them.
package flex

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/flex"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is FlexVolumes, of PersistentVolumes and of pods.
func Room() *world.Room {
	return &world.Room{
		Source: flex.Source(),
		Words: []lang.Word{{
			Form: "flex:VENDOR/DRIVER", Volume: func(driver string) (corev1.VolumeSource, bool) {
				return corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{Driver: driver}},
					hal.FlexDirectory(driver) != ""
			},
			Persistent: func(driver string) (corev1.PersistentVolumeSource, bool) {
				return corev1.PersistentVolumeSource{FlexVolume: persistent(driver)}, hal.FlexDirectory(driver) != ""
			},
		}},
		Hunted: world.Hunted{Name: "flex", Site: "workload.flex", Never: 8, Volumes: volumes},
		Path:   placeOf, Use: use, Differs: differs, Begin: begin, HasServer: true,
		New: func() world.RoomRun { return &run{} },
	}
}

// persistent is the source of a PersistentVolume of scenarios.
func persistent(driver string) *corev1.FlexPersistentVolumeSource {
	return &corev1.FlexPersistentVolumeSource{
		Driver: driver, FSType: "ext4", Options: map[string]string{"share": "home"},
	}
}

// placeOf is where a volume is: its name is that of the directory of its driver, and what is below that.
func placeOf(uid, volume string) string {
	directory, name, _ := strings.Cut(volume, "/")
	return plugin.PodPlace(lang.RootDir, uid, directory, name).Path
}

// use is how containers use a FlexVolume.
func use(v world.Claimed) (world.Use, bool) {
	is, spec, isReadOnly := v.Spec.FlexVolume, v.Spec.Name, v.ReadOnly
	if v.PV != nil {
		src := v.PV.Spec.FlexVolume
		is = &corev1.FlexVolumeSource{Driver: src.Driver, FSType: src.FSType, ReadOnly: src.ReadOnly, Options: src.Options}
		claim := v.Spec.PersistentVolumeClaim
		spec, isReadOnly = v.PV.Name, isReadOnly || claim != nil && claim.ReadOnly
	}
	name := strings.Replace(is.Driver, "/", "~", 1) + "/" + spec
	u := world.Use{Spec: name, Path: placeOf(v.UID, name), ReadOnly: isReadOnly || is.ReadOnly}
	mode := map[bool]string{true: "ro", false: "rw"}
	u.Told = map[string]string{
		"kubernetes.io/fsType": is.FSType, "kubernetes.io/pvOrVolumeName": spec,
		"kubernetes.io/readwrite": mode[u.ReadOnly], "kubernetes.io/pod.uid": v.UID,
	}
	for _, key := range slices.Sorted(maps.Keys(is.Options)) {
		u.Told[key] = is.Options[key]
	}
	return u, true
}

func differs(w *sim.World, at string, _ bool) string {
	if len(w.MountsAt(at)) == 0 {
		return "nothing is mounted at " + at
	}
	return ""
}

// The drivers of hunts. Somebody removes the second for a while, or puts one in its place that can't be served.
const (
	steady = "example.com/fs"
	late   = "example.com/late"
)

// volumes are the FlexVolumes of hunts.
var volumes = func() []world.HuntedShape {
	of := func(driver string, isReadOnly bool) corev1.VolumeSource {
		return corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{
			Driver: driver, ReadOnly: isReadOnly, Options: map[string]string{"share": "data", "mode": "<a&b>"},
		}}
	}
	claimed := func(name, text, driver string, isReadOnly bool) world.HuntedShape {
		src := persistent(driver)
		src.ReadOnly = isReadOnly
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{FlexVolume: src},
				AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			},
		})
	}
	return []world.HuntedShape{
		{Text: "a FlexVolume", Source: of(steady, false)},
		{Text: "a FlexVolume, read-only", Source: of(steady, true)},
		{Text: "a FlexVolume of a driver that comes and goes", Source: of(late, false)},
		claimed("flex-home", "a FlexVolume, by a claim", steady, false),
		claimed("flex-ro", "a FlexVolume, by a claim and read-only", late, true),
	}
}()
