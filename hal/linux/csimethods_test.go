package linux

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volnode/volnode/hal"
)

// Each method makes the one RPC that it is for.
func TestMethodsOfCSI(t *testing.T) {
	h, root := startHost(t)
	socket := filepath.Join(root, "csi.sock")
	var asked string
	s := grpc.NewServer(grpc.UnaryInterceptor(
		func(_ context.Context, _ any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			asked = info.FullMethod
			return nil, status.Error(codes.NotFound, "")
		}))
	csi.RegisterIdentityServer(s, csi.UnimplementedIdentityServer{})
	csi.RegisterNodeServer(s, csi.UnimplementedNodeServer{})
	csi.RegisterControllerServer(s, csi.UnimplementedControllerServer{})
	l := listen(t, socket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	defer func() {
		s.Stop()
		<-done
	}()
	_, err := h.drivers.Connect(hal.Call{}, "d", socket, hal.PeerEvents{})
	require.NoError(t, err)

	identity, node, controller := h.HAL().CSIIdentity, h.HAL().CSINode, h.HAL().CSIController
	expect := func(want string, err error) {
		t.Helper()
		e := requireHALError(t, err)
		require.Equal(t, hal.ReplyStatus, e.Reply)
		require.Equal(t, hal.CodeNotFound, e.Code)
		require.Equal(t, "/csi.v1."+want, asked)
		require.Equal(t, filepath.Base(want), e.Op)
	}
	checkMethod(expect, "Identity/GetPluginInfo", identity.PluginInfo)
	checkMethod(expect, "Identity/GetPluginCapabilities", identity.PluginCapabilities)
	checkMethod(expect, "Identity/Probe", identity.Probe)
	checkMethod(expect, "Node/NodeGetInfo", node.Info)
	checkMethod(expect, "Node/NodeGetCapabilities", node.Capabilities)
	checkMethod(expect, "Node/NodeStageVolume", node.Stage)
	checkMethod(expect, "Node/NodeUnstageVolume", node.Unstage)
	checkMethod(expect, "Node/NodePublishVolume", node.Publish)
	checkMethod(expect, "Node/NodeUnpublishVolume", node.Unpublish)
	checkMethod(expect, "Node/NodeGetVolumeStats", node.Stats)
	checkMethod(expect, "Controller/ControllerGetCapabilities", controller.Capabilities)
	checkMethod(expect, "Controller/CreateVolume", controller.Create)
	checkMethod(expect, "Controller/DeleteVolume", controller.Delete)
	checkMethod(expect, "Controller/ControllerPublishVolume", controller.Publish)
	checkMethod(expect, "Controller/ControllerUnpublishVolume", controller.Unpublish)
}

func checkMethod[Req, Resp any](
	expect func(string, error), want string, f func(hal.Call, string, *Req) (*Resp, error),
) {
	_, err := f(hal.Call{}, "d", new(Req))
	expect(want, err)
}
