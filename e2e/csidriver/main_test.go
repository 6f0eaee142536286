package csidriver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// insideEnv marks the copy of the test process that has a mount namespace of its own.
const insideEnv = "CSIDRIVER_TEST_INSIDE"

// TestMain runs the tests in a private mount namespace, so that no mount outlives the process, whatever goes wrong.
func TestMain(m *testing.M) {
	if os.Geteuid() != 0 || os.Getenv(insideEnv) != "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	// Unshareflags also makes the mounts below / private.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: mounting and loop devices need root")
	}
}

// rig is a driver that serves, and a client for it.
type rig struct {
	t      *testing.T
	dir    string
	config Config

	driver     *Driver
	identity   csi.IdentityClient
	controller csi.ControllerClient
	node       csi.NodeClient
	stop       func()
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	needRoot(t)
	dir := t.TempDir()
	r := &rig{t: t, dir: dir, config: Config{
		Endpoint: filepath.Join(dir, "csi.sock"),
		NodeID:   "node-a",
		StateDir: filepath.Join(dir, "state"),
		CallLog:  filepath.Join(dir, "calls.jsonl"),
		Faults:   filepath.Join(dir, "faults.json"),
	}}
	for _, f := range change {
		f(&r.config)
	}
	r.start()
	t.Cleanup(func() {
		r.stop()
		require.NoError(t, Cleanup(r.config.StateDir))
		left, err := loopsUnder(r.config.StateDir)
		require.NoError(t, err)
		require.Empty(t, left, "loop devices are left")
	})
	return r
}

func (r *rig) start() {
	r.t.Helper()
	driver, err := New(r.config)
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- driver.Run(ctx) }()
	// WaitForReady covers the time until the socket is there.
	conn, err := grpc.NewClient("unix:"+r.config.Endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	require.NoError(r.t, err)
	r.driver = driver
	r.identity, r.controller = csi.NewIdentityClient(conn), csi.NewControllerClient(conn)
	r.node = csi.NewNodeClient(conn)
	_, err = r.identity.Probe(r.t.Context(), &csi.ProbeRequest{})
	require.NoError(r.t, err)
	r.stop = func() {
		require.NoError(r.t, conn.Close())
		cancel()
		require.NoError(r.t, <-done)
	}
}

func (r *rig) restart() {
	r.t.Helper()
	r.stop()
	r.start()
}

// mkdir makes a directory such as a staging path.
func (r *rig) mkdir(name string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	require.NoError(r.t, os.MkdirAll(path, 0o755))
	return path
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) state() State {
	r.t.Helper()
	s, err := ReadState(r.config.StateDir)
	require.NoError(r.t, err)
	return s
}

func (r *rig) create(name string, c *csi.VolumeCapability, size int64, parameters map[string]string) string {
	r.t.Helper()
	answer, err := r.controller.CreateVolume(r.t.Context(), &csi.CreateVolumeRequest{
		Name: name, VolumeCapabilities: []*csi.VolumeCapability{c}, Parameters: parameters,
		CapacityRange: &csi.CapacityRange{RequiredBytes: size},
	})
	require.NoError(r.t, err)
	return answer.GetVolume().GetVolumeId()
}

func (r *rig) stage(id, path string, c *csi.VolumeCapability) error {
	_, err := r.node.NodeStageVolume(r.t.Context(), &csi.NodeStageVolumeRequest{
		VolumeId: id, StagingTargetPath: path, VolumeCapability: c, Secrets: map[string]string{"key": "hunter2"},
	})
	return err
}

func (r *rig) unstage(id, path string) error {
	_, err := r.node.NodeUnstageVolume(r.t.Context(), &csi.NodeUnstageVolumeRequest{
		VolumeId: id, StagingTargetPath: path,
	})
	return err
}

func (r *rig) publish(id, staging, target string, c *csi.VolumeCapability, readonly bool) error {
	_, err := r.node.NodePublishVolume(r.t.Context(), &csi.NodePublishVolumeRequest{
		VolumeId: id, StagingTargetPath: staging, TargetPath: target, VolumeCapability: c, Readonly: readonly,
	})
	return err
}

func (r *rig) unpublish(id, target string) error {
	_, err := r.node.NodeUnpublishVolume(r.t.Context(), &csi.NodeUnpublishVolumeRequest{
		VolumeId: id, TargetPath: target,
	})
	return err
}

func mountCapability(fsType string, flags ...string) *csi.VolumeCapability {
	return capability(csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, &csi.VolumeCapability_MountVolume{
		FsType: fsType, MountFlags: flags,
	})
}

func blockCapability() *csi.VolumeCapability {
	return capability(csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, nil)
}

// capability is for a raw block volume when m is nil.
func capability(
	mode csi.VolumeCapability_AccessMode_Mode, m *csi.VolumeCapability_MountVolume,
) *csi.VolumeCapability {
	c := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode}}
	if m == nil {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
	} else {
		c.AccessType = &csi.VolumeCapability_Mount{Mount: m}
	}
	return c
}

func requireCode(t *testing.T, want codes.Code, err error) {
	t.Helper()
	require.Equal(t, want.String(), status.Code(err).String(), "%v", err)
}

func requireMounted(t *testing.T, want bool, path string) {
	t.Helper()
	is, err := mounted(path)
	require.NoError(t, err)
	require.Equal(t, want, is, path)
}
