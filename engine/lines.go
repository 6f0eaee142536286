package engine

import "github.com/volnode/volnode/hal"

// mostLines bounds the lines that wait while others are written.
const mostLines = 4096

// lines is the queue of the log. One write is under way at a time, on a task; what comes meanwhile waits for it.
type lines struct {
	runtime hal.Runtime
	sink    func([]Entry) // Config.Log
	looks   func(Entry)   // Config.Logging
	written func()        // is called when a write ends

	busy    bool
	waiting []Entry
	dropped int // that found the queue full
	defects int // of volnode itself, as it has found them
}

// isHeard reports whether anybody receives the log.
func (l *lines) isHeard() bool { return l.sink != nil || l.looks != nil }

func (l *lines) log(level Level, message string, fields ...string) {
	e := Entry{Level: level, Message: message, Fields: fields}
	if l.looks != nil {
		l.looks(e)
	}
	switch {
	case l.sink == nil:
		return
	case len(l.waiting) < mostLines:
		l.waiting = append(l.waiting, e)
	default:
		l.dropped++
	}
	l.write()
}

// defect counts and logs that volnode has found a defect of its own.
func (l *lines) defect(what string, fields ...string) {
	l.defects++
	l.log(LevelError, "defect of volnode: "+what, fields...)
}

// write has the log written beside the owner: whatever it goes to may take its time, or never come back.
func (l *lines) write() {
	all := l.waiting
	if l.busy || len(all) == 0 {
		return
	}
	if l.dropped > 0 {
		all = append(all, Entry{
			Level: LevelWarn, Message: "log lines dropped: the log is too slow",
			Fields: []string{"lines", itoa(l.dropped)},
		})
	}
	l.busy, l.waiting, l.dropped = true, nil, 0
	l.runtime.Go(func() {
		l.sink(all)
		l.runtime.Post(func() {
			l.busy = false
			l.write()
			l.written()
		})
	})
}
