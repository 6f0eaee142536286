package linux

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type (
	csiIdentity   struct{ drivers *drivers }
	csiNode       struct{ drivers *drivers }
	csiController struct{ drivers *drivers }
)

func (s *csiIdentity) PluginInfo(
	c hal.Call, driver string, r *csi.GetPluginInfoRequest,
) (*csi.GetPluginInfoResponse, error) {
	return invoke(s.drivers, c, driver, "GetPluginInfo", r, csi.NewIdentityClient, csi.IdentityClient.GetPluginInfo)
}

func (s *csiIdentity) PluginCapabilities(
	c hal.Call, driver string, r *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return invoke(
		s.drivers, c, driver, "GetPluginCapabilities", r,
		csi.NewIdentityClient, csi.IdentityClient.GetPluginCapabilities,
	)
}

func (s *csiIdentity) Probe(c hal.Call, driver string, r *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return invoke(s.drivers, c, driver, "Probe", r, csi.NewIdentityClient, csi.IdentityClient.Probe)
}

func (s *csiNode) Info(c hal.Call, driver string, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return invoke(s.drivers, c, driver, "NodeGetInfo", r, csi.NewNodeClient, csi.NodeClient.NodeGetInfo)
}

func (s *csiNode) Capabilities(
	c hal.Call, driver string, r *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return invoke(s.drivers, c, driver, "NodeGetCapabilities", r, csi.NewNodeClient, csi.NodeClient.NodeGetCapabilities)
}

func (s *csiNode) Stage(
	c hal.Call, driver string, r *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	return invoke(s.drivers, c, driver, "NodeStageVolume", r, csi.NewNodeClient, csi.NodeClient.NodeStageVolume)
}

func (s *csiNode) Unstage(
	c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	return invoke(s.drivers, c, driver, "NodeUnstageVolume", r, csi.NewNodeClient, csi.NodeClient.NodeUnstageVolume)
}

func (s *csiNode) Publish(
	c hal.Call, driver string, r *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	return invoke(s.drivers, c, driver, "NodePublishVolume", r, csi.NewNodeClient, csi.NodeClient.NodePublishVolume)
}

func (s *csiNode) Unpublish(
	c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	return invoke(s.drivers, c, driver, "NodeUnpublishVolume", r, csi.NewNodeClient, csi.NodeClient.NodeUnpublishVolume)
}

func (s *csiNode) Stats(
	c hal.Call, driver string, r *csi.NodeGetVolumeStatsRequest,
) (*csi.NodeGetVolumeStatsResponse, error) {
	return invoke(s.drivers, c, driver, "NodeGetVolumeStats", r, csi.NewNodeClient, csi.NodeClient.NodeGetVolumeStats)
}

func (s csiNode) Health(
	c hal.Call, driver string, r *csi.NodeGetVolumeHealthRequest,
) (*csi.NodeGetVolumeHealthResponse, error) {
	return invoke(s.drivers, c, driver, "NodeGetVolumeHealth", r, csi.NewNodeClient, csi.NodeClient.NodeGetVolumeHealth)
}

func (s csiNode) StorageHealth(
	c hal.Call, driver string, r *csi.NodeGetStorageHealthRequest,
) (*csi.NodeGetStorageHealthResponse, error) {
	return invoke(s.drivers, c, driver, "NodeGetStorageHealth", r, csi.NewNodeClient, csi.NodeClient.NodeGetStorageHealth)
}

func (s *csiController) Capabilities(
	c hal.Call, driver string, r *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	return invoke(
		s.drivers, c, driver, "ControllerGetCapabilities", r,
		csi.NewControllerClient, csi.ControllerClient.ControllerGetCapabilities,
	)
}

func (s *csiController) Create(
	c hal.Call, driver string, r *csi.CreateVolumeRequest,
) (*csi.CreateVolumeResponse, error) {
	return invoke(s.drivers, c, driver, "CreateVolume", r, csi.NewControllerClient, csi.ControllerClient.CreateVolume)
}

func (s *csiController) Delete(
	c hal.Call, driver string, r *csi.DeleteVolumeRequest,
) (*csi.DeleteVolumeResponse, error) {
	return invoke(s.drivers, c, driver, "DeleteVolume", r, csi.NewControllerClient, csi.ControllerClient.DeleteVolume)
}

func (s *csiController) Publish(
	c hal.Call, driver string, r *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	return invoke(
		s.drivers, c, driver, "ControllerPublishVolume", r,
		csi.NewControllerClient, csi.ControllerClient.ControllerPublishVolume,
	)
}

func (s *csiController) Unpublish(
	c hal.Call, driver string, r *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	return invoke(
		s.drivers, c, driver, "ControllerUnpublishVolume", r,
		csi.NewControllerClient, csi.ControllerClient.ControllerUnpublishVolume,
	)
}
