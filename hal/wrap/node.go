package wrap

import (
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

// rpc is around for one call of a CSI service.
func rpc[Q, R any](a Around, s Site, c hal.Call, driver string, request Q, do func(hal.Call, string, Q) (R, error),
) (R, error) {
	return get(a, s, c, func() (R, error) { return do(c, driver, request) })
}

// asks is the site of an RPC that changes nothing.
func asks(name, driver string) Site { return Site{Name: name, Object: driver, Class: hal.ClassRPC} }

// acts is the site of an RPC that may change the node, or the storage behind it.
func acts(name string, object ...string) Site {
	return Site{Name: name, Object: strings.Join(object, " "), Class: hal.ClassRPC, Effect: true}
}

type node struct {
	inner  hal.CSINode
	around Around
}

func (w node) Info(c hal.Call, driver string, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return rpc(w.around, asks("NodeGetInfo", driver), c, driver, r, w.inner.Info)
}

func (w node) Capabilities(
	c hal.Call, driver string, r *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	return rpc(w.around, asks("NodeGetCapabilities", driver), c, driver, r, w.inner.Capabilities)
}

func (w node) Stage(c hal.Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	return rpc(w.around, acts("NodeStageVolume", driver, r.GetVolumeId(), r.GetStagingTargetPath()), c, driver, r,
		w.inner.Stage)
}

func (w node) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error,
) {
	return rpc(w.around, acts("NodeUnstageVolume", driver, r.GetVolumeId(), r.GetStagingTargetPath()), c, driver, r,
		w.inner.Unstage)
}

func (w node) Publish(c hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	return rpc(w.around, acts("NodePublishVolume", driver, r.GetVolumeId(), r.GetTargetPath()), c, driver, r,
		w.inner.Publish)
}

func (w node) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse,
	error,
) {
	return rpc(w.around, acts("NodeUnpublishVolume", driver, r.GetVolumeId(), r.GetTargetPath()), c, driver, r,
		w.inner.Unpublish)
}
