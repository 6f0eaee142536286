// Package hostpath is hostPath as scenarios know it.
package hostpath

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin/hostpath"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is hostPath. What it leads to is the host's.
func Room() *world.Room {
	return &world.Room{
		Source: hostpath.Source(),
		Words: []lang.Word{{
			Form: "host:PATH", Volume: func(path string) (corev1.VolumeSource, bool) {
				kind := corev1.HostPathDirectoryOrCreate
				src := &corev1.HostPathVolumeSource{Path: path, Type: &kind}
				return corev1.VolumeSource{HostPath: src}, strings.HasPrefix(path, "/")
			},
		}},
		Use: use, Begin: shares, Rare: rare, New: func() world.RoomRun { return &run{} },
	}
}
