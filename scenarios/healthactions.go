package scenarios

import (
	"fmt"
	"slices"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/workload"
)

// healthActions are the statements of what drivers say is wrong with volumes and with their storage.
func healthActions() []workload.Action {
	return []workload.Action{
		on("health of HANDLE of driver DRIVER becomes HEALTH", func(t *scene, a []string) string {
			t.W.SetHealth(a[1], a[0], workload.Healths[a[2]]...)
			return ""
		}),
		on("storage of driver DRIVER becomes HEALTH", func(t *scene, a []string) string {
			t.W.SetStorageHealth(a[0], workload.StorageHealths[a[1]]...)
			return ""
		}),
		on("expect storage of driver DRIVER HEALTH",
			func(t *scene, a []string) string { return expectStorage(t, a[0], a[1]) }),
	}
}

// expectStorage: the status has what a driver says of its storage.
func expectStorage(t *workload.Scene, driver, health string) string {
	if !t.R.Alive() {
		return "the agent has not started"
	}
	all := t.EngineStatus().Drivers
	i := slices.IndexFunc(all, func(d engine.DriverStatus) bool { return d.Name == driver && d.Registered })
	switch {
	case i < 0:
		return "the driver is not registered"
	case !dealings.SaysSame(workload.StorageHealths[health], all[i].Storage):
		return fmt.Sprintf("the status says %+v", all[i].Storage)
	}
	return ""
}
