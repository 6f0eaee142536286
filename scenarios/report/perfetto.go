package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is the trace format of Chrome and Perfetto (ui.perfetto.dev opens it). The node is the process. An
// operation is an asynchronous span with the HAL calls of it nested within and the effects as points; each lane of the
// node is a thread with what happened there; an effect that comes when its call has ended already is joined to it by an
// arrow.

// Tracer notes what a trace alone does not tell. Effect is given to the world as a watcher.
type Tracer struct {
	keys   map[operation]hal.Key
	mounts []sample
}

type operation struct {
	run uint32
	op  hal.OpID
}

type sample struct {
	at     hal.Instant
	number int
}

// Effect notes one effect.
func (t *Tracer) Effect(e sim.Effect) {
	if t.keys == nil {
		t.keys = map[operation]hal.Key{}
	}
	if e.Op != 0 && e.Key != "" {
		t.keys[operation{e.Run, e.Op}] = e.Key
	}
	n := 0
	if len(t.mounts) > 0 {
		n = t.mounts[len(t.mounts)-1].number
	}
	switch e.Kind {
	case sim.EffectMount:
		n++
	case sim.EffectUnmount:
		n--
	case sim.EffectNodeDown:
		n = 0
	default:
		return
	}
	t.mounts = append(t.mounts, sample{e.At, n})
}

// traceEvent is one element of traceEvents.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	ID    string         `json:"id,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    json.Number    `json:"ts"`            // in µs
	Dur   *int           `json:"dur,omitempty"` // of X
	Scope string         `json:"s,omitempty"`   // of i
	Bind  string         `json:"bp,omitempty"`  // of f
	Args  map[string]any `json:"args,omitempty"`

	at hal.Instant
}

// pid is the one node's.
const pid = 1

// spans is what is open while the records are read.
type spans struct {
	tracer *Tracer
	events []traceEvent
	lanes  []string
	last   map[operation]uint64 // the last call or reply of an operation
	open   []*span
	late   map[uint64]bool // calls that have ended
	flying int
}

// span is an operation, or a call of none.
type span struct {
	operation
	id    string
	calls []*sim.Record // that are open, outermost first
	tid   int
}

// Write writes the trace of one run.
func (t *Tracer) Write(out io.Writer, records []sim.Record) error {
	s := &spans{tracer: t, last: map[operation]uint64{}, late: map[uint64]bool{}}
	for i := range records {
		if r := &records[i]; r.Mark == sim.MarkCall || r.Mark == sim.MarkReply {
			s.last[operation{r.Run, r.Op}] = r.ID
		}
	}
	end := hal.Instant(0)
	for i := range records {
		s.record(records, &records[i])
		end = records[i].At
	}
	s.closeAll(end)
	for _, m := range t.mounts {
		s.events = append(s.events, counter(m.at, "mounts", m.number))
	}
	slices.SortStableFunc(s.events, func(a, b traceEvent) int { return int(min(max(a.at-b.at, -1), 1)) })
	return s.write(out)
}

func (s *spans) write(out io.Writer) error {
	w := bufio.NewWriter(out)
	_, _ = w.WriteString(`{"displayTimeUnit":"ms","traceEvents":[` + "\n")
	names := []traceEvent{{Name: "process_name", Phase: "M", PID: pid, TS: "0", Args: map[string]any{"name": "node"}}}
	for i, name := range s.lanes {
		names = append(names, traceEvent{
			Name: "thread_name", Phase: "M", PID: pid, TID: i + 1, TS: "0",
			Args: map[string]any{"name": name},
		})
	}
	for i, e := range append(names, s.events...) {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			_, _ = w.WriteString(",\n")
		}
		_, _ = w.Write(line)
	}
	_, _ = w.WriteString("\n]}\n")
	return w.Flush() // it keeps the first error of all writes
}

func (s *spans) add(at hal.Instant, e traceEvent) {
	e.PID, e.at, e.TS = pid, at, microseconds(at)
	s.events = append(s.events, e)
}

func microseconds(at hal.Instant) json.Number {
	return json.Number(fmt.Sprintf("%d.%03d", int64(at)/1000, int64(at)%1000))
}

func counter(at hal.Instant, name string, n int) traceEvent {
	return traceEvent{Name: name, Phase: "C", PID: pid, TS: microseconds(at), Args: map[string]any{name: n}, at: at}
}

func (s *spans) record(records []sim.Record, r *sim.Record) {
	switch r.Mark {
	case sim.MarkCall:
		s.call(r)
	case sim.MarkReply:
		s.reply(r)
	case sim.MarkEffect:
		s.effect(records, r)
	case sim.MarkFault:
		s.add(r.At, traceEvent{
			Name: r.Fault.String(), Cat: "fault", Phase: "i", Scope: "t", TID: s.lane(r),
			Args: map[string]any{"at": r.What, "object": r.Object},
		})
	case sim.MarkEvent:
		s.add(r.At, traceEvent{
			Name: strings.TrimSpace(r.What + " " + r.Object), Cat: "event", Phase: "i", Scope: "t",
			TID: s.lane(r),
		})
		if r.What == "agent.died" || strings.HasPrefix(r.What, "node.") {
			s.closeAll(r.At)
		}
	}
}

// call opens a call, and with its first one the operation.
func (s *spans) call(r *sim.Record) {
	sp := s.find(r)
	if sp == nil {
		sp = &span{operation: operation{r.Run, r.Op}, id: fmt.Sprintf("%d.%d", r.Run, r.Op), tid: s.lane(r)}
		if r.Op == 0 { // the owner's, many at a time
			sp.id = fmt.Sprintf("call.%d", r.ID)
		} else {
			s.add(r.At, traceEvent{Name: s.name(sp), Cat: "op", Phase: "b", ID: sp.id, TID: sp.tid})
		}
		s.open = append(s.open, sp)
	}
	sp.calls = append(sp.calls, r)
	s.add(r.At, traceEvent{
		Name: r.What, Cat: "op", Phase: "b", ID: sp.id, TID: sp.tid,
		Args: map[string]any{"object": r.Object},
	})
	if isRPC(r) {
		s.point(r)
	}
	s.fly(r.At, +1)
}

// point is a slice without a duration in a lane: what arrows begin and end at.
func (s *spans) point(r *sim.Record) {
	zero := 0
	args := map[string]any{"object": r.Object}
	if r.Code != hal.CodeOK {
		args["code"] = r.Code.String()
	}
	name := r.What
	if r.Mark == sim.MarkEffect {
		name += " acts"
	}
	s.add(r.At, traceEvent{Name: name, Cat: "rpc", Phase: "X", Dur: &zero, TID: s.lane(r), Args: args})
}

func isRPC(r *sim.Record) bool { return strings.HasPrefix(r.What, "csi.") }

func (s *spans) name(sp *span) string {
	return strings.TrimSpace(fmt.Sprintf("#%d %s", sp.op, s.tracer.keys[sp.operation]))
}

func (s *spans) fly(at hal.Instant, by int) {
	s.flying += by
	s.events = append(s.events, counter(at, "calls in flight", s.flying))
}

// find returns the open span that a record is of: that of its operation, or that of its call.
func (s *spans) find(r *sim.Record) *span {
	for _, sp := range s.open {
		if sp.operation != (operation{r.Run, r.Op}) {
			continue
		}
		if r.Op != 0 || r.Mark != sim.MarkCall && sp.calls[0].ID == r.Cause {
			return sp
		}
	}
	return nil
}

func (s *spans) reply(r *sim.Record) {
	s.late[r.Cause] = true
	sp := s.find(r)
	if sp == nil {
		return
	}
	for i := len(sp.calls) - 1; i >= 0; i-- {
		if sp.calls[i].ID != r.Cause {
			continue
		}
		args := map[string]any{"outcome": r.Outcome.String()}
		if r.Code != hal.CodeOK {
			args["code"] = r.Code.String()
		}
		if r.Errno != 0 {
			args["errno"] = r.Errno.Error()
		}
		for len(sp.calls) > i { // a call within one that has ended has ended, too
			s.endCall(sp, r.At, args)
		}
	}
	if len(sp.calls) == 0 && (r.Op == 0 || s.last[sp.operation] == r.ID) {
		s.close(sp, r.At)
	}
}

// endCall ends the innermost call of a span.
func (s *spans) endCall(sp *span, at hal.Instant, args map[string]any) {
	c := sp.calls[len(sp.calls)-1]
	sp.calls = sp.calls[:len(sp.calls)-1]
	s.late[c.ID] = true
	s.add(at, traceEvent{Name: c.What, Cat: "op", Phase: "e", ID: sp.id, TID: sp.tid, Args: args})
	s.fly(at, -1)
}

// close ends a span, and the calls of it that have no answer.
func (s *spans) close(sp *span, at hal.Instant) {
	for len(sp.calls) > 0 {
		s.endCall(sp, at, map[string]any{"outcome": "no answer"})
	}
	if sp.op != 0 {
		s.add(at, traceEvent{Name: s.name(sp), Cat: "op", Phase: "e", ID: sp.id, TID: sp.tid})
	}
	s.open = slices.DeleteFunc(s.open, func(other *span) bool { return other == sp })
}

func (s *spans) closeAll(at hal.Instant) {
	for len(s.open) > 0 {
		s.close(s.open[0], at)
	}
}

// effect is a point of its operation; one that comes after its call has ended is joined to the call.
func (s *spans) effect(records []sim.Record, r *sim.Record) {
	if !s.late[r.Cause] {
		if sp := s.find(r); sp != nil {
			s.add(r.At, traceEvent{Name: r.What + " acts", Cat: "op", Phase: "n", ID: sp.id, TID: sp.tid})
		}
	}
	if !isRPC(r) {
		return
	}
	s.point(r)
	if !s.late[r.Cause] || r.Cause == 0 || r.Cause > uint64(len(records)) {
		return
	}
	from := &records[r.Cause-1]
	id := fmt.Sprintf("late.%d", r.ID)
	s.add(from.At, traceEvent{Name: "late", Cat: "late", Phase: "s", ID: id, TID: s.lane(from)})
	s.add(r.At, traceEvent{Name: "late", Cat: "late", Phase: "f", Bind: "e", ID: id, TID: s.lane(r)})
}

// lane is the thread that a record is shown in.
func (s *spans) lane(r *sim.Record) int {
	name, rest, _ := strings.Cut(r.What, ".")
	switch {
	case isRPC(r):
		name, _, _ = strings.Cut(r.Object, " ")
	case r.Mark == sim.MarkEvent && name == "driver":
		name = r.Object
	case rest == "":
		name = "node"
	}
	i := slices.Index(s.lanes, name)
	if i < 0 {
		i = len(s.lanes)
		s.lanes = append(s.lanes, name)
	}
	return i + 1
}
