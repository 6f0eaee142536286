package world

import (
	"strings"

	"github.com/volnode/volnode/hal"
)

// RungFrame is one rung in a frame.
type RungFrame struct {
	Key  hal.Key `json:"key"`
	Name string  `json:"name"` // short, for people
	// "Unknown", "Absent", "Absent in doubt", "Present"; "" if the engine knows of no such rung, or does not live
	Believed string `json:"believed"`
	Wanted   bool   `json:"wanted"` // by the engine's own account
	True     string `json:"true"`   // "up" or "down"
	// who uses it or may yet act on it: "pod-3 runs", "NodeStageVolume may act"; "" for nobody
	Holder string `json:"holder"`
}

// Holder is who uses a rung, or may yet act on it.
func (r *Run) Holder(key hal.Key) string {
	var all []string
	if p := r.Places[key]; p != nil {
		if owner := r.PodOf(p.Path); owner != nil && owner.IsRunning {
			all = append(all, strings.TrimPrefix(owner.Name, "default/")+" runs")
		}
		for _, c := range p.Calls {
			all = append(all, c.Method+" may act")
		}
	}
	return strings.Join(all, ", ")
}
