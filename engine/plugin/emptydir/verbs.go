package emptydir

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// source marks the filesystems in memory that are ours, in the mount table, across restarts.
const source = "volnode-emptydir"

func inspect(h *hal.Host, o core.Op) core.Result {
	return op.InspectResult(op.Inspect(h, op.Call(o), core.Value(o.Params, plugin.ParamPath)))
}

func setUp(h *hal.Host, o core.Op) core.Result {
	c, dir := op.Call(o), core.Value(o.Params, plugin.ParamPath)
	if dir == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath)
	}
	// A setup that fails from here on may have made directories, so it is Unknown: what it has made goes again if
	// nobody wants it any more. 0777 whatever the umask, as any user of the pod may write (K:G97).
	if err := op.Mkdirs(h, c, dir, 0o777); err != nil {
		return op.Unknown(err.Error())
	}
	if core.Value(o.Params, paramMedium) == memory {
		if r, ok := mountMemory(h, o, dir); !ok {
			return r
		}
	}
	seen, err := op.Inspect(h, c, dir)
	if err != nil {
		return op.Unknown("set up, but volnode cannot inspect it: " + err.Error())
	}
	top, mounted := seen.Top()
	inMemory := core.Value(o.Params, paramMedium) == memory
	if mounted != inMemory || mounted && !own(o, top) {
		return foreign(o, dir, seen)
	}
	if !mounted && seen.Type != hal.TypeDirectory {
		return op.Unknown(dir + " is no directory: someone removed or replaced the directory of the volume")
	}
	is := seen.Fingerprint()
	r := core.Result{Outcome: hal.Done, Fingerprint: is, Facts: facts(h, o, dir, is, mounted)}
	r.Short, r.Unfinished = clearTrash(h, o, dir)
	return r
}

// facts of a volume that is up. One that was up as another directory, or filesystem, has lost its data. Its content in
// memory ends with each boot.
func facts(h *hal.Host, o core.Op, dir, is string, mounted bool) []core.Fact {
	boot, lost := "", core.FactOf(o.Facts, plugin.FactLost)
	if mounted {
		boot = string(h.Runtime.BootID()) + " "
	}
	was := core.FactOf(o.Facts, factIs)
	switch {
	case was == "" || was == boot+is || !strings.HasPrefix(was, boot) || o.Left || hasTrash(h, o, dir):
	case boot != "":
		lost = "its filesystem in memory was unmounted: what it held is lost; containers that still run do not see " +
			"the new one, " + is
	default:
		lost = "its directory was removed or replaced: what it held is lost or elsewhere; containers that still run " +
			"do not see the present one, " + is
	}
	all := []core.Fact{{Name: plugin.FactPath, Value: dir}, {Name: factIs, Value: boot + is}}
	if lost != "" {
		all = append(all, core.Fact{Name: plugin.FactLost, Value: lost})
	}
	return all
}

// hasTrash reports whether a deletion of ours, which has not ended, is why the volume's directory is another one. A
// version that did not write down a deletion before it began may have begun it, or the line is lost.
func hasTrash(h *hal.Host, o core.Op, dir string) bool {
	info, err := h.Tree.Stat(op.Call(o), plugin.EmptyDirTrash(dir))
	return err == nil && info.Type == hal.TypeDirectory
}

// clearTrash goes on with a deletion that the pod's coming back has overtaken, and says what is left of it.
func clearTrash(h *hal.Host, o core.Op, dir string) (short string, more bool) {
	if o.First {
		return "", false
	}
	more, err := deleteTree(h, op.Call(o), plugin.EmptyDirTrash(dir), h.Runtime.Now().Add(deletionTurn))
	switch {
	case err != nil:
		return "cannot delete all files of its last life: " + err.Error(), false
	case more:
		return "volnode still deletes files of its last life", true
	}
	return "", false
}

// mountMemory mounts the filesystem in memory, unless it stands. Its second result is false if the setup ends here.
func mountMemory(h *hal.Host, o core.Op, dir string) (core.Result, bool) {
	c := op.Call(o)
	seen, err := op.Inspect(h, c, dir)
	if err != nil {
		return op.Unknown(err.Error()), false
	}
	if _, mounted := seen.Top(); mounted {
		return core.Result{}, true // ours or not: the inspection that follows tells
	}
	options := []hal.Option{{Key: "mode", Value: "0777"}}
	if size := core.Value(o.Params, paramSize); size != "" {
		options = append(options, hal.Option{Key: "size", Value: size})
	}
	mount := hal.NewMount{
		FSType: "tmpfs", Source: source, Target: dir, Options: options,
		Flags: []string{"nosuid", "nodev"},
	}
	// what a pod keeps in memory is not to reach a disk, as with the kubelet
	mount.Options = append(slices.Clone(options), hal.Option{Key: "noswap"})
	err = h.Mounts.Mount(c, mount)
	if hal.Is(err, syscall.EINVAL) && hal.OutcomeOf(err) == hal.NotDone {
		// a kernel before 6.4 does not know noswap, and has mounted nothing
		mount.Options = options
		err = h.Mounts.Mount(c, mount)
	}
	if err != nil {
		return op.Unknown(err.Error()), false
	}
	return core.Result{}, true
}

// own: m is the mount that was confirmed, or carries our mark.
func own(o core.Op, m hal.Mount) bool {
	return m.Fingerprint() == o.Fingerprint || m.FSType == "tmpfs" && m.Source == source
}

func foreign(o core.Op, dir string, seen op.Seen) core.Result {
	r := op.Unknown(fmt.Sprintf("%s: unexpected mount %s (recorded: %s); volnode leaves it alone; unmount it",
		dir, seen.Fingerprint(), op.Show(o.Fingerprint)))
	r.Blocked = true
	return r
}

// tearDown moves the directory aside before it deletes it, so that what is at the path is always whole or gone, and
// one that was cut short goes on where it was. A mount below the directory, which a container may have left there,
// stops it before anything is touched.
func tearDown(h *hal.Host, o core.Op) core.Result {
	c, dir := op.Call(o), core.Value(o.Params, plugin.ParamPath)
	if dir == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath)
	}
	trash := plugin.EmptyDirTrash(dir)
	if r, ok := mayDelete(h, o, dir); !ok {
		return r
	}
	if r, ok := clearMounts(h, o, dir, trash); !ok {
		return r
	}
	until := h.Runtime.Now().Add(deletionTurn)
	if more, err := deleteTree(h, c, trash, until); more || err != nil {
		return leftover(more, err)
	}
	err := h.Tree.Rename(c, dir, trash)
	switch {
	case hal.Is(err, syscall.ENOENT):
	case err != nil:
		return refused(op.Unknown("cannot move its directory aside to delete it: "+err.Error()), err)
	default:
		if more, err := deleteTree(h, c, trash, until); more || err != nil {
			return leftover(more, err)
		}
	}
	if _, err := op.Prune(h, c, path.Dir(dir), core.Value(o.Params, plugin.ParamStop)); err != nil {
		return op.Unknown(err.Error())
	}
	return core.Result{Outcome: hal.Done}
}

const (
	// deletionTurn is how long one operation deletes. The next one goes on: so a stop of the agent never waits for
	// millions of files.
	deletionTurn = time.Second
	// A step of a deletion is as large as the disk allows, for a stop waits for its end.
	firstStep, largestStep = 256, 1 << 16 // names
	longStep               = 50 * time.Millisecond
)

// deleteTree deletes what is at a path until it is gone, nothing more can go, or it is time to stop; then it reports
// that more is left.
func deleteTree(h *hal.Host, c hal.Call, path string, until hal.Instant) (more bool, err error) {
	for limit := firstStep; ; {
		begun := h.Runtime.Now()
		more, err := h.Tree.RemoveTree(c, path, limit)
		now := h.Runtime.Now()
		if !more || err != nil || now >= until {
			return more, err
		}
		if now.Sub(begun) < longStep {
			limit = min(2*limit, largestStep)
		}
	}
}

// mayDelete keeps what a directory holds that no record tells of: its journal is lost, or it is another agent's, and
// nobody has said that its pod is gone. Only a pod that a source named in this life of the agent, and that was removed
// since, is known to be gone.
func mayDelete(h *hal.Host, o core.Op, dir string) (core.Result, bool) {
	if isOurs(o.Params, o.IsNamed) {
		return core.Result{}, true
	}
	entries, err := h.Tree.List(op.Call(o), dir)
	switch {
	case hal.Is(err, syscall.ENOENT) || err == nil && len(entries) == 0:
		return core.Result{}, true
	case err != nil && !hal.Is(err, syscall.EXDEV):
		return op.NotDone(err.Error()), false
	}
	return op.NotDone(dir + op.KeptWhy), false
}

// clearMounts unmounts the volume's own filesystem and makes sure that no other mount is at or below the directory.
func clearMounts(h *hal.Host, o core.Op, dir, trash string) (core.Result, bool) {
	c := op.Call(o)
	beside, err := h.Mounts.Within(c, path.Dir(dir)) // dir and trash lie there
	if err != nil {
		return op.NotDone(err.Error()), false
	}
	below := append(op.MountsBelow(beside, dir), op.MountsBelow(beside, trash)...)
	if len(below) > 0 {
		r := op.NotDone(fmt.Sprintf("cannot delete it: %s is mounted on %s, below the volume; volnode leaves it alone; "+
			"unmount it",
			below[0].Fingerprint(), below[0].Path))
		r.Blocked = true
		return r, false
	}
	seen, err := op.Inspect(h, c, dir)
	if err != nil {
		return op.NotDone(err.Error()), false
	}
	for i := len(seen.Stack) - 1; i >= 0; i-- {
		if m := seen.Stack[i]; !own(o, m) {
			return foreign(o, dir, op.Seen{Stack: seen.Stack[:i+1], Exists: true}), false
		}
		if err := h.Mounts.Unmount(c, dir, seen.Stack[i].ID); err != nil {
			if i < len(seen.Stack)-1 {
				return op.Unknown(err.Error()), false
			}
			return op.Failed(err), false
		}
	}
	return core.Result{}, true
}

// leftover: the volume is gone from its path, what it held is not yet deleted.
func leftover(more bool, err error) core.Result {
	if err == nil && more {
		r := op.Unknown("volnode deletes its files")
		r.Unfinished = true
		return r
	}
	return refused(op.Unknown("cannot delete all of its files: "+err.Error()), err)
}

// lasting are the errors that trying again does not mend.
var lasting = []syscall.Errno{
	syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.EXDEV, syscall.ELOOP,
	syscall.ENOTDIR,
}

// refused is r, which waits for a person if err lasts.
func refused(r core.Result, err error) core.Result {
	r.Blocked = slices.ContainsFunc(lasting, func(errno syscall.Errno) bool { return hal.Is(err, errno) })
	return r
}
