package csi

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// stageRung: all that the driver was told at the stage is told again only by a stage made anew, so most of it asks for a rebuild.
func stageRung(v plugin.Volume, w wish) core.Rung {
	place := plugin.StagePlace(v.Root, w.driver, w.handle)
	if w.block {
		place = plugin.BlockStagePlace(v.Root, w.spec)
	}
	params := append(shared(v, w, place),
		core.Param{Name: paramSecret, Value: w.stageSecret},
		core.Param{Name: paramOther, Value: w.publishSecret},
		core.Param{Name: paramContext, Value: mapText(w.attributes), OnChange: core.OnChangeRebuild},
	)
	return core.Rung{
		Key: StageKey(w.driver, w.handle), Kind: KindStage, Want: plugin.Sorted(params),
		Volume: volumeOf(w), Actor: w.driver, Intent: true,
		Limits: core.Limits{
			Climb: v.Config.Climb, Descend: v.Config.Unstage, Settle: v.Config.Settle, ActsAfterReply: v.Config.ActsAfterReply,
		},
	}
}

func publishRung(v plugin.Volume, w wish) core.Rung {
	uid := string(v.Pod.UID)
	place := plugin.PublishPlace(v.Root, uid, w.spec)
	if w.block {
		place = plugin.BlockPublishPlace(v.Root, uid, w.spec)
		if w.staging {
			place.Data = "" // the stage's
		}
	}
	attributes := w.attributes
	if info := v.Object.Spec.PodInfoOnMount; info != nil && *info {
		attributes = podInfo(attributes, v, w.pv == "")
	}
	r := core.Rung{
		Key: PublishKey(w.driver, w.handle, uid, w.spec), Kind: KindPublish, Pod: core.PodUID(uid),
		Volume: volumeOf(w), Actor: w.driver, Intent: true,
		Limits: core.Limits{
			Climb: v.Config.Climb, Descend: v.Config.Descend, Settle: v.Config.Settle, ActsAfterReply: v.Config.ActsAfterReply,
		},
	}
	params := append(shared(v, w, place),
		core.Param{Name: paramSecret, Value: w.publishSecret},
		core.Param{Name: paramOther, Value: w.stageSecret},
		core.Param{Name: paramContext, Value: mapText(attributes), OnChange: core.OnChangeRebuild},
		core.Param{Name: paramReadOnly, Value: flag(w.readOnly), OnChange: core.OnChangeRebuild},
		core.Param{Name: paramWithoutMount, Value: flag(v.Config.PublishesWithoutMount)},
	)
	if w.staging {
		stage := plugin.StagePlace(v.Root, w.driver, w.handle)
		if w.block {
			stage = plugin.BlockStagePlace(v.Root, w.spec)
		}
		params = append(params, core.Param{Name: paramStaging, Value: stage.Path, OnChange: core.OnChangeRebuild})
		r.Below = []hal.Key{StageKey(w.driver, w.handle)}
	}
	if w.exclusive {
		r.Exclusive = "rwop/" + volumeOf(w)
	}
	r.Want = plugin.Sorted(params)
	return r
}

// shared is the parameters that stage and publish have in common.
func shared(v plugin.Volume, w wish, place plugin.Place) []core.Param {
	const change = core.OnChangeRebuild
	mode, lifecycle := modeFilesystem, "Persistent"
	if w.block {
		mode = modeBlock
	}
	if w.pv == "" {
		lifecycle = "Ephemeral"
	}
	return []core.Param{
		{Name: paramDriver, Value: w.driver},
		{Name: paramHandle, Value: w.handle},
		{Name: paramMode, Value: mode, OnChange: change},
		{Name: paramPath, Value: place.Path, OnChange: change},
		{Name: paramData, Value: place.Data, OnChange: change},
		{Name: paramStop, Value: place.Stop},
		{Name: paramSpec, Value: w.spec},
		{Name: paramPV, Value: w.pv},
		{Name: paramNode, Value: v.NodeName},
		{Name: paramLifecycle, Value: lifecycle},
		{Name: paramFSType, Value: w.fsType, OnChange: change},
		{Name: paramFlags, Value: listText(w.flags), OnChange: change},
		{Name: paramAccess, Value: w.access, OnChange: change},
		{Name: paramActs, Value: flag(v.Config.ActsAfterReply)},
	}
}

// volumeOf names the volume among all volumes of all drivers. A driver's name has no "^".
func volumeOf(w wish) string { return w.driver + "^" + w.handle }
