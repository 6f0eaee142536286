// Package iscsi is iSCSI volumes as scenarios know them.
package iscsi

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/iscsi"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Room is iSCSI volumes, of PersistentVolumes and of pods.
func Room() *world.Room {
	return &world.Room{
		Source: iscsi.Source(), IsOfNoGroup: true,
		Words: []lang.Word{{
			Form: "iscsi:FSTYPE:LUN:ADDRESS:TARGET",
			Volume: func(text string) (corev1.VolumeSource, bool) {
				src, ok := sourceOf(text)
				return corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{
					TargetPortal: src.TargetPortal, Portals: src.Portals, IQN: src.IQN, Lun: src.Lun, FSType: src.FSType,
				}}, ok
			},
			Persistent: func(text string) (corev1.PersistentVolumeSource, bool) {
				src, ok := sourceOf(text)
				return corev1.PersistentVolumeSource{ISCSI: src}, ok
			},
		}},
		Hunted:  world.Hunted{Name: "iscsi", Site: "workload.iscsi", Never: 12, Volumes: volumes},
		RawPath: rawPlaceOf, RawKind: iscsi.KindMap,
		Path: placeOf, Use: use, Differs: differs, Begin: begin, HasServer: true,
		New: func() world.RoomRun { return &run{has: map[string]string{}, found: map[string]string{}} },
	}
}

func sourceOf(text string) (*corev1.ISCSIPersistentVolumeSource, bool) {
	part := strings.SplitN(text, ":", 4)
	if len(part) < 4 {
		return &corev1.ISCSIPersistentVolumeSource{}, false
	}
	lun, err := strconv.ParseInt(part[1], 10, 32)
	portals := strings.Split(part[2], "+")
	return &corev1.ISCSIPersistentVolumeSource{
		TargetPortal: portals[0], Portals: portals[1:], IQN: part[3], Lun: int32(lun), FSType: part[0],
	}, err == nil
}

func placeOf(uid, spec string) string {
	source := iscsi.Source()
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), spec).Path
}

func rawPlaceOf(uid, spec string) string {
	source := iscsi.Source()
	return plugin.PodDevicePlace(lang.RootDir, uid, source.Directory(), spec).Path
}

// use is how containers use an iSCSI volume.
func use(v world.Claimed) (world.Use, bool) {
	spec, isReadOnly := v.Spec.Name, v.ReadOnly
	var portals []string
	var target string
	var lun int32
	if v.PV != nil {
		src, claim := v.PV.Spec.ISCSI, v.Spec.PersistentVolumeClaim
		spec, target, lun = v.PV.Name, src.IQN, src.Lun
		portals = append([]string{src.TargetPortal}, src.Portals...)
		isReadOnly = isReadOnly || src.ReadOnly || claim != nil && claim.ReadOnly ||
			!v.IsBlock && slices.Contains(v.PV.Spec.MountOptions, "ro")
	} else {
		src := v.Spec.ISCSI
		target, lun, isReadOnly = src.IQN, src.Lun, isReadOnly || src.ReadOnly
		portals = append([]string{src.TargetPortal}, src.Portals...)
	}
	for i := range portals {
		portals[i] += ":3260"
	}
	at := placeOf(v.UID, spec)
	if v.IsBlock {
		at = rawPlaceOf(v.UID, spec)
	}
	return world.Use{
		Raw:  v.IsBlock,
		Disk: diskName(target, lun), Portals: portals, Spec: spec, Path: at, ReadOnly: isReadOnly,
	}, true
}

// diskName is what core calls a disk of a target.
func diskName(target string, lun int32) string {
	return "iscsi^" + target + " lun " + strconv.Itoa(int(lun))
}

func differs(w *sim.World, at string, _ bool) string {
	if len(w.MountsAt(at)) == 0 {
		return "nothing is mounted at " + at
	}
	return ""
}

// The targets of hunts: one that lets each initiator in, one that asks for credentials, and one with two portals.
const (
	open      = "iqn.2026-01.example:open"
	closed    = "iqn.2026-01.example:closed"
	twin      = "iqn.2026-01.example:twin"
	openAt    = "10.0.0.1"
	closedAt  = "10.0.0.2"
	leftAt    = "10.0.0.3" // twin's
	rightAt   = "10.0.0.4" // twin's
	secret    = "chap"
	blankDisk = "naa.0001" // is LUN 0 of open
	usedDisk  = "naa.0002" // is LUN 1 of open
	oddDisk   = "naa.0003" // is LUN 2 of open, and holds what nobody knows
	thirdDisk = "naa.0004" // is LUN 0 of closed
	ownDisk   = "naa.0006" // is LUN ownLUN of open, which only pods name
	ownLUN    = 3
	rawDisk   = "naa.0007" // is LUN rawLUN of open, and pods have it as it is
	rawLUN    = 4
	readDisk  = "naa.0008" // is LUN 1 of closed, and pods may only read it
	pathsDisk = "naa.0009" // is LUN 0 of twin
	rawPaths  = "naa.0010" // is LUN 1 of twin, and pods have it as it is
	spareDisk = "naa.0005" // has no number at first; another tenant's
	usedUUID  = "88888888-1111-4222-8333-444455556666"
	spareUUID = "99999999-1111-4222-8333-444455556666"
)

// volumes are the iSCSI volumes of hunts.
var volumes = func() []world.HuntedShape {
	of := func(target, address string, lun int32) *corev1.ISCSIPersistentVolumeSource {
		return &corev1.ISCSIPersistentVolumeSource{TargetPortal: address, IQN: target, Lun: lun, FSType: "ext4"}
	}
	raw := func(name, text string, src *corev1.ISCSIPersistentVolumeSource) world.HuntedShape {
		block := corev1.PersistentVolumeBlock
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{ISCSI: src}, VolumeMode: &block,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			},
		})
	}
	paths := func(lun int32) *corev1.ISCSIPersistentVolumeSource {
		src := of(twin, leftAt, lun)
		src.Portals = []string{rightAt}
		return src
	}
	readOnly := of(closed, closedAt, 1)
	readOnly.ReadOnly = true
	persistent := func(name, text string, src *corev1.ISCSIPersistentVolumeSource, options ...string) world.HuntedShape {
		return world.Persistent(text, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				PersistentVolumeSource: corev1.PersistentVolumeSource{ISCSI: src}, MountOptions: options,
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			},
		})
	}
	return []world.HuntedShape{
		persistent("iscsi-blank", "a disk of an array on which nothing is", of(open, openAt, 0)),
		persistent("iscsi-used", "a disk of an array with a filesystem", of(open, openAt, 1)),
		persistent("iscsi-odd", "a disk of an array that holds what nobody knows", of(open, openAt, 2)),
		persistent("iscsi-third", "a disk of another array", of(closed, closedAt, 0), "noexec"),
		{Text: "a disk of an array, named by the pod", Source: corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{
			TargetPortal: openAt, IQN: open, Lun: ownLUN, FSType: "ext4",
		}}},
		persistent("iscsi-paths", "a disk of an array with two paths", paths(0)),
		raw("iscsi-paths-raw", "a disk of an array with two paths, as it is", paths(1)),
		raw("iscsi-raw", "a disk of an array, as it is", of(open, openAt, rawLUN)),
		raw("iscsi-read", "a disk of an array, as it is, that nobody writes to", readOnly),
	}
}()
