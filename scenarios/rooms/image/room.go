// Package image is image volumes as scenarios know them.
package image

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/image"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is image volumes.
func Room() *world.Room {
	return &world.Room{
		Source: image.Source(),
		Words: []lang.Word{{Form: "image:REFERENCE", Volume: func(reference string) (corev1.VolumeSource, bool) {
			return *of(reference, ""), reference != ""
		}}},
		Hunted: world.Hunted{Name: "image", Site: "workload.image", Never: 8, Volumes: volumes},
		Path:   placeOf, Use: use, Differs: differs, Begin: begin, HasServer: true,
		New: func() world.RoomRun {
			return &run{came: map[core.PodUID]hal.Instant{}, harmed: map[*world.Pod]uint64{}}
		},
	}
}

func of(reference string, policy corev1.PullPolicy) *corev1.VolumeSource {
	return &corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: reference, PullPolicy: policy}}
}

func placeOf(uid, volume string) string {
	source := image.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), volume).Path
}

func use(v world.Claimed) (world.Use, bool) {
	return world.Use{Path: placeOf(v.UID, v.Spec.Name), Image: v.Spec.Image.Reference, ReadOnly: true}, true
}

func differs(w *sim.World, at string, _ bool) string {
	if len(w.MountsAt(at)) == 0 {
		return "nothing is mounted at " + at
	}
	return ""
}

// The images of hunts. Somebody puts other versions of the first and the third, and removes the second for a while.
const (
	tools = "registry.example/tools:v1"
	model = "registry.example/model"
	fresh = "registry.example/fresh"
)

var volumes = []world.HuntedShape{
	{Text: "the files of an image", Source: *of(tools, "")},
	{Text: "the files of an image that comes and goes", Source: *of(model, corev1.PullIfNotPresent)},
	{Text: "the files of the newest image", Source: *of(tools, corev1.PullAlways)},
	{Text: "the files of an image without a tag", Source: *of(fresh, "")},
}
