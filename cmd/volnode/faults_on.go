//go:build volnode_faults

package main

import (
	"os"
	"syscall"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/fault"
)

// injectFaults applies the rules in the environment variable VOLNODE_FAULT.
func injectFaults(h hal.Host) (hal.Host, error) {
	rules, err := fault.ParseAll(os.Getenv("VOLNODE_FAULT"))
	if err != nil || len(rules) == 0 {
		return h, err
	}
	kill := func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
	return fault.New(rules, kill, nil).Wrap(h), nil
}
