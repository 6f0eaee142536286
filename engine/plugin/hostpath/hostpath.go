// Package hostpath is the volume source hostPath: a path of the host, handed to the pod as it is. Nothing is mounted and nothing is ever removed
// (K:G96); its one rung is up once the path has been found to be of the type that the pod asks for.
package hostpath

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Kind is the kind of the rungs of this package.
const Kind core.Kind = "hostpath"

const (
	paramPath = "path"
	paramType = "type"

	factPath = "path"

	maxPath = 4095 // PATH_MAX without its NUL
)

// Key is the key of a pod's hostPath.
func Key(uid, volume string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + volume) }

// Ladder makes the one rung of a hostPath, or says why it can't be served.
func Ladder(v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	src := v.Spec.HostPath
	if src == nil {
		return nil, plugin.Problemf(v.Field(""), "is not a hostPath")
	}
	if v.Block {
		return nil, plugin.Problemf(v.Field(".hostPath"), "a hostPath can't be a raw block device; use it in volumeMounts, with type BlockDevice")
	}
	field := v.Field(".hostPath.path")
	switch {
	case !strings.HasPrefix(src.Path, "/"):
		return nil, plugin.Problemf(field, "%q is not an absolute path", src.Path)
	case slices.Contains(strings.Split(src.Path, "/"), ".."):
		return nil, plugin.Problemf(field, `%q contains ".."; write the path without it`, src.Path)
	case len(src.Path) > maxPath || strings.ContainsFunc(src.Path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, plugin.Problemf(field, "is longer than %d bytes or has control characters", maxPath)
	}
	kind := corev1.HostPathUnset
	if src.Type != nil {
		kind = *src.Type
	}
	if _, ok := wanted(kind); !ok {
		return nil, plugin.Problemf(v.Field(".hostPath.type"), "%q is not a type of hostPath", kind)
	}
	return []core.Rung{{
		Key: Key(string(v.Pod.UID), v.Spec.Name), Kind: Kind, Pod: core.PodUID(v.Pod.UID),
		Want: []core.Param{
			{Name: paramPath, Value: path.Clean(src.Path), OnChange: core.OnChangeRebuild},
			{Name: paramType, Value: string(kind), OnChange: core.OnChangeRefresh},
		},
	}}, nil
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
func Verbs() plugin.Verbs { return plugin.Verbs{Climb: climb, Descend: descend, Look: look} }

// climb checks the type of the path. Only the types that say so make what is missing.
func climb(h *hal.Host, o core.Op) core.Result {
	c, at := op.Call(o), core.Value(o.Params, paramPath)
	kind := corev1.HostPathType(core.Value(o.Params, paramType))
	done := core.Result{Outcome: hal.Done, Facts: []core.Fact{{Name: factPath, Value: at}}}
	want, ok := wanted(kind)
	if at == "" || !ok {
		return op.NotDone(fmt.Sprintf("the record of %s has no path, or the unknown type %q", o.Key, kind))
	}
	if kind == corev1.HostPathUnset {
		return done
	}
	got, err := h.HostPaths.Type(c, at)
	if hal.Is(err, syscall.ENOENT) && (kind == corev1.HostPathDirectoryOrCreate || kind == corev1.HostPathFileOrCreate) {
		if err := h.HostPaths.Make(c, at, want); err != nil && !hal.Is(err, syscall.EEXIST) {
			return op.Failed(err)
		}
		got, err = h.HostPaths.Type(c, at)
	}
	if err != nil {
		return op.NotDone(err.Error())
	}
	if got != want {
		return op.NotDone(fmt.Sprintf("%s is a %s, and the pod asks for type %s", at, got, kind))
	}
	done.Fingerprint = "type " + got.String()
	return done
}

func descend(*hal.Host, core.Op) core.Result { return core.Result{Outcome: hal.Done} }

// look has nothing to look at: the path is the host's, and may hang. So a start does not find the type that was confirmed, and the climb that
// follows checks it again.
func look(*hal.Host, core.Op) core.Result { return core.Result{Outcome: hal.Done} }
