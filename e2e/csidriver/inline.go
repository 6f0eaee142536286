package csidriver

import (
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// inlineKey is the attribute by which a caller says that the volume belongs to one pod (podInfoOnMount of a CSIDriver
// object).
const inlineKey = "csi.storage.k8s.io/ephemeral"

// existingOrInline is existing, but makes the volume if it is a pod's own.
func (d *Driver) existingOrInline(r *csi.NodePublishVolumeRequest) (Volume, error) {
	id := r.GetVolumeId()
	v, err := d.existing(id)
	if status.Code(err) != codes.NotFound || r.GetVolumeContext()[inlineKey] != "true" {
		return v, err
	}
	if !idPattern.MatchString(id) {
		return Volume{}, status.Errorf(codes.InvalidArgument, "volume ID %q can't be a file name", id)
	}
	v = Volume{ID: id, Name: id, Backend: BackendDir, Bytes: defaultVolumeBytes, Inline: true}
	if err := d.backing(v).ensure(v); err != nil {
		return Volume{}, failed(err)
	}
	return v, failed(d.store.update(func(st *State) { st.Volumes[id] = v }))
}

// stagesItself says that the caller does not stage the volume.
func (d *Driver) stagesItself(v Volume) bool { return d.config.NoStaging || v.Inline }

// deleteInline deletes the volume of a pod and all that it holds.
func (d *Driver) deleteInline(v Volume) error {
	if err := d.store.update(func(st *State) { delete(st.Volumes, v.ID) }); err != nil {
		return err
	}
	return d.backing(v).remove(v)
}
