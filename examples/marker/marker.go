// Package marker is an example of a volume source: a directory with a file that says what the pod asks for. It is not
// part of volnode; its test adds it, in two lines of two tables, and has volsim and the kill matrix break it. See
// CONTRIBUTING.md, "Add a volume source".
package marker

import (
	"path"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

const (
	// Kind is the kind of the rungs of this package.
	Kind core.Kind = "marker"
	// Driver is the flexVolume driver that asks for a volume of this source.
	Driver = "example.com/marker"
	// File is the name of the marker in the directory of a volume.
	File = "marker"

	paramText = "text"
	mostText  = 4096 // bytes
)

// Source is the source.
func Source() plugin.Source {
	return plugin.Source{
		Name: "flexVolume", Plugin: Driver,
		InPod:  func(spec *corev1.Volume) bool { return spec.FlexVolume != nil && spec.FlexVolume.Driver == Driver },
		Ladder: ladder,
		Kinds:  []plugin.Kind{{Name: Kind, Verbs: plugin.Verbs{SetUp: setUp, TearDown: tearDown, Inspect: inspect}}},
		Scan:   func() plugin.Scan { return &scan{} },
	}
}

// Place is where a volume is.
func Place(root, uid, volume string) plugin.Place {
	source := Source()
	return plugin.PodPlace(root, uid, source.Directory(), volume)
}

func ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	text := v.Spec.FlexVolume.Options["text"]
	if len(text) > mostText {
		return nil, plugin.Problemf(v.Field(".flexVolume.options"), "text has %d bytes; at most %d are possible",
			len(text), mostText)
	}
	return append(to, rung(v.Root, string(v.Pod.UID), v.Spec.Name, text)), nil
}

func rung(root, uid, volume, text string) core.Rung {
	at := Place(root, uid, volume)
	return core.Rung{
		Key: hal.Key(string(Kind) + "/" + uid + "/" + volume), Kind: Kind, Pod: core.PodUID(uid),
		Want: append(make([]core.Param, 0, 4), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: at.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: at.Stop},
			core.Param{Name: paramText, Value: text, OnChange: core.OnChangeRefresh}),
	}
}

// setUp makes the directory, and then the marker: who finds the marker has it whole.
func setUp(h *hal.Host, o core.Op) core.Result {
	c, dir, text := op.Call(o), core.Value(o.Params, plugin.ParamPath), core.Value(o.Params, paramText)
	if dir == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath)
	}
	if err := op.Mkdirs(h, c, dir, op.ParentMode); err != nil {
		return op.Unknown(err.Error())
	}
	if err := op.WriteFile(h, c, path.Join(dir, File), []byte(text), 0o640); err != nil {
		return op.Unknown(err.Error())
	}
	r := inspect(h, o)
	if r.Outcome != hal.Done {
		return op.Unknown("set up, but volnode cannot inspect it: " + r.Reason)
	}
	r.Facts = []core.Fact{{Name: plugin.FactPath, Value: dir}}
	return r
}

func tearDown(h *hal.Host, o core.Op) core.Result {
	c, dir := op.Call(o), core.Value(o.Params, plugin.ParamPath)
	if dir == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath)
	}
	if err := op.RemoveFile(h, c, path.Join(dir, File)); err != nil {
		return op.Unknown(err.Error())
	}
	stays, err := op.Prune(h, c, dir, core.Value(o.Params, plugin.ParamStop))
	switch {
	case err != nil:
		return op.Unknown(err.Error())
	case stays == dir:
		r := op.Unknown(dir + " has files of somebody else; move them away")
		r.Blocked = true
		return r
	}
	return core.Result{Outcome: hal.Done}
}

// inspect tells a marker by its content: one that says something else is not what was set up.
func inspect(h *hal.Host, o core.Op) core.Result {
	c, dir := op.Call(o), core.Value(o.Params, plugin.ParamPath)
	seen, err := op.Inspect(h, c, dir)
	if err != nil || seen.Fingerprint() == "" {
		return op.InspectResult(seen, err)
	}
	text, err := h.Files.Read(c, path.Join(dir, File), mostText)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return core.Result{Outcome: hal.Done, Fingerprint: "a directory without a marker"}
	case err != nil:
		return op.NotDone(err.Error())
	}
	return core.Result{Outcome: hal.Done, Fingerprint: "marker " + string(text)}
}

// scan is what a start finds of this source.
type scan struct{ found [][2]string }

func (s *scan) Entry(_ *plugin.Scanner, uid, name string) {
	s.found = append(s.found, [2]string{uid, name})
}

func (s *scan) Node(*plugin.Scanner) error { return nil }

func (s *scan) Discover(d *plugin.Discovery) {
	for _, e := range s.found {
		uid, name := e[0], e[1]
		if at := Place(d.Root, uid, name).Path; d.IsPod(at, uid) {
			if plugin.BadVolumeName(name) != "" {
				d.Unrecognised(at, "the name is not the name of a volume")
				continue
			}
			d.Upper = append(d.Upper, rung(d.Root, uid, name, ""))
		}
	}
}
