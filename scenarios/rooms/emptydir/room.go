// Package emptydir is emptyDir as scenarios know it.
package emptydir

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is emptyDir, on disk and in memory.
func Room() *world.Room {
	disk := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	sized := corev1.VolumeSource{EmptyDir: memory.EmptyDir.DeepCopy()}
	large := resource.MustParse("1Mi")
	sized.EmptyDir.SizeLimit = &large
	least := resource.MustParse("100")
	limited := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &least}}
	return &world.Room{
		Source: emptydir.Source(),
		Words:  []lang.Word{lang.Plain("scratch", disk), lang.Plain("memory", memory), lang.Plain("limited", limited)},
		Hunted: world.Hunted{
			Name: "scratch", Site: "workload.scratch", Never: 2,
			Volumes: []world.HuntedShape{
				{Text: "an emptyDir on disk", Source: disk},
				{Text: "an emptyDir in memory", Source: sized},
				{Text: "an emptyDir on disk with a limit", Source: limited},
			},
		},
		Path: path, Mode: 0o777, IsGiven: true, Begin: begin, New: func() world.RoomRun { return &run{} },
		Leave: func(w *sim.World, path string) []string {
			w.WriteFile(path+"/data", []byte("of another agent"))
			return []string{path + "/data"}
		},
		Use: func(v world.Claimed) (world.Use, bool) {
			isMemory := v.Spec.EmptyDir.Medium != corev1.StorageMediumDefault
			return world.Use{Path: path(v.UID, v.Spec.Name), Memory: isMemory}, true
		},
		Differs: func(w *sim.World, path string, isMounted bool) string {
			if isMounted && len(w.MountsAt(path)) == 0 {
				return "nothing is mounted at " + path
			}
			return ""
		},
	}
}

func path(uid, volume string) string {
	source := emptydir.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), volume).Path
}
