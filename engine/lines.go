package engine

// mostLines bounds the lines that wait while others are written.
const mostLines = 4096

// lines is the queue of the log. One write is under way at a time, on a task; what comes meanwhile waits for it.
type lines struct {
	busy    bool
	waiting []Entry
	dropped int // that found the queue full
}

// isHeard reports whether anybody receives the log.
func (m *VolumeManager) isHeard() bool { return m.cfg.Log != nil || m.cfg.Logging != nil }

func (m *VolumeManager) log(level Level, message string, fields ...string) {
	e := Entry{Level: level, Message: message, Fields: fields}
	if m.cfg.Logging != nil {
		m.cfg.Logging(e)
	}
	switch {
	case m.cfg.Log == nil:
		return
	case len(m.lines.waiting) < mostLines:
		m.lines.waiting = append(m.lines.waiting, e)
	default:
		m.lines.dropped++
	}
	m.write()
}

// defect counts and logs that volnode has found a defect of its own.
func (m *VolumeManager) defect(what string, fields ...string) {
	m.defects++
	m.log(LevelError, "defect of volnode: "+what, fields...)
}

// write has the log written beside the owner: whatever it goes to may take its time, or never come back.
func (m *VolumeManager) write() {
	all := m.lines.waiting
	if m.lines.busy || len(all) == 0 {
		return
	}
	if m.lines.dropped > 0 {
		all = append(all, Entry{
			Level: LevelWarn, Message: "log lines dropped: the log is too slow",
			Fields: []string{"lines", itoa(m.lines.dropped)},
		})
	}
	m.lines = lines{busy: true}
	m.h.Runtime.Go(func() {
		m.cfg.Log(all)
		m.h.Runtime.Post(func() {
			m.lines.busy = false
			m.write()
			m.checkStopped()
		})
	})
}
