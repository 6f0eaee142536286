package engine

import (
	"fmt"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	csiplugin "github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// launch runs an operation beside the owner and feeds its end to core. From then on the operation is not changed.
func (m *VolumeManager) launch(op *core.Op) {
	instance := m.drivers.instance(op.Actor) // the process that serves its actor, "" if there is none or it is not known
	m.running++
	op.IsNamed = m.objects.named[op.Pod]
	if op.Verb == core.Descend {
		m.unwatch(op.Key)
	}
	isWatched := m.drift.watched[op.Key] != nil
	m.h.Runtime.Go(func() {
		h, node := &m.h, (*lateNode)(nil)
		if op.Actor != "" {
			h, node = m.hostOf(op)
		}
		res := run(h, *op)
		end := m.watchMade(op, &res, isWatched)
		m.h.Runtime.Post(func() {
			if node != nil {
				m.hears(op.Actor, instance, node.last)
			}
			m.keepWatch(op.Key, end)
			// Which process was asked is known if there was one and the same all the time.
			if m.drivers.instance(op.Actor) == instance {
				res.Instance = instance
			}
			m.ended(op, res)
		})
	})
}

func (m *VolumeManager) ended(op *core.Op, res core.Result) {
	m.running--
	m.hidden.note(op.Key)
	if op.Verb != core.Look && m.isHeard() && !m.goesOn(op.Key, res) {
		level := LevelInfo
		if res.Outcome != hal.Done && !res.Unfinished {
			level = LevelWarn
		}
		fields := []string{"op", strconv.FormatUint(uint64(op.ID), 10), "verb", op.Verb.String(), "rung", string(op.Key), "outcome", res.Outcome.String()}
		if res.Reason != "" {
			fields = append(fields, "reason", res.Reason)
		}
		m.log(level, "operation", fields...)
	}
	if lost := emptydir.Lost(res.Facts); lost != "" && lost != emptydir.Lost(op.Facts) {
		m.log(LevelError, "volume lost its data", "rung", string(op.Key), "what", lost)
	}
	m.step(core.Completed{Op: op.ID, Result: res})
	if op.Verb == core.Descend && res.Outcome != hal.Done {
		m.watchAgain(op) // its watch ended when it began
	}
	if at := core.Value(op.Params, "path"); res.Blocked && at != "" {
		m.tableChanged([]string{at}) // what stands there now is what a change is told from
	} else {
		delete(m.drift.blocked, op.Key)
	}
	if res.Unsent {
		m.unreached(op.Actor)
	}
	m.checkStopped()
}

// goesOn reports whether an operation is one more turn of a long one, which was told of when it began, or of one that keeps data again.
func (m *VolumeManager) goesOn(key hal.Key, res core.Result) bool {
	isKept := emptydir.IsKept(res.Reason)
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
func run(h *hal.Host, op core.Op) core.Result {
	verbs, ok := kinds.VerbsOf(op.Kind)
	if !ok {
		return core.Result{Outcome: hal.NotDone, Blocked: true, Reason: fmt.Sprintf("no plugin for kind %q: the journal comes from another build", op.Kind)}
	}
	switch op.Verb {
	case core.Look:
		return verbs.Look(h, op)
	case core.Climb, core.Refresh:
		return verbs.Climb(h, op)
	case core.Descend:
		return verbs.Descend(h, op)
	}
	panic(fmt.Sprintf("engine: verb %d", op.Verb))
}

// lateNode sees to it that an answer that comes after a call's deadline reaches core, if it proves that the call has ended, as it would have in time.
type lateNode struct {
	discreetNode
	m    *VolumeManager
	last answer // of the operation
}

// hostOf is the host as an operation of a driver has it, and the node service of that.
func (m *VolumeManager) hostOf(op *core.Op) (*hal.Host, *lateNode) {
	of := &struct {
		host hal.Host
		node lateNode
	}{m.h, lateNode{discreetNode: m.node.of(op), m: m}}
	of.host.CSINode = &of.node
	return &of.host, &of.node
}

func (n *lateNode) late(c hal.Call) hal.Call {
	op := c.Op
	c.Late = func(err error) {
		if csiplugin.Ends(err) {
			n.m.step(core.Answered{Op: op})
		}
	}
	return c
}

func (n *lateNode) Stage(c hal.Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	answer, err := n.discreetNode.Stage(n.late(c), driver, r)
	n.last.take(n.m.h.Runtime.Now(), "NodeStageVolume", err)
	return answer, err
}

func (n *lateNode) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	answer, err := n.discreetNode.Unstage(n.late(c), driver, r)
	n.last.take(n.m.h.Runtime.Now(), "NodeUnstageVolume", err)
	return answer, err
}

func (n *lateNode) Publish(c hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	answer, err := n.discreetNode.Publish(n.late(c), driver, r)
	n.last.take(n.m.h.Runtime.Now(), "NodePublishVolume", err)
	return answer, err
}

func (n *lateNode) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	answer, err := n.discreetNode.Unpublish(n.late(c), driver, r)
	n.last.take(n.m.h.Runtime.Now(), "NodeUnpublishVolume", err)
	return answer, err
}
