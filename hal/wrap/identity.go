package wrap

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type identity struct {
	inner  hal.CSIIdentity
	around Around
}

func (w identity) PluginInfo(c hal.Call, driver string, r *csi.GetPluginInfoRequest,
) (*csi.GetPluginInfoResponse, error) {
	return rpc(w.around, asks("GetPluginInfo", driver), c, driver, r, w.inner.PluginInfo)
}

func (w identity) PluginCapabilities(
	c hal.Call, driver string, r *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return rpc(w.around, asks("GetPluginCapabilities", driver), c, driver, r, w.inner.PluginCapabilities)
}

func (w identity) Probe(c hal.Call, driver string, r *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return rpc(w.around, asks("Probe", driver), c, driver, r, w.inner.Probe)
}
