package csidriver

import (
	"context"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// NodePublishVolume implements csi.NodeServer.
func (s nodeServer) NodePublishVolume(
	_ context.Context, r *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	d := s.driver
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	if err := checkPath("target path", r.GetTargetPath()); err != nil {
		return nil, err
	}
	access, err := accessOf(r.GetVolumeCapability())
	if err != nil {
		return nil, err
	}
	v, err := d.existingOrInline(r)
	if err != nil {
		return nil, err
	}
	if err := v.Backend.supports(access); err != nil {
		return nil, err
	}
	target := filepath.Clean(r.GetTargetPath())
	if info, err := os.Stat(filepath.Dir(target)); err != nil || !info.IsDir() {
		return nil, status.Errorf(codes.InvalidArgument, "parent of target path %s is not a directory", target)
	}
	want := Publication{Access: access, Readonly: r.GetReadonly() || access.readerOnly()}
	if err := d.checkTargets(v, target, want); err != nil {
		return nil, err
	}
	if d.stagesItself(v) {
		err = d.stageInside(v, access)
	} else {
		err = checkStagingPath(r)
	}
	if err == nil {
		err = d.publish(v, r.GetStagingTargetPath(), target, want)
	}
	if err != nil {
		return nil, failed(err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func checkStagingPath(r *csi.NodePublishVolumeRequest) error {
	if r.GetStagingTargetPath() == "" {
		return status.Error(codes.FailedPrecondition, "staging target path is missing and this driver stages volumes")
	}
	return checkPath("staging target path", r.GetStagingTargetPath())
}

// checkTargets compares with what is published already (CSI spec, NodePublishVolume, table of a second call).
func (d *Driver) checkTargets(v Volume, target string, want Publication) error {
	var have map[string]Publication
	d.store.view(func(st State) {
		have = make(map[string]Publication, len(st.Published[v.ID]))
		for t, p := range st.Published[v.ID] {
			have[t] = p
		}
	})
	if same, published := have[target]; published {
		if same.Readonly == want.Readonly && same.Access.equal(want.Access) {
			return nil
		}
		return status.Errorf(codes.AlreadyExists, "volume %s is published at %s in another way", v.ID, target)
	}
	for other, p := range have {
		if p.Access.oneTarget() || want.Access.oneTarget() {
			return status.Errorf(codes.FailedPrecondition, "volume %s has its only writer at %s", v.ID, other)
		}
	}
	return nil
}

// stageInside stages below the state directory, for a driver that does not offer staging to its caller.
func (d *Driver) stageInside(v Volume, a Access) error {
	path := d.insidePath(v)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return d.stage(v, Staging{Path: path, Access: a})
}

func (d *Driver) insidePath(v Volume) string {
	return filepath.Join(d.config.StateDir, "staging", v.ID)
}

// publish binds the staged volume at target.
func (d *Driver) publish(v Volume, stagingPath, target string, want Publication) error {
	staged, recorded := d.staging(v)
	if !recorded || (!d.stagesItself(v) && staged.Path != filepath.Clean(stagingPath)) {
		return status.Errorf(codes.FailedPrecondition, "volume %s is not staged at %s", v.ID, stagingPath)
	}
	if exists, err := d.stagingExists(v, staged); err != nil || !exists {
		if err != nil {
			return err
		}
		return status.Errorf(codes.FailedPrecondition, "what was staged at %s is gone; stage again", staged.Path)
	}
	if staged.Access.Block != want.Access.Block {
		return status.Errorf(codes.FailedPrecondition, "volume %s is staged with another access type", v.ID)
	}
	_, published := d.publication(v, target)
	if there, err := d.showsMount(v, target); err != nil || (there && published) {
		return err
	}
	if err := d.clearMounts(v, target); err != nil {
		return err
	}
	if err := d.store.update(func(st *State) { st.publish(v.ID, target, want) }); err != nil {
		return err
	}
	if err := d.bindTarget(v, staged.Path, target, want); err != nil {
		if undo := d.unpublish(v, target); undo != nil {
			d.config.Log.Error("cannot undo a failed publish", "volume", v.ID, "path", target, "err", undo)
		}
		return err
	}
	return nil
}

func (d *Driver) publication(v Volume, target string) (Publication, bool) {
	var p Publication
	var published bool
	d.store.view(func(st State) { p, published = st.Published[v.ID][target] })
	return p, published
}

// publish records p at target.
func (s *State) publish(id, target string, p Publication) {
	if s.Published[id] == nil {
		s.Published[id] = map[string]Publication{}
	}
	s.Published[id][target] = p
}

func (d *Driver) bindTarget(v Volume, stagingPath, target string, p Publication) error {
	source, err := d.backing(v).source(v, stagingPath, p)
	if err != nil {
		return err
	}
	if err := makeTarget(target, p.Access.Block); err != nil {
		return err
	}
	var flags uintptr
	if p.Readonly {
		flags = unix.MS_RDONLY
	}
	return bind(source, target, flags)
}

// NodeUnpublishVolume implements csi.NodeServer.
func (s nodeServer) NodeUnpublishVolume(
	_ context.Context, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "volume ID is missing")
	}
	if err := checkPath("target path", r.GetTargetPath()); err != nil {
		return nil, err
	}
	v, err := s.driver.existing(r.GetVolumeId())
	if err != nil {
		return nil, err
	}
	if err := s.driver.unpublish(v, filepath.Clean(r.GetTargetPath())); err != nil {
		return nil, failed(err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// unpublish takes the volume off target and removes target. The record goes last.
func (d *Driver) unpublish(v Volume, target string) error {
	if err := d.clearMounts(v, target); err != nil {
		return err
	}
	if err := removeTarget(target); err != nil {
		return err
	}
	if _, published := d.publication(v, target); published {
		if err := d.store.update(func(st *State) { st.forget(v.ID, target) }); err != nil {
			return err
		}
	}
	var targets, readonly int
	d.store.view(func(st State) {
		for _, p := range st.Published[v.ID] {
			targets++
			if p.Readonly && p.Access.Block {
				readonly++
			}
		}
	})
	if readonly == 0 && v.Backend == BackendLoop {
		if err := d.loop.releaseReadonly(v); err != nil {
			return err
		}
	}
	if !d.stagesItself(v) || targets > 0 {
		return nil
	}
	if err := d.unstageInside(v); err != nil || !v.Inline {
		return err
	}
	return d.deleteInline(v)
}

func (d *Driver) unstageInside(v Volume) error {
	if err := d.unstage(v, d.insidePath(v)); err != nil {
		return err
	}
	return removeTarget(d.insidePath(v))
}
