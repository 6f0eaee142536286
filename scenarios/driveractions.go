package scenarios

import (
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/workload"
)

// driverActions are the statements about drivers and their registrars.
func driverActions() []workload.Action {
	return []workload.Action{
		on("stop driver DRIVER", func(t *scene, a []string) string { t.W.StopDriver(a[0]); return "" }),
		on("stop plugin of driver DRIVER", func(t *scene, a []string) string { t.W.StopPlugin(a[0]); return "" }),
		on("start driver DRIVER", func(t *scene, a []string) string { return startDriver(t, a[0]) }),
		on("restart driver DRIVER", func(t *scene, a []string) string { t.W.RestartDriver(a[0]); return "" }),
		on("replace driver DRIVER", func(t *scene, a []string) string { t.W.ReplaceDriver(a[0]); return "" }),
		on("replace driver DRIVER without staging", func(t *scene, a []string) string {
			t.W.ReplaceDriverBy(a[0], false)
			return ""
		}),
		on("replace driver DRIVER with staging", func(t *scene, a []string) string {
			t.W.ReplaceDriverBy(a[0], true)
			return ""
		}),
		on("rival of driver DRIVER for TIME", func(t *scene, a []string) string {
			t.W.RivalDriver(a[0], workload.Duration(a[1]))
			return ""
		}),
		on("upgrade driver DRIVER for TIME", func(t *scene, a []string) string {
			t.W.UpgradeDriver(a[0], workload.Duration(a[1]))
			return ""
		}),
		on("upgrade driver DRIVER for TIME without staging", func(t *scene, a []string) string {
			return changeDriver(t, a[0], a[1], func(is *sim.Personality) { is.Staging = false })
		}),
		on("upgrade driver DRIVER for TIME with staging", func(t *scene, a []string) string {
			return changeDriver(t, a[0], a[1], func(is *sim.Personality) { is.Staging = true })
		}),
		on("upgrade driver DRIVER for TIME without mount-group", func(t *scene, a []string) string {
			return changeDriver(t, a[0], a[1], func(is *sim.Personality) { is.MountGroup = false })
		}),
		on("upgrade driver DRIVER for TIME with mount-group", func(t *scene, a []string) string {
			return changeDriver(t, a[0], a[1], func(is *sim.Personality) { is.MountGroup = true })
		}),
		on("lose socket of driver DRIVER", func(t *scene, a []string) string { t.W.LoseSocket(a[0]); return "" }),
		on("make socket of driver DRIVER", func(t *scene, a []string) string { t.W.FindSocket(a[0]); return "" }),
		on("panic after METHOD", func(t *scene, a []string) string { t.W.SetTrap(a[0]); return "" }),
		on("break driver DRIVER BREAKAGE",
			func(t *scene, a []string) string { return breaks(t, a[0], breakages[a[1]]) }),
	}
}

// flexActions are the statements about FlexVolume drivers.
func flexActions() []workload.Action {
	return []workload.Action{
		on("install flex driver PROGRAM MANNER",
			func(t *scene, a []string) string { t.W.InstallFlex(a[0], a[1]); return "" }),
		on("remove flex driver PROGRAM", func(t *scene, a []string) string {
			if !t.W.RemoveFlexDriver(a[0]) {
				return "there is no driver " + a[0]
			}
			return ""
		}),
	}
}

// onRepository is a statement about a repository that is there.
func onRepository(form string, do func(t *scene, url string)) workload.Action {
	return on(form, func(t *scene, a []string) string {
		if !t.R.HasRepository(a[0]) {
			return "there is no repository " + a[0]
		}
		do(t, a[0])
		return ""
	})
}

// repositoryActions are the statements about git repositories.
func repositoryActions() []workload.Action {
	return []workload.Action{
		on("put repository URL", func(t *scene, a []string) string { t.R.PutsRepository(a[0], ""); return "" }),
		on("put repository URL as REVISION", func(t *scene, a []string) string {
			t.R.PutsRepository(a[0], a[1])
			return ""
		}),
		onRepository("remove repository URL", func(t *scene, url string) { t.R.RemovesRepository(url) }),
		onRepository("damage repository URL", func(t *scene, url string) { t.W.DamageRepository(url) }),
		onRepository("silence repository URL", func(t *scene, url string) { t.W.SilenceRepository(url) }),
		onRepository("answer for repository URL", func(t *scene, url string) { t.W.AnswerRepository(url) }),
	}
}

// backendActions are the statements about what is behind a volume: its server, its disk, its attachment to this node.
func backendActions() []workload.Action {
	return []workload.Action{
		on("silence server of HANDLE of driver DRIVER for TIME",
			func(t *scene, a []string) string { return silence(t, a[1], a[0], workload.Duration(a[2])) }),
		on("export HANDLE of driver DRIVER again",
			func(t *scene, a []string) string { return exportAgain(t, a[1], a[0]) }),
		on("mount share PATH", func(t *scene, a []string) string { t.W.MountShare(a[0]); return "" }),
		on("silence share PATH for TIME", func(t *scene, a []string) string {
			return silenceShare(t, a[0], workload.Duration(a[1]))
		}),
		on("export SHARE", func(t *scene, a []string) string { t.W.Export(a[0]); return "" }),
		on("export SHARE again", func(t *scene, a []string) string {
			if !t.W.ExportShareAgain(a[0]) {
				return "nobody exports " + a[0]
			}
			return ""
		}),
		on("silence export SHARE for TIME", func(t *scene, a []string) string {
			return silenceShare(t, a[0], workload.Duration(a[1]))
		}),
		on("put image IMAGE", func(t *scene, a []string) string { t.R.PutsImage(a[0]); return "" }),
		on("remove image IMAGE", func(t *scene, a []string) string {
			if !t.R.HasImage(a[0]) {
				return "there is no image " + a[0]
			}
			t.R.RemovesImage(a[0])
			return ""
		}),
		on("damage image IMAGE", func(t *scene, a []string) string {
			if !t.R.HasImage(a[0]) {
				return "there is no image " + a[0]
			}
			t.W.DamageImage(a[0])
			return ""
		}),
		on("hand over HANDLE of driver DRIVER for TIME", func(t *scene, a []string) string {
			dealings.HandsOver(t.R, a[1], a[0], workload.Duration(a[2]))
			return ""
		}),
		on("detach HANDLE of driver DRIVER by force for TIME", func(t *scene, a []string) string {
			dealings.DetachesByForce(t.R, a[1], a[0], workload.Duration(a[2]))
			return ""
		}),
		on("fail disk of HANDLE of driver DRIVER FAILURE",
			func(t *scene, a []string) string { return failDisk(t, a[1], a[0], a[2]) }),
		on("expect HANDLE of driver DRIVER away",
			func(t *scene, a []string) string { return expectAway(t, a[0], a[1]) }),
		on("silence cluster for TIME", func(t *scene, a []string) string {
			t.W.Cluster.BreakWatch("", workload.Duration(a[0]))
			return ""
		}),
	}
}
