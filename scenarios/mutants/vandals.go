package mutants

// vandals is engines that do not mind what somebody does to the directories of pods, or make or delete them wrong.
var vandals = []Mutant{
	{
		"an emptyDir is up whatever is at its path", "S14, S29", "engine/op.Directory.Make",
		"if !mounted && seen.Type != hal.TypeDirectory {", "if o.ID == 0 {",
	},
	{
		"the loss of a directory is not told", "S29", "engine/plugin.DirectoryFacts",
		`if lost != "" {
			all = append(`, `if o.ID == 0 {
			all = append(`,
	},
	{
		"a directory that is taken away is not noticed", "S14, S29", "engine.places.watchPlace",
		"return p.h.Watches.Path(at, func() { p.lookAgain(key) })", "return p.h.Watches.Path(at, func() {})",
	},
	{
		"what a mount hides is worked on", "S1, laws 7.3", "engine/core.Core.next",
		"if cover, is := c.cover(r); is {", "if cover, is := c.cover(r); is && r == nil {",
	},
	{
		"a pod is ready whose volumes a mount hides", "S21, laws 7.3", "engine/core.Core.ready",
		"if _, isCovered := c.cover(r); isCovered {", "if _, isCovered := c.cover(r); isCovered && r == nil {",
	},
	{
		"a mount that hides places is not noticed", "S21, laws 7.3", "engine.drift.mindStrangers",
		"step(d.port, core.Covered{By: covers})", "",
	},
	{
		"a teardown that has done nothing ends the watch", "S14, S29", "engine.VolumeManager.operationEnded",
		"m.places.watchAgain(op)", "",
	},
	{
		"a mount below an emptyDir is not told", "S29", "engine.drift.mindStrangers",
		"d.below[s.key] =", `d.below["x"+s.key] =`,
	},
	{
		"an emptyDir that somebody has mounted over is up", "S14", "engine.drift.mindsMount",
		`return d.cfg.VolumeSources.IsDirectory(core.Kind(kind)) ||`, `return kind == "" ||`,
	},
	{
		"what is above an emptyDir is as open as it", "S29", "engine/op.Mkdirs",
		"if at == dir {", "if mode != 0 {",
	},
	{
		"an emptyDir is for root alone", "S29, K:G97", "engine/plugin/emptydir.directory",
		"Mode: 0o777", "Mode: 0o750",
	},
	{
		"what is left of a target goes with all in it", "S1", "engine/op.Remove",
		"if err := h.Tree.Remove(c, name); err != nil && !hal.Is(err, syscall.ENOENT) {",
		"if _, err := h.Tree.RemoveTree(c, name, 1000); err != nil {",
	},
	{
		"what begins like a place is below it", "S21, laws 7.3", "engine.isBelow",
		"len(at) > len(dir) && at[len(dir)] == '/' && at[:len(dir)] == dir",
		"len(at) > len(dir) && at[:len(dir)] == dir",
	},
}
