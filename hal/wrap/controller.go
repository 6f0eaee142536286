package wrap

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type controller struct {
	inner  hal.CSIController
	around Around
}

func (w controller) Capabilities(
	c hal.Call, driver string, r *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	return rpc(w.around, asks("ControllerGetCapabilities", driver), c, driver, r, w.inner.Capabilities)
}

func (w controller) Create(c hal.Call, driver string, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	return rpc(w.around, acts("CreateVolume", driver, r.GetName()), c, driver, r, w.inner.Create)
}

func (w controller) Delete(c hal.Call, driver string, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return rpc(w.around, acts("DeleteVolume", driver, r.GetVolumeId()), c, driver, r, w.inner.Delete)
}

func (w controller) Publish(
	c hal.Call, driver string, r *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	return rpc(w.around, acts("ControllerPublishVolume", driver, r.GetVolumeId()), c, driver, r, w.inner.Publish)
}

func (w controller) Unpublish(
	c hal.Call, driver string, r *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	return rpc(w.around, acts("ControllerUnpublishVolume", driver, r.GetVolumeId()), c, driver, r, w.inner.Unpublish)
}
