package csi

import (
	"strings"

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

// storageHealth asks a driver what is wrong with the storage behind it (NodeGetStorageHealth, CSI 1.13).
func storageHealth(h *hal.Host, c hal.Call, driver string) (all []hal.HealthEntry, err error) {
	said, err := h.CSINode.StorageHealth(c, driver, &csi.NodeGetStorageHealthRequest{})
	if err != nil {
		return nil, err
	}
	for _, of := range said.GetBackendHealth() {
		if len(all) < mostHealthEntries {
			all = append(all, hal.HealthEntry{
				Status: of.GetStatus().String(), Reason: of.GetReason(), Message: of.GetMessage(),
				Concerns: concerns(of.GetVolumeCapability()),
			})
		}
	}
	return all, nil
}

// concerns names the volumes of a capability, "" for all.
func concerns(c *csi.VolumeCapability) string {
	var of []string
	switch fsType := c.GetMount().GetFsType(); {
	case c.GetBlock() != nil:
		of = append(of, "block volumes")
	case c.GetMount() != nil:
		of = append(of, strings.TrimSpace(fsType+" volumes"))
	}
	if mode := c.GetAccessMode().GetMode(); mode != csi.VolumeCapability_AccessMode_UNKNOWN {
		of = append(of, mode.String())
	}
	return strings.Join(of, ", ")
}

// mostHealthEntries bounds what is kept of what a driver says is wrong with one volume, or its storage.
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
