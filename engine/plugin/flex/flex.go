// Package flex is the volume source flexVolume: what a FlexVolume driver, a program on the node, mounts for each pod
// that has it (K:G104).
//
// A driver may hold more than the mount that it makes, so its one rung has an intent, and the driver is asked to
// unmount whatever the mount table shows. No call of a driver has a deadline: the rung waits for its program, as long
// as that takes, and the next life of the agent waits for it, too.
package flex

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "flex"

const (
	paramDriver  = "driver"  // VENDOR/NAME
	paramFSType  = "fsType"  // "" for what the driver thinks best
	paramOptions = "options" // those of the volume, as a JSON map
)

// reserved is the vendor whose names are those of the sources of Kubernetes itself, below a pod as well.
const reserved = "kubernetes.io"

// Key is the key of a pod's volume. spec is the name of the PersistentVolume, or the pod's volume if inline.
func Key(uid, driver, spec string) hal.Key {
	return hal.Key(string(Kind) + "/" + uid + "/" + hal.FlexDirectory(driver) + "/" + spec)
}

// Source is flexVolume: PersistentVolumes with spec.flexVolume, and volumes of pods. It serves what no source before it
// does.
func Source() plugin.Source {
	return plugin.Source{
		Name: "flexVolume", Plugin: "kubernetes.io/flexvolume",
		InPod:    func(spec *corev1.Volume) bool { return spec.FlexVolume != nil },
		InVolume: func(pv *corev1.PersistentVolume) bool { return pv.Spec.FlexVolume != nil },
		Ladder:   Ladder,
		Kinds: []plugin.Kind{{
			Name: Kind, Verbs: plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect},
			Measure: plugin.MeasurePath,
		}},
		ScanOf: scanOf,
	}
}

// scanOf finds the volumes of a driver: their directory is named after it.
func scanOf(directory string) plugin.Scan {
	driver := hal.FlexDriver(directory)
	if driver == "" || strings.HasPrefix(driver, reserved+"/") {
		return nil
	}
	return &plugin.Directories{
		Found: func(root, uid, spec string) core.Rung { return rung(root, uid, driver, spec) },
		Bad:   plugin.BadObjectName,
	}
}

// Ladder makes the one rung of a FlexVolume, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	is, p := sourceOf(v)
	if p == nil {
		p = is.problem(v)
	}
	if p != nil {
		return nil, p
	}
	group, p := v.Group()
	if p == nil {
		p = v.WantsContext()
	}
	if p != nil {
		return nil, p
	}
	readOnly := ""
	if v.ReadOnly || is.readOnly {
		readOnly = plugin.Yes
	}
	options := ""
	if len(is.options) > 0 {
		text, err := json.Marshal(is.options)
		if err != nil {
			return nil, plugin.Problemf(is.field("options"), "volnode cannot write them as JSON: %v", err)
		}
		options = string(text)
	}
	r := rung(v.Root, string(v.Pod.UID), is.driver, is.spec)
	const change = core.OnChangeRebuild
	r.Want = append(r.Want, core.Param{Name: paramFSType, Value: is.fsType, OnChange: change},
		core.Param{Name: paramOptions, Value: options, OnChange: change},
		core.Param{Name: plugin.ParamAccount, Value: v.Pod.Spec.ServiceAccountName},
		core.Param{Name: plugin.ParamGroup, Value: group, OnChange: change},
		core.Param{Name: plugin.ParamReadOnly, Value: readOnly, OnChange: change})
	if v.PV != nil {
		r.Volume = string(Kind) + "^" + hal.FlexDirectory(is.driver) + "/" + is.spec
		r.Want = append(r.Want, core.Param{Name: plugin.ParamPV, Value: is.spec})
		r.Exclusive = v.Exclusive(r.Volume)
	}
	plugin.Sorted(r.Want)
	return append(to, r), nil
}

// source is what an entry of a pod and a PersistentVolume have in common.
type source struct {
	spec           string // the name after which its directory is called
	driver, fsType string
	readOnly       bool
	hasSecret      bool
	options        map[string]string
	field          func(name string) string
}

func sourceOf(v plugin.Volume) (source, *plugin.Problem) {
	if v.PV != nil {
		src := v.PV.Spec.FlexVolume
		if bad := plugin.BadObjectName(v.PV.Name); bad != "" {
			return source{}, plugin.Problemf(v.PVField("metadata.name"), "%s", plugin.Says(v.PV.Name, bad))
		}
		if src == nil {
			return source{}, plugin.Problemf(v.PVField("spec"), "is not a FlexVolume")
		}
		if len(v.PV.Spec.MountOptions) > 0 {
			return source{}, plugin.Problemf(v.PVField("spec.mountOptions"),
				"a FlexVolume driver is told no mount options; remove them, and see whether it has an option of its own")
		}
		return source{
			v.PV.Name, src.Driver, src.FSType, src.ReadOnly, src.SecretRef != nil, src.Options,
			func(name string) string { return v.PVField("spec.flexVolume." + name) },
		}, nil
	}
	src := v.Spec.FlexVolume
	if src == nil {
		return source{}, plugin.Problemf(v.Field(""), "is not a FlexVolume")
	}
	return source{
		v.Spec.Name, src.Driver, src.FSType, src.ReadOnly, src.SecretRef != nil, src.Options,
		func(name string) string { return v.Field(".flexVolume." + name) },
	}, nil
}

// mostFSType is how long the name of a filesystem may be, in bytes.
const mostFSType = 64

// problem says why a volume can't be served, nil if it can.
func (is *source) problem(v plugin.Volume) *plugin.Problem {
	vendor, _, _ := strings.Cut(is.driver, "/")
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case !v.ServesFlex:
		return plugin.Problemf(is.field("driver"), "volnode serves no FlexVolume drivers unless it is told where they are; "+
			"name their directory as flexVolumeDir in its configuration, and restart it")
	case is.driver == "":
		return plugin.Problemf(is.field("driver"), "is empty; name the driver as VENDOR/DRIVER")
	case hal.FlexDirectory(is.driver) == "":
		return plugin.Problemf(is.field("driver"), "%q is no driver that volnode serves; write VENDOR/DRIVER, each part "+
			"with letters, digits, ., - and _", is.driver)
	case vendor == reserved:
		return plugin.Problemf(is.field("driver"), "%q has the vendor %s, whose directories below a pod are those of other "+
			"sources; install the driver under the name of another vendor", is.driver, reserved)
	case v.Block:
		return plugin.Problemf(is.field("driver"), "a FlexVolume can't be a raw block device; use it in volumeMounts")
	case is.hasSecret:
		return plugin.Problemf(is.field("secretRef"), "volnode gives no secret to a FlexVolume driver, as everybody on the "+
			"node can read the arguments of a process; give it to the driver in a file of root")
	case len(is.fsType) > mostFSType || strings.ContainsFunc(is.fsType, odd):
		return plugin.Problemf(is.field("fsType"), "%q is no name of a filesystem", is.fsType)
	}
	return is.badOptions()
}

// badOptions says what is wrong with the options: they are no larger than those of CSI, and those of the protocol
// itself are not the volume's to set.
func (is *source) badOptions() *plugin.Problem {
	size := 0
	for _, key := range slices.Sorted(maps.Keys(is.options)) {
		size += len(key) + len(is.options[key])
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			return plugin.Problemf(is.field("options"), "%q is an option that volnode itself sets; remove it", key)
		}
	}
	if size > plugin.MaxCSIMap {
		return plugin.Problemf(is.field("options"), "have %d bytes; at most %d are possible", size, plugin.MaxCSIMap)
	}
	return nil
}

// rung is all that a volume's place says of its rung: a start that has no record of it makes it of that alone, and
// tears it down.
func rung(root, uid, driver, spec string) core.Rung {
	place := plugin.PodPlace(root, uid, hal.FlexDirectory(driver), spec)
	return core.Rung{
		Key: Key(uid, driver, spec), Kind: Kind, Pod: core.PodUID(uid), Intent: true,
		Want: append(make([]core.Param, 0, 12), // one is who the pod is
			core.Param{Name: paramDriver, Value: driver},
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamSpec, Value: spec},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}
