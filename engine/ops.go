package engine

import (
	"fmt"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	csiplugin "github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// task is an operation under way. Its memory is used again for another once it has ended.
type task struct {
	m           *VolumeManager
	op          core.Op
	instance    string // the process that serves its actor, "" if there is none or it is not known
	isWatched   bool
	host        hal.Host // as the operation has it
	node        lateNode // of host
	res         core.Result
	endOfWatch  func()
	panicked    string // what the verb panicked with, "" if it did not
	stack       string // where
	run, finish func() // beside the owner, then on it
	verb        func() // the part of run that may panic
}

// mostTasks is how many tasks are kept for later operations: those of four actors.
const mostTasks = 4 * core.MaxInFlight

func (m *VolumeManager) newTask() *task {
	if last := len(m.tasks) - 1; last >= 0 {
		t := m.tasks[last]
		m.tasks = m.tasks[:last]
		return t
	}
	t := &task{m: m, host: m.h}
	t.host.CSINode = &t.node
	t.run, t.finish, t.verb = t.runs, t.finishes, func() { t.res = run(m.cfg.VolumeSources, &t.host, t.op) }
	return t
}

// launch runs an operation beside the owner and feeds its end to core.
func (m *VolumeManager) launch(op *core.Op) {
	m.running++
	t := m.newTask()
	t.op, t.op.IsNamed = *op, m.objects.isNamed(op.Pod)
	if op.Verb == core.TearDown {
		m.places.unwatch(op.Key)
	}
	t.instance, t.isWatched = m.drivers.instance(op.Actor), m.places.watched[op.Key] != nil
	t.node = lateNode{discreetNode: m.node, answeredLate: m.late}
	if op.Actor != "" {
		t.node.discreetNode = m.node.of(op)
	}
	m.h.Runtime.Go(t.run)
}

func (t *task) runs() {
	if t.panicked, t.stack = hal.Guard(t.verb); t.panicked != "" {
		// What it has asked for may still come.
		t.res = core.Result{
			Outcome: hal.Unknown, Fenced: true, Panicked: true, Blocked: true,
			Reason: "defect of volnode: the operation panicked; volnode tries again every two minutes; report the stack in the log",
		}
	}
	t.endOfWatch = t.m.places.watchMade(&t.op, &t.res, t.isWatched)
	t.m.h.Runtime.Post(t.finish)
}

func (t *task) finishes() {
	m := t.m
	m.drivers.hears(t.op.Actor, t.instance, t.node.last)
	m.places.keepWatch(t.op.Key, t.endOfWatch)
	if t.panicked != "" {
		m.defect("an operation panicked", "op", strconv.FormatUint(uint64(t.op.ID), 10), "verb", t.op.Verb.String(), "rung",
			string(t.op.Key), "panic", m.ears.said.Clean(t.panicked), "stack", t.stack)
	}
	// Which process was asked is known if there was one and the same all the time.
	if m.drivers.instance(t.op.Actor) == t.instance {
		t.res.Instance = t.instance
	}
	m.ended(&t.op, t.res)
	t.op, t.res, t.node, t.endOfWatch, t.panicked = core.Op{}, core.Result{}, lateNode{}, nil, ""
	if len(m.tasks) < mostTasks {
		m.tasks = append(m.tasks, t)
	}
}

func (m *VolumeManager) ended(op *core.Op, res core.Result) {
	m.running--
	m.hidden.note(op.Key)
	if op.Verb != core.Inspect && m.isHeard() && !m.goesOn(op.Key, res) {
		level := LevelInfo
		if res.Outcome != hal.Done && !res.Unfinished {
			level = LevelWarn
		}
		fields := []string{
			"op", strconv.FormatUint(uint64(op.ID), 10), "verb", op.Verb.String(), "rung",
			string(op.Key), "outcome", res.Outcome.String(),
		}
		if res.Reason != "" {
			fields = append(fields, "reason", res.Reason)
		}
		m.log(level, "operation", fields...)
	}
	if lost := plugin.LostOf(res.Facts); lost != "" && lost != plugin.LostOf(op.Facts) {
		m.log(LevelError, "volume lost its data", "rung", string(op.Key), "what", lost)
	}
	step(&m.port, core.Completed{Op: op.ID, Result: res})
	if op.Verb == core.TearDown && res.Outcome != hal.Done {
		m.places.watchAgain(op) // its watch ended when it began
	}
	if at := plugin.PathOf(op.Params); res.Blocked && at != "" {
		m.drift.tableChanged([]string{at}) // later changes are compared with what is there now
	} else {
		delete(m.drift.blocked, op.Key)
	}
	if res.AboveUnknown && op.Pod == "" { // what is published has nothing above it
		m.lookForUsers()
	}
	if res.Unsent {
		m.drivers.unreached(op.Actor)
	}
	m.checkStopped()
}

// goesOn reports whether an operation is one more turn of a long one, which was told of when it began, or of one that
// keeps data again.
func (m *VolumeManager) goesOn(key hal.Key, res core.Result) bool {
	isKept := op.IsKept(res.Reason)
	if !isKept && !res.Unfinished {
		return false
	}
	v, _ := m.core.Rung(key)
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
	answeredLate func(hal.OpID, error)
	last         answer // of the operation
}

// answeredLate takes in an answer that came late. Owner only.
func (m *VolumeManager) answeredLate(op hal.OpID, err error) {
	if csiplugin.Ends(err) {
		step(&m.port, core.Answered{Op: op})
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
