package image

import (
	"cmp"
	"errors"
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

// work is one operation.
type work struct {
	h                       *hal.Host
	o                       core.Op
	c                       hal.Call
	path, source, reference string
}

func begin(h *hal.Host, o core.Op) work {
	return work{
		h, o, op.Call(o), core.Value(o.Params, plugin.ParamPath), core.Value(o.Params, paramSource),
		core.Value(o.Params, paramReference),
	}
}

func inspect(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	return op.InspectResult(op.Inspect(h, w.c, w.path))
}

// unpack makes the files of the image. A directory that is there is whole: it was made elsewhere and moved there.
func unpack(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" || w.reference == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path or no reference")
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if !seen.Exists {
		if err := op.Mkdirs(h, w.c, path.Dir(w.path), op.ParentMode); err != nil {
			return op.Unknown(err.Error())
		}
		if err := h.Images.Unpack(w.c, w.reference, w.path); err != nil {
			return w.notUnpacked(err)
		}
		if seen, err = op.Inspect(h, w.c, w.path); err != nil {
			return op.Unknown("unpacked, but volnode cannot inspect it: " + err.Error())
		}
	}
	if _, mounted := seen.Top(); mounted || seen.Type != hal.TypeDirectory {
		r := op.Unknown(fmt.Sprintf("%s: unexpected %s in the place of unpacked files; volnode leaves it alone; remove it",
			w.path, op.Show(seen.Fingerprint())))
		r.Blocked = true
		return r
	}
	digest, err := h.Files.Read(w.c, w.path+"/"+hal.ImageDigest, mostReference)
	if err != nil && !hal.Is(err, syscall.ENOENT) { // then somebody has removed it, and the files may be whole
		return op.Unknown("volnode cannot read which image it has unpacked: " + err.Error())
	}
	r := core.Result{
		Outcome: hal.Done, Fingerprint: seen.Fingerprint(),
		Facts: []core.Fact{{Name: factDigest, Value: string(digest)}},
	}
	for _, d := range [...]op.Directory{w.partial(), w.directory()} {
		short, more := d.ClearTrash(h, o)
		r.Short, r.Unfinished = cmp.Or(r.Short, short), r.Unfinished || more
	}
	return r
}

// lasting are the errors that need a person.
var lasting = []syscall.Errno{syscall.EBADMSG, syscall.EINVAL, syscall.EOPNOTSUPP, syscall.EPERM}

// notUnpacked: the outcome is Unknown, as a part of the files may be there.
func (w work) notUnpacked(err error) core.Result {
	reason := err.Error()
	if e, is := errors.AsType[*hal.Error](err); is && e.Detail != "" {
		reason = "image " + w.reference + ": " + e.Detail // where it would be unpacked tells nobody anything
	}
	r := op.Unknown(reason)
	r.Blocked = slices.ContainsFunc(lasting, func(errno syscall.Errno) bool { return hal.Is(err, errno) })
	return r
}

func (w work) directory() op.Directory {
	return op.Directory{Path: w.path, Stop: core.Value(w.o.Params, plugin.ParamStop)}
}

// partial is what an unpacking makes that does not end.
func (w work) partial() op.Directory {
	return op.Directory{Path: hal.Unpacking(w.path), Stop: path.Dir(w.path)}
}

// remove deletes the files of an image that no pod has any more.
func remove(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path")
	}
	if r := w.partial().Remove(h, o); r.Outcome != hal.Done {
		return r
	}
	return w.directory().Remove(h, o)
}

// mount binds the files for the pod. What is mounted already is the volume if it was confirmed, or if it shows the
// files as they are to be shown.
func mount(h *hal.Host, o core.Op) core.Result {
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
		return w.up(top)
	}
	found, err := h.HostPaths.Find(w.c, w.source)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !found.Exists || found.Type != hal.TypeDirectory:
		return op.NotDone(w.source + ": the unpacked files are not there; someone removed them; volnode unpacks them again")
	case mounted && !isAsked(top, found):
		return w.mounted().Foreign(o, seen.Stack)
	case mounted:
		return w.up(top)
	}
	if err := op.Mkdirs(h, w.c, w.path, op.ParentMode); err != nil {
		return op.Unknown(err.Error())
	}
	if err := h.Mounts.Bind(w.c, hal.BindSpec{Source: found.Path, Target: w.path, Flags: flags}); err != nil {
		return op.Unknown(err.Error())
	}
	if seen, err = op.Inspect(h, w.c, w.path); err != nil {
		return op.Unknown("set up, but volnode cannot inspect it: " + err.Error())
	}
	if top, mounted = seen.Top(); !mounted || !isAsked(top, found) {
		return w.mounted().Foreign(o, seen.Stack)
	}
	return w.up(top)
}

// isAsked: m shows the files as a pod may have them.
func isAsked(m hal.Mount, found hal.HostFile) bool {
	return shows(m, found) && m.ReadOnly && !slices.ContainsFunc(flags, func(flag string) bool {
		return flag != "ro" && !slices.Contains(m.Options, flag)
	})
}

func shows(m hal.Mount, found hal.HostFile) bool {
	return m.Device == found.Device && m.Root == found.Root
}

func (w work) up(m hal.Mount) core.Result {
	return core.Result{
		Outcome: hal.Done, Fingerprint: m.Fingerprint(), Facts: []core.Fact{{Name: plugin.FactPath, Value: w.path}},
	}
}

func unmount(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if w.path == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path")
	}
	return w.mounted().Remove(h, o)
}

func (w work) mounted() op.Mounted {
	return op.Mounted{Path: w.path, Stop: core.Value(w.o.Params, plugin.ParamStop), Owns: w.owns}
}

// owns: m shows unpacked files of an image, which nobody but volnode mounts at the place of a volume.
func (w work) owns(m hal.Mount, _ int) (bool, error) {
	// pods/<uid>/volumes/<source>/<name>, below the root directory
	root := strings.TrimSuffix(core.Value(w.o.Params, plugin.ParamStop), "/pods")
	images, err := w.h.HostPaths.Find(w.c, plugin.ImagesDir(root))
	if err != nil || !images.Exists {
		return false, err
	}
	return m.Device == images.Device && strings.HasPrefix(m.Root, images.Root+"/"), nil
}
