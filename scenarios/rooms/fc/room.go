// Package fc is Fibre Channel volumes as scenarios know them.
package fc

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/fc"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is Fibre Channel volumes, of PersistentVolumes and of pods.
func Room() *world.Room {
	word := func(form string, source func(text string) (*corev1.FCVolumeSource, bool)) lang.Word {
		return lang.Word{
			Form: form,
			Volume: func(text string) (corev1.VolumeSource, bool) {
				src, ok := source(text)
				return corev1.VolumeSource{FC: src}, ok
			},
			Persistent: func(text string) (corev1.PersistentVolumeSource, bool) {
				src, ok := source(text)
				return corev1.PersistentVolumeSource{FC: src}, ok
			},
		}
	}
	return &world.Room{
		Source: fc.Source(), IsOfNoGroup: true,
		Words:   []lang.Word{word("fc:FSTYPE:LUN:PORT", ofPort), word("fc-wwid:FSTYPE:WWID", ofWWID)},
		Hunted:  world.Hunted{Name: "fc", Site: "workload.fc", Never: 12, Volumes: volumes},
		RawPath: rawPlaceOf, RawKind: fc.KindMap,
		Path: placeOf, Use: use, Differs: differs, Begin: begin, HasServer: true,
		New: func() world.RoomRun {
			return &run{
				has: map[string]string{}, found: map[string]string{}, isNamed: map[string]bool{},
				ports: map[string][]string{},
			}
		},
	}
}

func ofPort(text string) (*corev1.FCVolumeSource, bool) {
	part := strings.Split(text, ":")
	if len(part) != 3 {
		return &corev1.FCVolumeSource{}, false
	}
	n, err := strconv.ParseInt(part[1], 10, 32)
	lun := int32(n)
	return &corev1.FCVolumeSource{TargetWWNs: strings.Split(part[2], "+"), Lun: &lun, FSType: part[0]}, err == nil
}

func ofWWID(text string) (*corev1.FCVolumeSource, bool) {
	fsType, wwid, isBoth := strings.Cut(text, ":")
	return &corev1.FCVolumeSource{WWIDs: []string{wwid}, FSType: fsType}, isBoth
}

func placeOf(uid, spec string) string {
	source := fc.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), spec).Path
}

func rawPlaceOf(uid, spec string) string {
	source := fc.Source()
	return plugin.PodDevicePlace(lang.RootDir, uid, source.Directory(), spec).Path
}

// use is how containers use a Fibre Channel volume.
func use(v world.Claimed) (world.Use, bool) {
	spec, isReadOnly, src := v.Spec.Name, v.ReadOnly, v.Spec.FC
	if v.PV != nil {
		claim := v.Spec.PersistentVolumeClaim
		spec, src = v.PV.Name, v.PV.Spec.FC
		isReadOnly = isReadOnly || claim != nil && claim.ReadOnly ||
			!v.IsBlock && slices.Contains(v.PV.Spec.MountOptions, "ro")
	}
	u := world.Use{
		Spec: spec, Path: placeOf(v.UID, spec), ReadOnly: isReadOnly || src.ReadOnly, Disk: nameOf(src),
		Portals: []string{near.String()},
	}
	if len(src.TargetWWNs) > 0 {
		u.Portals = src.TargetWWNs
	}
	if v.IsBlock {
		u.Raw, u.Path = true, rawPlaceOf(v.UID, spec)
	}
	return u, true
}

// nameOf is what core calls a disk.
func nameOf(src *corev1.FCVolumeSource) string {
	if len(src.TargetWWNs) == 0 {
		return prefix + "naa." + strings.TrimPrefix(strings.TrimPrefix(src.WWIDs[0], "naa."), "3")
	}
	return prefix + src.TargetWWNs[0] + " lun " + strconv.Itoa(int(*src.Lun))
}

const prefix = "fc^"

func differs(w *sim.World, at string, _ bool) string {
	if len(w.MountsAt(at)) == 0 {
		return "nothing is mounted at " + at
	}
	return ""
}

// The ports of arrays in hunts, and their disks.
const (
	near      hal.WWPN = 0x50060e8000000001
	far       hal.WWPN = 0x50060e8000000002
	blankDisk          = "naa.60060e80000000000000000000000001" // is LUN 0 of near
	usedDisk           = "naa.60060e80000000000000000000000002" // is LUN 1 of near
	oddDisk            = "naa.60060e80000000000000000000000003" // is LUN 2 of near, and holds what nobody knows
	ownDisk            = "naa.60060e80000000000000000000000004" // is LUN 3 of near, which only pods name
	namedDisk          = "naa.60060e80000000000000000000000005" // is LUN 4 of near, and is known by its WWID alone
	farDisk            = "naa.60060e80000000000000000000000006" // is LUN 0 of far
	pathsDisk          = "naa.60060e80000000000000000000000008" // is LUN 5 of near, and of far
	rawDisk            = "naa.60060e80000000000000000000000009" // is LUN 6 of near, and pods have it as it is
	rawPaths           = "naa.60060e8000000000000000000000000a" // is LUN 7 of near, and of far
	spareDisk          = "naa.60060e80000000000000000000000007" // has no number at first; another tenant's
	usedUUID           = "88888888-1111-4222-8333-f00000000001"
	spareUUID          = "88888888-1111-4222-8333-f00000000002"
	farUUID            = "88888888-1111-4222-8333-f00000000003"
)

// disks are the numbers of the ports, and the disks that they name at first. A volume of two ports is named by near.
var disks = []struct {
	port, named hal.WWPN
	lun         int32
	wwid        string
}{
	{near, near, 0, blankDisk},
	{near, near, 1, usedDisk},
	{near, near, 2, oddDisk},
	{near, near, 3, ownDisk},
	{near, near, 4, namedDisk},
	{near, near, 5, pathsDisk},
	{far, near, 5, pathsDisk},
	{near, near, 6, rawDisk},
	{near, near, 7, rawPaths},
	{far, near, 7, rawPaths},
	{far, far, 0, farDisk},
}

// volumes are the Fibre Channel volumes of hunts.
var volumes = func() []world.HuntedShape {
	of := func(port hal.WWPN, lun int32) *corev1.FCVolumeSource {
		return &corev1.FCVolumeSource{TargetWWNs: []string{port.String()}, Lun: &lun, FSType: "ext4"}
	}
	paths := func(lun int32) *corev1.FCVolumeSource {
		src := of(near, lun)
		src.TargetWWNs = append(src.TargetWWNs, far.String())
		return src
	}
	raw := func(name, text string, src *corev1.FCVolumeSource) world.HuntedShape {
		block := corev1.PersistentVolumeBlock
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{FC: src}, VolumeMode: &block,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			},
		})
	}
	persistent := func(name, text string, src *corev1.FCVolumeSource, options ...string) world.HuntedShape {
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{FC: src}, MountOptions: options,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			},
		})
	}
	return []world.HuntedShape{
		persistent("fc-blank", "a disk of a port on which nothing is", of(near, 0)),
		persistent("fc-used", "a disk of a port with a filesystem", of(near, 1)),
		persistent("fc-odd", "a disk of a port that holds what nobody knows", of(near, 2)),
		persistent("fc-far", "a disk of another port", of(far, 0), "noexec"),
		persistent("fc-paths", "a disk of two ports", paths(5)),
		raw("fc-raw", "a disk of a port, as it is", of(near, 6)),
		raw("fc-paths-raw", "a disk of two ports, as it is", paths(7)),
		persistent("fc-named", "a disk that is known by its WWID", &corev1.FCVolumeSource{
			WWIDs: []string{namedDisk}, FSType: "ext4",
		}),
		{Text: "a disk of a port, named by the pod", Source: corev1.VolumeSource{FC: of(near, 3)}},
	}
}()
