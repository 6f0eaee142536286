package csi

import (
	"encoding/json"
	"fmt"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
)

// MaxVolData is the longest vol_data.json that is read, in bytes.
const MaxVolData = 64 << 10

// VolData is the content of a vol_data.json: which volume a directory of the kubelet's layout belongs to (K:G20). All
// of it is written beside the staging and beside the target path, so that either tells the whole story.
type VolData struct {
	SpecVolID           string `json:"specVolID,omitempty"`
	VolumeHandle        string `json:"volumeHandle,omitempty"`
	DriverName          string `json:"driverName,omitempty"`
	NodeName            string `json:"nodeName,omitempty"`
	AttachmentID        string `json:"attachmentID,omitempty"`
	Lifecycle           string `json:"volumeLifecycleMode,omitempty"`
	SELinuxMountContext string `json:"seLinuxMountContext,omitempty"`
	// Staged is "true" of a volume that is staged before it is published. A kubelet does not write it, and ignores it.
	Staged string `json:"staged,omitempty"`
}

// IsStaged: d says that its volume is staged on the node, as long as it is published.
func (d VolData) IsStaged() bool { return d.Staged == plugin.Yes && d.Lifecycle != "Ephemeral" }

// ParseVolData reads a vol_data.json of ours or of a kubelet. Keys it does not know are ignored, whatever they hold. A
// file that was cut short is an error, not an empty file (K:G23).
func ParseVolData(data []byte) (VolData, error) {
	if len(data) > MaxVolData {
		return VolData{}, fmt.Errorf("longer than %d bytes", MaxVolData)
	}
	var d *VolData
	if err := json.Unmarshal(data, &d); err != nil {
		return VolData{}, fmt.Errorf("not the JSON of a vol_data.json: %w", err)
	}
	if d == nil || *d == (VolData{}) {
		return VolData{}, fmt.Errorf("names no volume")
	}
	return *d, nil
}

// Marshal writes what [ParseVolData] reads.
func (d VolData) Marshal() []byte {
	b := append(make([]byte, 0, 512), '{')
	for _, p := range [...]plugin.Pair{
		{Key: "specVolID", Value: d.SpecVolID},
		{Key: "volumeHandle", Value: d.VolumeHandle},
		{Key: "driverName", Value: d.DriverName},
		{Key: "nodeName", Value: d.NodeName},
		{Key: "attachmentID", Value: d.AttachmentID},
		{Key: "volumeLifecycleMode", Value: d.Lifecycle},
		{Key: "seLinuxMountContext", Value: d.SELinuxMountContext},
		{Key: "staged", Value: d.Staged},
	} {
		if p.Value == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendJSON(b, p.Key)
		b = appendJSON(append(b, ':'), p.Value)
	}
	return append(b, '}', '\n')
}

// volData is what the parameters of a rung say.
func volData(kind core.Kind, params []core.Param) VolData {
	value := func(name string) string { return core.Value(params, name) }
	return VolData{
		SpecVolID:    value(plugin.ParamSpec),
		VolumeHandle: value(paramHandle),
		DriverName:   value(paramDriver),
		NodeName:     value(plugin.ParamNode),
		AttachmentID: plugin.AttachmentName(value(paramHandle), value(paramDriver), value(plugin.ParamNode)),
		Lifecycle:    value(paramLifecycle),
		Staged:       flag(kind == KindStage || value(paramStaging) != ""),
	}
}
