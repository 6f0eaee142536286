package scenarios

import (
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/workload"
)

// driverActions are the statements about drivers and their registrars.
func driverActions() []workload.Action {
	return []workload.Action{
		{Words: "stop driver DRIVER", Do: func(t *workload.Scene, a []string) string { t.W.StopDriver(a[0]); return "" }},
		{Words: "stop plugin of driver DRIVER", Do: func(t *workload.Scene, a []string) string { t.W.StopPlugin(a[0]); return "" }},
		{Words: "start driver DRIVER", Do: func(t *workload.Scene, a []string) string { return startDriver(t, a[0]) }},
		{Words: "restart driver DRIVER", Do: func(t *workload.Scene, a []string) string { t.W.RestartDriver(a[0]); return "" }},
		{Words: "replace driver DRIVER", Do: func(t *workload.Scene, a []string) string { t.W.ReplaceDriver(a[0]); return "" }},
		{Words: "replace driver DRIVER without staging", Do: func(t *workload.Scene, a []string,
		) string {
			t.W.ReplaceDriverBy(a[0], false)
			return ""
		}},
		{Words: "replace driver DRIVER with staging", Do: func(t *workload.Scene, a []string,
		) string {
			t.W.ReplaceDriverBy(a[0], true)
			return ""
		}},
		{Words: "rival of driver DRIVER for TIME", Do: func(t *workload.Scene, a []string,
		) string {
			t.W.RivalDriver(a[0], workload.Duration(a[1]))
			return ""
		}},
		{Words: "upgrade driver DRIVER for TIME", Do: func(t *workload.Scene, a []string,
		) string {
			t.W.UpgradeDriver(a[0], workload.Duration(a[1]))
			return ""
		}},
		{
			Words: "upgrade driver DRIVER for TIME without staging",
			Do:    func(t *workload.Scene, a []string) string { return changeDriver(t, a[0], false, a[1]) },
		},
		{
			Words: "upgrade driver DRIVER for TIME with staging",
			Do:    func(t *workload.Scene, a []string) string { return changeDriver(t, a[0], true, a[1]) },
		},
		{Words: "lose socket of driver DRIVER", Do: func(t *workload.Scene, a []string) string { t.W.LoseSocket(a[0]); return "" }},
		{Words: "make socket of driver DRIVER", Do: func(t *workload.Scene, a []string) string { t.W.FindSocket(a[0]); return "" }},
		{Words: "panic after METHOD", Do: func(t *workload.Scene, a []string) string { t.W.SetTrap(a[0]); return "" }},
		{Words: "break driver DRIVER BREAKAGE", Do: func(t *workload.Scene, a []string) string { return breaks(t, a[0], breakages[a[1]]) }},
	}
}

// backendActions are the statements about what is behind a volume: its server, its disk, its attachment to this node.
func backendActions() []workload.Action {
	return []workload.Action{
		{
			Words: "silence server of HANDLE of driver DRIVER for TIME",
			Do:    func(t *workload.Scene, a []string) string { return silence(t, a[1], a[0], workload.Duration(a[2])) },
		},
		{Words: "export HANDLE of driver DRIVER again", Do: func(t *workload.Scene, a []string) string { return exportAgain(t, a[1], a[0]) }},
		{Words: "mount share PATH", Do: func(t *workload.Scene, a []string) string { t.W.MountShare(a[0]); return "" }},
		{Words: "silence share PATH for TIME", Do: func(t *workload.Scene, a []string,
		) string {
			return silenceShare(t, a[0], workload.Duration(a[1]))
		}},
		{
			Words: "hand over HANDLE of driver DRIVER for TIME",
			Do: func(t *workload.Scene, a []string) string {
				dealings.HandsOver(t.R, a[1], a[0], workload.Duration(a[2]))
				return ""
			},
		},
		{Words: "detach HANDLE of driver DRIVER by force for TIME", Do: func(t *workload.Scene, a []string) string {
			dealings.DetachesByForce(t.R, a[1], a[0], workload.Duration(a[2]))
			return ""
		}},
		{
			Words: "fail disk of HANDLE of driver DRIVER FAILURE",
			Do:    func(t *workload.Scene, a []string) string { return failDisk(t, a[1], a[0], a[2]) },
		},
		{Words: "expect HANDLE of driver DRIVER away", Do: func(t *workload.Scene, a []string) string { return expectAway(t, a[0], a[1]) }},
		{Words: "silence cluster for TIME", Do: func(t *workload.Scene, a []string) string {
			t.W.BreakWatch("", workload.Duration(a[0]))
			return ""
		}},
	}
}
