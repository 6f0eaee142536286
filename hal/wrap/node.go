package wrap

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type node struct {
	inner  hal.CSINode
	around Around
}

func (w node) Info(c hal.Call, driver string, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return get(w.around, Site{"NodeGetInfo", driver, hal.ClassRPC, false}, c, func() (*csi.NodeGetInfoResponse, error) { return w.inner.Info(c, driver, r) })
}

func (w node) Capabilities(c hal.Call, driver string, r *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return get(w.around, Site{"NodeGetCapabilities", driver, hal.ClassRPC, false}, c, func() (*csi.NodeGetCapabilitiesResponse, error) { return w.inner.Capabilities(c, driver, r) })
}

func (w node) Stage(c hal.Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	return get(w.around, Site{"NodeStageVolume", driver + " " + r.GetVolumeId() + " " + r.GetStagingTargetPath(), hal.ClassRPC, true}, c, func() (*csi.NodeStageVolumeResponse, error) { return w.inner.Stage(c, driver, r) })
}

func (w node) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	return get(w.around, Site{"NodeUnstageVolume", driver + " " + r.GetVolumeId() + " " + r.GetStagingTargetPath(), hal.ClassRPC, true}, c, func() (*csi.NodeUnstageVolumeResponse, error) { return w.inner.Unstage(c, driver, r) })
}

func (w node) Publish(c hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	return get(w.around, Site{"NodePublishVolume", driver + " " + r.GetVolumeId() + " " + r.GetTargetPath(), hal.ClassRPC, true}, c, func() (*csi.NodePublishVolumeResponse, error) { return w.inner.Publish(c, driver, r) })
}

func (w node) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	return get(w.around, Site{"NodeUnpublishVolume", driver + " " + r.GetVolumeId() + " " + r.GetTargetPath(), hal.ClassRPC, true}, c, func() (*csi.NodeUnpublishVolumeResponse, error) { return w.inner.Unpublish(c, driver, r) })
}
