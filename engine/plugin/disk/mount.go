package disk

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// MountVerbs are those of the mount of a device's filesystem.
func MountVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: setUpMount, TearDown: tearDownMount, Inspect: inspect}
}

// setUpMount mounts the filesystem of the device, which it makes first if the device was blank before it ever began.
func setUpMount(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	device, holds := w.device()
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	top, mounted := seen.Top()
	if mounted && top.Was(o.Fingerprint) {
		return w.upMount(top, holds)
	}
	if mounted {
		isOn, err := w.isOn(top, device, holds)
		switch {
		case err != nil:
			return op.NotDone(err.Error())
		case isOn:
			return w.upMount(top, holds)
		case w.mayHaveMounted(top, len(seen.Stack)):
			return w.exchanged(top, device)
		}
		return w.mounted().Foreign(o, seen.Stack)
	}
	r, ok := w.prepare(device, holds)
	if !ok {
		return r
	}
	if err := op.Mkdirs(h, w.c, w.path, op.ParentMode); err != nil {
		return op.Unknown(err.Error()) // it may have made directories
	}
	if err := h.Mounts.Mount(w.c, w.mount()); err != nil {
		return w.notMounted(err)
	}
	if seen, err = op.Inspect(h, w.c, w.path); err != nil {
		return op.Unknown("mounted, but volnode cannot inspect it: " + err.Error())
	}
	if top, mounted = seen.Top(); !mounted {
		return w.mounted().Foreign(o, seen.Stack)
	}
	switch isOn, err := w.isOn(top, device, holds); {
	case err != nil:
		return op.Unknown("mounted, but volnode cannot tell what: " + err.Error())
	case !isOn:
		return w.exchanged(top, device)
	}
	up := w.upMount(top, holds)
	if up.Outcome == hal.Done {
		up.Reason = r.Reason
	}
	return up
}

// prepare is what comes before a mount: the filesystem is made, or, if containers may write to it, checked. The reason
// of r is what people should know of a check. It is not ok if nothing may be mounted.
func (w work) prepare(device, holds string) (r core.Result, ok bool) {
	switch {
	case holds == Blank:
		return w.format(device)
	case w.isReadOnly():
		return core.Result{}, true
	}
	return w.check(device, holds)
}

// isReadOnly: the mount takes no writes, whatever its pods ask for.
func (w work) isReadOnly() bool { return slices.Contains(w.mount().Flags, "ro") }

// check has the filesystem mended, if it is not clean, before anybody writes to it. Whatever becomes of that, the next
// setup checks again: a check does nothing to what is mended. It looks at the disk itself, so the rung below stays as
// it is, and each setup waits longer: a check may read the whole disk. A node without the program goes on, as the
// kubelet does (K:G116), and so does one on which somebody else has the filesystem mounted: what is in use can't be
// checked.
func (w work) check(device, holds string) (core.Result, bool) {
	is, err := w.h.Blocks.Check(w.c, hal.FilesystemCheck{
		Path: w.source, Device: device, Says: w.says(), FSType: core.Value(w.o.Params, ParamFSType), UUID: holds,
	})
	switch {
	case hal.Is(err, syscall.EBUSY):
		return core.Result{Reason: "mounted, and not checked before: " + err.Error()}, true
	case hal.Is(err, syscall.EUCLEAN):
		r := op.Failed(err)
		r.Reason = w.needsMending(err)
		return r, false
	case err != nil:
		r := op.Failed(err)
		r.BelowUnknown = hal.Is(err, syscall.ENODEV)
		return r, false
	case is.Unchecked != "":
		return core.Result{Reason: "mounted, and not checked before, though it was not clean: " + is.Unchecked}, true
	case is.IsMended:
		return core.Result{Reason: "it was not clean, and e2fsck(8) has checked it before it was mounted"}, true
	}
	return core.Result{}, true
}

// needsMending is what people read of a filesystem that they must mend.
func (w work) needsMending(err error) string {
	by := "e2fsck -f "
	if core.Value(w.o.Params, ParamFSType) == "xfs" {
		by = "xfs_repair "
	}
	return fmt.Sprintf("the filesystem of %s has errors: %s; volnode does not mount it, and looks again; mend it by "+
		"hand: %s%s", w.name(), err, by, w.source)
}

// notMounted is the end of a setup whose mount failed.
func (w work) notMounted(err error) core.Result {
	if hal.Is(err, syscall.EUCLEAN) {
		return op.Unknown(w.needsMending(err))
	}
	r := op.Unknown(err.Error())
	r.BelowUnknown = isTaken(err)
	return r
}

// isTaken: somebody else has the disk, which may be multipathd: the disk is looked at again, and used by its map.
func isTaken(err error) bool { return hal.Is(err, syscall.EBUSY) }

// exchanged is the end of a setup that finds another disk mounted than the one that it has looked at.
func (w work) exchanged(m hal.Mount, device string) core.Result {
	r := op.Unknown(fmt.Sprintf("%s shows %s, and not the device %s: %s leads to another one by now; volnode unmounts "+
		"it, and looks again", w.path, m.Fingerprint(), device, w.name()))
	r.UndoFirst, r.BelowUnknown = true, true
	return r
}

// mayHaveMounted: m, one of so many mounts at the path, is such as an earlier setup may have made.
func (w work) mayHaveMounted(m hal.Mount, mounts int) bool {
	return !w.o.First && mounts == 1 && slices.Contains(fsTypes, m.FSType) && m.Root == "/"
}

// device is what the rung below says of the device.
func (w work) device() (device, holds string) {
	for _, f := range w.o.Below {
		if device := core.FactOf(f.Facts, FactDevice); device != "" {
			return device, core.FactOf(f.Facts, FactHolds)
		}
	}
	return "", ""
}

// name is the device, for people.
func (w work) name() string {
	for _, f := range w.o.Below {
		if name := core.FactOf(f.Facts, FactName); name != "" {
			return name
		}
	}
	return w.source
}

// says is the WWID that the rung below has of the device, "" if that is not what tells it from others.
func (w work) says() string {
	for _, f := range w.o.Below {
		return core.FactOf(f.Facts, FactSays)
	}
	return ""
}

// isOn reports whether m is the filesystem of that device. The device is looked at once more, as another disk may have
// its number by now.
func (w work) isOn(m hal.Mount, device, holds string) (bool, error) {
	if m.FSType != core.Value(w.o.Params, ParamFSType) || m.Root != "/" {
		return false, nil
	}
	is, err := w.h.Blocks.Probe(w.c, w.source)
	if holds == Blank {
		holds = core.Value(w.o.Params, ParamUUID)
	}
	isSame := w.says() == "" || w.says() == is.Says
	return isSame && is.Is() == device && is.Device == m.Device && is.UUID == holds, err
}

// format makes the filesystem. One that has ever been mounted is never made again.
func (w work) format(device string) (core.Result, bool) {
	if had := core.FactOf(w.o.Facts, FactHolds); had != "" {
		r := op.NotDone(fmt.Sprintf("%s (device %s) is blank, and the volume had the filesystem %s; volnode makes no other "+
			"one: attach the disk of the volume", w.name(), device, had))
		r.BelowUnknown = true // it is looked at again: the disk may be back
		return r, false
	}
	err := w.h.Blocks.Format(w.c, hal.NewFilesystem{
		Path: w.source, Device: device, Says: w.says(), FSType: core.Value(w.o.Params, ParamFSType),
		UUID: core.Value(w.o.Params, ParamUUID), MayHaveBegun: !w.o.First,
	})
	if err != nil {
		r := op.Failed(err)
		r.BelowUnknown = hal.Is(err, syscall.EEXIST) || hal.Is(err, syscall.ENODEV) || isTaken(err) // it is not what it was
		return r, false
	}
	return core.Result{}, true
}

// mount is the filesystem with the options of the volume.
func (w work) mount() hal.NewMount {
	m := hal.NewMount{FSType: core.Value(w.o.Params, ParamFSType), Source: w.source, Target: w.path}
	for _, option := range strings.Split(core.Value(w.o.Params, ParamOptions), ",") {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case name == "":
		case slices.Contains(MountFlags, name):
			m.Flags = append(m.Flags, name)
		default:
			m.Options = append(m.Options, hal.Option{Key: name, Value: value})
		}
	}
	return m
}

// upMount is the end of a setup that finds m mounted. On a device that was blank is what volnode has made.
func (w work) upMount(m hal.Mount, holds string) core.Result {
	fingerprint := m.Fingerprint()
	if m.NoDevice || hal.IsFailed(fingerprint) && !w.isReadOnly() {
		r := op.Unknown(fmt.Sprintf("the filesystem of %s takes no writes: %s; volnode unmounts it, and mounts it again "+
			"once its pods have ended; look at the kernel's log, and mend it with fsck(8)", w.name(), fingerprint))
		r.UndoFirst, r.Failed, r.BelowUnknown = true, true, m.NoDevice
		return r
	}
	if holds == Blank {
		holds = core.Value(w.o.Params, ParamUUID)
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: fingerprint,
		Facts: []core.Fact{{Name: plugin.FactPath, Value: w.path}, {Name: FactHolds, Value: holds}},
	}
}

// tearDownMount unmounts the filesystem. Where no mount was confirmed, a single filesystem of a disk is taken for it.
func tearDownMount(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	m := w.mounted()
	m.Owns = func(top hal.Mount, mounts int) (bool, error) {
		return w.mayHaveMounted(top, mounts), nil
	}
	return m.Remove(h, o)
}
