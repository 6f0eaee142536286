package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/workload"
)

// quotaActions are the statements about project quotas. Projects are numbered from the first one of agents.
func quotaActions() []workload.Action {
	takes := func(how sim.ProjectUse) func(*scene, []string) string {
		return func(t *scene, a []string) string {
			n, _ := strconv.Atoi(a[0]) // match has looked at it
			t.W.TakeProject(hal.FirstProject+uint32(n), how, "/srv/project-"+a[0])
			return ""
		}
	}
	configures := func(holds bool) func(*scene, []string) string {
		return func(t *scene, _ []string) string { t.R.WillHold = holds; return "" }
	}
	return []workload.Action{
		on("mount disk with quotas", func(t *scene, _ []string) string { t.W.SetQuotas(true); return "" }),
		on("mount disk without quotas", func(t *scene, _ []string) string { t.W.SetQuotas(false); return "" }),
		on("configure agent to hold limits", configures(true)),
		on("configure agent to hold no limits", configures(false)),
		on("take project N for a directory", takes(sim.ProjectDirectory)),
		on("take project N by name", takes(sim.ProjectName)),
		on("take project N by a limit", takes(sim.ProjectLimit)),
		on("give volume VOLUME of pod POD to project N", func(t *scene, a []string) string {
			u, why := t.Container(a[0], a[1])
			n, _ := strconv.Atoi(a[2])
			if why == "" && t.W.GiveProject(u.Path, hal.FirstProject+uint32(n)) != 0 {
				why = "nothing is there"
			}
			return why
		}),
		on("expect N limits", func(t *scene, a []string) string { return expectLimits(t, a[0]) }),
		on("expect volume VOLUME of pod POD full", func(t *scene, a []string) string { return expectFull(t, a[0], a[1]) }),
	}
}

// expectLimits counts the limits that agents have set.
func expectLimits(t *scene, want string) string {
	all := slices.DeleteFunc(t.W.Projects(), func(p sim.Project) bool { return !p.IsOurs })
	if strconv.Itoa(len(all)) != want {
		return fmt.Sprintf("the disk has %d limits of agents", len(all))
	}
	return ""
}

// expectFull is a container that can write no more.
func expectFull(t *scene, volume, name string) string {
	u, why := t.Container(volume, name)
	if why != "" {
		return why
	}
	if errno := t.W.Fill(u.Path, 1); errno != syscall.EDQUOT && errno != syscall.ENOSPC {
		return "a container can still write there"
	}
	return ""
}
