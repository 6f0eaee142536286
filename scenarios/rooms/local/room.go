// Package local is local volumes as scenarios know them.
package local

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/local"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is local volumes.
func Room() *world.Room {
	return &world.Room{
		Source: local.Source(), IsOfNoGroup: true,
		Words: []lang.Word{
			{Form: "local:PATH", Persistent: func(at string) (corev1.PersistentVolumeSource, bool) {
				return sourceOf(at), path.IsAbs(at)
			}},
			{Form: "device:FSTYPE:PATH", Persistent: func(rest string) (corev1.PersistentVolumeSource, bool) {
				fsType, at, _ := strings.Cut(rest, ":")
				return deviceOf(at, fsType), path.IsAbs(at)
			}},
		},
		Hunted:  world.Hunted{Name: "local", Site: "workload.local", Never: 6, Volumes: volumes},
		RawPath: rawPlaceOf, RawKind: local.KindMap,
		Path: placeOf, Use: use, Differs: differs, Begin: begin,
		New: func() world.RoomRun {
			return &run{
				given: map[string]given{}, bound: map[string]hal.HostFile{}, tried: map[string]hal.HostFile{},
				had: map[string]disk{}, raw: map[string]string{}, found: map[string]string{}, passed: map[string]checker{},
			}
		},
	}
}

func sourceOf(at string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: at}}
}

func deviceOf(at, fsType string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: at, FSType: &fsType}}
}

func placeOf(uid, pv string) string {
	source := local.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), pv).Path
}

func rawPlaceOf(uid, pv string) string {
	source := local.Source()
	return plugin.PodDevicePlace(lang.RootDir, uid, source.Directory(), pv).Path
}

// use is how containers use a local volume.
func use(v world.Claimed) (world.Use, bool) {
	share, disk := "", ""
	if strings.HasPrefix(v.PV.Spec.Local.Path, mountDir) {
		share = exportDir
	}
	at := placeOf(v.UID, v.PV.Name)
	if v.IsBlock {
		at = rawPlaceOf(v.UID, v.PV.Name)
	}
	if v.PV.Spec.Local.FSType != nil || v.IsBlock {
		disk = string(local.KindDevice) + "^" + v.PV.Name
	}
	return world.Use{
		Share: share, Disk: disk, Spec: v.PV.Name, Path: at, Raw: v.IsBlock,
		ReadOnly: v.ReadOnly || v.Spec.PersistentVolumeClaim != nil && v.Spec.PersistentVolumeClaim.ReadOnly ||
			!v.IsBlock && slices.Contains(v.PV.Spec.MountOptions, "ro"),
	}, true
}

func differs(w *sim.World, at string, _ bool) string {
	if len(w.MountsAt(at)) == 0 {
		return "nothing is mounted at " + at
	}
	return ""
}

// The directories of hunts: a plain one; one on a disk of its own, which the host mounts some time after each boot and
// whose server is silent now and then; and a link to one.
const (
	plainDir  = "/disks/plain"
	mountDir  = "/disks/mount"
	deepDir   = mountDir + "/deep"
	linkDir   = "/disks/link"
	exportDir = "/exports/data" // is what the host mounts at mountDir
	linkedDir = "/data/linked"  // is where linkDir leads
	kept      = "kept"          // is a file in each

	rawDisk   = "/dev/raw"   // is one that pods have as it is
	blankDisk = "/dev/blank" // is a disk on which nothing is
	usedDisk  = "/dev/used"  // is one with a filesystem
	oddDisk   = "/dev/odd"   // is one that holds what nobody knows
)

// volumes are the local volumes of hunts.
var volumes = func() []world.HuntedShape {
	is := func(name, text, at string, access corev1.PersistentVolumeAccessMode, options ...string) world.HuntedShape {
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: sourceOf(at), MountOptions: options,
				AccessModes: []corev1.PersistentVolumeAccessMode{access},
			},
		})
	}
	disk := func(name, text, at string, access corev1.PersistentVolumeAccessMode, options ...string) world.HuntedShape {
		shape := is(name, text, at, access, options...)
		shape.PV.Spec.PersistentVolumeSource = deviceOf(at, "ext4")
		return shape
	}
	raw := func(name, text string, access corev1.PersistentVolumeAccessMode) world.HuntedShape {
		shape, block := is(name, text, rawDisk, access), corev1.PersistentVolumeBlock
		if access == corev1.ReadWriteOncePod {
			shape.PV.Spec.Local.Path = oneDisk
		}
		shape.PV.Spec.VolumeMode = &block
		return shape
	}
	return []world.HuntedShape{
		is("local-plain", "a directory of the node", plainDir, corev1.ReadWriteOnce),
		is("local-ro", "a directory of the node, read-only", plainDir, corev1.ReadOnlyMany, "ro", "noexec"),
		is("local-mount", "a disk of the node", mountDir, corev1.ReadWriteOnce, "nosuid"),
		is("local-deep", "a directory on a disk of the node", deepDir, corev1.ReadWriteOnce),
		is("local-link", "a directory of the node, by a link", linkDir, corev1.ReadWriteOnce),
		is("local-one", "a directory of the node, for one pod", plainDir+"/one", corev1.ReadWriteOncePod),
		disk("local-blank", "a disk on which nothing is", blankDisk, corev1.ReadWriteOnce),
		disk("local-used", "a disk with a filesystem", usedDisk, corev1.ReadWriteOnce, "noexec", "commit=5"),
		disk("local-odd", "a disk that holds what nobody knows", oddDisk, corev1.ReadWriteOncePod),
		raw("local-raw", "a disk as it is", corev1.ReadWriteOnce),
		raw("local-raw-one", "a disk as it is, for one pod", corev1.ReadWriteOncePod),
	}
}()
