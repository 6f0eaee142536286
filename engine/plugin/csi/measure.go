package csi

import (
	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// measure asks the driver of a published volume how full it is (K:G53). Numbers that can't be are none.
func measure(h *hal.Host, c hal.Call, made []core.Param) (u hal.Usage, err error) {
	said, err := h.CSINode.Stats(c, core.Value(made, paramDriver), &csi.NodeGetVolumeStatsRequest{
		VolumeId:          core.Value(made, paramHandle),
		VolumePath:        core.Value(made, plugin.ParamPath),
		StagingTargetPath: core.Value(made, paramStaging),
	})
	if err != nil {
		return u, err
	}
	for _, of := range said.GetUsage() {
		is := hal.Amount{Total: of.GetTotal(), Available: of.GetAvailable(), Used: of.GetUsed()}
		switch {
		case min(is.Total, is.Available, is.Used) < 0:
		case of.GetUnit() == csi.VolumeUsage_BYTES:
			u.Bytes = is
		case of.GetUnit() == csi.VolumeUsage_INODES:
			u.Inodes = is
		}
	}
	return u, nil
}

// mostHealthEntries bounds what is kept of what a driver says is wrong with one volume.
const mostHealthEntries = 8

// health asks the driver of a published volume what is wrong with it (NodeGetVolumeHealth, CSI 1.13).
func health(h *hal.Host, c hal.Call, made []core.Param) (all []hal.HealthEntry, err error) {
	said, err := h.CSINode.Health(c, core.Value(made, paramDriver), &csi.NodeGetVolumeHealthRequest{
		VolumeId:          core.Value(made, paramHandle),
		VolumePublishPath: core.Value(made, plugin.ParamPath),
		StagingTargetPath: core.Value(made, paramStaging),
	})
	if err != nil {
		return nil, err
	}
	for _, of := range said.GetVolumeHealth().GetHealthStatuses() {
		if len(all) < mostHealthEntries {
			all = append(all, hal.HealthEntry{Status: of.GetStatus().String(), Reason: of.GetReason(), Message: of.GetMessage()})
		}
	}
	return all, nil
}
