package emptydir

import (
	"cmp"
	"strconv"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// directory is that of a volume. 0777, as any user of the pod may write (K:G97).
func directory(o core.Op) (d op.Directory, r core.Result, ok bool) {
	d = op.Directory{
		Path: core.Value(o.Params, plugin.ParamPath), Stop: core.Value(o.Params, plugin.ParamStop), Mode: 0o777,
		Source: "volnode-emptydir", InMemory: core.Value(o.Params, paramMedium) != "",
		Group: core.Value(o.Params, plugin.ParamFSGroup), PageSize: core.Value(o.Params, paramPages),
	}
	switch {
	case d.InMemory:
		d.Size = core.Value(o.Params, paramSize)
	default:
		d.IsLimited, d.Project = mayBeHeld(o), projectOf(o)
	}
	if d.Path == "" {
		return d, op.NotDone("the record of " + string(o.Key) + " has no " + plugin.ParamPath), false
	}
	return d, r, true
}

func inspect(h *hal.Host, o core.Op) core.Result {
	return op.InspectResult(op.Inspect(h, op.Call(o), core.Value(o.Params, plugin.ParamPath)))
}

func setUp(h *hal.Host, o core.Op) core.Result {
	d, r, ok := directory(o)
	if !ok {
		return r
	}
	if _, r, ok = d.Make(h, o); !ok {
		return r
	}
	if core.FactOf(o.Facts, plugin.FactIs) != r.Fingerprint {
		d.Project = 0 // it was another directory's
	}
	project, short, bad, ok := hold(h, o, d)
	if !ok {
		return bad
	}
	loss := plugin.DataLost
	if d.InMemory {
		loss = memoryLost
	}
	r.Facts = plugin.DirectoryFacts(h, o, d, r.Fingerprint, loss)
	if project != 0 {
		r.Facts = append(r.Facts, core.Fact{Name: factProject, Value: strconv.FormatUint(uint64(project), 10)})
	}
	r.Short, r.Unfinished = d.ClearTrash(h, o)
	r.Short = cmp.Or(short, r.Short)
	return r
}

var memoryLost = plugin.Loss{
	Why: "what it held is lost; containers that still run do not see the present one", EndsWithBoot: true,
}

// projectOf is the project of a volume's quota as it was up last, 0 if that is not known.
func projectOf(o core.Op) uint32 {
	text := core.FactOf(o.Facts, factProject)
	if text == "" {
		return 0 // an error would cost memory
	}
	project, _ := strconv.ParseUint(text, 10, 32)
	return uint32(project)
}

// mayBeHeld: some setup may have had a quota hold it. That of one that never was up is not known.
func mayBeHeld(o core.Op) bool {
	isUnsure := core.FactOf(o.Facts, plugin.FactIs) == "" && (limitOf(o.Params) > 0 || !isRecorded(o.Params))
	return isHeld(o.Params) || projectOf(o) != 0 || isUnsure && !o.First
}

const notHeld = "no quota holds it to its limit: "

// hold has a quota hold the directory to its limit, and lifts one that was set before it was not wanted. short says why
// it does not hold a volume that goes on all the same.
func hold(h *hal.Host, o core.Op, d op.Directory) (project uint32, short string, r core.Result, ok bool) {
	var err error
	switch {
	case isHeld(o.Params):
		project, err = h.Quotas.Limit(op.Call(o), d.Path, limitOf(o.Params), d.Project)
	case d.IsLimited:
		if err = h.Quotas.Lift(op.Call(o), d.Path, d.Project); hal.Is(err, syscall.EEXIST) {
			err = nil // it is another one's
		}
	}
	isForeign := hal.Is(err, syscall.EEXIST)
	switch {
	case err == nil:
		return project, "", r, true
	case hal.Is(err, syscall.ENOTEMPTY), isForeign && core.FactOf(o.Facts, plugin.FactIs) != "":
		short = notHeld + err.Error() + "; one does once the pod is made again"
		return d.Project, short, r, true
	}
	r = op.Unknown(notHeld + err.Error())
	r.Blocked = isForeign || hal.Is(err, syscall.EOPNOTSUPP)
	return 0, "", r, false
}

func tearDown(h *hal.Host, o core.Op) core.Result {
	d, r, ok := directory(o)
	if !ok {
		return r
	}
	if r, ok := plugin.MayDelete(h, o, d.Path, paramMedium); !ok {
		return r
	}
	return d.Remove(h, o)
}
