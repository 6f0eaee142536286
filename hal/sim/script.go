package sim

import "github.com/volnode/volnode/hal"

// Script is asked before the chooser, at each choice of a fault, whether the profile has it or not: which of the
// possible ones it shall be. [NoFault] leaves the choice to the chooser. A scenario's own faults come in by it.
type Script func(id ID, possible []Fault) Fault

// ErrorCodes are the statuses that a driver fails with in a fault, in the order in which a choice at the site
// ".../code" numbers them. One of them says that nothing was done. Those of [Intercepted] are what an RPC framework or
// a proxy makes up by itself.
func ErrorCodes(f Fault) []hal.Code {
	codes := errorCodes()
	switch f {
	case ErrorNone:
		return append(codes[:], hal.CodeInvalidArgument)
	case Intercepted:
		return []hal.Code{hal.CodeUnavailable, hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnknown}
	default:
	}
	return codes[:]
}

// ErrorTexts are what an error UNKNOWN says in a fault: plainly what is wrong, or, as one that something else made up
// always does, nothing, a time-out or the end of a child.
func ErrorTexts(f Fault) []string {
	texts := []string{"target is busy", "", "context deadline exceeded", "mount: signal: killed"}
	if f == Intercepted {
		return texts[1:]
	}
	return texts
}
