package csidriver

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// identityServer is the CSI Identity service.
type identityServer struct {
	csi.UnimplementedIdentityServer
	driver *Driver
}

// GetPluginInfo implements csi.IdentityServer.
func (s identityServer) GetPluginInfo(
	context.Context, *csi.GetPluginInfoRequest,
) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: s.driver.config.Name, VendorVersion: Version}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (s identityServer) GetPluginCapabilities(
	context.Context, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	controller := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	online := &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{
		{Type: &csi.PluginCapability_Service_{Service: controller}},
		{Type: &csi.PluginCapability_VolumeExpansion_{VolumeExpansion: online}},
	}}, nil
}

// Probe implements csi.IdentityServer. An answer without "ready" means ready.
func (s identityServer) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// registrationServer is what kubelet's plugin watcher talks to.
type registrationServer struct {
	registerapi.UnimplementedRegistrationServer
	driver *Driver
}

// GetInfo implements registerapi.RegistrationServer.
func (s registrationServer) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type:              registerapi.CSIPlugin,
		Name:              s.driver.config.Name,
		Endpoint:          s.driver.config.Endpoint,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus implements registerapi.RegistrationServer.
func (s registrationServer) NotifyRegistrationStatus(
	_ context.Context, r *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	if r.GetPluginRegistered() {
		s.driver.config.Log.Info("registered", "driver", s.driver.config.Name)
	} else {
		s.driver.config.Log.Error("registration refused", "driver", s.driver.config.Name, "reason", r.GetError())
	}
	return &registerapi.RegistrationStatusResponse{}, nil
}
