package csidriver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
)

const mib = 1 << 20

func withVolume(t *testing.T, text string) func(*Config) {
	t.Helper()
	v, err := ParseStaticVolume(text)
	require.NoError(t, err)
	return func(c *Config) { c.Volumes = append(c.Volumes, v) }
}

func TestStaticDirectoryVolumeGoesUpAndDownTwiceOver(t *testing.T) {
	r := newRig(t, withVolume(t, "demo=dir"))
	staging, c := r.mkdir("staging"), mountCapability("")
	target := r.path("target")
	for range 2 {
		require.NoError(t, r.stage("demo", staging, c))
	}
	for range 2 {
		require.NoError(t, r.publish("demo", staging, target, c, false))
	}
	require.NoError(t, os.WriteFile(filepath.Join(target, "file"), []byte("x"), 0o600))
	require.FileExists(t, filepath.Join(staging, "file"))
	for range 2 {
		require.NoError(t, r.unpublish("demo", target))
	}
	require.NoDirExists(t, target)
	for range 2 {
		require.NoError(t, r.unstage("demo", staging))
	}
	requireMounted(t, false, staging)
	require.Empty(t, r.state().Staged)
	require.Empty(t, r.state().Published)
	require.FileExists(t, filepath.Join(r.config.StateDir, "volumes/demo/data/file"))
}

func TestReadonlyPublicationRefusesWrites(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"), withVolume(t, "l=loop:16Mi"))
	for _, id := range []string{"d", "l"} {
		staging, c := r.mkdir("staging-"+id), mountCapability("")
		require.NoError(t, r.stage(id, staging, c))
		readonly, writable := r.path("ro-"+id), r.path("rw-"+id)
		require.NoError(t, r.publish(id, staging, readonly, c, true))
		require.NoError(t, r.publish(id, staging, writable, c, false))
		require.ErrorIs(t, os.WriteFile(filepath.Join(readonly, "f"), nil, 0o600), unix.EROFS)
		require.NoError(t, os.WriteFile(filepath.Join(writable, "f"), nil, 0o600))
		requireCode(t, codes.AlreadyExists, r.publish(id, staging, writable, c, true))
		requireCode(t, codes.FailedPrecondition, r.unstage(id, staging))
		require.NoError(t, r.unpublish(id, readonly))
		require.NoError(t, r.unpublish(id, writable))
		require.NoError(t, r.unstage(id, staging))
	}
}

func TestReaderOnlyModeIsReadonlyWithoutTheField(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	mode := csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	c := capability(mode, &csi.VolumeCapability_MountVolume{})
	staging, target := r.mkdir("staging"), r.path("target")
	require.NoError(t, r.stage("d", staging, c))
	require.NoError(t, r.publish("d", staging, target, c, false))
	require.ErrorIs(t, os.WriteFile(filepath.Join(target, "f"), nil, 0o600), unix.EROFS)
}

func TestSingleWriterHasOneTarget(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	mode := csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	c := capability(mode, &csi.VolumeCapability_MountVolume{})
	staging := r.mkdir("staging")
	require.NoError(t, r.stage("d", staging, c))
	require.NoError(t, r.publish("d", staging, r.path("one"), c, false))
	requireCode(t, codes.FailedPrecondition, r.publish("d", staging, r.path("two"), c, false))
	require.NoDirExists(t, r.path("two"))
}

func TestRefusals(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"), withVolume(t, "l=loop:16Mi"))
	staging, other, target := r.mkdir("staging"), r.mkdir("other"), r.path("target")
	c := mountCapability("")
	requireCode(t, codes.NotFound, r.stage("none", staging, c))
	requireCode(t, codes.NotFound, r.unstage("none", staging))
	requireCode(t, codes.NotFound, r.publish("none", staging, target, c, false))
	requireCode(t, codes.NotFound, r.unpublish("none", target))
	requireCode(t, codes.InvalidArgument, r.stage("d", "relative", c))
	requireCode(t, codes.InvalidArgument, r.stage("d", r.path("missing"), c))
	requireCode(t, codes.InvalidArgument, r.stage("d", staging, blockCapability()))
	requireCode(t, codes.InvalidArgument, r.stage("d", staging, mountCapability("", "data=journal")))
	requireCode(t, codes.InvalidArgument, r.stage("l", staging, mountCapability("vfat")))
	requireCode(t, codes.FailedPrecondition, r.publish("d", staging, target, c, false))
	require.NoError(t, r.stage("d", staging, c))
	requireCode(t, codes.AlreadyExists, r.stage("d", staging, mountCapability("", "noexec")))
	requireCode(t, codes.FailedPrecondition, r.stage("d", other, c))
	requireCode(t, codes.FailedPrecondition, r.publish("d", other, target, c, false))
	requireCode(t, codes.InvalidArgument, r.publish("d", staging, r.path("no/parent"), c, false))
	require.NoError(t, r.unstage("d", other), "nothing of the volume is there")
	requireMounted(t, true, staging)
}

func TestForeignMountAtTheTargetIsLeftAlone(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	staging, target, c := r.mkdir("staging"), r.mkdir("target"), mountCapability("")
	require.NoError(t, unix.Mount("tmpfs", target, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unmount(target)) })
	require.NoError(t, r.stage("d", staging, c))
	requireCode(t, codes.FailedPrecondition, r.publish("d", staging, target, c, false))
	requireCode(t, codes.FailedPrecondition, r.unpublish("d", target))
	requireMounted(t, true, target)
	require.Empty(t, r.state().Published)
}

func TestTargetWithContentIsNotRemoved(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	target := r.mkdir("target")
	require.NoError(t, os.WriteFile(filepath.Join(target, "precious"), nil, 0o600))
	requireCode(t, codes.Internal, r.unpublish("d", target))
	require.FileExists(t, filepath.Join(target, "precious"))
}

func TestLoopVolumeKeepsItsDataAndHonoursMountOptions(t *testing.T) {
	r := newRig(t, withVolume(t, "l=loop:16Mi:ext4"))
	staging, c := r.mkdir("staging"), mountCapability("ext4", "noexec", "noatime")
	require.NoError(t, r.stage("l", staging, c))
	var st unix.Statfs_t
	require.NoError(t, unix.Statfs(staging, &st))
	require.NotZero(t, st.Flags&unix.ST_NOEXEC)
	require.NotZero(t, st.Flags&unix.ST_NOATIME)
	require.EqualValues(t, unix.EXT4_SUPER_MAGIC, st.Type)
	require.NoError(t, os.WriteFile(filepath.Join(staging, "f"), []byte("kept"), 0o600))
	require.NoError(t, r.unstage("l", staging))
	device, err := findLoop(r.driver.loop.image(Volume{ID: "l"}), false)
	require.NoError(t, err)
	require.Empty(t, device)
	require.NoError(t, r.stage("l", staging, c))
	data, err := os.ReadFile(filepath.Join(staging, "f"))
	require.NoError(t, err, "a second stage must not format")
	require.Equal(t, "kept", string(data))
}

func TestRawBlockVolume(t *testing.T) {
	r := newRig(t)
	c := blockCapability()
	id := r.create("raw", c, 4*mib, nil)
	staging, target, readonly := r.mkdir("staging"), r.path("dev"), r.path("dev-ro")
	require.NoError(t, r.stage(id, staging, c))
	require.NoError(t, r.stage(id, staging, c))
	require.NoError(t, r.publish(id, staging, target, c, false))
	require.NoError(t, r.publish(id, staging, target, c, false))
	require.NoError(t, r.publish(id, staging, readonly, c, true))
	info, err := os.Stat(target)
	require.NoError(t, err)
	require.Equal(t, os.ModeDevice, info.Mode().Type())
	require.NoError(t, os.WriteFile(target, []byte("payload"), 0))
	require.ErrorIs(t, os.WriteFile(readonly, []byte("x"), 0), unix.EPERM, "written through a read-only publication")
	got := make([]byte, 7)
	f, err := os.Open(readonly)
	require.NoError(t, err)
	_, err = f.Read(got)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, "payload", string(got))
	stats, err := r.node.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{
		VolumeId: id, VolumePath: target,
	})
	require.NoError(t, err)
	require.EqualValues(t, 4*mib, stats.GetUsage()[0].GetTotal())
	require.NoError(t, r.unpublish(id, readonly))
	require.NoError(t, r.unpublish(id, target))
	require.NoFileExists(t, target)
	require.NoError(t, r.unstage(id, staging))
	left, err := loopsUnder(r.config.StateDir)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = r.controller.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: id})
	require.NoError(t, err)
}

func TestManyLoopVolumesAtOnce(t *testing.T) {
	r := newRig(t)
	const volumes, rounds = 12, 3
	results := make([]error, volumes)
	var group sync.WaitGroup
	for i := range volumes {
		c := blockCapability()
		if i%2 == 0 {
			c = mountCapability("")
		}
		name := fmt.Sprintf("v%d", i)
		id := r.create(name, c, 4*mib, map[string]string{"backend": "loop"})
		staging, target := r.mkdir("staging-"+name), r.path("target-"+name)
		group.Go(func() {
			for range rounds {
				results[i] = errors.Join(results[i],
					r.stage(id, staging, c), r.publish(id, staging, target, c, i%3 == 0),
					r.unpublish(id, target), r.unstage(id, staging))
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(results...))
	require.Empty(t, r.state().Staged)
}

func TestExpandExt4Online(t *testing.T) {
	needRoot(t)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &data[0]))
	if data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) == 0 {
		t.Skip("skipped: ext4 grows online only for a process with CAP_SYS_RESOURCE, which this one lacks")
	}
	testExpand(t, "ext4", 16*mib, 48*mib)
}

func TestExpandedRawBlockVolumeShowsItsSize(t *testing.T) {
	r := newRig(t)
	c := blockCapability()
	id := r.create("raw", c, 4*mib, nil)
	staging, target := r.mkdir("staging"), r.path("dev")
	require.NoError(t, r.stage(id, staging, c))
	require.NoError(t, r.publish(id, staging, target, c, false))
	_, err := r.controller.ControllerExpandVolume(t.Context(), &csi.ControllerExpandVolumeRequest{
		VolumeId: id, CapacityRange: &csi.CapacityRange{RequiredBytes: 8 * mib},
	})
	require.NoError(t, err)
	require.EqualValues(t, 4*mib, deviceBytes(t, target))
	_, err = r.node.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{VolumeId: id, VolumePath: target})
	require.NoError(t, err)
	require.EqualValues(t, 8*mib, deviceBytes(t, target))
}

func deviceBytes(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	require.NoError(t, err)
	return size
}

func TestExpandXfsOnline(t *testing.T) {
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("skipped: mkfs.xfs is not installed")
	}
	testExpand(t, "xfs", 320*mib, 400*mib)
}

func testExpand(t *testing.T, fsType string, from, to int64) {
	t.Helper()
	r := newRig(t)
	c := mountCapability(fsType)
	id := r.create("grow", c, from, map[string]string{"backend": "loop"})
	staging, target := r.mkdir("staging"), r.path("target")
	require.NoError(t, r.stage(id, staging, c))
	require.NoError(t, r.publish(id, staging, target, c, false))
	var before, after unix.Statfs_t
	require.NoError(t, unix.Statfs(target, &before))
	wanted := &csi.CapacityRange{RequiredBytes: to}
	expand := func() error {
		_, err := r.node.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{
			VolumeId: id, VolumePath: target, CapacityRange: wanted,
		})
		return err
	}
	requireCode(t, codes.OutOfRange, expand())
	for range 2 {
		answer, err := r.controller.ControllerExpandVolume(t.Context(), &csi.ControllerExpandVolumeRequest{
			VolumeId: id, CapacityRange: wanted,
		})
		require.NoError(t, err)
		require.Equal(t, to, answer.GetCapacityBytes())
		require.True(t, answer.GetNodeExpansionRequired())
		require.NoError(t, expand())
	}
	require.NoError(t, unix.Statfs(target, &after))
	require.Greater(t, after.Blocks, before.Blocks*5/4)
}

func TestWithoutStagingThePublicationDoesItAll(t *testing.T) {
	r := newRig(t, withVolume(t, "l=loop:16Mi"), func(c *Config) { c.NoStaging = true })
	answer, err := r.node.NodeGetCapabilities(t.Context(), &csi.NodeGetCapabilitiesRequest{})
	require.NoError(t, err)
	for _, c := range answer.GetCapabilities() {
		require.NotEqual(t, csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, c.GetRpc().GetType())
	}
	c := mountCapability("")
	requireCode(t, codes.Unimplemented, r.stage("l", r.dir, c))
	one, two := r.path("one"), r.path("two")
	require.NoError(t, r.publish("l", "", one, c, false))
	require.NoError(t, r.publish("l", "", two, c, true))
	require.NoError(t, r.unpublish("l", one))
	requireMounted(t, true, two)
	require.NoError(t, r.unpublish("l", two))
	require.Empty(t, r.state().Staged)
	left, err := loopsUnder(r.config.StateDir)
	require.NoError(t, err)
	require.Empty(t, left)
}
