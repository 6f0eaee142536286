package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal/trace"
)

// callTrace writes one JSON line for each call into the host.
type callTrace struct{ *sink }

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

// openCallTrace begins a trace that is appended to a file, which only root may read if it is made here.
func openCallTrace(path string) (callTrace, error) {
	file := &traceFile{path: path}
	opened := make(chan error, 1)
	go func() { opened <- file.open() }()
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	select {
	case err := <-opened:
		if err != nil && !passes(err) {
			return callTrace{}, fmt.Errorf("--trace: %w", err)
		}
	case <-timer.C: // its disk hangs; the volumes do not wait for it
	}
	return callTrace{newSink("trace", file,
		func(n uint64) []byte { return fmt.Appendf(nil, "{\"dropped\":%d}\n", n) })}, nil
}

// passes reports whether an error may go away by itself, as that of a disk that is full.
func passes(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.ENFILE, syscall.EMFILE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (t callTrace) record(r trace.Record) {
	line, err := json.Marshal(tracedCall{
		Op: uint64(r.Op), Rung: string(r.Key), Call: r.Name, Object: r.Object, Class: r.Class.String(),
		Effect: r.Effect, Start: int64(r.Start),
		Took: int64(r.End.Sub(r.Start) / time.Nanosecond), Outcome: r.Outcome.String(), Error: r.Error,
	})
	if err != nil {
		return // it holds strings and numbers only
	}
	_, _ = t.Write(append(line, '\n')) // a sink takes everything
}

// traceFile is a file that is opened by the first write that can.
type traceFile struct {
	path string
	mu   sync.Mutex
	file *os.File
}

func (f *traceFile) Write(line []byte) (int, error) {
	if err := f.open(); err != nil {
		return 0, err
	}
	return f.file.Write(line)
}

func (f *traceFile) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(f.path); err == nil && info.Mode().Type() == os.ModeNamedPipe {
		flags = os.O_RDWR // does not wait for a reader (fifo(7))
	}
	file, err := os.OpenFile(f.path, flags, 0o600)
	f.file = file
	return err
}
