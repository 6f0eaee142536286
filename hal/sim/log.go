package sim

import "github.com/volnode/volnode/hal"

var callLog = newCallSite("log.write", hal.ClassFile, false)

// WriteLog is the write of the agent's log: to a pipe whose reader may be slow or sleep for minutes, or to a disk that
// is full. Of a task of the agent.
func (w *World) WriteLog() error {
	inc := w.inc
	if t := w.sched.current; t != nil {
		inc = t.inc
	}
	h := &host{w, inc}
	k := h.enter(callLog, "", hal.Call{}, &w.menus.log)
	if k.fault == Hang {
		k.sleep(w.time(siteHang, "the log", HangLeast, HangMost))
	}
	errno, _ := k.acts()
	return k.done(errno)
}
