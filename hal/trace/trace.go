// Package trace writes down every call that goes through a Host.
package trace

import (
	"fmt"

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
	Error   string // "" if it succeeded
}

// String is one line: "#3 NodeStageVolume csi.example.com vol-1 /…/globalmount: done".
func (r Record) String() string {
	what := fmt.Sprintf("#%d %s", r.Op, r.Name)
	if r.Object != "" {
		what += " " + r.Object
	}
	if r.Error != "" {
		return what + ": " + r.Error
	}
	return what + ": " + r.Outcome.String()
}

// Wrap returns h with sink called at the end of each call, on the task that made it: sink must be safe for that, and quick.
func Wrap(h hal.Host, sink func(Record)) hal.Host {
	runtime := h.Runtime
	return wrap.Host(h, func(s wrap.Site, c hal.Call, do func() error) error {
		r := Record{Site: s, Op: c.Op, Key: c.Key, Start: runtime.Now()}
		err := do()
		r.End, r.Outcome = runtime.Now(), hal.OutcomeOf(err)
		if err != nil {
			r.Error = err.Error()
		}
		sink(r)
		return err
	})
}
