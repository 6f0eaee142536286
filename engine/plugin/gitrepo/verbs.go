package gitrepo

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// mark is the source of no mount.
const mark = "volnode-gitrepo"

func inspect(h *hal.Host, o core.Op) core.Result {
	return op.InspectResult(op.Inspect(h, op.Call(o), plugin.PathOf(o.Params)))
}

// volume is the directory of a volume.
func volume(o core.Op) op.Directory {
	return op.Directory{Path: plugin.PathOf(o.Params), Stop: core.Value(o.Params, plugin.ParamStop), Source: mark}
}

// partial is what a clone makes that does not end.
func partial(o core.Op) op.Directory {
	at := plugin.PathOf(o.Params)
	return op.Directory{Path: hal.Cloning(at), Stop: path.Dir(at), Source: mark}
}

// setUp clones the repository. A directory that is there is whole: it was made elsewhere and moved there.
func setUp(h *hal.Host, o core.Op) core.Result {
	c, at := op.Call(o), plugin.PathOf(o.Params)
	if at == "" || core.Value(o.Params, paramRepository) == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path or no repository")
	}
	seen, err := op.Inspect(h, c, at)
	if err != nil {
		return op.NotDone(err.Error())
	}
	if !seen.Exists {
		if err := op.Mkdirs(h, c, path.Dir(at), op.ParentMode); err != nil {
			return op.Unknown(err.Error())
		}
		if err := h.Repositories.Clone(c, repository(o)); err != nil {
			return notCloned(o, err)
		}
		if seen, err = op.Inspect(h, c, at); err != nil {
			return op.Unknown("cloned, but volnode cannot inspect it: " + err.Error())
		}
	}
	if _, mounted := seen.Top(); mounted || seen.Type != hal.TypeDirectory {
		r := op.Unknown(fmt.Sprintf("%s: unexpected %s in the place of a cloned repository; volnode leaves it alone; remove "+
			"it", at, op.Show(seen.Fingerprint())))
		r.Blocked = true
		return r
	}
	r := core.Result{Outcome: hal.Done, Fingerprint: seen.Fingerprint()}
	r.Facts = plugin.DirectoryFacts(h, o, volume(o), r.Fingerprint, plugin.DataLost)
	for _, d := range [...]op.Directory{partial(o), volume(o)} {
		short, more := d.ClearTrash(h, o)
		r.Short, r.Unfinished = cmp.Or(r.Short, short), r.Unfinished || more
	}
	return r
}

func repository(o core.Op) hal.Repository {
	r := hal.Repository{
		URL: core.Value(o.Params, paramRepository), Revision: core.Value(o.Params, paramRevision),
		Below: core.Value(o.Params, paramBelow), Dir: plugin.PathOf(o.Params),
	}
	if group := op.Number(core.Value(o.Params, plugin.ParamFSGroup)); group >= 0 {
		r.IsGroups, r.Group = true, uint32(group)
	}
	return r
}

// lasting are the errors that need a person.
var lasting = []syscall.Errno{syscall.EACCES, syscall.EBADMSG, syscall.EINVAL}

// notCloned: the outcome is Unknown, as a part of the files may be there, and the directories above.
func notCloned(o core.Op, err error) core.Result {
	reason := err.Error()
	if e, is := errors.AsType[*hal.Error](err); is && e.Detail != "" {
		reason = "repository " + core.Value(o.Params, paramRepository) + ": " + e.Detail // where it would be tells nothing
	}
	r := op.Unknown(reason)
	r.Blocked = slices.ContainsFunc(lasting, func(errno syscall.Errno) bool { return hal.Is(err, errno) })
	return r
}

// tearDown deletes the volume, and what clones have left that did not end.
func tearDown(h *hal.Host, o core.Op) core.Result {
	at := plugin.PathOf(o.Params)
	if at == "" {
		return op.NotDone("the record of " + string(o.Key) + " has no path")
	}
	if r, ok := plugin.MayDelete(h, o, at, paramRepository); !ok {
		return r
	}
	if r := partial(o).Remove(h, o); r.Outcome != hal.Done {
		return r
	}
	return volume(o).Remove(h, o)
}
