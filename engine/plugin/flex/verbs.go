package flex

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// work is one operation.
type work struct {
	h            *hal.Host
	o            core.Op
	c            hal.Call
	path, driver string
}

func begin(h *hal.Host, o core.Op) work {
	return work{h, o, op.Call(o), core.Value(o.Params, plugin.ParamPath), core.Value(o.Params, paramDriver)}
}

// incomplete refuses parameters that a verb can't work with, before anything is touched.
func (w work) incomplete() (core.Result, bool) {
	if w.path != "" && w.driver != "" {
		return core.Result{}, false
	}
	return op.NotDone("the record of " + string(w.o.Key) + " has no path or no driver"), true
}

func inspect(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	return op.InspectResult(op.Inspect(h, w.c, w.path))
}

// setUp has the driver mount the volume. What is mounted already is it only if it was confirmed: an earlier call that
// has not told how it ended may have mounted it in another way, and is undone first.
func setUp(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if r, bad := w.incomplete(); bad {
		return r
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	top, mounted := seen.Top()
	switch {
	case mounted && top.Was(o.Fingerprint):
		return w.up(top)
	case mounted && !w.mayBeOwn(top, len(seen.Stack)):
		return w.mounted().Foreign(o, seen.Stack)
	case mounted:
		return undone("an earlier call has mounted " + w.path + "; volnode unmounts it, and has it mounted again")
	}
	if r, ok := w.suits(); !ok {
		return r
	}
	if err := op.Mkdirs(h, w.c, w.path, op.ParentMode); err != nil {
		return op.Unknown(err.Error()) // it may have made directories
	}
	return w.looked(h.Flex.Mount(w.c, w.driver, w.path, w.options()))
}

// undone is the end of a setup that may have left what the next one would not find as it should be.
func undone(reason string) core.Result {
	r := op.Unknown(reason)
	r.UndoFirst = true
	return r
}

// looked is the end of a setup whose driver has answered. No answer is believed before the mount table has been asked.
// Where a driver has failed and nothing is mounted, it is asked to mount once more: many fail to unmount what they have
// not mounted.
func (w work) looked(answer error) core.Result {
	said := "driver " + w.driver + " says that it has mounted the volume, but "
	if answer != nil {
		said = answer.Error() + "; "
	}
	seen, err := op.Inspect(w.h, w.c, w.path)
	if err != nil {
		return op.Unknown(said + "volnode cannot inspect the path: " + err.Error())
	}
	top, mounted := seen.Top()
	switch {
	case answer == nil && mounted && len(seen.Stack) == 1:
		return w.up(top)
	case answer == nil && mounted:
		return undone(said + "more than one mount is at " + w.path + "; volnode unmounts what is the volume's")
	case answer == nil:
		return undone(said + "nothing is mounted at " + w.path + "; see the log of the driver")
	case mounted:
		return undone(said + "and " + w.path + " is mounted; volnode unmounts it, and tries again")
	}
	r := op.Unknown(answer.Error())
	r.Blocked = isLasting(answer)
	return r
}

// isLasting: an error that needs a person.
func isLasting(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.EPERM, syscall.EINVAL, syscall.EOPNOTSUPP},
		func(errno syscall.Errno) bool { return hal.Is(err, errno) })
}

// initTimeout bounds what a driver needs to say what it can do.
const initTimeout = 30 * time.Second

// suits asks the driver whether it can do what the volume needs. It is asked each time, as a person may have put
// another version in its place.
func (w work) suits() (core.Result, bool) {
	c := w.c
	c.Deadline = w.h.Runtime.Now().Add(initTimeout)
	is, err := w.h.Flex.Init(c, w.driver)
	if err != nil {
		r := op.NotDone(reasonOf(err))
		r.Blocked = isLasting(err)
		return r, false
	}
	refused := op.NotDone("")
	refused.Blocked = true
	switch group := core.Value(w.o.Params, plugin.ParamGroup); {
	case is.Attach:
		refused.Reason = "driver " + w.driver + " wants its volumes attached to the node first (capability attach), which " +
			"volnode does not do; use a driver that says attach: false"
		return refused, false
	case is.FSGroup && group != "" && !plugin.IsReadOnly(w.o.Params):
		refused.Reason = "driver " + w.driver + " leaves it to the agent to give the files to group " + group +
			" (capability fsGroup), which volnode does not do; set the group on the volume and remove fsGroup"
		return refused, false
	}
	return core.Result{}, true
}

// reasonOf is an error without the name of the call, if it says enough by itself.
func reasonOf(err error) string {
	if e, is := errors.AsType[*hal.Error](err); is && e.Detail != "" && e.Reply != hal.ReplyStatus {
		return e.Detail
	}
	return err.Error()
}

// options are what the driver is told: of the pod, and of the volume (flexvolume.md, "JSON options").
func (w work) options() []hal.Option {
	value := func(name string) string { return core.Value(w.o.Params, name) }
	namespace, pod := plugin.PodOf(w.o.Params)
	mode := "rw"
	if plugin.IsReadOnly(w.o.Params) {
		mode = "ro"
	}
	all := []hal.Option{
		{Key: "kubernetes.io/fsType", Value: value(paramFSType)},
		{Key: "kubernetes.io/pod.name", Value: pod},
		{Key: "kubernetes.io/pod.namespace", Value: namespace},
		{Key: "kubernetes.io/pod.uid", Value: string(w.o.Pod)},
		{Key: "kubernetes.io/pvOrVolumeName", Value: value(plugin.ParamSpec)},
		{Key: "kubernetes.io/readwrite", Value: mode},
		{Key: "kubernetes.io/serviceAccount.name", Value: value(plugin.ParamAccount)},
	}
	if group := value(plugin.ParamGroup); group != "" {
		all = append(all, hal.Option{Key: "kubernetes.io/mounterArgs.FsGroup", Value: group})
	}
	own := map[string]string{}
	if text := value(paramOptions); text != "" && json.Unmarshal([]byte(text), &own) != nil {
		return all // a record that nobody wrote
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		all = append(all, hal.Option{Key: key, Value: own[key]})
	}
	slices.SortFunc(all, func(a, b hal.Option) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

func (w work) up(m hal.Mount) core.Result {
	return core.Result{
		Outcome: hal.Done, Fingerprint: m.Fingerprint(), Facts: []core.Fact{{Name: plugin.FactPath, Value: w.path}},
	}
}

// mounted is the mount.
func (w work) mounted() op.Mounted {
	return op.Mounted{
		Path: w.path, Stop: core.Value(w.o.Params, plugin.ParamStop),
		Owns: func(m hal.Mount, mounts int) (bool, error) { return w.mayBeOwn(m, mounts), nil },
	}
}

// mayBeOwn: m, one of so many mounts at the path, is the volume's for all that can be known. It is the one that was
// confirmed; or nothing was mounted there before the first intent, so what came since came by a call; or no record
// tells of the volume, and it is the only mount.
func (w work) mayBeOwn(m hal.Mount, mounts int) bool {
	switch {
	case m.Was(w.o.Fingerprint):
		return true
	case w.o.Verb != core.TearDown && w.o.First:
		return false
	case op.IsBare(w.o.Seen):
		return true
	}
	return w.o.Seen == core.SeenUnknown && mounts == 1
}

// tearDown has the driver unmount the volume, and unmounts what it leaves. Without the driver that is all that can be
// done. Where the directory is gone, an earlier teardown has come to its end.
func tearDown(h *hal.Host, o core.Op) core.Result {
	w := begin(h, o)
	if r, bad := w.incomplete(); bad {
		return r
	}
	seen, err := op.Inspect(h, w.c, w.path)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if top, mounted := seen.Top(); mounted && !w.mayBeOwn(top, len(seen.Stack)) {
		return w.mounted().Foreign(o, seen.Stack)
	}
	isAsked := seen.Exists && (len(seen.Stack) > 0 || seen.Type == hal.TypeDirectory)
	if isAsked {
		switch err := h.Flex.Unmount(w.c, w.driver, w.path); {
		case err == nil:
		case hal.OutcomeOf(err) != hal.NotDone:
			return undone(err.Error() + "; if nothing is left of the volume, remove the directory " + w.path)
		case !hal.Is(err, syscall.ENOENT) && !hal.Is(err, syscall.EOPNOTSUPP):
			// What the driver has of the volume outside this node's mounts only the driver can give back.
			r := op.NotDone(reasonOf(err) + "; if nothing is left of the volume, remove the directory " + w.path)
			r.Blocked = isLasting(err)
			return r
		default:
			isAsked = false // there is no driver, or it leaves that to the agent
		}
	}
	r := w.mounted().Remove(h, o)
	if isAsked && r.Outcome == hal.NotDone {
		r.Outcome, r.UndoFirst = hal.Unknown, true // the driver has let go of it
	}
	return r
}
