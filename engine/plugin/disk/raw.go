package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is raw block volumes: map/pod → hold/disk → device/disk. Nothing is made on the disk, nothing is
// checked, and it may hold anything. The hold keeps its number and its name for as long as pods have it, since a
// container has no more than that number; a map is a bind mount of the node of the disk, or, of a pod that may only
// read, of the device that holds it, to which the kernel lets nobody write.

// Raw is [FactHolds] of a disk that is given as it is.
const Raw = "raw"

// The facts of a hold.
const (
	factHolder = "holder" // the path of the device that holds the disk
	factBy     = "by"     // which device that is
)

// RawLadder is what a source says of the rungs of a raw block volume.
type RawLadder struct {
	Map, Hold, Device core.Rung    // with what is the source's own of each
	IsReadOnly        bool         // the source lets nobody write to the disk
	Same              []core.Param // parameters that device and hold have in common
}

// Rungs appends the rungs of a volume, top first.
func (l RawLadder) Rungs(to []core.Rung, v plugin.Volume) []core.Rung {
	mode := core.Param{Name: plugin.ParamMode, Value: plugin.ModeBlock, OnChange: core.OnChangeRebuild}
	l.Device.Want = plugin.Sorted(append(append(l.Device.Want, mode, core.Param{
		Name: ParamHold, Value: string(l.Hold.Key), OnChange: core.OnChangeRebuild,
	}), l.Same...))
	l.Hold.Below, l.Hold.Want = []hal.Key{l.Device.Key}, plugin.Sorted(append(append(l.Hold.Want, mode), l.Same...))
	readOnly := ""
	if v.ReadOnly || l.IsReadOnly {
		readOnly = plugin.Yes
	}
	l.Map.Below = []hal.Key{l.Hold.Key}
	l.Map.Want = plugin.Sorted(append(l.Map.Want, mode,
		core.Param{Name: plugin.ParamReadOnly, Value: readOnly, OnChange: core.OnChangeRebuild}))
	l.Map.Exclusive = v.Exclusive(l.Map.Volume)
	return append(to, l.Map, l.Hold, l.Device)
}

// HoldKey is the key of the hold of a disk, by what names that among those of a kind. It is its name in the kernel, so
// a start finds it there.
func HoldKey(kind core.Kind, disk string) hal.Key {
	sum := sha256.Sum256([]byte(disk))
	return hal.Key(string(kind) + "/" + hex.EncodeToString(sum[:6]))
}

// HoldRung is all that a hold says of its rung.
func HoldRung(kind core.Kind, key hal.Key) core.Rung {
	return core.Rung{Key: key, Kind: kind, Volume: string(key), Intent: true}
}

// Found makes rungs of the holds of a kind that a start has found. deviceOf is the rung of a device, "" if there is
// none.
func Found(kind core.Kind, held []hal.HeldDevice, deviceOf func(is string) hal.Key) (all []core.Rung) {
	for _, d := range held {
		if !strings.HasPrefix(d.Name, string(kind)+"/") {
			continue
		}
		r := HoldRung(kind, hal.Key(d.Name))
		if below := deviceOf(d.Device); below != "" {
			r.Below = []hal.Key{below}
		}
		all = append(all, r)
	}
	return all
}

// MapRung is all that the place of a raw block volume in a pod says of its rung.
func MapRung(kind core.Kind, root, uid, directory, spec string) core.Rung {
	place := plugin.PodDevicePlace(root, uid, directory, spec)
	return core.Rung{
		Key: hal.Key(string(kind) + "/" + uid + "/" + spec), Kind: kind, Pod: core.PodUID(uid),
		Want: append(make([]core.Param, 0, 8), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamSpec, Value: spec},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// rawHolds is [Holds] of a disk that is given as it is.
func rawHolds(o core.Op, is hal.BlockDevice, disk string) (holds, why string) {
	had := core.FactOf(o.Facts, FactDisk)
	switch {
	case len(is.Holders) > 0:
		return "", "it is a part of " + strings.Join(is.Holders, " ") + "; use that, or free this device"
	case disk == "":
		return "", "it has neither a WWID nor a serial number, and the kernel is older than Linux 5.15, so nothing tells " +
			"it from another disk; volnode gives it to no pod"
	case had != "" && had != disk && !isOfOtherBoot(had, disk):
		return "", fmt.Sprintf("it is the disk %s, and the volume has %s; volnode gives it to no pod: attach that disk", disk,
			had)
	}
	return Raw, ""
}

// InBoot ends the name of a disk that nothing tells from others but what the kernel calls it: see isOfOtherBoot.
const InBoot = " in boot "

// isOfOtherBoot: one of two names of disks is of a boot, and the other one is not of that. Nobody can tell if they are
// one disk: the path is all there is.
func isOfOtherBoot(had, now string) bool {
	_, then, wasNamed := strings.Cut(had, InBoot)
	_, boot, isNamed := strings.Cut(now, InBoot)
	return wasNamed && isNamed && then != boot
}

// heldByOther says which other volume holds a device raw, "" if none does.
func heldByOther(o core.Op, is hal.BlockDevice) string {
	own := ""
	if plugin.IsBlock(o.Params) {
		own = core.Value(o.Params, ParamHold)
	}
	i := slices.IndexFunc(is.Held, func(name string) bool { return name != own })
	if i < 0 {
		return ""
	}
	return "it is the disk of a raw block volume (" + is.Held[i] + "); use another one, or delete the pods that have that"
}

// HoldVerbs are those of the hold of a disk.
func HoldVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: setUpHold, TearDown: tearDownHold, Inspect: inspectHold}
}

// heldAs is what is held as the rung.
func heldAs(h *hal.Host, o core.Op) (d hal.HeldDevice, is bool, err error) {
	all, err := h.Blocks.Holds(op.Call(o))
	if i := slices.IndexFunc(all, func(d hal.HeldDevice) bool { return d.Name == string(o.Key) }); i >= 0 {
		return all[i], true, err
	}
	return d, false, err
}

// setUpHold holds the disk that the rung below has found.
func setUpHold(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	device, _ := w.device()
	d, is, err := heldAs(h, o)
	if err == nil && !is {
		err = h.Blocks.Hold(w.c, hal.DeviceHold{Name: string(o.Key), Path: w.source, Device: device, Says: w.says()})
		if err == nil {
			d, is, err = heldAs(h, o)
		}
	}
	switch {
	case err != nil:
		r := op.Failed(err)
		r.BelowUnknown = hal.Is(err, syscall.ENODEV) || isTaken(err)
		if isTaken(err) {
			r.Reason = fmt.Sprintf("%s: %s; volnode gives it to no pod, and tries again; unmount it, or end who has it",
				w.name(), err)
		}
		return r
	case !is:
		return op.Unknown(w.name() + " was held, and is not any more: somebody has let go of it; volnode tries again")
	case d.IsGone:
		r := op.Unknown(fmt.Sprintf("the node has lost the disk of %s, device %s; volnode lets go of it once its pods have "+
			"ended, and finds it again", w.name(), d.Device))
		r.UndoFirst, r.Failed, r.BelowUnknown = true, true, true
		return r
	case d.Device != device:
		r := op.Unknown(fmt.Sprintf("%s is device %s by now, and volnode holds %s; it lets go of that, and holds the other "+
			"one", w.name(), device, d.Device))
		r.UndoFirst = true
		return r
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: d.Fingerprint(), Facts: []core.Fact{
			{Name: FactDevice, Value: device},
			{Name: FactNode, Value: w.source},
			{Name: FactName, Value: w.name()},
			{Name: factHolder, Value: d.Path},
			{Name: factBy, Value: d.By},
		},
	}
}

// tearDownHold lets go of the disk, unless somebody has it open.
func tearDownHold(h *hal.Host, o core.Op) core.Result {
	d, is, err := heldAs(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !is:
		return core.Result{Outcome: hal.Done}
	}
	if err := h.Blocks.Release(op.Call(o), d); err != nil {
		r := op.Failed(err)
		if hal.Is(err, syscall.EBUSY) {
			r.Reason = fmt.Sprintf("a disk of a raw block volume is in use: %s; end that; volnode tries again", err)
		}
		return r
	}
	return core.Result{Outcome: hal.Done}
}

func inspectHold(h *hal.Host, o core.Op) core.Result {
	d, is, err := heldAs(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !is:
		return core.Result{Outcome: hal.Done}
	}
	return core.Result{Outcome: hal.Done, Fingerprint: d.Fingerprint()}
}

// MapVerbs are those of the raw device that a pod has.
func MapVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: setUpMap, TearDown: tearDownMap, Inspect: inspect}
}

// node is what a pod is given: a path, and the device that this leads to.
func (w work) node() (source, device string) {
	if len(w.o.Below) == 0 {
		return "", ""
	}
	hold := w.o.Below[0].Facts
	if plugin.IsReadOnly(w.o.Params) {
		return core.FactOf(hold, factHolder), core.FactOf(hold, factBy)
	}
	return core.FactOf(hold, FactNode), core.FactOf(hold, FactDevice)
}

// setUpMap binds the node. What is mounted already is the volume if it is that node.
func setUpMap(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	source, device := w.node()
	if w.path == "" || source == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path or no device")
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	found, err := w.findNode(source, device)
	if err != nil {
		r := op.NotDone(err.Error())
		r.BelowUnknown = true
		return r
	}
	top, mounted := seen.Top()
	switch {
	case mounted && (top.Was(o.Fingerprint) || shows(top, found)):
		return w.upMap(top, device)
	case mounted && w.mayHaveBound(top, len(seen.Stack)):
		return w.undoMap(fmt.Sprintf("%s shows %s, and not %s; volnode unmounts it, and binds again", w.path,
			top.Fingerprint(), source))
	case mounted:
		return w.mounted().Foreign(o, seen.Stack)
	}
	if err := w.makePoint(seen); err != nil {
		return op.Unknown(err.Error()) // it may have made directories
	}
	if err := h.Mounts.Bind(w.c, hal.BindSpec{Source: found.Path, Target: w.path}); err != nil {
		return op.Unknown(err.Error())
	}
	if seen, err = op.Inspect(h, w.c, w.path); err != nil {
		return op.Unknown("set up, but volnode cannot inspect it: " + err.Error())
	}
	if top, mounted = seen.Top(); !mounted || !shows(top, found) {
		return w.mounted().Foreign(o, seen.Stack)
	}
	return w.upMap(top, device)
}

// findNode looks where the path of a device leads. The hold keeps its name, unless somebody has let go of it.
func (w work) findNode(source, device string) (hal.HostFile, error) {
	found, err := w.h.HostPaths.Find(w.c, source)
	switch {
	case err != nil:
		return found, err
	case !found.Exists || found.Type != hal.TypeBlockDevice:
		return found, fmt.Errorf("there is no block device %s any more; volnode looks for the disk again", source)
	}
	is, err := w.h.Blocks.Identify(w.c, found.Path)
	if err == nil && is.Is() != device {
		err = fmt.Errorf("%s is device %s by now, and was %s; volnode looks for the disk again", source, is.Is(), device)
	}
	return found, err
}

// makePoint makes the empty file on which the node is mounted.
func (w work) makePoint(seen op.Seen) error {
	if !seen.Exists {
		if err := op.Mkdirs(w.h, w.c, path.Dir(w.path), op.ParentMode); err != nil {
			return err
		}
		return w.h.Files.Write(w.c, w.path, nil, 0o600)
	}
	return w.isPoint()
}

// isPoint fails if what is at the path is not the empty file that volnode makes.
func (w work) isPoint() error {
	is, err := w.h.Tree.Stat(w.c, w.path)
	if err == nil && (is.Type != hal.TypeFile || is.Size != 0) {
		err = fmt.Errorf("%s is a %s of %d bytes that somebody has put there; volnode leaves it alone; remove it", w.path,
			is.Type, is.Size)
	}
	return err
}

// upMap is the end of a setup that finds m mounted: the node of the disk, or of its holder.
func (w work) upMap(m hal.Mount, device string) core.Result {
	if m.NoDevice {
		r := w.undoMap(fmt.Sprintf("the disk at %s is gone from the node; volnode unmounts it, and finds it again once its "+
			"pods have ended", w.path))
		r.Failed = true
		return r
	}
	switch is, err := w.h.Blocks.Identify(w.c, w.path); {
	case err != nil:
		return op.Unknown("mounted, but volnode cannot tell what: " + err.Error())
	case is.Is() != device:
		return w.undoMap(fmt.Sprintf("%s is device %s, and the disk is %s; volnode unmounts it, and looks again", w.path,
			is.Is(), device))
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: m.Fingerprint(), Facts: []core.Fact{{Name: plugin.FactPath, Value: w.path}},
	}
}

func (w work) undoMap(why string) core.Result {
	r := op.Unknown(why)
	r.UndoFirst, r.BelowUnknown = true, true
	return r
}

// mayHaveBound: m, one of so many mounts at the path, is such as an earlier setup may have made: it was not confirmed,
// and its filesystem is mounted elsewhere, too, as that of the nodes is.
func (w work) mayHaveBound(m hal.Mount, mounts int) bool {
	isOwn, err := w.ownsNode(m, mounts)
	return err == nil && isOwn
}

func (w work) ownsNode(m hal.Mount, mounts int) (bool, error) {
	if w.o.First || mounts != 1 {
		return false, nil
	}
	table, err := w.h.Mounts.Table(w.c)
	pods := core.Value(w.o.Params, plugin.ParamStop) + "/"
	return slices.ContainsFunc(table, func(other hal.Mount) bool {
		return other.Device == m.Device && !strings.HasPrefix(other.Path, pods)
	}), err
}

// tearDownMap unmounts the node, and removes the empty file that it was mounted on. The disk stays held.
func tearDownMap(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path")
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	for i := len(seen.Stack) - 1; i >= 0; i-- {
		m := seen.Stack[i]
		isOwn := m.Was(o.Fingerprint)
		if !isOwn {
			if isOwn, err = w.ownsNode(m, len(seen.Stack)); err != nil {
				return op.NotDone(err.Error())
			}
		}
		if !isOwn {
			return w.mounted().Foreign(o, seen.Stack[:i+1])
		}
		if err := h.Mounts.Unmount(w.c, w.path, m.ID); err != nil {
			return op.Failed(err)
		}
	}
	if seen, err = op.Inspect(h, w.c, w.path); err != nil {
		return op.Unknown(fmt.Sprintf("unmounted, but volnode cannot inspect %s: %v", w.path, err))
	}
	if seen.Exists {
		if err := w.isPoint(); err != nil {
			return op.Unknown(err.Error())
		}
		if err := op.Remove(h, w.c, w.path); err != nil {
			return op.Unknown(err.Error())
		}
	}
	if _, err := op.Prune(h, w.c, path.Dir(w.path), core.Value(o.Params, plugin.ParamStop)); err != nil {
		return op.Unknown(err.Error())
	}
	return core.Result{Outcome: hal.Done}
}
