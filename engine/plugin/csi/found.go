package csi

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// found is a directory of the layout whose vol_data.json names a volume, and of which no record tells.
type found struct {
	Place  plugin.Place
	Data   VolData
	Block  bool
	Pod    string // of a publish
	Config plugin.DriverConfig
}

// asStage is the rung that f is, made such that it can be torn down.
func (f found) asStage() core.Rung {
	return core.Rung{
		Key: StageKey(f.Data.DriverName, f.Data.VolumeHandle), Kind: KindStage, Want: f.params(),
		Volume: f.volume(), Actor: f.Data.DriverName, Intent: true,
		Limits: core.Limits{
			SetUp: f.Config.SetUp, TearDown: f.Config.Unstage, LateWindow: f.Config.LateWindow,
			ActsAfterReply: f.Config.ActsAfterReply,
		},
	}
}

// asPublish is the rung that f is, made such that it can be torn down. stage is where the volume it stands on was
// found, nil if it was not.
func (f found) asPublish(stage *found) core.Rung {
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

// deletes: an inline volume ends with its unpublish.
func deletes(made []core.Param, _ bool) (plugin.Doomed, bool) {
	if core.Value(made, paramLifecycle) != "Ephemeral" {
		return plugin.Doomed{}, false
	}
	volume := plugin.SpecOf(made)
	return plugin.Doomed{Volume: volume, Path: plugin.PathOf(made)}, volume != ""
}

func (f found) volume() string { return f.Data.DriverName + "^" + f.Data.VolumeHandle }

func (f found) params() []core.Param {
	mode := plugin.ModeFilesystem
	if f.Block {
		mode = plugin.ModeBlock
	}
	pv := f.Data.SpecVolID
	if f.Data.Lifecycle == "Ephemeral" {
		pv = ""
	}
	return plugin.Sorted([]core.Param{
		{Name: paramDriver, Value: f.Data.DriverName},
		{Name: paramHandle, Value: f.Data.VolumeHandle},
		{Name: plugin.ParamMode, Value: mode, OnChange: core.OnChangeRebuild},
		{Name: plugin.ParamPath, Value: f.Place.Path, OnChange: core.OnChangeRebuild},
		{Name: plugin.ParamData, Value: f.Place.Data, OnChange: core.OnChangeRebuild},
		{Name: plugin.ParamStop, Value: f.Place.Stop},
		{Name: plugin.ParamSpec, Value: f.Data.SpecVolID},
		{Name: plugin.ParamPV, Value: pv},
		{Name: plugin.ParamNode, Value: f.Data.NodeName},
		{Name: paramLifecycle, Value: f.Data.Lifecycle},
	})
}
