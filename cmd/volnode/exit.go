package main

import (
	"context"
	"errors"
	"fmt"
)

// Exit statuses. Those from 64 on are those of sysexits(3).
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotReady    = 3  // a wait whose time was over
	exitUnreachable = 69 // EX_UNAVAILABLE: no daemon answers
	exitTemporary   = 75 // EX_TEMPFAIL: the same command may succeed later
	exitPermission  = 77 // EX_NOPERM
	exitConfig      = 78 // EX_CONFIG
)

// exitError is an error that says how the program ends.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// fail returns an error that ends the program with status.
func fail(status int, format string, args ...any) error {
	return &exitError{status, fmt.Errorf(format, args...)}
}

// exitStatus is the status that err asks for. An error that names none is a usage error as long as no command has begun
// its work: it is the command line parser's.
func exitStatus(err error, began bool) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.status
	}
	if !began {
		return exitUsage
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return exitTemporary
	}
	return exitFailed
}
