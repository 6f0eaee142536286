package memory

import (
	"path"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type registration struct{}

func (registration) Info(_ hal.Call, socket string) (hal.PluginInfo, error) {
	name := strings.TrimSuffix(path.Base(socket), ".sock")
	return hal.PluginInfo{Type: "CSIPlugin", Name: name, Endpoint: "/csi/" + name, Versions: []string{"1.0.0"}}, nil
}

func (registration) Notify(hal.Call, string, string, bool, string) error { return nil }

type connections struct{}

func (connections) Connect(_ hal.Call, name, _ string, _ hal.PeerEvents) (hal.Peer, error) {
	return hal.Peer{Instance: name, PID: 1}, nil
}
func (connections) Rename(string, string) {}
func (connections) Disconnect(string)     {}

type identity struct{}

func (identity) PluginInfo(_ hal.Call, driver string, _ *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: hal.DriverOf(driver), VendorVersion: "1"}, nil
}

func (identity) PluginCapabilities(hal.Call, string, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (identity) Probe(hal.Call, string, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// csiNode mounts what it is asked for.
type csiNode struct{ *Host }

func (csiNode) Info(hal.Call, string, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: "node"}, nil
}

func (csiNode) Capabilities(hal.Call, string, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error,
) {
	stage := &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{Rpc: stage}},
	}}, nil
}

// The answers say nothing, so that all callers may have the same.
var (
	stageOK     = &csi.NodeStageVolumeResponse{}
	unstageOK   = &csi.NodeUnstageVolumeResponse{}
	publishOK   = &csi.NodePublishVolumeResponse{}
	unpublishOK = &csi.NodeUnpublishVolumeResponse{}
)

func (n csiNode) Stage(_ hal.Call, _ string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	n.reach(r.StagingTargetPath, "")
	return stageOK, nil
}

func (n csiNode) Unstage(_ hal.Call, _ string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error,
) {
	n.leave(r.StagingTargetPath)
	return unstageOK, nil
}

func (n csiNode) Publish(_ hal.Call, _ string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error,
) {
	n.reach(r.TargetPath, r.StagingTargetPath)
	return publishOK, nil
}

func (n csiNode) Unpublish(_ hal.Call, _ string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse,
	error,
) {
	n.leave(r.TargetPath)
	return unpublishOK, nil
}

func (csiNode) Stats(hal.Call, string, *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	return &csi.NodeGetVolumeStatsResponse{}, nil
}

func (csiNode) Health(hal.Call, string, *csi.NodeGetVolumeHealthRequest) (*csi.NodeGetVolumeHealthResponse, error) {
	return &csi.NodeGetVolumeHealthResponse{}, nil
}

func (csiNode) StorageHealth(
	hal.Call, string, *csi.NodeGetStorageHealthRequest,
) (*csi.NodeGetStorageHealthResponse, error) {
	return &csi.NodeGetStorageHealthResponse{}, nil
}

// reach mounts at a path, once: what is mounted at another path, else a filesystem of its own.
func (n csiNode) reach(at, from string) {
	defer n.begin().mu.Unlock()
	n.makeAll(at)
	if len(n.mounts[at]) == 0 {
		n.mount(hal.Mount{Path: at, FSType: "ext4", Source: "/dev/disk"})
		if below := n.mounts[from]; len(below) > 0 {
			n.mounts[at][0].Device = below[len(below)-1].Device
		}
	}
}

// leave unmounts a path, if something is mounted there.
func (n csiNode) leave(at string) {
	defer n.begin().mu.Unlock()
	if len(n.mounts[at]) > 0 {
		_ = n.unmount(at)
	}
}
