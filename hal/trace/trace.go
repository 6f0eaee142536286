// Package trace writes down every call that goes through a Host.
package trace

import (
	"errors"
	"strconv"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/wrap"
)

// Record is one call that has ended.
type Record struct {
	wrap.Site
	Op      hal.OpID
	Key     hal.Key
	Start   hal.Instant
	End     hal.Instant
	Outcome hal.Outcome
	Error   string // "" if it succeeded; of an RPC that was sent, without what the driver said
}

// String is one line: "#3 NodeStageVolume csi.example.com vol-1 /…/globalmount: done".
func (r Record) String() string {
	end, gap := r.Error, ""
	if end == "" {
		end = r.Outcome.String()
	}
	if r.Object != "" {
		gap = " "
	}
	return "#" + strconv.FormatUint(uint64(r.Op), 10) + " " + r.Name + gap + r.Object + ": " + end
}

// Wrap returns h with sink called at the end of each call, on the task that made it: sink must be safe for that, and
// quick.
func Wrap(h hal.Host, sink func(Record)) hal.Host {
	runtime := h.Runtime
	return wrap.Host(h, func(s wrap.Site, c hal.Call, do func() error) error {
		r := Record{Site: s, Op: c.Op, Key: c.Key, Start: runtime.Now()}
		err := do()
		r.End, r.Outcome = runtime.Now(), hal.OutcomeOf(err)
		if err != nil {
			r.Error = textOf(err)
		}
		sink(r)
		return err
	})
}

// textOf is an error without what a driver said: it may quote a secret that it was given in an earlier call, which
// nobody here knows. Who may read the secret takes it out of the message and tells the rest, in the log and the status.
func textOf(err error) string {
	if e, ok := errors.AsType[*hal.Error](err); ok && e.Class == hal.ClassRPC && e.Reply != hal.ReplyNever &&
		e.Detail != "" {
		short := *e
		short.Detail = "message withheld"
		return short.Error()
	}
	return err.Error()
}
