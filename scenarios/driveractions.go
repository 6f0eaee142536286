package scenarios

// driverActions are the statements about drivers and their registrars.
func driverActions() []action {
	return []action{
		{"stop driver DRIVER", func(t *scene, a []string) string { t.w.StopDriver(a[0]); return "" }},
		{"stop plugin of driver DRIVER", func(t *scene, a []string) string { t.w.StopPlugin(a[0]); return "" }},
		{"start driver DRIVER", func(t *scene, a []string) string { return t.startDriver(a[0]) }},
		{"restart driver DRIVER", func(t *scene, a []string) string { t.w.RestartDriver(a[0]); return "" }},
		{"replace driver DRIVER", func(t *scene, a []string) string { t.w.ReplaceDriver(a[0]); return "" }},
		{"replace driver DRIVER without staging", func(t *scene, a []string,
		) string {
			t.w.ReplaceDriverBy(a[0], false)
			return ""
		}},
		{"replace driver DRIVER with staging", func(t *scene, a []string,
		) string {
			t.w.ReplaceDriverBy(a[0], true)
			return ""
		}},
		{"rival of driver DRIVER for TIME", func(t *scene, a []string,
		) string {
			t.w.RivalDriver(a[0], duration(a[1]))
			return ""
		}},
		{"upgrade driver DRIVER for TIME", func(t *scene, a []string,
		) string {
			t.w.UpgradeDriver(a[0], duration(a[1]))
			return ""
		}},
		{
			"upgrade driver DRIVER for TIME without staging",
			func(t *scene, a []string) string { return t.changeDriver(a[0], false, a[1]) },
		},
		{
			"upgrade driver DRIVER for TIME with staging",
			func(t *scene, a []string) string { return t.changeDriver(a[0], true, a[1]) },
		},
		{"lose socket of driver DRIVER", func(t *scene, a []string) string { t.w.LoseSocket(a[0]); return "" }},
		{"make socket of driver DRIVER", func(t *scene, a []string) string { t.w.FindSocket(a[0]); return "" }},
		{"panic after METHOD", func(t *scene, a []string) string { t.w.SetTrap(a[0]); return "" }},
		{"break driver DRIVER BREAKAGE", func(t *scene, a []string) string { return t.breaks(a[0], breakages[a[1]]) }},
	}
}
