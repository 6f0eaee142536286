// Package image is the volume source image: the files of an OCI image, read-only. The image lies on the node, where
// somebody has put it; volnode pulls none.
//
// Its ladder is a mount of the pod's own upon the unpacked files, which the pods of a node share.
package image

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// The kinds of rungs of this package.
const (
	KindFiles core.Kind = "image.files" // the unpacked files
	KindMount core.Kind = "image"       // a pod's mount of them
)

const (
	paramReference = "reference" // of image.files
	paramSource    = "source"    // of image: where the files are; none in the rung of what a start has found

	factDigest = "digest" // of the image's manifest
)

// directory is where such volumes are below a pod.
var directory = plugin.DirectoryOf(plugin.Image)

// mostReference is how long a reference may be, in bytes: a registry, a name, a tag and a digest.
const mostReference = 1024

// flags are those of a pod's mount (KEP 4639).
var flags = []string{"nodev", "noexec", "nosuid", "ro"}

// FilesKey is the key of the unpacked files of a name: see [nameOf].
func FilesKey(name string) hal.Key { return hal.Key(string(KindFiles) + "/" + name) }

// MountKey is the key of an image volume of a pod.
func MountKey(uid, volume string) hal.Key {
	return hal.Key(string(KindMount) + "/" + uid + "/" + volume)
}

// Source is image.
func Source() plugin.Source {
	return plugin.Source{
		Name: "image", Plugin: plugin.Image,
		InPod:  func(spec *corev1.Volume) bool { return spec.Image != nil },
		Ladder: Ladder,
		Kinds: []plugin.Kind{
			{Name: KindFiles, Verbs: plugin.Verbs{SetUp: unpack, TearDown: remove, Inspect: inspect}, IsShared: true},
			{Name: KindMount, Verbs: plugin.Verbs{SetUp: mount, TearDown: unmount, Inspect: inspect}},
		},
		Scan: func() plugin.Scan {
			return &scan{mounts: plugin.Directories{Found: mountRung}, shows: map[hal.Key]hal.Key{}}
		},
	}
}

// Ladder makes the rungs of an image volume, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	src := v.Spec.Image
	switch {
	case src == nil:
		return nil, plugin.Problemf(v.Field(""), "is not an image")
	case v.Block:
		return nil, plugin.Problemf(v.Field(".image"), "an image can't be a raw block device; use it in volumeMounts")
	}
	if bad := badReference(src.Reference); bad != "" {
		return nil, plugin.Problemf(v.Field(".image.reference"), "%s", bad)
	}
	isPinned, isLatest := strings.Contains(src.Reference, "@sha256:"), isLatest(src.Reference)
	isShared := isPinned
	switch src.PullPolicy {
	case "":
		isShared = isPinned || !isLatest
	case corev1.PullIfNotPresent, corev1.PullNever:
		isShared = true
	case corev1.PullAlways:
	default:
		return nil, plugin.Problemf(v.Field(".image.pullPolicy"), "%q is no policy; use Always, IfNotPresent or Never",
			src.PullPolicy)
	}
	// The kubelet gives the files of an image to no group (KEP 4639): its fsGroup does not matter.
	if p := v.WantsContext(); p != nil {
		return nil, p
	}
	uid, owner := string(v.Pod.UID), ""
	if !isShared {
		owner = uid + "/" + v.Spec.Name // what its reference names when it comes
	}
	files := filesRung(v.Root, nameOf(src.Reference, owner))
	files.Volume = "image^" + src.Reference
	files.Want = plugin.Sorted(append(files.Want, core.Param{Name: paramReference, Value: src.Reference}))
	top := mountRung(v.Root, uid, v.Spec.Name)
	top.Below = []hal.Key{files.Key}
	top.Want = plugin.Sorted(append(top.Want, core.Param{
		Name: paramSource, Value: plugin.PathOf(files.Want) + "/" + hal.ImageFiles, OnChange: core.OnChangeRebuild,
	}))
	return append(to, top, files), nil
}

func badReference(reference string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case reference == "":
		return "is empty; it must name an image: registry.example/team/app:v1"
	case len(reference) > mostReference:
		return "is longer than a reference can be"
	case strings.ContainsFunc(reference, odd) || strings.HasPrefix(reference, "-") || strings.Contains(reference, "://"):
		return plugin.Says(reference, "is not the reference of an image; write it like registry.example/team/app:v1")
	}
	return ""
}

// isLatest: a reference without a digest has no tag, or the tag latest: its pull policy is Always unless the volume
// says another one.
func isLatest(reference string) bool {
	last := reference[strings.LastIndex(reference, "/")+1:]
	_, tag, has := strings.Cut(last, ":")
	return !has || tag == "latest"
}

// nameOf names the directory of unpacked files: by their reference, which pods share, or by that and the one volume
// that they are for.
func nameOf(reference, owner string) string {
	sum := sha256.Sum256([]byte(reference + " " + owner))
	return hex.EncodeToString(sum[:])
}

// isName reports whether nameOf may have made a name.
func isName(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == sha256.Size && strings.ToLower(name) == name
}

// filesRung is all that the directory of unpacked files says of its rung.
func filesRung(root, name string) core.Rung {
	place := plugin.ImagePlace(root, name)
	return core.Rung{
		Key: FilesKey(name), Kind: KindFiles,
		Want: append(make([]core.Param, 0, 3),
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// mountRung is all that the place of a pod's volume says of its rung: a start that has no record of it makes it of that
// alone, and tears it down.
func mountRung(root, uid, volume string) core.Rung {
	place := plugin.PodPlace(root, uid, directory, volume)
	return core.Rung{
		Key: MountKey(uid, volume), Kind: KindMount, Pod: core.PodUID(uid),
		Want: append(make([]core.Param, 0, 6), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamReadOnly, Value: plugin.Yes},
			core.Param{Name: plugin.ParamSpec, Value: volume},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// scan is what a start finds of image volumes.
type scan struct {
	mounts plugin.Directories
	shows  map[hal.Key]hal.Key // the files that a mount shows: they stay as long as it does
	files  []string
}

func (l *scan) Entry(s *plugin.Scanner, uid, name string) {
	l.mounts.Entry(s, uid, name)
	r := mountRung(s.Root, uid, name)
	for _, m := range s.Mounts(plugin.PathOf(r.Want)) {
		if files := path.Base(strings.TrimSuffix(m.Root, "/"+hal.ImageFiles)); isName(files) {
			l.shows[r.Key] = FilesKey(files)
		}
	}
}

// Node lists the unpacked files. What is half unpacked, or half deleted, is of the same rung.
func (l *scan) Node(s *plugin.Scanner) error {
	dir := plugin.ImagesDir(s.Root)
	names, err := s.Top(dir)
	if err != nil {
		return err
	}
	l.files = s.Directories(dir, names)
	return nil
}

func (l *scan) Discover(d *plugin.Discovery) {
	before := len(d.Upper)
	l.mounts.Discover(d)
	for i := range d.Upper[before:] {
		if r := &d.Upper[before+i]; l.shows[r.Key] != "" {
			r.Below = []hal.Key{l.shows[r.Key]}
		}
	}
	isFound := map[string]bool{}
	for _, entry := range l.files {
		name := hal.Unpacked(op.Trashed(entry))
		switch {
		case !isName(name):
			d.Unrecognised(plugin.ImagesDir(d.Root)+"/"+entry, "the name is not that of an unpacked image")
		case !isFound[name]:
			isFound[name] = true
			d.Lower = append(d.Lower, filesRung(d.Root, name))
		}
	}
}
