// Package room is the source marker as scenarios know it.
package room

import (
	"path"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/examples/marker"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is the source. Its own fault is a marker that is lost or overwritten.
func Room() *world.Room {
	is := func(text string) corev1.VolumeSource {
		return corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{
			Driver: marker.Driver, Options: map[string]string{"text": text},
		}}
	}
	return &world.Room{
		Source: marker.Source(),
		Words: []lang.Word{{
			Form: "marker:TEXT", Volume: func(text string) (corev1.VolumeSource, bool) { return is(text), text != "" },
		}},
		Hunted: world.Hunted{
			Name: "marked", Site: "workload.marker", Never: 1,
			Volumes: []world.HuntedShape{{Text: "a volume with a marker", Source: is("hunted")}},
		},
		Path:    func(uid, volume string) string { return marker.Place(lang.RootDir, uid, volume).Path },
		Differs: differs,
		Leave: func(w *sim.World, at string) []string {
			w.WriteFile(path.Join(at, marker.File), []byte("of another agent"))
			return nil // nobody's data: a marker may go
		},
		Harms: []world.Harm{
			{Text: "loses its marker", Do: func(w *sim.World, at string) syscall.Errno {
				return w.RemoveFile(path.Join(at, marker.File))
			}},
			{Text: "has its marker overwritten", Do: overwrite},
		},
		HarmSite: "workload.marker-harm",
	}
}

func overwrite(w *sim.World, at string) syscall.Errno {
	if _, there := w.Exists(at); !there {
		return syscall.ENOENT
	}
	w.WriteFile(path.Join(at, marker.File), []byte("of somebody else"))
	return 0
}

// differs is what a judge asks of a volume that is up.
func differs(w *sim.World, at string, _ bool) string {
	file := path.Join(at, marker.File)
	switch _, there := w.Exists(file); {
	case !there:
		return "there is no " + file
	case string(w.ReadFile(file)) == "of somebody else":
		return file + " says what somebody else has written"
	}
	return ""
}
