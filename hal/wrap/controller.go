package wrap

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type controller struct {
	inner  hal.CSIController
	around Around
}

func (w controller) Capabilities(c hal.Call, driver string, r *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	return get(w.around, Site{"ControllerGetCapabilities", driver, hal.ClassRPC, false}, c, func() (*csi.ControllerGetCapabilitiesResponse, error) { return w.inner.Capabilities(c, driver, r) })
}

func (w controller) Create(c hal.Call, driver string, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	return get(w.around, Site{"CreateVolume", driver + " " + r.GetName(), hal.ClassRPC, true}, c, func() (*csi.CreateVolumeResponse, error) { return w.inner.Create(c, driver, r) })
}

func (w controller) Delete(c hal.Call, driver string, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return get(w.around, Site{"DeleteVolume", driver + " " + r.GetVolumeId(), hal.ClassRPC, true}, c, func() (*csi.DeleteVolumeResponse, error) { return w.inner.Delete(c, driver, r) })
}

func (w controller) Publish(c hal.Call, driver string, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	return get(w.around, Site{"ControllerPublishVolume", driver + " " + r.GetVolumeId(), hal.ClassRPC, true}, c, func() (*csi.ControllerPublishVolumeResponse, error) { return w.inner.Publish(c, driver, r) })
}

func (w controller) Unpublish(c hal.Call, driver string, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	return get(w.around, Site{"ControllerUnpublishVolume", driver + " " + r.GetVolumeId(), hal.ClassRPC, true}, c, func() (*csi.ControllerUnpublishVolumeResponse, error) { return w.inner.Unpublish(c, driver, r) })
}
