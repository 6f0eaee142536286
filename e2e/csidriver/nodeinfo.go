package csidriver

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func nodeCapability(t csi.NodeServiceCapability_RPC_Type) *csi.NodeServiceCapability {
	rpc := &csi.NodeServiceCapability_RPC{Type: t}
	return &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{Rpc: rpc}}
}

// NodeGetCapabilities implements csi.NodeServer.
func (s nodeServer) NodeGetCapabilities(
	context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	answer := &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		nodeCapability(csi.NodeServiceCapability_RPC_GET_VOLUME_STATS),
		nodeCapability(csi.NodeServiceCapability_RPC_GET_VOLUME_HEALTH),
		nodeCapability(csi.NodeServiceCapability_RPC_GET_STORAGE_HEALTH),
		nodeCapability(csi.NodeServiceCapability_RPC_EXPAND_VOLUME),
		nodeCapability(csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER),
	}}
	if !s.driver.config.NoStaging {
		stage := nodeCapability(csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
		answer.Capabilities = append(answer.Capabilities, stage)
	}
	return answer, nil
}

// TopologyKey is the label of nodes by which the volumes of a driver say on which one they are. Its value is the node's
// id.
func TopologyKey(driver string) string { return "topology." + driver + "/node" }

// NodeGetInfo implements csi.NodeServer.
func (s nodeServer) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{
		NodeId:            s.driver.config.NodeID,
		MaxVolumesPerNode: s.driver.config.MaxVolumes,
		AccessibleTopology: &csi.Topology{
			Segments: map[string]string{TopologyKey(s.driver.config.Name): s.driver.config.NodeID},
		},
	}, nil
}

// usedAt is the access with which the volume is staged or published at path; anything else is NOT_FOUND.
func (d *Driver) usedAt(v Volume, path string) (Access, error) {
	path = filepath.Clean(path)
	if p, published := d.publication(v, path); published {
		return p.Access, nil
	}
	if s, staged := d.staging(v); staged && s.Path == path {
		return s.Access, nil
	}
	return Access{}, status.Errorf(codes.NotFound, "volume %s is not at %s", v.ID, path)
}

// NodeGetVolumeStats implements csi.NodeServer.
func (s nodeServer) NodeGetVolumeStats(
	_ context.Context, r *csi.NodeGetVolumeStatsRequest,
) (*csi.NodeGetVolumeStatsResponse, error) {
	if r.GetVolumePath() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume path is missing")
	}
	v, err := s.driver.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	access, err := s.driver.usedAt(v, r.GetVolumePath())
	if err != nil {
		return nil, err
	}
	if access.Block {
		total := &csi.VolumeUsage{Total: v.Bytes, Unit: csi.VolumeUsage_BYTES}
		return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{total}}, nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs(r.GetVolumePath(), &st); err != nil {
		return nil, status.Errorf(codes.Internal, "statfs %s: %v", r.GetVolumePath(), err)
	}
	size := st.Frsize
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{
		Unit:      csi.VolumeUsage_BYTES,
		Total:     int64(st.Blocks) * size,
		Available: int64(st.Bavail) * size,
		Used:      int64(st.Blocks-st.Bfree) * size,
	}, {
		Unit:      csi.VolumeUsage_INODES,
		Total:     int64(st.Files),
		Available: int64(st.Ffree),
		Used:      int64(st.Files - st.Ffree),
	}}}, nil
}

// HealthFile is where somebody writes what is wrong with a volume, one line for each thing: DEGRADED PathLost, and then
// a message. Without the file, nothing is.
func HealthFile(stateDir, id string) string { return filepath.Join(stateDir, "health-"+id) }

// StorageHealthFile is where somebody writes what is wrong with the storage: STORAGE_DEGRADED PathLost, and a message.
func StorageHealthFile(stateDir string) string { return filepath.Join(stateDir, "health") }

// NodeGetVolumeHealth implements csi.NodeServer.
func (s nodeServer) NodeGetVolumeHealth(
	_ context.Context, r *csi.NodeGetVolumeHealthRequest,
) (*csi.NodeGetVolumeHealthResponse, error) {
	v, err := s.driver.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	all, err := ailments(HealthFile(s.driver.config.StateDir, v.ID))
	if err != nil {
		return nil, err
	}
	said := &csi.VolumeHealth{VolumeId: v.ID}
	for _, of := range all {
		said.HealthStatuses = append(said.HealthStatuses, &csi.VolumeHealth_VolumeHealthEntry{
			Status: csi.VolumeHealthErrorType(csi.VolumeHealthErrorType_value[of.kind]), Reason: of.reason, Message: of.message,
		})
	}
	return &csi.NodeGetVolumeHealthResponse{VolumeHealth: said}, nil
}

// NodeGetStorageHealth implements csi.NodeServer.
func (s nodeServer) NodeGetStorageHealth(
	context.Context, *csi.NodeGetStorageHealthRequest,
) (*csi.NodeGetStorageHealthResponse, error) {
	all, err := ailments(StorageHealthFile(s.driver.config.StateDir))
	if err != nil {
		return nil, err
	}
	said := &csi.NodeGetStorageHealthResponse{}
	for _, of := range all {
		said.BackendHealth = append(said.BackendHealth, &csi.NodeGetStorageHealthResponse_StorageBackendHealth{
			Status: csi.StorageHealthErrorType(csi.StorageHealthErrorType_value[of.kind]),
			Reason: of.reason, Message: of.message,
		})
	}
	return said, nil
}

// ailment is one thing that is wrong.
type ailment struct{ kind, reason, message string }

// ailments are the lines of a file; there need be none.
func ailments(file string) (all []ailment, err error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, status.Errorf(codes.Internal, "%v", err)
	}
	for line := range strings.Lines(string(text)) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		reason, message, _ := strings.Cut(rest, " ")
		all = append(all, ailment{kind, reason, message})
	}
	return all, nil
}

// NodeExpandVolume implements csi.NodeServer. It makes the node see the size that ControllerExpandVolume made.
func (s nodeServer) NodeExpandVolume(
	_ context.Context, r *csi.NodeExpandVolumeRequest,
) (*csi.NodeExpandVolumeResponse, error) {
	d := s.driver
	if r.GetVolumePath() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume path is missing")
	}
	v, err := d.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	access, err := d.usedAt(v, r.GetVolumePath())
	if err != nil {
		return nil, err
	}
	if required := r.GetCapacityRange().GetRequiredBytes(); required > v.Bytes {
		return nil, status.Errorf(codes.OutOfRange, "%d bytes are required and the volume has %d", required, v.Bytes)
	}
	if v.Backend == BackendLoop {
		if err := d.loop.resize(v, r.GetVolumePath(), access.Block); err != nil {
			return nil, failed(err)
		}
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: v.Bytes}, nil
}
