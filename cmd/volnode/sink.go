package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxQueued bounds what waits for one sink, in bytes.
	maxQueued = 1 << 20
	// queuedCost is what a line costs in the queue beside its bytes.
	queuedCost = 64
	// stuckAfter is how long a write may take before the sink counts as stuck.
	stuckAfter = time.Second
)

// sink writes lines to a file on a goroutine of its own. Write never waits for the file: a line that finds the queue
// full is dropped and counted. Each line is one write(2), so that a SIGKILL leaves whole lines.
type sink struct {
	name string
	out  io.Writer
	// gap makes the line that replaces n lost lines. If it is nil, no line does.
	gap  func(n uint64) []byte
	wake chan struct{} // holds at most one token: the queue has changed
	torn bool          // the last line was cut short; the next one begins with a line break. Its goroutine's alone

	mu      sync.Mutex
	queue   []queued
	size    int
	dropped uint64    // lines that found the queue full since it was taken last
	lost    uint64    // all lines that were dropped or not written
	began   time.Time // of the write under way; zero if there is none
	failure error     // of the last write
}

// queued is a line, the place of lost lines, or somebody who waits until the sink has come so far.
type queued struct {
	line    []byte
	missing uint64
	reached chan struct{}
}

// newSink starts a sink. It lasts as long as the process.
func newSink(name string, out io.Writer, gap func(uint64) []byte) *sink {
	s := &sink{name: name, out: out, gap: gap, wake: make(chan struct{}, 1)}
	go s.run()
	return s
}

// Write queues one line. It implements io.Writer, and always succeeds at once.
func (s *sink) Write(line []byte) (int, error) {
	cost := len(line) + queuedCost
	s.mu.Lock()
	if s.dropped > 0 || s.size+cost > maxQueued {
		s.dropped++
		s.lost++
	} else {
		s.size += cost
		s.queue = append(s.queue, queued{line: append([]byte(nil), line...)})
	}
	s.mu.Unlock()
	s.signal()
	return len(line), nil
}

func (s *sink) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // the token that is there will do
	}
}

// flush waits until all lines that were queued before are written or lost, but no longer than bound. For one that is
// stuck it does not wait.
func (s *sink) flush(bound time.Duration) {
	s.mu.Lock()
	if !s.began.IsZero() && time.Since(s.began) > bound {
		s.mu.Unlock()
		return
	}
	var reached chan struct{}
	if n := len(s.queue); n > 0 && s.queue[n-1].reached != nil {
		reached = s.queue[n-1].reached
	} else {
		reached = make(chan struct{})
		s.queue = append(s.queue, queued{reached: reached})
	}
	s.mu.Unlock()
	s.signal()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-reached:
	case <-timer.C:
	}
}

func (s *sink) run() {
	var failed uint64 // lines that could not be written since the last that could
	for range s.wake {
		for _, q := range s.take() {
			failed += q.missing
			if q.reached != nil {
				close(q.reached)
				continue
			}
			if failed > 0 && (s.gap == nil || s.write(s.gap(failed))) {
				failed = 0
			}
			if q.line != nil && !s.write(q.line) {
				failed++
				s.lose()
			}
		}
	}
}

// take empties the queue. Lines are dropped only while it is full, so the place of those that were is its end.
func (s *sink) take() []queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.queue
	if s.dropped > 0 {
		all = append(all, queued{missing: s.dropped})
	}
	s.queue, s.size, s.dropped = nil, 0, 0
	return all
}

// write writes one line and reports whether all of it was taken.
func (s *sink) write(line []byte) bool {
	s.mu.Lock()
	s.began = time.Now()
	s.mu.Unlock()
	if s.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := s.out.Write(line)
	s.torn = err != nil && (n > 0 || s.torn)
	s.mu.Lock()
	s.began, s.failure = time.Time{}, err
	s.mu.Unlock()
	return err == nil
}

func (s *sink) lose() {
	s.mu.Lock()
	s.lost++
	s.mu.Unlock()
}

// isBusy reports whether a write is under way.
func (s *sink) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.began.IsZero()
}

// sinkState is how a sink does.
type sinkState struct {
	Name    string `json:"name"`
	Lost    uint64 `json:"lost"`              // lines, since the start
	Problem string `json:"problem,omitempty"` // "" while it takes what it is given
}

func (s *sink) state() sinkState {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := sinkState{Name: s.name, Lost: s.lost}
	switch took := time.Since(s.began); {
	case !s.began.IsZero() && took > stuckAfter:
		is.Problem = fmt.Sprintf("a write has taken %s: its reader is stopped, or its disk hangs",
			took.Round(time.Second))
	case s.failure != nil:
		is.Problem = s.failure.Error()
	}
	return is
}

// sinks are all sinks of a daemon.
type sinks []*sink

// flush flushes all of them at the same time.
func (all sinks) flush(bound time.Duration) {
	var group sync.WaitGroup
	for _, s := range all {
		group.Go(func() { s.flush(bound) })
	}
	group.Wait()
}

// states lists the sinks that have lost something or are in trouble.
func (all sinks) states() []sinkState {
	var states []sinkState
	for _, s := range all {
		if is := s.state(); is.Lost > 0 || is.Problem != "" {
			states = append(states, is)
		}
	}
	return states
}
