// Package disk is what the volume sources share whose volumes are block devices: the rules of what may be on one, the
// mount of its filesystem, which all pods share, and the bind mount that each pod has of it.
//
// The rung below a mount is the source's own: it finds the device, looks at it by [Holds], and changes nothing of what
// is on it. Its facts are durable before the mount begins to act, as that has an intent: so a start knows of a device
// that is not blank any more that it was, and that what is on it may be a part of a filesystem which nobody has used.
package disk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// factIs is which directory the pod's containers were given.
const factIs = "is"

// work is one operation.
type work struct {
	h            *hal.Host
	o            core.Op
	c            hal.Call
	path, source string
}

func begin(h *hal.Host, o core.Op) work {
	return work{h, o, op.Call(o), core.Value(o.Params, plugin.ParamPath), sourceOf(o)}
}

// sourceOf is what is mounted: a directory, the mount of a device, or the device that the rung below has found.
func sourceOf(o core.Op) string {
	if source := core.Value(o.Params, ParamSource); source != "" {
		return source
	}
	for _, f := range o.Below {
		if node := core.FactOf(f.Facts, FactNode); node != "" {
			return node
		}
	}
	return ""
}

// BindVerbs are those of the bind mount that a pod has: of the directory that the source names, or, if there is a rung
// below it, of the filesystem that is mounted there.
func BindVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: setUpBind, TearDown: tearDownBind, Inspect: inspect}
}

func inspect(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	return op.InspectResult(op.Inspect(h, w.c, w.path))
}

// setUpBind binds the directory that the source leads to by now. What is mounted already is the volume if it was
// confirmed, wherever the source leads since, or if it shows that directory as the pod asks for it, whoever has mounted
// it.
func setUpBind(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" || w.source == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path or no source")
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	top, mounted := seen.Top()
	if mounted && top.Was(o.Fingerprint) {
		return w.up(top, core.FactOf(o.Facts, factIs))
	}
	found, r, ok := w.find()
	switch {
	case !ok:
		return r
	case mounted && !w.isAsked(top, found):
		r := w.mounted().Foreign(o, seen.Stack)
		if isOwn, _ := w.owns(top, len(seen.Stack)); isOwn { // what can't be told is not
			r.Blocked, r.UndoFirst = false, true
			r.Reason = fmt.Sprintf("%s: an earlier attempt has bound %s, and %s leads elsewhere by now; volnode unmounts "+
				"it, and binds again", w.path, top.Fingerprint(), w.source)
		}
		return r
	case mounted:
		return w.up(top, w.identity(found))
	}
	if err := op.Mkdirs(h, w.c, w.path, op.ParentMode); err != nil {
		return op.Unknown(err.Error()) // it may have made directories
	}
	if err := h.Mounts.Bind(w.c, hal.BindSpec{Source: found.Path, Target: w.path, Flags: w.flags()}); err != nil {
		return op.Unknown(err.Error())
	}
	if seen, err = op.Inspect(h, w.c, w.path); err != nil {
		return op.Unknown("set up, but volnode cannot inspect it: " + err.Error())
	}
	if top, mounted = seen.Top(); !mounted || !w.isAsked(top, found) {
		return w.mounted().Foreign(o, seen.Stack)
	}
	return w.up(top, w.identity(found))
}

func (w work) flags() []string {
	all := core.Value(w.o.Params, ParamFlags)
	if all == "" {
		return nil
	}
	return strings.Split(all, ",")
}

// find looks where the source leads. It is not ok if that can't be bound, and r says why.
func (w work) find() (found hal.HostFile, r core.Result, ok bool) {
	found, err := w.lookUp()
	if err != nil {
		return found, op.NotDone(err.Error()), false
	}
	if w.isOfDevice() && !found.Exists {
		r = op.NotDone("nothing is mounted at " + w.source + " any more; volnode mounts it again")
		r.BelowUnknown = true
		return found, r, false
	}
	if owned := plugin.OwnedBelow(found.Below); owned != "" && !w.isOfDevice() {
		r = op.NotDone(fmt.Sprintf("local volume %s leads to %s; volnode does not serve it, and tries again; use "+
			"another directory", w.source, owned))
		r.Blocked = true
		return found, r, false
	}
	switch {
	case !found.Exists:
		return found, op.NotDone(fmt.Sprintf("there is no %s; volnode does not make the directories of local volumes: "+
			"mount the disk that it is on, or create it", w.source)), false
	case found.Type != hal.TypeDirectory:
		return found, op.NotDone(fmt.Sprintf("%s is a %s; name a directory, or, of a block device, the filesystem in "+
			"spec.local.fsType", w.source, found.Type)), false
	}
	if was, is := w.was(), w.identity(found); was != "" && was != is {
		return found, op.NotDone(fmt.Sprintf("%s is not the directory that the pod was given; if its disk is not "+
			"mounted, mount it; if it was replaced on purpose, delete the pod and create it again", w.source)), false
	}
	return found, r, true
}

// was is the directory that the pod's containers were given, "" if there was none, or if it was another source's. That
// of a pod which has left since may be replaced.
func (w work) was() string {
	was := core.FactOf(w.o.Facts, factIs)
	if w.o.Left || !strings.HasPrefix(was, w.source+" ") {
		return ""
	}
	return was
}

// lookUp finds where the source leads: to a directory of the node, or to the mount of a device's filesystem.
func (w work) lookUp() (hal.HostFile, error) {
	if !w.isOfDevice() {
		return w.h.HostPaths.Find(w.c, w.source)
	}
	stack, err := w.h.Mounts.At(w.c, w.source)
	if err != nil || len(stack) == 0 {
		return hal.HostFile{}, err
	}
	top := stack[len(stack)-1]
	return hal.HostFile{
		Exists: true, Type: hal.TypeDirectory, Path: w.source, Device: top.Device, Root: top.Root,
	}, nil
}

func (w work) isOfDevice() bool {
	return len(w.o.Below) > 0
}

// identity is which directory the source led to. A filesystem that does not know when a file was made may give another
// one its inode.
func (w work) identity(found hal.HostFile) string {
	source := w.source
	for _, f := range w.o.Below {
		return source + " filesystem " + core.FactOf(f.Facts, FactHolds)
	}
	return source + " inode " + strconv.FormatUint(found.Inode, 10) + " born " + strconv.FormatInt(found.Born, 10)
}

// isAsked: m is what the pod asks for. Options that the mount of the source has come on top.
func (w work) isAsked(m hal.Mount, found hal.HostFile) bool {
	return shows(m, found) && !slices.ContainsFunc(w.flags(), func(flag string) bool {
		return flag == "ro" && !m.ReadOnly || flag != "ro" && !slices.Contains(m.Options, flag)
	})
}

func shows(m hal.Mount, found hal.HostFile) bool {
	return m.Device == found.Device && m.Root == found.Root
}

// up is the end of a setup that finds m mounted. A pod that may write is given no filesystem that takes no writes: it
// has failed, or who mounted it must say that the volume is read-only.
func (w work) up(m hal.Mount, is string) core.Result {
	fingerprint := m.Fingerprint()
	if m.NoDevice || hal.IsFailed(fingerprint) && !slices.Contains(w.flags(), "ro") {
		r := op.Unknown(fmt.Sprintf("the filesystem of %s takes no writes: %s; mend it, or make the volume read-only; "+
			"volnode unmounts it from the pod, and tries again", w.source, fingerprint))
		r.UndoFirst, r.Failed, r.BelowUnknown = true, true, w.isOfDevice()
		return r
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: fingerprint,
		Facts: []core.Fact{{Name: factIs, Value: is}, {Name: plugin.FactPath, Value: w.path}},
	}
}

// mounted is the mount.
func (w work) mounted() op.Mounted {
	return op.Mounted{Path: w.path, Stop: core.Value(w.o.Params, plugin.ParamStop), Owns: w.owns}
}

func tearDownBind(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path")
	}
	return w.mounted().Remove(h, o)
}

// owns: m, one of so many mounts at the path, is the volume's: it shows the source. Where no mount was confirmed, and
// an earlier setup may have bound one, the source may lead elsewhere since, or no record tells of it: the only mount is
// the volume's if its filesystem is mounted elsewhere on the node, too, as that of a bind mount is.
func (w work) owns(m hal.Mount, mounts int) (bool, error) {
	switch {
	case w.o.Fingerprint == "" && !w.o.First && mounts == 1:
		table, err := w.h.Mounts.Table(w.c)
		pods := core.Value(w.o.Params, plugin.ParamStop) + "/"
		return slices.ContainsFunc(table, func(other hal.Mount) bool {
			return other.Device == m.Device && !strings.HasPrefix(other.Path, pods)
		}), err
	case w.source == "":
		return false, nil
	}
	found, err := w.lookUp()
	return err == nil && found.Exists && shows(m, found), err
}
