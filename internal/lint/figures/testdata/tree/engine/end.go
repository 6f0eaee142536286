package engine

func (m *VolumeManager) end(pods int) int {
	if pods > 0 && m.busy > 0 {
		return m.Run(pods - 1)
	}
	return 0
}

func Alone() string { return "host path" }
