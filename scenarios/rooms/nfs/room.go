// Package nfs is NFS volumes as scenarios know them.
package nfs

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/nfs"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is NFS volumes, of PersistentVolumes and of pods.
func Room() *world.Room {
	return &world.Room{
		Source: nfs.Source(),
		Words: []lang.Word{{
			Form: "nfs:SERVER:/PATH", Volume: func(at string) (corev1.VolumeSource, bool) {
				src, ok := sourceOf(at)
				return corev1.VolumeSource{NFS: src}, ok
			},
			Persistent: func(at string) (corev1.PersistentVolumeSource, bool) {
				src, ok := sourceOf(at)
				return corev1.PersistentVolumeSource{NFS: src}, ok
			},
		}},
		Hunted: world.Hunted{Name: "nfs", Site: "workload.nfs", Never: 8, Volumes: volumes},
		Path:   placeOf, Use: use, Differs: differs, Begin: begin, HasServer: true,
		New: func() world.RoomRun { return &run{} },
	}
}

func sourceOf(at string) (*corev1.NFSVolumeSource, bool) {
	server, path, ok := strings.Cut(at, ":")
	return &corev1.NFSVolumeSource{Server: server, Path: path}, ok && server != "" && strings.HasPrefix(path, "/")
}

func placeOf(uid, spec string) string {
	source := nfs.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), spec).Path
}

// use is how containers use an NFS volume.
func use(v world.Claimed) (world.Use, bool) {
	src, spec, isReadOnly := v.Spec.NFS, v.Spec.Name, v.ReadOnly
	if v.PV != nil {
		src, spec = v.PV.Spec.NFS, v.PV.Name
		claim := v.Spec.PersistentVolumeClaim
		isReadOnly = isReadOnly || claim != nil && claim.ReadOnly || slices.Contains(v.PV.Spec.MountOptions, "ro")
	}
	server := src.Server
	if strings.Contains(server, ":") { // an address of IPv6
		server = "[" + server + "]"
	}
	return world.Use{
		Share: server + ":" + src.Path, Spec: spec, Path: placeOf(v.UID, spec), ReadOnly: isReadOnly || src.ReadOnly,
	}, true
}

func differs(w *sim.World, at string, _ bool) string {
	if len(w.MountsAt(at)) == 0 {
		return "nothing is mounted at " + at
	}
	return ""
}

// The exports of hunts.
const (
	data = "nas:/data"
	home = "nas:/home"
)

// volumes are the NFS volumes of hunts.
var volumes = func() []world.HuntedShape {
	of := func(at string) *corev1.NFSVolumeSource {
		src, _ := sourceOf(at)
		return src
	}
	readOnly := of(data)
	readOnly.ReadOnly = true
	persistent := func(name, text, at string, options ...string) world.HuntedShape {
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: of(at)}, MountOptions: options,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			},
		})
	}
	return []world.HuntedShape{
		{Text: "an export of a server", Source: corev1.VolumeSource{NFS: of(data)}},
		{Text: "an export of a server, read-only", Source: corev1.VolumeSource{NFS: readOnly}},
		persistent("nfs-home", "an export of a server, by a claim", home, "noexec", "hard", "vers=4.2"),
		persistent("nfs-ro", "an export of a server, by a claim and read-only", home, "ro"),
	}
}()
