package csidriver

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// publishContextKey is in the publish context of every attached volume; its value names the attachment.
const publishContextKey = "attachment"

// ControllerPublishVolume implements csi.ControllerServer. Attaching is a record and nothing else.
func (s controllerServer) ControllerPublishVolume(
	_ context.Context, r *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	d := s.driver
	if r.GetVolumeId() == "" || r.GetNodeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID or node ID is missing")
	}
	access, err := accessOf(r.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	v, err := d.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if r.GetNodeId() != d.config.NodeID {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", r.GetNodeId())
	}
	if err := v.Backend.supports(access); err != nil {
		return nil, err
	}
	want := Attachment{Access: access, Readonly: r.GetReadonly()}
	answer := &csi.ControllerPublishVolumeResponse{
		PublishContext: map[string]string{publishContextKey: v.ID + "@" + r.GetNodeId()},
	}
	var have Attachment
	var attached bool
	var count int64
	d.store.view(func(st State) {
		have, attached = st.Attached[v.ID][r.GetNodeId()]
		count = int64(len(st.Attached))
	})
	switch {
	case attached && have.Readonly == want.Readonly && have.Access.equal(want.Access):
		return answer, nil
	case attached:
		return nil, status.Errorf(codes.AlreadyExists, "volume %s is attached in another way", v.ID)
	case d.config.MaxVolumes > 0 && count >= d.config.MaxVolumes:
		return nil, status.Errorf(codes.ResourceExhausted, "node %s has %d volumes already", r.GetNodeId(), count)
	}
	return answer, failed(d.store.update(func(st *State) {
		st.Attached[v.ID] = map[string]Attachment{r.GetNodeId(): want}
	}))
}

// ControllerUnpublishVolume implements csi.ControllerServer. A volume that is not attached, does not exist, or a node
// that is not known counts as detached (CSI spec, ControllerUnpublishVolume). A volume that is still staged here is
// detached all the same, as a control plane does that has given the node up.
func (s controllerServer) ControllerUnpublishVolume(
	_ context.Context, r *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	var attached bool
	s.driver.store.view(func(st State) {
		_, attached = st.Attached[r.GetVolumeId()][r.GetNodeId()]
		attached = attached || (r.GetNodeId() == "" && len(st.Attached[r.GetVolumeId()]) > 0)
	})
	if attached {
		err := s.driver.store.update(func(st *State) { st.detach(r.GetVolumeId(), r.GetNodeId()) })
		if err != nil {
			return nil, failed(err)
		}
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// ValidateVolumeCapabilities implements csi.ControllerServer.
func (s controllerServer) ValidateVolumeCapabilities(
	_ context.Context, r *csi.ValidateVolumeCapabilitiesRequest,
) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if r.GetVolumeId() == "" || len(r.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume ID or volume capabilities are missing")
	}
	v, err := s.driver.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	accesses, err := accessesOf(r.GetVolumeCapabilities())
	for _, a := range accesses {
		if err == nil {
			err = v.Backend.supports(a)
		}
	}
	if err != nil {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: status.Convert(err).Message()}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
			VolumeContext:      r.GetVolumeContext(),
			VolumeCapabilities: r.GetVolumeCapabilities(),
			Parameters:         r.GetParameters(),
		},
	}, nil
}
