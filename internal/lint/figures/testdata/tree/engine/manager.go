// Package engine is small.
package engine

import "example.com/small/engine/core"

// VolumeManager has two methods.
type VolumeManager struct {
	core core.Core // has its comment
	busy int
}

// Run begins, and end ends.
func (m *VolumeManager) Run(pods int) int {
	for range pods {
		m.core.Reconcile()
	}
	return m.end(pods)
}
