package hal

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Death is what a runtime unwinds the tasks of a dead agent with. [Guard] lets it pass.
type Death interface{ Dies() }

// Guard runs f. If f panics, it returns with what, and where: the functions that were under way, the innermost first.
func Guard(f func()) (panicked, stack string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case Death:
			panic(p)
		default:
			panicked, stack = fmt.Sprint(p), stackOfPanic()
		}
	}()
	f()
	return "", ""
}

// stackOfPanic is called by the function that has recovered. It has no addresses, so that two runs tell the same.
func stackOfPanic() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var calls []string
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.HasSuffix(f.Function, "hal.Guard") {
			break
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			calls = append(calls, fmt.Sprintf("%s %s:%d", path.Base(f.Function), path.Base(f.File), f.Line))
		}
	}
	return strings.Join(calls, ", ")
}
