package workload

import (
	"maps"
	"slices"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// Healths are what drivers say of a volume, by what scenarios call it.
var Healths = map[string][]hal.HealthEntry{
	"well":         nil,
	"degraded":     {{Status: "DEGRADED", Reason: "PathLost", Message: "1 of 2 paths is left"}},
	"inaccessible": {{Status: "INACCESSIBLE", Reason: "NoPath"}},
	"lost": {
		{Status: "DATA_LOSS", Reason: "ReplicaGone", Message: "restore it from a snapshot"},
		{Status: "DEGRADED", Reason: "Rebuilds"},
	},
	"newer": {{Status: "77", Reason: "MultipathLoss", Message: "of a spec that is newer"}},
}

// StorageHealths are what drivers say of the storage behind them, by the same names.
var StorageHealths = map[string][]hal.HealthEntry{
	"well":         nil,
	"degraded":     {{Status: "STORAGE_DEGRADED", Reason: "PathLost", Message: "1 of 2 paths is left"}},
	"inaccessible": {{Status: "STORAGE_UNREACHABLE", Reason: "NoPath"}},
	"lost": {
		{Status: "STORAGE_UNREACHABLE", Reason: "ArrayGone", Message: "see to the array"},
		{Status: "STORAGE_DEGRADED", Reason: "Rebuilds", Concerns: "block volumes, SINGLE_NODE_WRITER"},
	},
	"newer": {{Status: "77", Reason: "MultipathLoss", Message: "of a spec that is newer"}},
}

// HealthNames are the keys of Healths, sorted.
var HealthNames = slices.Sorted(maps.Keys(Healths))

// AilsVolume draws when the driver of volume i begins to say that something is wrong with it, and whether it says
// later that it is well.
func (g *Workload) AilsVolume(i int) {
	v := world.VolumeAt(i)
	if g.R.Cfg.MeasureEvery == 0 || g.Pick("workload.ails", v.Handle, 0, 1, 1) == 0 {
		return
	}
	for n := range 2 {
		name := HealthNames[g.Pick("workload.health", v.Handle, n, 1, 1, 1, 1, 1)]
		g.At(g.Time("workload.health-time", v.Handle, n, cases.Chaos), v.Handle, func() {
			g.R.W.SetHealth(v.Driver, v.Handle, Healths[name]...)
		})
	}
}

// AilsStorage draws when a driver begins to say that something is wrong with its storage, and whether it says later
// that it is well.
func (g *Workload) AilsStorage(driver string) {
	if g.R.Cfg.MeasureEvery == 0 || g.Pick("workload.ails-storage", driver, 0, 2, 1) == 0 {
		return
	}
	for n := range 2 {
		name := HealthNames[g.Pick("workload.storage-health", driver, n, 1, 1, 1, 1, 1)]
		g.At(g.Time("workload.storage-time", driver, n, cases.Chaos), driver, func() {
			g.R.W.SetStorageHealth(driver, StorageHealths[name]...)
		})
	}
}
