package csidriver

import (
	"context"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// nodeServer is the CSI Node service.
type nodeServer struct {
	csi.UnimplementedNodeServer
	driver *Driver
}

// checkPath answers for a request whose path is missing or relative.
func checkPath(what, path string) error {
	if !filepath.IsAbs(path) {
		return status.Errorf(codes.InvalidArgument, "%s %q is not an absolute path", what, path)
	}
	return nil
}

// NodeStageVolume implements csi.NodeServer.
func (s nodeServer) NodeStageVolume(
	_ context.Context, r *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	d := s.driver
	if d.config.NoStaging {
		return nil, status.Error(codes.Unimplemented, "this driver does not stage volumes")
	}
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	if err := checkPath("staging target path", r.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	access, err := accessOf(r.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	v, err := d.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if err := d.checkAttached(v); err != nil {
		return nil, err
	}
	want := Staging{Path: filepath.Clean(r.GetStagingTargetPath()), Access: access}
	if err := d.stage(v, want); err != nil {
		return nil, failed(err)
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (d *Driver) checkAttached(v Volume) error {
	if !d.config.RequireAttach {
		return nil
	}
	var attached bool
	d.store.view(func(s State) { _, attached = s.Attached[v.ID][d.config.NodeID] })
	if !attached {
		return status.Errorf(codes.FailedPrecondition, "volume %s is not attached to this node", v.ID)
	}
	return nil
}

func (d *Driver) staging(v Volume) (Staging, bool) {
	var s Staging
	var recorded bool
	d.store.view(func(st State) { s, recorded = st.Staged[v.ID] })
	return s, recorded
}

// stage makes want true. It is done when the volume is staged so already; a record whose mount is gone is replaced.
func (d *Driver) stage(v Volume, want Staging) error {
	if err := v.Backend.supports(want.Access); err != nil {
		return err
	}
	if info, err := os.Stat(want.Path); err != nil || !info.IsDir() {
		return status.Errorf(codes.InvalidArgument, "staging target path %s is not a directory", want.Path)
	}
	if have, recorded := d.staging(v); recorded {
		exists, err := d.stagingExists(v, have)
		switch {
		case err != nil:
			return err
		case exists && have.Path != want.Path:
			return status.Errorf(codes.FailedPrecondition, "volume %s is staged at %s", v.ID, have.Path)
		case exists && !have.Access.equal(want.Access):
			return status.Errorf(codes.AlreadyExists, "volume %s is staged with another capability", v.ID)
		case exists:
			return nil
		}
	}
	// A mount without a record is what a crash of an older kind leaves; it may have other options, so it goes.
	if err := d.clearMounts(v, want.Path); err != nil {
		return err
	}
	if err := d.store.update(func(st *State) { st.Staged[v.ID] = want }); err != nil {
		return err
	}
	if err := d.backing(v).stage(v, want.Path, want.Access); err != nil {
		if undo := d.unstage(v, want.Path); undo != nil {
			d.config.Log.Error("cannot undo a failed stage", "volume", v.ID, "path", want.Path, "err", undo)
		}
		return err
	}
	return nil
}

// clearMounts takes the volume's own mounts off path.
func (d *Driver) clearMounts(v Volume, path string) error {
	return unmountAll(path, func() (bool, error) { return d.backing(v).shows(v, path) })
}

// NodeUnstageVolume implements csi.NodeServer.
func (s nodeServer) NodeUnstageVolume(
	_ context.Context, r *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	d := s.driver
	if d.config.NoStaging {
		return nil, status.Error(codes.Unimplemented, "this driver does not stage volumes")
	}
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	if err := checkPath("staging target path", r.GetStagingTargetPath()); err != nil {
		return nil, err
	}
	v, err := d.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	var targets int
	d.store.view(func(st State) { targets = len(st.Published[v.ID]) })
	if targets > 0 {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is still published at %d paths", v.ID, targets)
	}
	path := filepath.Clean(r.GetStagingTargetPath())
	if have, recorded := d.staging(v); recorded && have.Path != path {
		if exists, err := d.stagingExists(v, have); err != nil || exists {
			// Nothing of this volume is at the path that the caller names, which is all that unstaging promises.
			return &csi.NodeUnstageVolumeResponse{}, failed(err)
		}
	}
	if err := d.unstage(v, path); err != nil {
		return nil, failed(err)
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// unstage takes the volume off path and gives its device back. The record goes last.
func (d *Driver) unstage(v Volume, path string) error {
	if err := d.clearMounts(v, path); err != nil {
		return err
	}
	if err := d.backing(v).release(v); err != nil {
		return err
	}
	if _, recorded := d.staging(v); !recorded {
		return nil
	}
	return d.store.update(func(st *State) { delete(st.Staged, v.ID) })
}
