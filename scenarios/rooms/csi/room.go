// Package csi is CSI volumes as scenarios know them, and those that CSI drivers serve in place of former plugins.
package csi

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		Hunted: world.Hunted{Name: "in-tree", Site: "workload.in-tree-volume", Never: 6, Volumes: volumes},
		Use:    use, HasServer: true, Begin: begin, New: func() world.RoomRun { return &run{} },
	}
}

// volumes are the volumes of hunts that name awsElasticBlockStore. No two of its shapes are of one volume.
var volumes = func() []world.HuntedShape {
	named := corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-named", FSType: "ext4"}
	part := corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-part", Partition: 1, ReadOnly: true}
	claimed := world.Persistent("a volume of awsElasticBlockStore, by a claim", &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "ebs"},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "aws://zone-a/vol-claimed"},
			},
			AccessModes:  []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			MountOptions: []string{"noatime"},
		},
	})
	all := []world.HuntedShape{
		{Text: "a volume of awsElasticBlockStore", Source: corev1.VolumeSource{AWSElasticBlockStore: &named}},
		{Text: "a partition of awsElasticBlockStore, read-only", Source: corev1.VolumeSource{AWSElasticBlockStore: &part}},
		claimed,
	}
	for i := range all {
		all[i].InTree = true
	}
	return all
}()

// begin makes those volumes.
func begin(g world.Planner) {
	if !g.InTree() {
		return
	}
	for _, handle := range []string{"vol-named", "vol-part", "vol-claimed"} {
		g.Run().W.AddVolume(lang.EBSDriver, handle)
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
