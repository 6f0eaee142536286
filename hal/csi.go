package hal

import "github.com/container-storage-interface/spec/lib/go/csi"

// PluginInfo is what a plugin says of itself at registration (kubelet pluginregistration.v1, PluginInfo).
type PluginInfo struct {
	Type     string // "CSIPlugin"
	Name     string // the driver's name
	Endpoint string // its CSI socket, absolute
	Versions []string
}

// Registration is the agent's side of the kubelet plugin registration protocol. Class RPC; both calls may be repeated freely.
type Registration interface {
	// Info asks the plugin behind a registration socket who it is (GetInfo). EACCES if the socket or its directory belongs to somebody else than
	// root or may be written by others.
	Info(c Call, socket string) (PluginInfo, error)
	// Notify tells the plugin whether it was taken (NotifyRegistrationStatus).
	Notify(c Call, socket string, registered bool, reason string) error
}

// Peer is the process behind a driver's socket.
type Peer struct {
	// Instance names one life of the process: two peers with one Instance are the same process. "" if the platform cannot tell.
	Instance string
	PID      int
}

// Drivers keeps one connection for each CSI driver. One that broke is opened again by the next call if the same process answers. If another one does,
// calls are not sent (ReplyNever) until Connect is called again, so that whoever called it knows whose answers come.
type Drivers interface {
	// Connect opens the connection for driver, in place of an earlier one. gone is called on the owner if the peer is seen dead *and* its cgroup is
	// empty, so that nothing it started can still act; it may never come.
	Connect(c Call, driver, endpoint string, gone func()) (Peer, error)
	// Disconnect forgets driver: later calls to it are not sent. Calls in flight go on.
	Disconnect(driver string)
}

// CSIIdentity is the identity service of a connected driver. Class RPC. Messages are the CSI spec's own.
type CSIIdentity interface {
	PluginInfo(c Call, driver string, r *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error)
	PluginCapabilities(c Call, driver string, r *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error)
	Probe(c Call, driver string, r *csi.ProbeRequest) (*csi.ProbeResponse, error)
}

// CSINode is the node service of a connected driver. Class RPC: a time-out cancels nothing.
type CSINode interface {
	Info(c Call, driver string, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error)
	Capabilities(c Call, driver string, r *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error)
	Stage(c Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error)
	Unstage(c Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error)
	Publish(c Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error)
	Unpublish(c Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error)
}

// CSIController is the controller service of a connected driver, for hosts that have no attach/detach controller. Class RPC.
type CSIController interface {
	Capabilities(c Call, driver string, r *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error)
	Create(c Call, driver string, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error)
	Delete(c Call, driver string, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error)
	Publish(c Call, driver string, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error)
	Unpublish(c Call, driver string, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error)
}
