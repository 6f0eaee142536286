package main

import (
	"encoding/json"
	"os"
	"time"

	"github.com/volnode/volnode/hal/trace"
)

// callTrace writes one JSON line for each call into the host, in one write: a SIGKILL leaves whole lines.
type callTrace struct{ file *os.File }

// tracedCall is one line of it.
type tracedCall struct {
	Op      uint64 `json:"op"` // 0: no operation's
	Rung    string `json:"rung,omitempty"`
	Call    string `json:"call"`
	Object  string `json:"object,omitempty"`
	Class   string `json:"class"`
	Effect  bool   `json:"effect"` // it may change the node
	Start   int64  `json:"start"`  // nanoseconds of CLOCK_MONOTONIC
	Took    int64  `json:"took"`   // nanoseconds
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
}

// openCallTrace appends to a file that only root may read.
func openCallTrace(path string) (*callTrace, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &callTrace{file}, nil
}

func (t *callTrace) record(r trace.Record) {
	line, err := json.Marshal(tracedCall{
		Op: uint64(r.Op), Rung: string(r.Key), Call: r.Name, Object: r.Object, Class: r.Class.String(), Effect: r.Effect, Start: int64(r.Start),
		Took: int64(r.End.Sub(r.Start) / time.Nanosecond), Outcome: r.Outcome.String(), Error: r.Error,
	})
	if err != nil {
		return // it holds strings and numbers only
	}
	// A disk that is full costs the trace, not the volumes.
	_, _ = t.file.Write(append(line, '\n'))
}
