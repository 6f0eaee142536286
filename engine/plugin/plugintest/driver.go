package plugintest

import (
	"fmt"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

// node is the scripted driver, whatever its name.
type node struct {
	hal.CSINode // of which no verb calls the rest
	n           *Node
}

// call records a request, all of it, and has the driver act, unless the call is to fail.
func call[R fmt.Stringer](n *Node, name, driver string, request R, act func(R)) error {
	text := strings.Join(strings.Fields(request.String()), " ")
	n.Calls = append(n.Calls, name+" "+driver+" "+text)
	if err := n.Fail[name]; err != nil {
		return err
	}
	if act != nil {
		act(request)
	}
	return nil
}

func (d node) Stage(_ hal.Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	return &csi.NodeStageVolumeResponse{}, call(d.n, "NodeStageVolume", driver, r, d.n.OnStage)
}

func (d node) Unstage(_ hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error,
) {
	return &csi.NodeUnstageVolumeResponse{}, call(d.n, "NodeUnstageVolume", driver, r, d.n.OnUnstage)
}

func (d node) Publish(_ hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	return &csi.NodePublishVolumeResponse{}, call(d.n, "NodePublishVolume", driver, r, d.n.OnPublish)
}

func (d node) Stats(_ hal.Call, driver string, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse,
	error,
) {
	return &csi.NodeGetVolumeStatsResponse{}, call(d.n, "NodeGetVolumeStats", driver, r, nil)
}

func (d node) Health(_ hal.Call, driver string, r *csi.NodeGetVolumeHealthRequest) (*csi.NodeGetVolumeHealthResponse,
	error,
) {
	return &csi.NodeGetVolumeHealthResponse{}, call(d.n, "NodeGetVolumeHealth", driver, r, nil)
}

func (d node) StorageHealth(
	_ hal.Call, driver string, r *csi.NodeGetStorageHealthRequest,
) (*csi.NodeGetStorageHealthResponse, error) {
	return &csi.NodeGetStorageHealthResponse{}, call(d.n, "NodeGetStorageHealth", driver, r, nil)
}

func (d node) Unpublish(_ hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse,
	error,
) {
	return &csi.NodeUnpublishVolumeResponse{}, call(d.n, "NodeUnpublishVolume", driver, r, d.n.OnUnpublish)
}
