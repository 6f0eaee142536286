package bench

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	registerv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// driver is a CSI driver that does nothing at all, or binds what the volume's attribute "source" names. It is a process
// of its own, so that its CPU time is in no row.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registerv1.UnimplementedRegistrationServer
	endpoint string
}

const (
	driverEnv       = "VOLNODE_BENCH_DRIVER" // the endpoint: this program is the driver
	sourceAttribute = "source"
)

// startDriver starts the driver, with a registration socket where an engine on root looks for it. It ends with the pipe
// that stop closes.
func startDriver(b *testing.B, root string) (endpoint string, stop func()) {
	b.Helper()
	registry := filepath.Join(root, "plugins_registry")
	must(b, os.MkdirAll(registry, 0o755))
	endpoint = filepath.Join(root, "csi.sock")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stderr = append(os.Environ(), driverEnv+"="+endpoint), os.Stderr
	lives, err := cmd.StdinPipe()
	must(b, err)
	must(b, cmd.Start())
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err = os.Stat(registrationSocket(root)); err == nil {
			break
		} else if time.Now().After(until) {
			b.Fatal(err)
		}
	}
	return endpoint, func() {
		_ = lives.Close()
		_ = cmd.Wait()
	}
}

func registrationSocket(root string) string {
	return filepath.Join(root, "plugins_registry", driverName+"-reg.sock")
}

// serveDriver is the driver's main. It ends with its standard input.
func serveDriver(endpoint string) {
	server, d := grpc.NewServer(), &driver{endpoint: endpoint}
	csi.RegisterIdentityServer(server, d)
	csi.RegisterNodeServer(server, d)
	registerv1.RegisterRegistrationServer(server, d)
	for _, at := range []string{endpoint, registrationSocket(filepath.Dir(endpoint))} {
		l, err := net.Listen("unix", at)
		if err != nil {
			panic(err)
		}
		go server.Serve(l)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (d *driver) GetInfo(context.Context, *registerv1.InfoRequest) (*registerv1.PluginInfo, error) {
	return &registerv1.PluginInfo{
		Type: registerv1.CSIPlugin, Name: driverName, Endpoint: d.endpoint, SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (d *driver) NotifyRegistrationStatus(
	context.Context, *registerv1.RegistrationStatus,
) (*registerv1.RegistrationStatusResponse, error) {
	return &registerv1.RegistrationStatusResponse{}, nil
}

func (d *driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: driverName, VendorVersion: "1"}, nil
}

func (d *driver) GetPluginCapabilities(
	context.Context, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (d *driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: "n1"}, nil
}

// NodeGetCapabilities: volumes are published without being staged.
func (d *driver) NodeGetCapabilities(
	context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

func (d *driver) NodePublishVolume(
	_ context.Context, r *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	source := r.VolumeContext[sourceAttribute]
	if source == "" {
		return &csi.NodePublishVolumeResponse{}, nil
	}
	if err := os.MkdirAll(r.TargetPath, 0o755); err != nil {
		return nil, err
	}
	return &csi.NodePublishVolumeResponse{}, unix.Mount(source, r.TargetPath, "", unix.MS_BIND, "")
}

func (d *driver) NodeUnpublishVolume(
	_ context.Context, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	_ = unix.Unmount(r.TargetPath, 0) // it may be gone
	return &csi.NodeUnpublishVolumeResponse{}, os.RemoveAll(r.TargetPath)
}

// publishRequest is one as an agent sends it.
func publishRequest(target string, attributes map[string]string) *csi.NodePublishVolumeRequest {
	return &csi.NodePublishVolumeRequest{
		VolumeId: "3f7e9c52-volume", TargetPath: target, VolumeContext: attributes,
		VolumeCapability: &csi.VolumeCapability{
			AccessType: &csi.VolumeCapability_Mount{
				Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4", MountFlags: []string{"noatime"}},
			},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		},
	}
}

// dialing is a MODEL of a client that dials for each call. It is not the kubelet's. A volume takes four calls, as
// csi_mounter.go and csi_client.go (v1.36) make them: the capabilities of the node are asked for three times, then the
// volume is published.
func dialing(endpoint string, r *csi.NodePublishVolumeRequest) error {
	each := func(call func(csi.NodeClient) error) error {
		conn, err := grpc.NewClient("unix:"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer conn.Close()
		return call(csi.NewNodeClient(conn))
	}
	for range 3 {
		if err := each(func(c csi.NodeClient) error {
			_, err := c.NodeGetCapabilities(context.Background(), &csi.NodeGetCapabilitiesRequest{})
			return err
		}); err != nil {
			return err
		}
	}
	return each(func(c csi.NodeClient) error {
		_, err := c.NodePublishVolume(context.Background(), r)
		return err
	})
}
