package csidriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	blockBytes     = 4096    // sizes are multiples of this
	minVolumeBytes = 1 << 20 // ext4 fits; xfs wants about 300 MiB and says so itself
	maxNameBytes   = 128     // CSI spec, size limits
)

// controllerServer is the CSI Controller service.
type controllerServer struct {
	csi.UnimplementedControllerServer
	driver *Driver
}

// volumeID derives the ID of a provisioned volume from its name, so that a repeated CreateVolume finds the first one.
func volumeID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "vol-" + hex.EncodeToString(sum[:16])
}

func roundUp(bytes int64) int64 { return (bytes + blockBytes - 1) / blockBytes * blockBytes }

// volume looks up a volume by ID.
func (d *Driver) volume(id string) (Volume, bool) {
	var v Volume
	var exists bool
	d.store.view(func(s State) { v, exists = s.Volumes[id] })
	return v, exists
}

// existing looks up the volume that a request names and answers for the request when there is none.
func (d *Driver) existing(id string) (Volume, error) {
	if id == "" {
		return Volume{}, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	v, exists := d.volume(id)
	if !exists {
		return Volume{}, status.Errorf(codes.NotFound, "volume %s does not exist", id)
	}
	return v, nil
}

// failed gives an error of the host its gRPC code; one that has a code keeps it.
func failed(err error) error {
	if err == nil {
		return nil
	}
	if _, coded := status.FromError(err); coded {
		return err
	}
	if errors.Is(err, errForeignMount) {
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}

// CreateVolume implements csi.ControllerServer. Parameters: backend (dir or loop). A request for raw block volumes gets
// backend loop unless it asks for dir, which is refused.
func (s controllerServer) CreateVolume(
	_ context.Context, r *csi.CreateVolumeRequest,
) (*csi.CreateVolumeResponse, error) {
	d := s.driver
	if r.GetName() == "" || len(r.GetName()) > maxNameBytes {
		return nil, status.Errorf(codes.InvalidArgument, "name must have 1 to %d bytes", maxNameBytes)
	}
	if r.GetVolumeContentSource() != nil {
		return nil, status.Error(codes.InvalidArgument, "content sources are not offered")
	}
	want, err := d.wanted(r)
	if err != nil {
		return nil, err
	}
	if v, exists := d.volume(want.ID); exists {
		if v.Backend != want.Backend || !fits(v.Bytes, r.GetCapacityRange()) {
			return nil, status.Errorf(codes.AlreadyExists, "volume %q exists with backend %s and %d bytes",
				v.Name, v.Backend, v.Bytes)
		}
		return &csi.CreateVolumeResponse{Volume: v.message()}, nil
	}
	if free := d.freeBytes(); want.Bytes > free {
		return nil, status.Errorf(codes.ResourceExhausted, "%d bytes are asked for and %d are free", want.Bytes, free)
	}
	if err := d.backing(want).ensure(want); err != nil {
		return nil, failed(err)
	}
	if err := d.store.update(func(st *State) { st.Volumes[want.ID] = want }); err != nil {
		return nil, failed(err)
	}
	return &csi.CreateVolumeResponse{Volume: want.message()}, nil
}

// wanted is the volume that the request describes.
func (d *Driver) wanted(r *csi.CreateVolumeRequest) (Volume, error) {
	v := Volume{ID: volumeID(r.GetName()), Name: r.GetName(), Backend: d.config.Backend}
	asked, named := r.GetParameters()["backend"]
	if named {
		v.Backend = Backend(asked)
	}
	if !v.Backend.known() {
		return v, status.Errorf(codes.InvalidArgument, "parameter backend %q: want dir or loop", asked)
	}
	accesses, err := accessesOf(r.GetVolumeCapabilities())
	if err != nil {
		return v, err
	}
	for _, a := range accesses {
		if a.Block && !named {
			v.Backend = BackendLoop
		}
		if v.FsType == "" {
			v.FsType = a.FsType
		}
	}
	for _, a := range accesses {
		if err := v.Backend.supports(a); err != nil {
			return v, err
		}
	}
	v.Bytes, err = d.sizeFor(r.GetCapacityRange())
	return v, err
}

func accessesOf(capabilities []*csi.VolumeCapability) ([]Access, error) {
	if len(capabilities) == 0 {
		return nil, status.Error(codes.InvalidArgument, "volume capabilities are missing")
	}
	accesses := make([]Access, 0, len(capabilities))
	for _, c := range capabilities {
		a, err := accessOf(c)
		if err != nil {
			return nil, err
		}
		accesses = append(accesses, a)
	}
	return accesses, nil
}

// sizeFor picks the smallest size in the range that the driver can make.
func (d *Driver) sizeFor(r *csi.CapacityRange) (int64, error) {
	required, limit := r.GetRequiredBytes(), r.GetLimitBytes()
	if required < 0 || limit < 0 {
		return 0, status.Error(codes.InvalidArgument, "capacity range is negative")
	}
	size := max(required, minVolumeBytes)
	if required == 0 {
		size = defaultVolumeBytes
		if limit > 0 {
			size = min(size, limit/blockBytes*blockBytes)
		}
	}
	if size > d.config.Capacity {
		return 0, status.Errorf(codes.OutOfRange, "%d bytes are more than the %d there are", size, d.config.Capacity)
	}
	size = roundUp(size)
	if size < minVolumeBytes || (limit > 0 && size > limit) {
		return 0, status.Errorf(codes.OutOfRange, "no size between %d and %d bytes can be made", required, limit)
	}
	return size, nil
}

// fits says whether a volume of that size satisfies the range.
func fits(bytes int64, r *csi.CapacityRange) bool {
	return bytes >= r.GetRequiredBytes() && (r.GetLimitBytes() == 0 || bytes <= r.GetLimitBytes())
}

// DeleteVolume implements csi.ControllerServer. A volume that somebody uses stays: FAILED_PRECONDITION.
func (s controllerServer) DeleteVolume(
	_ context.Context, r *csi.DeleteVolumeRequest,
) (*csi.DeleteVolumeResponse, error) {
	d := s.driver
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	v, exists := d.volume(r.GetVolumeId())
	if !exists {
		return &csi.DeleteVolumeResponse{}, nil
	}
	var inUse bool
	d.store.view(func(st State) {
		_, staged := st.Staged[v.ID]
		inUse = staged || len(st.Published[v.ID]) > 0 || len(st.Attached[v.ID]) > 0
	})
	if inUse {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached, staged or published", v.ID)
	}
	// The record goes last: without it nobody would find what a crash leaves of the store.
	if err := d.backing(v).remove(v); err != nil {
		return nil, failed(err)
	}
	if err := d.store.update(func(st *State) { delete(st.Volumes, v.ID) }); err != nil {
		return nil, failed(err)
	}
	return &csi.DeleteVolumeResponse{}, nil
}

// ControllerExpandVolume implements csi.ControllerServer.
func (s controllerServer) ControllerExpandVolume(
	_ context.Context, r *csi.ControllerExpandVolumeRequest,
) (*csi.ControllerExpandVolumeResponse, error) {
	d := s.driver
	if r.GetCapacityRange() == nil {
		return nil, status.Error(codes.InvalidArgument, "capacity range is missing")
	}
	v, err := d.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	size, err := d.sizeFor(r.GetCapacityRange())
	if err != nil {
		return nil, err
	}
	if size > v.Bytes {
		if free := d.freeBytes(); size-v.Bytes > free {
			return nil, status.Errorf(codes.ResourceExhausted, "%d more bytes and %d are free", size-v.Bytes, free)
		}
		v.Bytes = size
		if err := d.backing(v).ensure(v); err != nil {
			return nil, failed(err)
		}
		if err := d.store.update(func(st *State) { st.Volumes[v.ID] = v }); err != nil {
			return nil, failed(err)
		}
	} else if limit := r.GetCapacityRange().GetLimitBytes(); limit > 0 && v.Bytes > limit {
		return nil, status.Errorf(codes.OutOfRange, "the volume has %d bytes and cannot shrink", v.Bytes)
	}
	return &csi.ControllerExpandVolumeResponse{
		CapacityBytes:         v.Bytes,
		NodeExpansionRequired: v.Backend == BackendLoop,
	}, nil
}
