package scenarios

import "github.com/volnode/volnode/hal/sim"

// crowded is a world without faults, with a crowd of a size.
type crowded struct {
	sim.Benign
	pods, mounts int64
}

func (c crowded) Pick(id sim.ID, weights []uint32) int {
	if id.Site == "workload.crowd" {
		return 1
	}
	return c.Benign.Pick(id, weights)
}

func (c crowded) Between(id sim.ID, lo, hi int64) int64 {
	switch id.Site {
	case "workload.crowd-most", "workload.crowd-size":
		return map[string]int64{"pods": c.pods, "mounts": c.mounts}[id.Object]
	}
	return c.Benign.Between(id, lo, hi)
}
