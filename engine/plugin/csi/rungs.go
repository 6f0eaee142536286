package csi

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// stageRung: all that the driver was told at the stage is told again only by a stage made again, so most of it asks for
// a rebuild.
func stageRung(v plugin.Volume, w wish) core.Rung {
	place := plugin.StagePlace(v.Root, w.driver, w.handle)
	if w.block {
		place = plugin.BlockStagePlace(v.Root, w.spec)
	}
	r := core.Rung{
		Key: StageKey(w.driver, w.handle), Kind: KindStage,
		Want: params(v, w, told{
			place: place, secret: w.stageSecret, other: w.publishSecret,
			context: w.stageContext,
		}),
		Volume: w.volume, Actor: w.driver, Intent: true,
		Limits: core.Limits{
			SetUp: v.Config.SetUp, TearDown: v.Config.Unstage, LateWindow: v.Config.LateWindow,
			ActsAfterReply: v.Config.ActsAfterReply,
		},
	}
	w.tie(&r)
	return r
}

// republishEvery is after how many seconds NodePublishVolume is repeated for a driver with requiresRepublish. The
// kubelet does it each time that it looks at a pod, about once a minute (K:G50).
const republishEvery = 60

// publishRung: stage is what it depends on, nil for nothing.
func publishRung(v plugin.Volume, w wish, stage *core.Rung) core.Rung {
	uid := string(v.Pod.UID)
	place := plugin.PublishPlace(v.Root, uid, w.spec)
	if w.block {
		place = plugin.BlockPublishPlace(v.Root, uid, w.spec)
		if stage != nil {
			place.Data = "" // the stage's
		}
	}
	r := core.Rung{
		Key: PublishKey(w.driver, w.handle, uid, w.spec), Kind: KindPublish, Pod: core.PodUID(uid),
		Volume: w.volume, Actor: w.driver, Intent: true,
		Limits: core.Limits{
			SetUp: v.Config.SetUp, TearDown: v.Config.TearDown, LateWindow: v.Config.LateWindow,
			ActsAfterReply: v.Config.ActsAfterReply,
		},
	}
	t := told{place: place, secret: w.publishSecret, other: w.stageSecret, context: w.publishContext, publishes: true}
	if stage != nil {
		t.stage, r.Below = core.Value(stage.Want, plugin.ParamPath), []hal.Key{stage.Key}
	}
	if w.republishes {
		r.Renew = republishEvery
	}
	if w.exclusive {
		r.Exclusive = plugin.ExclusiveOf(w.volume)
	}
	r.Want = params(v, w, t)
	if w.tokens != "" {
		r.Want = plugin.Sorted(append(r.Want, tokenParams(v, w)...))
	}
	w.tie(&r)
	return r
}

// told is in what the parameters of a stage and a publish differ.
type told struct {
	place         plugin.Place
	secret, other string
	context       string // JSON map
	publishes     bool
	stage         string // staging target path to pass to a publish, "" for none
}

// number is how many parameters there are, who the pod is among those of a publish.
func (t *told) number() int {
	if t.publishes {
		return 21
	}
	return 17
}

// params are the parameters of a rung, sorted by name. Empty values stay, so that one that comes or goes is a change
// like any other.
func params(v plugin.Volume, w wish, t told) []core.Param {
	const change = core.OnChangeRebuild
	mode, lifecycle := plugin.ModeFilesystem, "Persistent"
	if w.block {
		mode = plugin.ModeBlock
	}
	if w.pv == "" {
		lifecycle = "Ephemeral"
	}
	all := append(make([]core.Param, 0, t.number()),
		core.Param{Name: paramAccess, Value: w.access, OnChange: change},
		core.Param{Name: paramContext, Value: t.context, OnChange: change},
		core.Param{Name: plugin.ParamData, Value: t.place.Data, OnChange: change},
		core.Param{Name: paramDriver, Value: w.driver},
		core.Param{Name: paramFSType, Value: w.fsType, OnChange: change},
		core.Param{Name: paramHandle, Value: w.handle},
		core.Param{Name: paramLifecycle, Value: lifecycle},
		core.Param{Name: plugin.ParamMode, Value: mode, OnChange: change},
		core.Param{Name: paramFlags, Value: listText(w.flags), OnChange: change},
		core.Param{Name: plugin.ParamGroup, Value: w.group, OnChange: change},
		core.Param{Name: plugin.ParamNode, Value: v.NodeName},
		core.Param{Name: plugin.ParamOtherSecret, Value: t.other},
		core.Param{Name: plugin.ParamPath, Value: t.place.Path, OnChange: change},
	)
	if t.publishes {
		all = append(all, core.Param{Name: paramWithoutMount, Value: flag(v.Config.PublishesWithoutMount)})
	}
	all = append(all, core.Param{Name: plugin.ParamPV, Value: w.pv})
	if t.publishes {
		all = append(all, core.Param{Name: plugin.ParamReadOnly, Value: flag(w.readOnly), OnChange: change})
	}
	all = append(all, core.Param{Name: plugin.ParamSecret, Value: t.secret},
		core.Param{Name: plugin.ParamSpec, Value: w.spec})
	if t.stage != "" {
		all = append(all, core.Param{Name: paramStaging, Value: t.stage, OnChange: change})
	}
	return append(all, core.Param{Name: plugin.ParamStop, Value: t.place.Stop})
}
