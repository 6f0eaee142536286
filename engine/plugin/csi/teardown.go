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

func unstage(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if r, bad := w.incomplete(); bad {
		return r
	}
	return w.down(func() error {
		_, err := h.CSINode.Unstage(w.c, w.param(paramDriver), &csi.NodeUnstageVolumeRequest{
			VolumeId: w.param(paramHandle), StagingTargetPath: w.path(),
		})
		return err
	})
}

func unpublish(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if r, bad := w.incomplete(); bad {
		return r
	}
	return w.down(func() error {
		_, err := h.CSINode.Unpublish(w.c, w.param(paramDriver), &csi.NodeUnpublishVolumeRequest{
			VolumeId: w.param(paramHandle), TargetPath: w.path(),
		})
		return err
	})
}

// down asks the driver to let go, and once more if it may hold the volume again: for all that can be known, what stood
// there came after its answer.
func (w work) down(ask func() error) core.Result {
	r, isNew := w.letGo(ask())
	if isNew {
		r, _ = w.letGo(ask())
	}
	return r
}

// letGo ends a teardown after the driver's reply err: it looks, takes away what the driver has left of ours, and then
// the names. isNew: it has unmounted what was not confirmed, and the names stay. A setup that only a lost journal knew
// of may have mounted that after the driver had let go.
func (w work) letGo(err error) (r core.Result, isNew bool) {
	v := judge(core.TearDown, err, w.o.Quiet)
	if v.outcome != hal.Done {
		// A driver that may have let go of a publish may have left it mounted. A stage that a driver can't let go of
		// still serves pods that join.
		v.undoFirst = v.outcome == hal.Unknown && w.o.Kind == KindPublish
		return v.result(err), false
	}
	seen, err := op.Inspect(w.h, w.c, w.path())
	if err != nil {
		return w.answered(left(w.released() + ", but volnode cannot inspect the path: " + err.Error())), false
	}
	isNew = slices.ContainsFunc(seen.Stack, func(m hal.Mount) bool { return !m.Was(w.o.Fingerprint) })
	if len(seen.Stack) > 0 {
		if r, ok := w.unmount(seen); !ok {
			return w.answered(r), false
		}
		if seen, err = op.Inspect(w.h, w.c, w.path()); err != nil {
			return w.answered(left(w.released() + " and unmounted, but volnode cannot inspect the path: " +
				err.Error())), false
		}
		if len(seen.Stack) > 0 {
			return w.answered(w.stuck(seen.Stack)), false
		}
		if isNew {
			return w.answered(left(w.released() +
				", but the volume was mounted again meanwhile; volnode has unmounted it, and " +
				"calls the driver again")), true
		}
	}
	if err := w.clear(seen); err != nil {
		return w.answered(op.Unknown(w.released() + ", but volnode cannot clean up its path: " + err.Error())), false
	}
	return w.answered(core.Result{Outcome: hal.Done}), false
}

// unmount takes down what the driver has left mounted, as far as it is ours, each mount once and never lazily.
func (w work) unmount(seen op.Seen) (core.Result, bool) {
	for i := len(seen.Stack) - 1; i >= 0; i-- {
		m := seen.Stack[i]
		if !w.own(m) {
			return w.stuck(seen.Stack[:i+1]), false
		}
		if err := w.h.Mounts.Unmount(w.c, w.path(), m.ID); err != nil {
			return left(w.released() + ", but still mounted, and volnode cannot unmount it: " + err.Error()), false
		}
	}
	return core.Result{}, true
}

// left is the end of a teardown whose driver has let go of the volume, so that it is not what it was, and may have left
// a mount of ours: what it would mount next would come on top.
func left(reason string) core.Result {
	r := op.Unknown(reason)
	r.UndoFirst = true
	return r
}

// released says what the driver has done.
func (w work) released() string {
	if w.o.Kind == KindPublish {
		return "unpublished"
	}
	return "unstaged"
}

// own: m is this rung's. Either it is the very mount that was confirmed, or no call can be about to change what stands
// here and m shows the device of the rung below; where there is no rung below, our first intent saw nothing mounted at
// the path, so what came since came through us.
func (w work) own(m hal.Mount) bool {
	if m.Was(w.o.Fingerprint) {
		return true
	}
	if !w.o.Quiet {
		return false
	}
	if len(w.o.Below) > 0 {
		return w.below() != "" && m.Device.String() == w.below()
	}
	return op.IsBare(w.o.Seen)
}

// mayBeOurs: it is not known that m is another's. That is known of what was there before our first intent, and of
// what shows another device than the rung below, as long as no call can be about to change what stands here.
func (w work) mayBeOurs(m hal.Mount) bool {
	switch {
	case m.Was(w.o.Fingerprint):
		return true
	case w.o.Quiet && w.below() != "" && m.Device.String() != w.below():
		return false
	}
	return !w.wasThere(m)
}

// stuck is the end of a teardown that finds a mount at its path that it may not take down, the last of stack.
func (w work) stuck(stack []hal.Mount) core.Result {
	r := op.Unknown(fmt.Sprintf("%s, but %s has an unexpected mount %s (recorded: %s); volnode leaves it alone; "+
		"unmount it", w.released(), w.path(), stack[len(stack)-1].Fingerprint(), op.Show(w.o.Fingerprint)))
	r.Blocked = true
	r.UndoFirst = slices.ContainsFunc(stack, w.mayBeOurs)
	return r
}

// clear removes the names of a rung on which nothing is mounted: the path, vol_data.json, and directories that are left
// empty. Nothing is removed with content in it. While a call may still bring the rung up, vol_data.json stays: where
// the journal is lost, it alone tells what has come.
func (w work) clear(seen op.Seen) error {
	if seen.Exists {
		if err := w.removePath(seen); err != nil {
			return err
		}
	}
	if !w.o.Quiet {
		return nil // there is one more teardown once no call may act
	}
	data := w.param(plugin.ParamData)
	if w.block() {
		// Raw block: the data file is shared by the pods of the volume, whose published devices are side by side.
		if err := w.prune(path.Dir(w.path())); err != nil {
			return err
		}
		others, err := op.Inspect(w.h, w.c, path.Dir(w.path()))
		if err != nil {
			return err
		}
		if w.o.Kind == KindPublish && others.Exists {
			return nil
		}
	}
	if data != "" {
		if err := op.RemoveFile(w.h, w.c, data); err != nil {
			return err
		}
		if err := w.prune(path.Dir(data)); err != nil {
			return err
		}
		if path.Dir(data) == path.Dir(w.path()) {
			return nil
		}
	}
	return w.prune(path.Dir(w.path()))
}

// prune removes directories that are left empty, from dir up. The one that the name was in may stay for the name that
// is there again: a call that only a lost journal knew of may have made it since.
func (w work) prune(dir string) error {
	stays, err := op.Prune(w.h, w.c, dir, w.param(plugin.ParamStop))
	if err != nil || stays != path.Dir(w.path()) {
		return err
	}
	seen, err := op.Inspect(w.h, w.c, w.path())
	if err == nil && seen.Exists {
		err = &hal.Error{
			Op: "rmdir", Object: w.path(), Class: hal.ClassFile, Outcome: hal.NotDone, Errno: syscall.EEXIST,
			Detail: "someone made it again after volnode removed it",
		}
	}
	return err
}

// removePath removes the name itself. A filesystem's is a directory; a raw block volume's may be any name.
func (w work) removePath(seen op.Seen) error {
	if w.block() {
		return op.Remove(w.h, w.c, w.path())
	}
	return op.RemoveDirectory(w.h, w.c, w.path(), seen)
}
