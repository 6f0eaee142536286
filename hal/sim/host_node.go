package sim

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type hostNode struct{ *host }

var (
	callNodeInfo  = newCallSite("csi.node-info", hal.ClassRPC, false)
	callNodeCaps  = newCallSite("csi.node-capabilities", hal.ClassRPC, false)
	callStage     = newCallSite("csi.stage", hal.ClassRPC, true)
	callUnstage   = newCallSite("csi.unstage", hal.ClassRPC, true)
	callPublish   = newCallSite("csi.publish", hal.ClassRPC, true)
	callUnpublish = newCallSite("csi.unpublish", hal.ClassRPC, true)
	callStats     = newCallSite("csi.volume-stats", hal.ClassRPC, false)
	callHealth    = newCallSite("csi.volume-health", hal.ClassRPC, false)
	callStorage   = newCallSite("csi.storage-health", hal.ClassRPC, false)
)

// NodeID is what a driver calls this node, if nobody says otherwise.
func NodeID(driver string) string { return "node-of-" + driver }

// TopologyKey is the label by which a driver tells nodes apart. Its value is the node's id.
func TopologyKey(driver string) string { return "topology." + driver + "/node" }

func (h hostNode) Info(c hal.Call, driver string, _ *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	res, err := h.ask(callNodeInfo, c, driver, "", request{method: "NodeGetInfo"})
	if err != nil {
		return nil, err
	}
	d := res.driver
	return &csi.NodeGetInfoResponse{
		NodeId: d.nodeID, AccessibleTopology: &csi.Topology{Segments: map[string]string{TopologyKey(d.name): d.nodeID}},
	}, nil
}

func (h hostNode) Capabilities(
	c hal.Call, driver string, _ *csi.NodeGetCapabilitiesRequest,
) (*csi.NodeGetCapabilitiesResponse, error) {
	res, err := h.ask(callNodeCaps, c, driver, "", request{method: "NodeGetCapabilities"})
	if err != nil {
		return nil, err
	}
	reply := &csi.NodeGetCapabilitiesResponse{}
	add := func(has bool, t csi.NodeServiceCapability_RPC_Type) {
		if has {
			reply.Capabilities = append(reply.Capabilities, &csi.NodeServiceCapability{
				Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: t}},
			})
		}
	}
	is := res.driver.is
	add(is.Staging, csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
	add(is.MultiWriter, csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER)
	add(is.MountGroup, csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	add(is.Stats, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS)
	add(is.Health, csi.NodeServiceCapability_RPC_GET_VOLUME_HEALTH)
	add(is.StorageHealth, csi.NodeServiceCapability_RPC_GET_STORAGE_HEALTH)
	return reply, nil
}

func (h hostNode) Stage(c hal.Call, driver string, q *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error,
) {
	_, err := h.ask(callStage, c, driver, "", request{
		method: "NodeStageVolume", effects: true, volume: q.GetVolumeId(), staging: q.GetStagingTargetPath(),
		block: q.GetVolumeCapability().GetBlock() != nil, secrets: q.GetSecrets(), message: q,
		group: q.GetVolumeCapability().GetMount().GetVolumeMountGroup(),
	})
	if err != nil {
		return nil, err
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

func (h hostNode) Unstage(
	c hal.Call, driver string, q *csi.NodeUnstageVolumeRequest,
) (*csi.NodeUnstageVolumeResponse, error) {
	_, err := h.ask(callUnstage, c, driver, "", request{
		method: "NodeUnstageVolume", effects: true, volume: q.GetVolumeId(), staging: q.GetStagingTargetPath(),
	})
	if err != nil {
		return nil, err
	}
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// ephemeralKey is the volume context key by which the kubelet marks an inline volume.
const ephemeralKey = "csi.storage.k8s.io/ephemeral"

// tokensKey is where a driver finds tokens of service accounts, in the volume context or among the secrets.
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// quotable is what of a request is secret: the secrets, and the tokens themselves.
func quotable(q *csi.NodePublishVolumeRequest) map[string]string {
	text := q.GetVolumeContext()[tokensKey] + q.GetSecrets()[tokensKey] // one of both
	if text == "" {
		return q.GetSecrets()
	}
	all := maps.Clone(q.GetSecrets())
	if all == nil {
		all = map[string]string{}
	}
	delete(all, tokensKey)
	var tokens map[string]struct{ Token string }
	if json.Unmarshal([]byte(text), &tokens) == nil {
		for _, audience := range slices.Sorted(maps.Keys(tokens)) {
			all["token for "+audience] = tokens[audience].Token
		}
	}
	return all
}

func (h hostNode) Publish(
	c hal.Call, driver string, q *csi.NodePublishVolumeRequest,
) (*csi.NodePublishVolumeResponse, error) {
	_, err := h.ask(callPublish, c, driver, "", request{
		method: "NodePublishVolume", effects: true, volume: q.GetVolumeId(), staging: q.GetStagingTargetPath(),
		target: q.GetTargetPath(), readOnly: q.GetReadonly(), block: q.GetVolumeCapability().GetBlock() != nil,
		inline: q.GetVolumeContext()[ephemeralKey] == "true", secrets: quotable(q), message: q,
		group: q.GetVolumeCapability().GetMount().GetVolumeMountGroup(),
	})
	if err != nil {
		return nil, err
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

func (h hostNode) Unpublish(
	c hal.Call, driver string, q *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	_, err := h.ask(callUnpublish, c, driver, "", request{
		method: "NodeUnpublishVolume", effects: true, volume: q.GetVolumeId(), target: q.GetTargetPath(),
	})
	if err != nil {
		return nil, err
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// VolumeSize is the size of a volume, in bytes. No two are equal.
func VolumeSize(driver, handle string) int64 {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(driver + "^" + handle)) // a hash never fails
	return 1<<40 + int64(sum.Sum32())<<12
}

func (h hostNode) Stats(
	c hal.Call, driver string, q *csi.NodeGetVolumeStatsRequest,
) (*csi.NodeGetVolumeStatsResponse, error) {
	res, err := h.ask(callStats, c, driver, "", request{
		method: "NodeGetVolumeStats", volume: q.GetVolumeId(), target: q.GetVolumePath(),
		staging: q.GetStagingTargetPath(),
	})
	if err != nil {
		return nil, err
	}
	size := VolumeSize(res.driver.name, q.GetVolumeId())
	is := filled(size)
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: size, Used: is.Bytes.Used, Available: is.Bytes.Available},
		{Unit: csi.VolumeUsage_INODES, Total: is.Inodes.Total, Used: is.Inodes.Used, Available: is.Inodes.Available},
	}}, nil
}

func (h hostNode) Health(
	c hal.Call, driver string, q *csi.NodeGetVolumeHealthRequest,
) (*csi.NodeGetVolumeHealthResponse, error) {
	res, err := h.ask(callHealth, c, driver, "", request{
		method: "NodeGetVolumeHealth", volume: q.GetVolumeId(), target: q.GetVolumePublishPath(),
		staging: q.GetStagingTargetPath(),
	})
	if err != nil {
		return nil, err
	}
	said := &csi.VolumeHealth{VolumeId: q.GetVolumeId()}
	for _, of := range res.health {
		status, isKnown := csi.VolumeHealthErrorType_value[of.Status]
		if !isKnown { // of a spec that is newer than the agent's
			status = newerStatus
		}
		said.HealthStatuses = append(said.HealthStatuses, &csi.VolumeHealth_VolumeHealthEntry{
			Status: csi.VolumeHealthErrorType(status), Reason: of.Reason, Message: of.Message,
		})
	}
	return &csi.NodeGetVolumeHealthResponse{VolumeHealth: said}, nil
}

// StorageHealth says of its second entry that it concerns raw block volumes.
func (h hostNode) StorageHealth(
	c hal.Call, driver string, _ *csi.NodeGetStorageHealthRequest,
) (*csi.NodeGetStorageHealthResponse, error) {
	res, err := h.ask(callStorage, c, driver, "", request{method: "NodeGetStorageHealth"})
	if err != nil {
		return nil, err
	}
	said := &csi.NodeGetStorageHealthResponse{}
	for i, of := range res.health {
		status, isKnown := csi.StorageHealthErrorType_value[of.Status]
		if !isKnown {
			status = newerStatus
		}
		entry := &csi.NodeGetStorageHealthResponse_StorageBackendHealth{
			Status: csi.StorageHealthErrorType(status), Reason: of.Reason, Message: of.Message,
		}
		if i == 1 {
			entry.VolumeCapability = &csi.VolumeCapability{
				AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}},
				AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
			}
		}
		said.BackendHealth = append(said.BackendHealth, entry)
	}
	return said, nil
}

// newerStatus is the number of a status that the CSI spec of this build does not have.
const newerStatus = 77

type hostController struct{ *host }

var (
	callControllerCaps      = newCallSite("csi.controller-capabilities", hal.ClassRPC, false)
	callCreate              = newCallSite("csi.create", hal.ClassRPC, true)
	callDelete              = newCallSite("csi.delete", hal.ClassRPC, true)
	callControllerPublish   = newCallSite("csi.controller-publish", hal.ClassRPC, true)
	callControllerUnpublish = newCallSite("csi.controller-unpublish", hal.ClassRPC, true)
)

func (h hostController) Capabilities(
	c hal.Call, driver string, _ *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	res, err := h.ask(callControllerCaps, c, driver, "", request{method: "ControllerGetCapabilities"})
	if err != nil {
		return nil, err
	}
	types := []csi.ControllerServiceCapability_RPC_Type{csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}
	if res.driver.is.Attach {
		types = append(types, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME)
	}
	reply := &csi.ControllerGetCapabilitiesResponse{}
	for _, t := range types {
		reply.Capabilities = append(reply.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return reply, nil
}

func (h hostController) Create(c hal.Call, driver string, q *csi.CreateVolumeRequest,
) (*csi.CreateVolumeResponse, error) {
	res, err := h.ask(callCreate, c, driver, "", request{
		method: "CreateVolume", effects: true, volume: "name=" + q.GetName(), name: q.GetName(),
	})
	if err != nil {
		return nil, err
	}
	size := q.GetCapacityRange().GetRequiredBytes()
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: res.volume, CapacityBytes: size}}, nil
}

func (h hostController) Delete(c hal.Call, driver string, q *csi.DeleteVolumeRequest,
) (*csi.DeleteVolumeResponse, error) {
	_, err := h.ask(callDelete, c, driver, "", request{method: "DeleteVolume", effects: true, volume: q.GetVolumeId()})
	if err != nil {
		return nil, err
	}
	return &csi.DeleteVolumeResponse{}, nil
}

func (h hostController) Publish(
	c hal.Call, driver string, q *csi.ControllerPublishVolumeRequest,
) (*csi.ControllerPublishVolumeResponse, error) {
	_, err := h.ask(callControllerPublish, c, driver, "", request{
		method: "ControllerPublishVolume", effects: true, volume: q.GetVolumeId(),
	})
	if err != nil {
		return nil, err
	}
	return &csi.ControllerPublishVolumeResponse{}, nil
}

func (h hostController) Unpublish(
	c hal.Call, driver string, q *csi.ControllerUnpublishVolumeRequest,
) (*csi.ControllerUnpublishVolumeResponse, error) {
	_, err := h.ask(callControllerUnpublish, c, driver, "", request{
		method: "ControllerUnpublishVolume", effects: true, volume: q.GetVolumeId(),
	})
	if err != nil {
		return nil, err
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}
