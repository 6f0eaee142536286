// Package emptydir is the volume source emptyDir: a directory of the pod's own, on disk or in memory. Its content lives
// as long as the pod.
//
// Its effects can all be listed by a start, so its one rung needs no intent.
package emptydir

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "emptydir"

const (
	pluginName = "kubernetes.io/empty-dir"

	paramMedium = "medium" // "", "Memory", or one of HugePages
	// In bytes. In memory "" is the kernel's default, half of the RAM (tmpfs(5)): see memoryOf. On disk a quota holds the
	// directory to what is behind held.
	paramSize  = "size"
	paramPages = "pages" // how large the huge pages are, in bytes; only of HugePages

	// factProject is the project of the quota that holds the directory to its limit.
	factProject = "project"
	held        = "quota "
	memory      = "Memory"
)

// podDirectory is where emptyDirs are below a pod.
var podDirectory = plugin.DirectoryOf(pluginName)

func place(root, uid, volume string) plugin.Place {
	return plugin.PodPlace(root, uid, podDirectory, volume)
}

// Key is the key of a pod's emptyDir.
func Key(uid, volume string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + volume) }

// Source is emptyDir.
func Source() plugin.Source {
	return plugin.Source{
		Name: "emptyDir", Plugin: pluginName,
		InPod:  func(spec *corev1.Volume) bool { return spec.EmptyDir != nil },
		Ladder: Ladder,
		Kinds: []plugin.Kind{{
			Name: Kind, Verbs: plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect},
			Deletes: deletes, IsDirectory: true, Measure: measure, Limit: limitOf,
		}},
		Scan: func() plugin.Scan { return &plugin.Directories{Found: Found} },
	}
}

// Ladder makes the one rung of an emptyDir, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	src := v.Spec.EmptyDir
	if src == nil {
		return nil, plugin.Problemf(v.Field(""), "is not an emptyDir")
	}
	if v.Block {
		return nil, plugin.Problemf(v.Field(".emptyDir"),
			"an emptyDir can't be a raw block device; use it in volumeMounts")
	}
	size := ""
	if src.SizeLimit != nil && !src.SizeLimit.IsZero() {
		if src.SizeLimit.Value() < 0 {
			return nil, plugin.Problemf(v.Field(".emptyDir.sizeLimit"), "%s is negative", src.SizeLimit)
		}
		size = strconv.FormatInt(src.SizeLimit.Value(), 10)
	}
	switch src.Medium {
	case corev1.StorageMediumDefault:
		if v.HoldsLimits && size != "" {
			size = held + size
		}
	case corev1.StorageMediumMemory:
		if most := memoryOf(v.Pod); most > 0 && (size == "" || most < src.SizeLimit.Value()) {
			size = strconv.FormatInt(most, 10)
		}
	}
	pages, p := pagesOf(v)
	if p != nil {
		return nil, p
	}
	if pages > 0 && size != "" {
		if src.SizeLimit.Value() < pages {
			return nil, plugin.Problemf(v.Field(".emptyDir.sizeLimit"), "%s is less than one of its huge pages",
				src.SizeLimit)
		}
		size = strconv.FormatInt((src.SizeLimit.Value()+pages-1)/pages*pages, 10) // the kernel cuts off what is no page
	}
	group, p := v.Group()
	if p == nil {
		p = v.WantsContext()
	}
	if p != nil {
		return nil, p
	}
	uid := string(v.Pod.UID)
	r := rung(uid, v.Spec.Name, place(v.Root, uid, v.Spec.Name), string(src.Medium), size)
	if pages > 0 {
		r.Want = plugin.Sorted(append(r.Want,
			core.Param{Name: paramPages, Value: strconv.FormatInt(pages, 10), OnChange: core.OnChangeRebuild}))
	}
	if group != "" { // what is in use keeps its group until it is made again
		r.Want = slices.Insert(r.Want, 0, core.Param{Name: plugin.ParamFSGroup, Value: group})
	}
	return append(to, r), nil
}

// memoryOf is how much memory the containers of a pod may use together, in bytes; 0 if not all of them say. What is in
// the pod's memory counts, so that a larger filesystem could never be filled.
func memoryOf(pod *corev1.Pod) int64 {
	if pod.Spec.Resources == nil || pod.Spec.Resources.Limits.Memory().IsZero() {
		says := func(c corev1.Container) bool { return !c.Resources.Limits.Memory().IsZero() }
		for _, all := range [...][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			if slices.ContainsFunc(all, func(c corev1.Container) bool { return !says(c) }) {
				return 0
			}
		}
	}
	limits := podresource.PodLimits(pod, podresource.PodResourcesOptions{})
	return limits.Memory().Value()
}

// Found is the rung of an emptyDir's directory that no record tells of, made such that it can be torn down. Its medium
// and size are not known.
func Found(root, uid, volume string) core.Rung {
	r := rung(uid, volume, place(root, uid, volume), "", "")
	r.Want = slices.DeleteFunc(r.Want, func(p core.Param) bool { return p.Name == paramMedium || p.Name == paramSize })
	return r
}

// isRecorded reports whether these are the parameters of a rung that volnode made, and not those of [Found].
func isRecorded(made []core.Param) bool {
	return slices.ContainsFunc(made, func(p core.Param) bool { return p.Name == paramMedium })
}

// pagesOf is the size of the huge pages that an emptyDir is made of, 0 if of none. Without a size in the medium it is
// that which the containers ask for (K:G97).
func pagesOf(v plugin.Volume) (int64, *plugin.Problem) {
	const prefix = "hugepages-"
	medium := v.Spec.EmptyDir.Medium
	if medium == corev1.StorageMediumDefault || medium == corev1.StorageMediumMemory {
		return 0, nil
	}
	field := v.Field(".emptyDir.medium")
	named, isSized := strings.CutPrefix(string(medium), string(corev1.StorageMediumHugePagesPrefix))
	if !isSized && medium != corev1.StorageMediumHugePages {
		return 0, plugin.Problemf(field, "%q is no medium; use Memory, HugePages or HugePages-2Mi, or leave it out for "+
			"the disk", medium)
	}
	var asked []string
	limits := podresource.PodLimits(v.Pod, podresource.PodResourcesOptions{})
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if size, is := strings.CutPrefix(string(name), prefix); is && !limits.Name(name, resource.BinarySI).IsZero() {
			asked = append(asked, size)
		}
	}
	switch {
	case isSized && !slices.Contains(asked, named):
		return 0, plugin.Problemf(field, "%q needs a container with the limit %s%s", medium, prefix, named)
	case isSized:
	case len(asked) != 1:
		return 0, plugin.Problemf(field, "the containers have limits for %d sizes of huge pages; write HugePages-SIZE "+
			"with one that a container has a limit for", len(asked))
	default:
		named = asked[0]
	}
	size, err := resource.ParseQuantity(named)
	if err != nil || size.Value() <= 0 {
		return 0, plugin.Problemf(field, "%q is no size of a page; write it like 2Mi", named)
	}
	return size.Value(), nil
}

// limitOf is the size limit of an emptyDir on disk. One in memory has it as its filesystem's size.
func limitOf(made []core.Param) int64 {
	size := strings.TrimPrefix(core.Value(made, paramSize), held)
	if size == "" || core.Value(made, paramMedium) != "" {
		return 0
	}
	limit, _ := strconv.ParseInt(size, 10, 64)
	return limit
}

// isHeld: a quota is to hold it to its limit.
func isHeld(made []core.Param) bool {
	return limitOf(made) > 0 && strings.HasPrefix(core.Value(made, paramSize), held)
}

// measureTimeout bounds the count of what an emptyDir on disk holds, which may be millions of files.
const measureTimeout = 5 * time.Minute

// measure counts what an emptyDir on disk holds. What a quota holds, the filesystem has counted.
func measure(h *hal.Host, c hal.Call, made []core.Param) (hal.Usage, error) {
	if isHeld(made) {
		if is, err := h.Quotas.Usage(c, plugin.PathOf(made)); !hal.Is(err, syscall.ENODATA) {
			return is, err
		}
	}
	c.Deadline = h.Runtime.Now().Add(measureTimeout)
	is, err := h.HostPaths.Count(c, plugin.PathOf(made))
	is.Bytes.Total = limitOf(made)
	is.Bytes.Available = max(0, is.Bytes.Total-is.Bytes.Used)
	return is, err
}

func rung(uid, volume string, place plugin.Place, medium, size string) core.Rung {
	onSize := core.OnChangeRefresh // what is looked after follows an edit
	if medium != "" {
		onSize = core.OnChangeKeep // a filesystem in use keeps its size until it is made again
	}
	return core.Rung{
		Key: Key(uid, volume), Kind: Kind, Pod: core.PodUID(uid),
		Want: append(make([]core.Param, 0, 5), // one is who the pod is
			core.Param{Name: paramMedium, Value: medium, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: paramSize, Value: size, OnChange: onSize},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// deletes returns the data that a teardown deletes.
func deletes(made []core.Param, isNamed bool) (plugin.Doomed, bool) {
	at := plugin.PathOf(made)
	return plugin.Doomed{Volume: path.Base(at), Path: at, IfEmpty: !plugin.IsOurs(made, paramMedium, isNamed)}, true
}
