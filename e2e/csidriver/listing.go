package csidriver

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// tokenPrefix marks the driver's own page tokens. The rest is the last volume ID of the page before, so that a page
// stays right when volumes come and go between two calls.
const tokenPrefix = "after:"

var controllerCapabilities = []csi.ControllerServiceCapability_RPC_Type{
	csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
	csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
	csi.ControllerServiceCapability_RPC_PUBLISH_READONLY,
	csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
	csi.ControllerServiceCapability_RPC_LIST_VOLUMES_PUBLISHED_NODES,
	csi.ControllerServiceCapability_RPC_GET_CAPACITY,
	csi.ControllerServiceCapability_RPC_GET_VOLUME,
	csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
}

func controllerCapability(t csi.ControllerServiceCapability_RPC_Type) *csi.ControllerServiceCapability {
	rpc := &csi.ControllerServiceCapability_RPC{Type: t}
	return &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}}
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (s controllerServer) ControllerGetCapabilities(
	context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range controllerCapabilities {
		answer.Capabilities = append(answer.Capabilities, controllerCapability(t))
	}
	return answer, nil
}

// message is the volume as CSI describes it.
func (v Volume) message() *csi.Volume {
	return &csi.Volume{
		VolumeId:      v.ID,
		CapacityBytes: v.Bytes,
		VolumeContext: map[string]string{"backend": string(v.Backend), "name": v.Name},
	}
}

// ListVolumes implements csi.ControllerServer.
func (s controllerServer) ListVolumes(
	_ context.Context, r *csi.ListVolumesRequest,
) (*csi.ListVolumesResponse, error) {
	if r.GetMaxEntries() < 0 {
		return nil, status.Error(codes.InvalidArgument, "max entries is negative")
	}
	last, ours := strings.CutPrefix(r.GetStartingToken(), tokenPrefix)
	if r.GetStartingToken() != "" && !ours {
		return nil, status.Errorf(codes.Aborted, "starting token %q was not given out here", r.GetStartingToken())
	}
	answer := &csi.ListVolumesResponse{}
	s.driver.store.view(func(st State) {
		for _, id := range slices.Sorted(maps.Keys(st.Volumes)) {
			if ours && id <= last {
				continue
			}
			if n := len(answer.Entries); r.GetMaxEntries() > 0 && n == int(r.GetMaxEntries()) {
				answer.NextToken = tokenPrefix + answer.Entries[n-1].GetVolume().GetVolumeId()
				return
			}
			answer.Entries = append(answer.Entries, &csi.ListVolumesResponse_Entry{
				Volume: st.Volumes[id].message(),
				Status: &csi.ListVolumesResponse_VolumeStatus{PublishedNodeIds: st.nodesOf(id)},
			})
		}
	})
	return answer, nil
}

func (s State) nodesOf(id string) []string { return slices.Sorted(maps.Keys(s.Attached[id])) }

// ControllerGetVolume implements csi.ControllerServer.
func (s controllerServer) ControllerGetVolume(
	_ context.Context, r *csi.ControllerGetVolumeRequest,
) (*csi.ControllerGetVolumeResponse, error) {
	v, err := s.driver.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	answer := &csi.ControllerGetVolumeResponse{Volume: v.message()}
	s.driver.store.view(func(st State) {
		answer.Status = &csi.ControllerGetVolumeResponse_VolumeStatus{PublishedNodeIds: st.nodesOf(v.ID)}
	})
	return answer, nil
}

// GetCapacity implements csi.ControllerServer.
func (s controllerServer) GetCapacity(
	_ context.Context, r *csi.GetCapacityRequest,
) (*csi.GetCapacityResponse, error) {
	free := s.driver.freeBytes()
	answer := &csi.GetCapacityResponse{
		AvailableCapacity: free,
		MaximumVolumeSize: wrapperspb.Int64(free),
		MinimumVolumeSize: wrapperspb.Int64(minVolumeBytes),
	}
	backend, named := r.GetParameters()["backend"]
	for _, c := range r.GetVolumeCapabilities() {
		a, err := accessOf(c)
		if err != nil || (named && Backend(backend).supports(a) != nil) {
			// What cannot be made has no capacity; that is an answer and no error.
			return &csi.GetCapacityResponse{}, nil //nolint:nilerr // see above
		}
	}
	return answer, nil
}

// freeBytes is what is left for more volumes; sparse images count in full.
func (d *Driver) freeBytes() int64 {
	free := d.config.Capacity
	d.store.view(func(s State) {
		for _, v := range s.Volumes {
			free -= v.Bytes
		}
	})
	return max(free, 0)
}
