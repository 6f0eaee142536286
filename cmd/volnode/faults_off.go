//go:build !volnode_faults

package main

import "github.com/volnode/volnode/hal"

// injectFaults is the identity: faults are for test builds.
func injectFaults(h hal.Host) (hal.Host, error) { return h, nil }
