package engine

// PodsWithEvents is of how many pods events are kept.
func (m *VolumeManager) PodsWithEvents() int { return len(m.podEvents.known) }
