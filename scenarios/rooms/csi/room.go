// Package csi is CSI volumes as scenarios know them.
package csi

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is CSI volumes, of PersistentVolumes and inline.
func Room() *world.Room {
	return &world.Room{
		Source: csi.Source(),
		Words: []lang.Word{{
			Form: "inline:DRIVER", Volume: func(driver string) (corev1.VolumeSource, bool) {
				return corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}}, driver != ""
			},
		}},
		Use: use, New: func() world.RoomRun { return &run{} },
	}
}

func use(v world.Claimed) (world.Use, bool) {
	if v.PV == nil {
		is := v.Spec.CSI
		return world.Use{
			Spec: v.Spec.Name, Driver: is.Driver, Volume: world.InlineHandle(v.UID, v.Spec.Name), Ephemeral: true,
			Path: world.PublishedAt(v.UID, v.Spec.Name), ReadOnly: v.ReadOnly || is.ReadOnly != nil && *is.ReadOnly,
		}, true
	}
	is := v.PV.Spec.CSI
	u := world.Use{
		Spec: v.PV.Name, Driver: is.Driver, Volume: is.VolumeHandle, Path: world.PublishedAt(v.UID, v.PV.Name),
		ReadOnly: v.ReadOnly || isReadOnly(v.Spec) || is.ReadOnly, Raw: v.IsBlock,
	}
	if u.Raw {
		u.Path = plugin.BlockPublishPlace(lang.RootDir, v.UID, v.PV.Name).Path
	}
	return u, true
}

// isReadOnly: the pod asks its claim for a volume that is read-only. A generic ephemeral volume can't ask.
func isReadOnly(v *corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly
}
