// Package hostpath is the volume source hostPath: a path of the host, handed to the pod as it is. Nothing is mounted
// and nothing is ever removed (K:G96); its one rung is up once the path has been found to be of the type that the pod
// asks for, and in no place of volnode's own: what is deleted there would be the host's.
package hostpath

import (
	"fmt"
	"path"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "hostpath"

const paramType = "type"

// Key is the key of a pod's hostPath.
func Key(uid, volume string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + volume) }

// Source is hostPath. It leaves nothing that a start could find.
func Source() plugin.Source {
	return plugin.Source{
		Name: "hostPath", Plugin: "kubernetes.io/host-path",
		InPod:  func(spec *corev1.Volume) bool { return spec.HostPath != nil },
		Ladder: Ladder,
		Kinds:  []plugin.Kind{{Name: Kind, Verbs: Verbs(), IsOfHost: true}},
	}
}

// Ladder makes the one rung of a hostPath, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	src := v.Spec.HostPath
	if src == nil {
		return nil, plugin.Problemf(v.Field(""), "is not a hostPath")
	}
	if v.Block {
		return nil, plugin.Problemf(v.Field(".hostPath"),
			"a hostPath can't be a raw block device; use it in volumeMounts, with type BlockDevice")
	}
	if p := plugin.BadHostPath(v.Field(".hostPath.path"), src.Path); p != nil {
		return nil, p
	}
	kind := corev1.HostPathUnset
	if src.Type != nil {
		kind = *src.Type
	}
	if _, ok := wanted(kind); !ok {
		return nil, plugin.Problemf(v.Field(".hostPath.type"), "%q is not a type of hostPath; write Directory, "+
			"DirectoryOrCreate, File, FileOrCreate, Socket, CharDevice or BlockDevice, or leave it out", kind)
	}
	return append(to, core.Rung{
		Key: Key(string(v.Pod.UID), v.Spec.Name), Kind: Kind, Pod: core.PodUID(v.Pod.UID),
		Want: []core.Param{
			{Name: plugin.ParamPath, Value: path.Clean(src.Path), OnChange: core.OnChangeRebuild},
			{Name: paramType, Value: string(kind), OnChange: core.OnChangeRefresh},
		},
	}), nil
}

// wanted is the file type that a type of hostPath asks for; false for an unknown one. An empty type asks for nothing.
func wanted(t corev1.HostPathType) (hal.FileType, bool) {
	switch t {
	case corev1.HostPathUnset:
		return hal.TypeOther, true
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		return hal.TypeDirectory, true
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		return hal.TypeFile, true
	case corev1.HostPathSocket:
		return hal.TypeSocket, true
	case corev1.HostPathCharDev:
		return hal.TypeCharDevice, true
	case corev1.HostPathBlockDev:
		return hal.TypeBlockDevice, true
	}
	return hal.TypeOther, false
}

// Verbs move the rungs of this package.
func Verbs() plugin.Verbs { return plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect} }

// setUp checks where the path leads and of what type it is. Only the types that say so make what is missing.
func setUp(h *hal.Host, o core.Op) core.Result {
	c, at := op.Call(o), core.Value(o.Params, plugin.ParamPath)
	kind := corev1.HostPathType(core.Value(o.Params, paramType))
	want, ok := wanted(kind)
	switch {
	case at == "":
		return op.NotDone(fmt.Sprintf("the record of %s has no path", o.Key))
	case !ok:
		return op.NotDone(fmt.Sprintf("the record of %s has the unknown type %q", o.Key, kind))
	}
	found, err := h.HostPaths.Find(c, at)
	mayMake := kind == corev1.HostPathDirectoryOrCreate || kind == corev1.HostPathFileOrCreate
	if err == nil && !found.Exists && plugin.OwnedBelow(found.Below) == "" && mayMake {
		if err := h.HostPaths.Make(c, at, want); err != nil && !hal.Is(err, syscall.EEXIST) {
			return op.Failed(err)
		}
		found, err = h.HostPaths.Find(c, at)
	}
	if err != nil {
		return op.NotDone(err.Error())
	}
	owned := plugin.OwnedBelow(found.Below)
	switch {
	case owned != "":
		r := op.NotDone(fmt.Sprintf("hostPath %s leads to %s; volnode does not serve it, and tries again; use "+
			"another path", at, owned))
		r.Blocked = true
		return r
	case kind == corev1.HostPathUnset:
	case !found.Exists:
		return op.NotDone(fmt.Sprintf("there is no %s, and the pod asks for type %s; create it", at, kind))
	case found.Type != want:
		return op.NotDone(fmt.Sprintf("%s is a %s, and the pod asks for type %s", at, found.Type, kind))
	}
	return core.Result{
		Outcome: hal.Done, Facts: []core.Fact{{Name: plugin.FactPath, Value: at}},
		Fingerprint: fingerprint(kind, found),
	}
}

// fingerprint is that of a path which may be served as a type.
func fingerprint(kind corev1.HostPathType, found hal.HostFile) string {
	if kind == corev1.HostPathUnset {
		return "any type"
	}
	return "type " + found.Type.String()
}

func tearDown(*hal.Host, core.Op) core.Result { return core.Result{Outcome: hal.Done} }

// inspect checks what setup does, as a link may lead elsewhere by now, but asks the kernel's cache alone: the path is
// the host's, and may hang. What the cache can't tell, and what may not be served, a start does not find as it was
// confirmed. The setup that follows checks it again.
func inspect(h *hal.Host, o core.Op) core.Result {
	at, kind := core.Value(o.Params, plugin.ParamPath), corev1.HostPathType(core.Value(o.Params, paramType))
	want, isKnown := wanted(kind)
	if !isKnown || o.Fingerprint == "" {
		return core.Result{Outcome: hal.Done}
	}
	found, err := h.HostPaths.Cached(op.Call(o), at)
	if err != nil || plugin.OwnedBelow(found.Below) != "" || kind != corev1.HostPathUnset &&
		(!found.Exists || found.Type != want) {
		return core.Result{Outcome: hal.Done}
	}
	return core.Result{Outcome: hal.Done, Fingerprint: fingerprint(kind, found)}
}
