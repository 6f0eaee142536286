package engine

import "github.com/volnode/volnode/hal"

// mostWaiting bounds the events that wait while others are taken.
const mostWaiting = 4096

// stream takes events to who asks for them. One call of the sink is under way at a time, on a task; what comes
// meanwhile waits for its end.
type stream struct {
	runtime hal.Runtime   // for the task of the sink
	level   Level         // Config.EventLevel
	sink    func([]Event) // Config.Events
	looks   func(Event)   // Config.Happening
	taken   func()        // is called when the sink returns

	busy    bool    // a call of the sink is under way
	waiting []Event // events for the next call
	dropped int     // that found the queue full
	defects int     // of volnode itself, as it has found them
}

// isHeard reports whether anybody receives events of a level.
func (s *stream) isHeard(level Level) bool {
	return level >= s.level && (s.sink != nil || s.looks != nil)
}

func (s *stream) emit(e Event) {
	if s.level > LevelInfo && e.Line().Level < s.level { // events at LevelDebug are made only if isHeard
		return
	}
	if s.looks != nil {
		s.looks(e)
	}
	switch {
	case s.sink == nil:
		return
	case len(s.waiting) < mostWaiting:
		s.waiting = append(s.waiting, e)
	default:
		s.dropped++
	}
	s.hand()
}

// defect counts and emits that volnode has found a defect of its own.
func (s *stream) defect(e Event) {
	s.defects++
	s.emit(e)
}

// hand has the sink take what waits, beside the owner: it may take its time, or never come back.
func (s *stream) hand() {
	all := s.waiting
	if s.busy || len(all) == 0 {
		return
	}
	if s.dropped > 0 {
		all = append(all, EventsDropped{s.dropped})
	}
	s.busy, s.waiting, s.dropped = true, nil, 0
	s.runtime.Go(func() {
		s.sink(all)
		s.runtime.Post(func() {
			s.busy = false
			s.hand()
			s.taken()
		})
	})
}
