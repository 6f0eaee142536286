package plugin

import (
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// Directories is the [Scan] of a source whose volumes are directories of the pods' own: see [op.Directory]. Found is
// the rung of one that no record tells of, made such that it can be torn down. Bad says what is wrong with its name, ""
// if nothing: nil is [BadVolumeName]. Of is the name of the volume that an entry is, or that it is a remain of: nil is
// [op.Trashed].
type Directories struct {
	Found func(root, uid, volume string) core.Rung
	Bad   func(name string) string
	Of    func(entry string) string
	all   []Entry
}

// Entry notes a directory.
func (l *Directories) Entry(_ *Scanner, uid, name string) {
	l.all = append(l.all, Entry{Pod: uid, Name: name})
}

// Node finds nothing.
func (l *Directories) Node(*Scanner) error { return nil }

// Discover makes rungs. A directory and the remains of an earlier one of the same name are one rung.
func (l *Directories) Discover(d *Discovery) {
	isFound, bad, of := map[hal.Key]bool{}, l.Bad, l.Of
	if bad == nil {
		bad = BadVolumeName
	}
	if of == nil {
		of = op.Trashed
	}
	for _, e := range l.all {
		name := of(e.Name)
		rung := l.Found(d.Root, e.Pod, name)
		dir := PathOf(rung.Want)
		if !d.IsPod(dir, e.Pod) {
			continue
		}
		if bad(name) != "" {
			d.Unrecognised(PathOf(l.Found(d.Root, e.Pod, e.Name).Want), "the name is not the name of a volume")
			continue
		}
		if !isFound[rung.Key] {
			isFound[rung.Key] = true
			d.Upper = append(d.Upper, rung)
		}
	}
}

// FactIs is the directory, or the filesystem in memory, that a pod's containers were given.
const FactIs = "is"

// Loss is what it means for containers that their volume's directory is another one.
type Loss struct {
	Why string // for people
	// EndsWithBoot: what is there need not be there after a boot, and then no container has it.
	EndsWithBoot bool
}

// DirectoryFacts are those of a volume's directory that is up as the fingerprint is. If it was another one before,
// containers may run on that.
func DirectoryFacts(h *hal.Host, o core.Op, d op.Directory, is string, loss Loss) []core.Fact {
	boot, what := "", "its directory was removed or replaced"
	if loss.EndsWithBoot {
		boot = string(h.Runtime.BootID()) + " "
	}
	if d.InMemory {
		what = "its filesystem in memory was unmounted"
	}
	was, lost := core.FactOf(o.Facts, FactIs), core.FactOf(o.Facts, FactLost)
	if was != "" && was != boot+is && strings.HasPrefix(was, boot) && !o.Left && !d.HasTrash(h, o) {
		lost = what + " (now: " + is + "): " + loss.Why
	}
	all := []core.Fact{{Name: FactPath, Value: d.Path}, {Name: FactIs, Value: boot + is}}
	if lost != "" {
		all = append(all, core.Fact{Name: FactLost, Value: lost})
	}
	return all
}

// DataLost is the loss of a volume that holds data of its pod.
var DataLost = Loss{Why: "what it held is lost or elsewhere; containers that still run do not see the present one"}

// IsOurs reports whether a teardown with these parameters may delete what the directory holds: a record knows it, which
// alone gives it the parameter recorded, or a source has named its pod in this life of the agent, so that the pod is
// known, and known to be gone.
func IsOurs(made []core.Param, recorded string, isNamed bool) bool {
	return isNamed || slices.ContainsFunc(made, func(p core.Param) bool { return p.Name == recorded })
}

// MayDelete keeps what a directory holds that is not ours: the journal is lost, or it is another agent's.
func MayDelete(h *hal.Host, o core.Op, dir, recorded string) (core.Result, bool) {
	if IsOurs(o.Params, recorded, o.IsNamed) {
		return core.Result{}, true
	}
	seen, err := op.Inspect(h, op.Call(o), dir)
	if err != nil {
		return op.NotDone(err.Error()), false
	}
	c := op.Call(o)
	if top, mounted := seen.Top(); mounted {
		c.Inside = hal.Inside{Path: dir, ID: top.ID}
	}
	entries, err := h.Tree.List(c, dir)
	switch {
	case hal.Is(err, syscall.ENOENT) || err == nil && len(entries) == 0:
		return core.Result{}, true
	case err != nil:
		return op.NotDone(err.Error()), false
	}
	return op.NotDone(dir + op.KeptWhy), false
}
