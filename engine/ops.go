package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// operations is what core has asked for and is under way.
type operations struct {
	*port
	isNamed func(core.PodUID) bool // by a source, in this life
	// of their calls and answers
	drivers interface {
		instance(driver string) string
		hears(driver, instance string, a answer)
	}
	// of the directories they make
	places interface {
		isWatched(hal.Key) bool
		unwatch(hal.Key)
		watchMade(op *core.Op, res *core.Result, isWatched bool) (end func())
		keepWatch(key hal.Key, end func())
	}
	clean  func(string) string          // without secrets
	begins func()                       // is called when an operation begins
	over   func(*core.Op, *core.Result) // is called when an operation ends, after core

	running int     // Invariant: Run does not return before it is 0, unless its context ends.
	ended   []*task // for reuse
}

// task is an operation under way. Its memory is used again for another once it has ended.
type task struct {
	of          *operations // whose it is
	op          core.Op     // what core asked for
	began       hal.Instant // when
	instance    string      // the process that serves its actor, "" if there is none or it is not known
	isWatched   bool        // its directory is watched while it runs
	host        hal.Host    // as the operation has it
	node        lateNode    // of host
	res         core.Result // how it ended
	endOfWatch  func()      // nil if nothing is watched
	panicked    string      // what the verb panicked with, "" if it did not
	stack       string      // where
	run, finish func()      // beside the owner, then on it
	verb        func()      // the part of run that may panic
}

// mostTasks is how many tasks are kept for later operations: those of four actors.
const mostTasks = 4 * core.MaxInFlight

func (o *operations) newTask() *task {
	if last := len(o.ended) - 1; last >= 0 {
		t := o.ended[last]
		o.ended = o.ended[:last]
		return t
	}
	t := &task{of: o, host: o.h}
	t.node.discreetNode, t.node.answeredLate = o.h.CSINode.(discreetNode), o.answeredLate
	t.host.CSINode = &t.node
	t.run, t.finish, t.verb = t.runs, t.finishes, func() { t.res = run(o.cfg.VolumeSources, &t.host, t.op) }
	return t
}

// launch runs an operation beside the owner and feeds its end to core.
func (o *operations) launch(op *core.Op) {
	o.running++
	o.begins()
	t := o.newTask()
	t.op, t.op.IsNamed = *op, o.isNamed(op.Pod)
	if op.Verb == core.TearDown {
		o.places.unwatch(op.Key)
	}
	t.began, t.instance, t.isWatched = o.h.Runtime.Now(), o.drivers.instance(op.Actor), o.places.isWatched(op.Key)
	if op.Actor != "" {
		t.node.volume = plugin.SecretsOf(op.Params) // its driver may quote them
	}
	if o.isHeard(LevelDebug) {
		o.emit(started(op))
	}
	o.h.Runtime.Go(t.run)
}

func (t *task) runs() {
	if t.panicked, t.stack = hal.Guard(t.verb); t.panicked != "" {
		// What it has asked for may still come.
		t.res = core.Result{
			Outcome: hal.Unknown, Fenced: true, Panicked: true, Blocked: true,
			Reason: "defect of volnode: the operation panicked; volnode tries again every two minutes; " +
				"report the stack in the log",
		}
	}
	t.endOfWatch = t.of.places.watchMade(&t.op, &t.res, t.isWatched)
	t.of.h.Runtime.Post(t.finish)
}

func (t *task) finishes() {
	o := t.of
	o.drivers.hears(t.op.Actor, t.instance, t.node.last)
	o.places.keepWatch(t.op.Key, t.endOfWatch)
	if t.panicked != "" {
		o.defect(OperationPanicked{started(&t.op), o.clean(t.panicked), t.stack})
	}
	// Which process was asked is known if there was one and the same all the time.
	if o.drivers.instance(t.op.Actor) == t.instance {
		t.res.Instance = t.instance
	}
	o.end(&t.op, &t.res, o.h.Runtime.Now().Sub(t.began))
	t.op, t.res, t.endOfWatch, t.node.volume, t.node.last, t.panicked = core.Op{}, core.Result{}, nil, nil, answer{}, ""
	if len(o.ended) < mostTasks {
		o.ended = append(o.ended, t)
	}
}

func started(op *core.Op) OperationStarted { return OperationStarted{op.ID, op.Verb, op.Kind, op.Key} }

func (o *operations) end(op *core.Op, res *core.Result, took time.Duration) {
	o.running--
	if o.isHeard(LevelError) {
		e := OperationEnded{started(op), res.Outcome, res.Unfinished, o.goesOn(op, res), res.Reason, took}
		if o.isHeard(e.level()) {
			o.emit(e)
		}
	}
	if lost := plugin.LostOf(res.Facts); lost != "" && lost != plugin.LostOf(op.Facts) {
		o.emit(VolumeLost{op.Key, lost})
	}
	step(o.port, core.Completed{Op: op.ID, Result: *res})
	o.over(op, res)
	o.rested()
}

// goesOn reports whether the log needs no line of an operation: it is a further turn of a long one, it keeps data
// again, or it repeats a setup because it is time to.
func (o *operations) goesOn(is *core.Op, res *core.Result) bool {
	isKept := op.IsKept(res.Reason)
	renews := is.Verb == core.Refresh && res.Outcome == hal.Done
	if !isKept && !res.Unfinished && !renews {
		return false
	}
	v, _ := o.core.Rung(is.Key)
	if renews && v.Reason == "" && slices.Equal(v.Made, is.Params) {
		return true
	}
	if isKept && v.Reason == res.Reason {
		return true
	}
	return res.Unfinished && (v.Reason == res.Reason || v.Short != "" && v.Short == res.Short)
}

// run carries out one verb.
func run(sources kinds.Table, h *hal.Host, op core.Op) core.Result {
	verbs, ok := sources.VerbsOf(op.Kind)
	if !ok {
		return core.Result{
			Outcome: hal.NotDone, Blocked: true,
			Reason: fmt.Sprintf("no plugin for kind %q: another build wrote the journal", op.Kind),
		}
	}
	switch op.Verb {
	case core.Inspect:
		return verbs.Inspect(h, op)
	case core.SetUp, core.Refresh:
		return verbs.SetUp(h, op)
	case core.TearDown:
		return verbs.TearDown(h, op)
	}
	panic(fmt.Sprintf("engine: verb %d", op.Verb))
}

// lateNode sees to it that an answer that comes after a call's deadline reaches core, if it proves that the call has
// ended, as it would have in time.
type lateNode struct {
	discreetNode
	answeredLate func(hal.OpID, error) // is called on the task of the call
	last         answer                // of the operation
}

// answeredLate takes in an answer that came late. Owner only.
func (o *operations) answeredLate(op hal.OpID, err error) {
	if o.cfg.VolumeSources.Ends(o.core.KindOf(op), err) {
		step(o.port, core.Answered{Op: op})
	}
}

func (n *lateNode) late(c hal.Call) hal.Call {
	c.Late = n.answeredLate
	return c
}

func (n *lateNode) Stage(c hal.Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error,
) {
	answer, err := n.discreetNode.Stage(n.late(c), driver, r)
	n.last.take(n.runtime.Now(), "NodeStageVolume", err)
	return answer, err
}

func (n *lateNode) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error,
) {
	answer, err := n.discreetNode.Unstage(n.late(c), driver, r)
	n.last.take(n.runtime.Now(), "NodeUnstageVolume", err)
	return answer, err
}

func (n *lateNode) Publish(c hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	answer, err := n.discreetNode.Publish(n.late(c), driver, r)
	n.last.take(n.runtime.Now(), "NodePublishVolume", err)
	return answer, err
}

func (n *lateNode) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	answer, err := n.discreetNode.Unpublish(n.late(c), driver, r)
	n.last.take(n.runtime.Now(), "NodeUnpublishVolume", err)
	return answer, err
}
