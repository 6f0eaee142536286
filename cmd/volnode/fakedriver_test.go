package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

const fakeName = "fake.example.com"

// fakeDriver is a CSI driver that stages nothing: it hangs, or it fails and says with which secrets it was called.
type fakeDriver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	registerapi.UnsafeRegistrationServer

	endpoint string
	hang     bool
	staging  chan *csi.NodeStageVolumeRequest // every stage, when it comes
	over     chan struct{}
}

func newFakeDriver(t *testing.T, r *rig) *fakeDriver {
	t.Helper()
	d := &fakeDriver{
		endpoint: r.path("csi.sock"), staging: make(chan *csi.NodeStageVolumeRequest, 100),
		over: make(chan struct{}),
	}
	registry := filepath.Join(r.root(), "plugins_registry")
	require.NoError(t, os.Mkdir(registry, 0o750))
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, d)
	csi.RegisterNodeServer(server, d)
	registerapi.RegisterRegistrationServer(server, d)
	for _, path := range []string{d.endpoint, filepath.Join(registry, "fake-reg.sock")} {
		l, err := net.Listen("unix", path)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(path, 0o700))
		go func() { _ = server.Serve(l) }()
	}
	t.Cleanup(func() {
		close(d.over)
		server.Stop()
	})
	return d
}

// manifests are a pod demo/db with a volume of the driver, and all that it needs. secret is the value of the secret
// that staging takes; "" is none.
func (d *fakeDriver) manifests(secret string) string {
	text := `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: fake.example.com}
spec: {attachRequired: false}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: demo, name: data}
  csi:
    driver: fake.example.com
    volumeHandle: vol-1
`
	if secret != "" {
		text += "    nodeStageSecretRef: {namespace: demo, name: chap}\n"
	}
	text += `---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: demo, name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}, volumeName: data}
---
apiVersion: v1
kind: Pod
metadata: {namespace: demo, name: db}
spec:
  containers:
  - {name: c, image: example.com/c, volumeMounts: [{name: data, mountPath: /data}]}
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: data}}
`
	if secret != "" {
		text += "---\napiVersion: v1\nkind: Secret\nmetadata: {namespace: demo, name: chap}\nstringData: {password: " +
			secret + "}\n"
	}
	return text
}

func (d *fakeDriver) GetInfo(context.Context, *registerapi.InfoRequest) (*registerapi.PluginInfo, error) {
	return &registerapi.PluginInfo{
		Type: "CSIPlugin", Name: fakeName, Endpoint: d.endpoint,
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (d *fakeDriver) NotifyRegistrationStatus(context.Context, *registerapi.RegistrationStatus,
) (*registerapi.RegistrationStatusResponse, error) {
	return &registerapi.RegistrationStatusResponse{}, nil
}

func (d *fakeDriver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: fakeName, VendorVersion: "1"}, nil
}

func (d *fakeDriver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: "test-node"}, nil
}

func (d *fakeDriver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{
		{Type: &csi.NodeServiceCapability_Rpc{
			Rpc: &csi.NodeServiceCapability_RPC{Type: csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME},
		}},
	}}, nil
}

func (d *fakeDriver) NodeStageVolume(_ context.Context, r *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	d.staging <- r
	if d.hang {
		<-d.over
	}
	return nil, status.Errorf(codes.Internal, "login failed with %v", r.GetSecrets())
}

func (d *fakeDriver) NodeUnstageVolume(context.Context, *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	return &csi.NodeUnstageVolumeResponse{}, nil
}
