// Package csi is the volume source of CSI drivers: volumes of PersistentVolumes and inline volumes, as filesystems and
// as raw block devices, with and without staging.
//
// A volume's ladder, top first, is csi.publish (one for each pod) on csi.stage (one for each volume; only for drivers
// with STAGE_UNSTAGE_VOLUME, and never for inline volumes). Everything a verb needs is in the rung's parameters, so
// that a rung can be taken down when all that is left of it is its record.
package csi
