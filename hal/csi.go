package hal

import (
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
)

// PluginInfo is what a plugin says of itself at registration (kubelet pluginregistration.v1, PluginInfo).
type PluginInfo struct {
	Type     string // "CSIPlugin"
	Name     string // the driver's name
	Endpoint string // its CSI socket, absolute
	Versions []string
	Socket   string // names the registration socket that was asked: another one at its path has another name
}

// Registration is the agent's side of the kubelet plugin registration protocol. Class RPC; both calls may be repeated
// freely.
type Registration interface {
	// Info asks the plugin behind a registration socket who it is (GetInfo). EACCES if the socket or its directory
	// belongs to somebody else than root or may be written by others.
	Info(c Call, socket string) (PluginInfo, error)
	// Notify tells the plugin whether it was taken (NotifyRegistrationStatus). made is the PluginInfo.Socket that Info
	// returned: if another socket is at the path by now, Notify sends nothing and returns ESTALE. With "" it tells
	// whichever plugin listens there.
	Notify(c Call, socket, made string, registered bool, reason string) error
}

// Peer is the process behind a driver's socket.
type Peer struct {
	// Instance names one life of the process: two peers with one Instance are the same process. "" if the platform
	// cannot tell.
	Instance string
	PID      int
}

// PeerEvents is what the caller of Connect wants to hear of the process at the other end. Each func runs on the owner.
// nil is allowed.
type PeerEvents struct {
	// Lost: the other side has closed the connection, as it does when its process dies. It comes within a moment, and
	// again if a connection that was opened in its place breaks. It does not come of a connection that was replaced or
	// forgotten.
	Lost func()
	// Gone: the process is dead *and* its cgroup is empty, so nothing that it started can still act. It may never come.
	Gone func()
}

// Candidate is the name for the connection to a process that has not yet said who it is. No driver has such a name.
func Candidate(driver string) string { return driver + " (candidate)" }

// DriverOf is the driver that a connection's name is about.
func DriverOf(name string) string {
	driver, _, _ := strings.Cut(name, " ")
	return driver
}

// Drivers keeps connections to CSI drivers, each under a name: a driver's, or [Candidate]. One that broke is opened
// again by the next call if the same process answers. If another one does, calls are not sent (ReplyNever) until
// Connect is called again, so that whoever called it knows whose answers come.
type Drivers interface {
	// Connect opens a connection and keeps it under name, in place of an earlier one.
	Connect(c Call, name, endpoint string, events PeerEvents) (Peer, error)
	// Rename keeps the connection of the one name under the other, in place of an earlier one. Calls in flight go on.
	// Without such a connection it does nothing.
	Rename(from, to string)
	// Disconnect forgets name: later calls to it are not sent. Calls in flight go on.
	Disconnect(name string)
}

// CSIIdentity is the identity service of a connected driver. Class RPC. Messages are the CSI spec's own.
type CSIIdentity interface {
	PluginInfo(c Call, driver string, r *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error)
	PluginCapabilities(c Call, driver string, r *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse,
		error)
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
	Stats(c Call, driver string, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error)
	Health(c Call, driver string, r *csi.NodeGetVolumeHealthRequest) (*csi.NodeGetVolumeHealthResponse, error)
	StorageHealth(c Call, driver string, r *csi.NodeGetStorageHealthRequest) (*csi.NodeGetStorageHealthResponse, error)
}

// HealthEntry is one thing that is wrong with a volume, or with the storage behind a driver, as the driver says
// (VolumeHealthEntry and StorageBackendHealth of the CSI spec).
type HealthEntry struct {
	// DEGRADED, INACCESSIBLE, DATA_LOSS, STORAGE_DEGRADED, STORAGE_UNREACHABLE, or what a newer spec has.
	Status  string `json:"status"`
	Reason  string `json:"reason"` // in CamelCase
	Message string `json:"message,omitempty"`
	// Concerns are the volumes that it concerns, as in "block volumes, MULTI_NODE_MULTI_WRITER"; "" for all.
	Concerns string `json:"concerns,omitempty"`
}

// CSIController is the controller service of a connected driver, for hosts that have no attach/detach controller. Class
// RPC.
type CSIController interface {
	Capabilities(c Call, driver string,
		r *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error)
	Create(c Call, driver string, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error)
	Delete(c Call, driver string, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error)
	Publish(c Call, driver string, r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error)
	Unpublish(c Call, driver string, r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse,
		error)
}
