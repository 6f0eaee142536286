package wrap

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type identity struct {
	inner  hal.CSIIdentity
	around Around
}

func (w identity) PluginInfo(c hal.Call, driver string, r *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return get(w.around, Site{"GetPluginInfo", driver, hal.ClassRPC, false}, c, func() (*csi.GetPluginInfoResponse, error) { return w.inner.PluginInfo(c, driver, r) })
}

func (w identity) PluginCapabilities(c hal.Call, driver string, r *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return get(w.around, Site{"GetPluginCapabilities", driver, hal.ClassRPC, false}, c, func() (*csi.GetPluginCapabilitiesResponse, error) { return w.inner.PluginCapabilities(c, driver, r) })
}

func (w identity) Probe(c hal.Call, driver string, r *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return get(w.around, Site{"Probe", driver, hal.ClassRPC, false}, c, func() (*csi.ProbeResponse, error) { return w.inner.Probe(c, driver, r) })
}
