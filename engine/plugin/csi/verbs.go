package csi

import (
	"fmt"
	"path"
	"slices"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Stage moves csi.stage: NodeStageVolume and NodeUnstageVolume.
func Stage() plugin.Verbs { return plugin.Verbs{SetUp: stage, TearDown: unstage, Inspect: inspect} }

// Publish moves csi.publish: NodePublishVolume and NodeUnpublishVolume.
func Publish() plugin.Verbs {
	return plugin.Verbs{SetUp: publish, TearDown: unpublish, Inspect: inspect}
}

// work is one operation on a rung of this package.
type work struct {
	h *hal.Host
	o core.Op
	c hal.Call
}

func begin(h *hal.Host, o core.Op) work { return work{h, o, op.Call(o)} }

func (w work) param(name string) string { return core.Value(w.o.Params, name) }
func (w work) is(name string) bool      { return w.param(name) == plugin.Yes }
func (w work) block() bool              { return w.param(plugin.ParamMode) == plugin.ModeBlock }
func (w work) path() string             { return w.param(plugin.ParamPath) }

// incomplete refuses parameters that a verb can't work with, before anything is touched.
func (w work) incomplete() (core.Result, bool) {
	for _, name := range []string{paramDriver, paramHandle, plugin.ParamPath} {
		if w.param(name) == "" {
			return op.NotDone("the record of " + string(w.o.Key) + " has no " + name), true
		}
	}
	return core.Result{}, false
}

func inspect(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path() == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath)
	}
	return op.InspectResult(op.Inspect(h, w.c, w.path()))
}

func stage(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if r, bad := w.incomplete(); bad {
		return r
	}
	secret, r, ok := w.secret(plugin.ParamSecret)
	if !ok {
		return r
	}
	if err := w.prepare(w.path()); err != nil {
		return w.giveUp(op.NotDone(err.Error()))
	}
	_, err := h.CSINode.Stage(w.c, w.param(paramDriver), &csi.NodeStageVolumeRequest{
		VolumeId:          w.param(paramHandle),
		StagingTargetPath: w.path(),
		VolumeCapability:  capability(o.Params),
		Secrets:           secret.Reveal(),
		VolumeContext:     mapOf(w.param(paramContext)),
		PublishContext:    mapOf(w.param(paramPublished)),
	})
	if err != nil {
		return w.giveUp(judge(core.SetUp, err, o.Quiet).result(err))
	}
	return w.staged()
}

// staged looks at what the driver has made. A driver may stage a volume without mounting anything: then that is the
// fingerprint.
func (w work) staged() core.Result {
	seen, err := op.Inspect(w.h, w.c, w.path())
	if err != nil {
		return w.answered(op.Unknown("staged, but volnode cannot inspect the path: " + err.Error()))
	}
	r := core.Result{Outcome: hal.Done, Fingerprint: seen.Fingerprint()}
	device := ""
	if top, mounted := seen.Top(); mounted {
		switch {
		case w.wasThere(top):
			return w.answered(w.foreign(top))
		case w.hasTurned(top):
			return w.answered(w.failed(top))
		}
		device = top.Device.String()
	}
	r.Facts = []core.Fact{{Name: factDevice, Value: device}}
	if group := w.param(plugin.ParamGroup); group != "" {
		r.Facts = append(r.Facts, core.Fact{Name: plugin.ParamGroup, Value: group})
	}
	return w.answered(r)
}

// isOnOther reports whether the files of the stage were given to another group than is asked for. That was while pods
// that share it came and went: it is made again, or the pod is refused.
func (w work) isOnOther() bool {
	return w.o.Verb == core.SetUp && slices.ContainsFunc(w.o.Below, func(f core.Foundation) bool {
		return f.Kind == KindStage && core.FactOf(f.Facts, plugin.ParamGroup) != w.param(plugin.ParamGroup)
	})
}

func publish(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if r, bad := w.incomplete(); bad {
		return r
	}
	if w.isOnOther() {
		return w.giveUp(op.NotDone("the files of its stage are of another group; volnode tries again"))
	}
	secret, r, ok := w.secret(plugin.ParamSecret)
	if !ok {
		return r
	}
	context, secrets, r, ok := w.addTokens(mapOf(w.param(paramContext)), secret.Reveal())
	if !ok {
		return r
	}
	// The target path itself is the driver's to make (CSI spec, NodePublishVolume).
	if err := w.prepare(path.Dir(w.path())); err != nil {
		return w.giveUp(op.NotDone(err.Error()))
	}
	_, err := h.CSINode.Publish(w.c, w.param(paramDriver), &csi.NodePublishVolumeRequest{
		VolumeId:          w.param(paramHandle),
		StagingTargetPath: w.param(paramStaging),
		TargetPath:        w.path(),
		VolumeCapability:  capability(o.Params),
		Readonly:          w.is(plugin.ParamReadOnly),
		Secrets:           secrets,
		VolumeContext:     context,
		PublishContext:    mapOf(w.param(paramPublished)),
	})
	if err != nil {
		return w.giveUp(judge(core.SetUp, err, o.Quiet).result(err))
	}
	return w.published()
}

// published looks at what the driver has made, and takes it for the volume only with proof: for a filesystem, a mount
// of the device that is staged; where no device is staged, a mount that was not there before we began.
func (w work) published() core.Result {
	seen, err := op.Inspect(w.h, w.c, w.path())
	if err != nil {
		return w.answered(op.Unknown("published, but volnode cannot inspect the path: " + err.Error()))
	}
	done := core.Result{
		Outcome: hal.Done, Fingerprint: seen.Fingerprint(),
		Facts: []core.Fact{{Name: plugin.FactPath, Value: w.path()}},
	}
	top, mounted := seen.Top()
	switch {
	case mounted && w.isOfEarlier(top):
		return w.answered(w.notAsAsked(top))
	case mounted && !w.block() && w.below() != "":
		if top.Device.String() != w.below() {
			return w.answered(w.foreign(top))
		}
		if w.hasFailed(top) {
			return w.answered(w.failed(top))
		}
	case mounted && !w.wasThere(top) && w.hasTurned(top):
		return w.answered(w.failed(top))
	case mounted:
		if w.wasThere(top) {
			return w.answered(w.foreign(top))
		}
	case w.block() && seen.Type != hal.TypeBlockDevice:
		return w.answered(op.Unknown(fmt.Sprintf("driver %s answered OK to NodePublishVolume, but %s is no "+
			"block device; see the driver's log",
			w.param(paramDriver), w.path())))
	case !w.block() && !w.is(paramWithoutMount):
		return w.answered(op.Unknown(fmt.Sprintf("driver %s answered OK to NodePublishVolume, but nothing is "+
			"mounted at %s; if it publishes without a mount, set publishesWithoutMount for it",
			w.param(paramDriver), w.path())))
	}
	return w.answered(done)
}

// below is the device that stands on the rung below, "" if none does or none is known.
func (w work) below() string {
	for _, f := range w.o.Below {
		if f.Kind == KindStage {
			return core.FactOf(f.Facts, factDevice)
		}
	}
	return ""
}

// hasFailed: m shows the filesystem of the stage, which took writes when it was staged.
func (w work) hasFailed(m hal.Mount) bool {
	return slices.ContainsFunc(w.o.Below, func(f core.Foundation) bool {
		return f.Kind == KindStage && f.Fingerprint != "" && (m.ReadOnlyFS || m.NoDevice) &&
			!hal.IsFailed(f.Fingerprint)
	})
}

// hasTurned: m takes no writes, and that is not how the driver has just made it: it did when it was confirmed, or it
// was made by an earlier call of which nobody knows. What has no device any more never takes any.
func (w work) hasTurned(m hal.Mount) bool {
	return m.NoDevice || !w.o.First && !hal.IsFailed(w.o.Fingerprint) && hal.IsFailed(m.Fingerprint())
}

// isOfEarlier: m is read-only and the volume is not, or the reverse, and no record says who made m. An earlier publish
// may have: many drivers answer OK as soon as something is mounted. What a first publish makes is not questioned.
func (w work) isOfEarlier(m hal.Mount) bool {
	return !w.o.First && w.o.Fingerprint == "" && !w.block() && m.ReadOnly != w.is(plugin.ParamReadOnly)
}

func (w work) notAsAsked(m hal.Mount) core.Result {
	is := map[bool]string{true: "read-only", false: "writable"}
	r := op.Unknown(fmt.Sprintf("%s is %s, as an earlier publish may have made it, and is to be %s; volnode unpublishes "+
		"it, and publishes it again", w.path(), is[m.ReadOnly], is[!m.ReadOnly]))
	r.UndoFirst = true
	return r
}

// failed is the end of a setup that finds its own mount, of a filesystem that has failed: a driver that is asked again
// finds it mounted, and answers OK.
func (w work) failed(m hal.Mount) core.Result {
	r := op.Unknown(fmt.Sprintf("%s: the filesystem has failed since it was staged: %s; volnode tears it down and "+
		"stages the volume again",
		w.path(), m.Fingerprint()))
	// what it depends on is of that filesystem, too
	r.UndoFirst, r.Failed, r.BelowUnknown = true, true, len(w.o.Below) > 0
	return r
}

// wasThere: m was at the path before our first intent, and shows something else than what an operation of ours has
// confirmed there. The same thing, mounted again, is the volume if its driver says so: the journal may be an old copy,
// or the driver may mount by itself what it had.
func (w work) wasThere(m hal.Mount) bool {
	return m.Was(w.o.Seen) && !m.Shows(w.o.Fingerprint)
}

// foreign is the end of a setup that finds somebody else's mount at its path. It is shown and left.
func (w work) foreign(m hal.Mount) core.Result {
	r := op.Unknown(fmt.Sprintf("%s: unexpected mount %s (before the first call: %s; staged device: %s); unmount it to "+
		"let the volume come up", w.path(), m.Fingerprint(), op.Show(w.o.Seen), op.Show(w.below())))
	r.Blocked = true
	return r
}

// answered marks r as coming after the driver's own OK.
func (w work) answered(r core.Result) core.Result {
	r.Answer = core.Final
	return r
}

// prepare makes dir and writes vol_data.json, so that whoever finds the directory knows what it is before the driver is
// asked to use it.
func (w work) prepare(dir string) error {
	if err := op.Mkdirs(w.h, w.c, dir, op.ParentMode); err != nil {
		return err
	}
	data := w.param(plugin.ParamData)
	if data == "" || w.o.Verb == core.Refresh { // a setup has written it
		return nil
	}
	if err := op.Mkdirs(w.h, w.c, path.Dir(data), op.ParentMode); err != nil {
		return err
	}
	return op.WriteFile(w.h, w.c, data, volData(w.o.Kind, w.o.Params).Marshal(), 0o640)
}

// giveUp ends a setup that has not come up. Where nothing of an earlier setup can be left, and the driver has done
// nothing, what was made for it goes again. What was there before we began stays, and all around it.
func (w work) giveUp(r core.Result) core.Result {
	if r.Outcome != hal.NotDone || !w.o.First || w.o.Seen != "" || w.o.Verb != core.SetUp {
		return r
	}
	seen, err := op.Inspect(w.h, w.c, w.path())
	if err == nil && len(seen.Stack) > 0 {
		err = &hal.Error{
			Op: "rmdir", Object: w.path(), Class: hal.ClassFile, Outcome: hal.NotDone,
			Errno: syscall.EBUSY, Detail: "is mounted",
		}
	}
	if err == nil {
		err = w.clear(seen)
	}
	if err != nil {
		r.Outcome = hal.Unknown
		r.Reason += "; volnode cannot clean up its path: " + err.Error()
	}
	return r
}
