// Package local is the volume source local: a directory of the node that a PersistentVolume names, bound to a place of
// the pod's own (K:G95). Nothing of the directory is ever removed. It has to be there: volnode makes none, since the
// disk that it is on may not be mounted yet, and what containers would write then lies on another. Or, with fsType, a
// block device, whose filesystem is mounted once for all pods (see disk.go and package disk).
//
// What a pod has of it can all be listed by a start, so the rung of the bind mount needs no intent.
package local

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "local"

// directory is where such volumes are below a pod.
var directory = plugin.DirectoryOf(plugin.Local)

// Key is the key of a pod's local volume of a PersistentVolume.
func Key(uid, pv string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + pv) }

// Source is local.
func Source() plugin.Source {
	return plugin.Source{
		Name: "local", Plugin: plugin.Local,
		InVolume: func(pv *corev1.PersistentVolume) bool { return pv.Spec.Local != nil },
		Ladder:   Ladder,
		Kinds: []plugin.Kind{
			{
				Name: Kind, Verbs: disk.BindVerbs(),
				Measure: plugin.MeasurePath,
			},
			{
				Name: KindMount, Verbs: disk.MountVerbs(),
				IsDevice: true, IsShared: true,
			},
			{
				Name: KindDevice, Verbs: plugin.Verbs{SetUp: setUpDevice, TearDown: tearDownDevice, Inspect: inspectDevice},
				IsDevice: true, IsShared: true,
			},
			{Name: KindMap, Verbs: disk.MapVerbs()},
			{Name: KindHold, Verbs: disk.HoldVerbs(), IsDevice: true, IsShared: true},
		},
		Scan: func() plugin.Scan {
			return &scan{
				binds: plugin.Directories{Found: rung, Bad: plugin.BadObjectName},
				maps:  disk.Maps{Map: KindMap, Hold: KindHold, Directory: directory},
			}
		},
	}
}

// Ladder makes the one rung of a local volume, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	if v.PV == nil || v.PV.Spec.Local == nil {
		return nil, plugin.Problemf(v.Field(""), "is not a local volume")
	}
	if bad := plugin.BadObjectName(v.PV.Name); bad != "" {
		return nil, plugin.Problemf(v.PVField("metadata.name"), "%s", plugin.Says(v.PV.Name, bad))
	}
	src, field := v.PV.Spec.Local, v.PVField("spec.local.path")
	if p := plugin.BadHostPath(field, src.Path); p != nil {
		return nil, p
	}
	switch {
	case v.Block:
		return rawLadder(v).Rungs(to, v), nil
	case src.FSType != nil && *src.FSType != "":
		return diskLadder(to, v)
	}
	flags, p := flagsOf(v)
	if p != nil {
		return nil, p
	}
	if slices.Contains(flags, "ro") {
		p = v.WantsContext()
	} else {
		p = v.WantsOwnership()
	}
	if p != nil {
		return nil, p
	}
	r := rung(v.Root, string(v.Pod.UID), v.PV.Name)
	r.Want = plugin.Sorted(append(r.Want, disk.BindParams(flags, path.Clean(src.Path))...))
	r.Exclusive = v.Exclusive(r.Volume)
	return append(to, r), nil
}

// flagsOf are the flags of the bind mount, sorted: those that it has of its own (mount_setattr(2)).
func flagsOf(v plugin.Volume) (flags []string, p *plugin.Problem) {
	if v.ReadOnly {
		flags = append(flags, "ro")
	}
	for _, option := range v.PV.Spec.MountOptions {
		switch {
		case option == "bind", option == "rw" && !v.ReadOnly:
		case !slices.Contains(disk.MountFlags, option):
			return nil, plugin.Problemf(v.PVField("spec.mountOptions"),
				"%q can't be given to a directory that is mounted already; %s can", option, strings.Join(disk.MountFlags, ", "))
		default:
			flags = append(flags, option)
		}
	}
	slices.Sort(flags)
	return slices.Compact(flags), nil
}

// rung is all that a volume's place says of its rung: a start that has no record of it makes it of that alone, and
// tears it down.
func rung(root, uid, pv string) core.Rung {
	place := plugin.PodPlace(root, uid, directory, pv)
	return core.Rung{
		Key: Key(uid, pv), Kind: Kind, Pod: core.PodUID(uid), Volume: string(Kind) + "^" + pv, Pins: true,
		Want: append(make([]core.Param, 0, 8), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamPV, Value: pv},
			core.Param{Name: plugin.ParamSpec, Value: pv},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}
