package csi

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Found is a directory of the layout whose vol_data.json names a volume, and of which no record tells.
type Found struct {
	Place  plugin.Place
	Data   VolData
	Block  bool
	Pod    string // of a publish
	Config plugin.DriverConfig
}

// StageRung is the rung that f is, made such that it can be torn down.
func (f Found) StageRung() core.Rung {
	return core.Rung{
		Key: StageKey(f.Data.DriverName, f.Data.VolumeHandle), Kind: KindStage, Want: f.params(),
		Volume: f.volume(), Actor: f.Data.DriverName, Intent: true,
		Limits: core.Limits{
			SetUp: f.Config.SetUp, TearDown: f.Config.Unstage, LateWindow: f.Config.LateWindow,
			ActsAfterReply: f.Config.ActsAfterReply,
		},
	}
}

// PublishRung is the rung that f is, made such that it can be torn down. stage is where the volume it stands on was
// found, nil if it was not.
func (f Found) PublishRung(stage *Found) core.Rung {
	params := f.params()
	r := core.Rung{
		Key:  PublishKey(f.Data.DriverName, f.Data.VolumeHandle, f.Pod, f.Data.SpecVolID),
		Kind: KindPublish, Pod: core.PodUID(f.Pod), Volume: f.volume(), Actor: f.Data.DriverName, Intent: true,
		Limits: core.Limits{
			SetUp: f.Config.SetUp, TearDown: f.Config.TearDown, LateWindow: f.Config.LateWindow,
			ActsAfterReply: f.Config.ActsAfterReply,
		},
	}
	if stage != nil {
		params = append(params, core.Param{Name: paramStaging, Value: stage.Place.Path, OnChange: core.OnChangeRebuild})
		r.Below = []hal.Key{StageKey(f.Data.DriverName, f.Data.VolumeHandle)}
	}
	r.Want = plugin.Sorted(params)
	return r
}

// InlineOf is the name and the target path of an inline volume; "" if the parameters are of another one.
func InlineOf(made []core.Param) (volume, target string) {
	if core.Value(made, paramLifecycle) != "Ephemeral" {
		return "", ""
	}
	return core.Value(made, paramSpec), core.Value(made, paramPath)
}

// PVOf is the name of the PersistentVolume that a rung is of, "" if it is of none.
func PVOf(made []core.Param) string { return core.Value(made, paramPV) }

// NodeOf is the name of the node that a rung was made for; "" if its parameters do not say.
func NodeOf(made []core.Param) string { return core.Value(made, paramNode) }

func (f Found) volume() string { return f.Data.DriverName + "^" + f.Data.VolumeHandle }

func (f Found) params() []core.Param {
	mode := modeFilesystem
	if f.Block {
		mode = modeBlock
	}
	pv := f.Data.SpecVolID
	if f.Data.Lifecycle == "Ephemeral" {
		pv = ""
	}
	return plugin.Sorted([]core.Param{
		{Name: paramDriver, Value: f.Data.DriverName},
		{Name: paramHandle, Value: f.Data.VolumeHandle},
		{Name: paramMode, Value: mode, OnChange: core.OnChangeRebuild},
		{Name: paramPath, Value: f.Place.Path, OnChange: core.OnChangeRebuild},
		{Name: paramData, Value: f.Place.Data, OnChange: core.OnChangeRebuild},
		{Name: paramStop, Value: f.Place.Stop},
		{Name: paramSpec, Value: f.Data.SpecVolID},
		{Name: paramPV, Value: pv},
		{Name: paramNode, Value: f.Data.NodeName},
		{Name: paramLifecycle, Value: f.Data.Lifecycle},
	})
}
