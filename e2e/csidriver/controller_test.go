package csidriver

import (
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
)

func TestCreateVolumeIsIdempotentByName(t *testing.T) {
	r := newRig(t)
	c := mountCapability("")
	first := r.create("a", c, 8*mib, nil)
	require.Equal(t, first, r.create("a", c, 8*mib, nil))
	r.restart()
	require.Equal(t, first, r.create("a", c, 8*mib, nil))
	_, err := r.controller.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name: "a", VolumeCapabilities: []*csi.VolumeCapability{c},
		CapacityRange: &csi.CapacityRange{RequiredBytes: 16 * mib},
	})
	requireCode(t, codes.AlreadyExists, err)
	_, err = r.controller.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name: "a", VolumeCapabilities: []*csi.VolumeCapability{c}, Parameters: map[string]string{"backend": "loop"},
	})
	requireCode(t, codes.AlreadyExists, err)
}

func TestCapacityRanges(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Capacity = 100 * mib })
	for _, tc := range []struct {
		name            string
		required, limit int64
		want            codes.Code
	}{
		{"more than there is", 200 * mib, 0, codes.OutOfRange},
		{"limit below requirement", 8 * mib, 4 * mib, codes.OutOfRange},
		{"limit below the smallest", 0, 1000, codes.OutOfRange},
		{"negative", -1, 0, codes.InvalidArgument},
		{"fits", 90 * mib, 0, codes.OK},
		{"no room any more", 20 * mib, 0, codes.ResourceExhausted},
	} {
		_, err := r.controller.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
			Name: tc.name, VolumeCapabilities: []*csi.VolumeCapability{mountCapability("")},
			CapacityRange: &csi.CapacityRange{RequiredBytes: tc.required, LimitBytes: tc.limit},
		})
		requireCode(t, tc.want, err)
	}
	answer, err := r.controller.GetCapacity(t.Context(), &csi.GetCapacityRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 10*mib, answer.GetAvailableCapacity())
}

func TestListVolumesPages(t *testing.T) {
	r := newRig(t, withVolume(t, "c=dir"), withVolume(t, "a=dir"), withVolume(t, "b=dir"))
	attach(t, r, "b")
	var seen []string
	request := &csi.ListVolumesRequest{MaxEntries: 2}
	for {
		page, err := r.controller.ListVolumes(t.Context(), request)
		require.NoError(t, err)
		for _, e := range page.GetEntries() {
			id := e.GetVolume().GetVolumeId()
			seen = append(seen, id)
			if id == "b" {
				require.Equal(t, []string{"node-a"}, e.GetStatus().GetPublishedNodeIds())
			}
		}
		if request.StartingToken = page.GetNextToken(); request.StartingToken == "" {
			break
		}
	}
	require.Equal(t, []string{"a", "b", "c"}, seen)
	_, err := r.controller.ListVolumes(t.Context(), &csi.ListVolumesRequest{StartingToken: "2"})
	requireCode(t, codes.Aborted, err)
}

func attach(t *testing.T, r *rig, id string) {
	t.Helper()
	_, err := r.controller.ControllerPublishVolume(t.Context(), &csi.ControllerPublishVolumeRequest{
		VolumeId: id, NodeId: "node-a", VolumeCapability: mountCapability(""),
	})
	require.NoError(t, err)
}

func TestAttachGuardsStagingAndDeletion(t *testing.T) {
	r := newRig(t, withVolume(t, "v=dir"), func(c *Config) { c.RequireAttach, c.MaxVolumes = true, 1 })
	staging, c := r.mkdir("staging"), mountCapability("")
	requireCode(t, codes.FailedPrecondition, r.stage("v", staging, c))
	attach(t, r, "v")
	attach(t, r, "v")
	other := r.create("other", c, mib, nil)
	_, err := r.controller.ControllerPublishVolume(t.Context(), &csi.ControllerPublishVolumeRequest{
		VolumeId: other, NodeId: "node-a", VolumeCapability: c,
	})
	requireCode(t, codes.ResourceExhausted, err)
	require.NoError(t, r.stage("v", staging, c))
	_, err = r.controller.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: "v"})
	requireCode(t, codes.FailedPrecondition, err)
	for range 2 {
		_, err = r.controller.ControllerUnpublishVolume(t.Context(), &csi.ControllerUnpublishVolumeRequest{
			VolumeId: "v", NodeId: "node-a",
		})
		require.NoError(t, err)
	}
	require.NoError(t, r.unstage("v", staging))
	for range 2 {
		_, err = r.controller.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: "v"})
		require.NoError(t, err)
	}
	require.NoDirExists(t, volumeDir(r.config.StateDir, "v"))
}

func TestParseStaticVolume(t *testing.T) {
	for text, want := range map[string]StaticVolume{
		"demo=dir":         {Name: "demo", Backend: BackendDir, Bytes: defaultVolumeBytes},
		"demo=dir:1Gi":     {Name: "demo", Backend: BackendDir, Bytes: 1 << 30},
		"d=loop:16Mi":      {Name: "d", Backend: BackendLoop, Bytes: 16 << 20},
		"d=loop:16Mi:ext4": {Name: "d", Backend: BackendLoop, Bytes: 16 << 20, FsType: "ext4"},
	} {
		got, err := ParseStaticVolume(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{
		"", "demo", "=dir", "../x=dir", ".=dir", "d=tape", "d=loop", "d=loop:x", "d=loop:0", "d=dir:1Mi:ext4",
		"d=loop:1Mi:vfat", "d=loop:1Mi:ext4:x",
	} {
		_, err := ParseStaticVolume(text)
		require.ErrorIs(t, err, ErrConfig, text)
	}
}
