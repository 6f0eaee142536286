package mutants

// vandals is engines that do not mind what somebody does to the directories of pods, or make or delete them wrong.
var vandals = []Mutant{
	{
		"an emptyDir is up whatever is at its path", "S14, S29", "engine/plugin/emptydir/verbs.go",
		"\tif !mounted && seen.Type != hal.TypeDirectory {\n", "\tif o.ID == 0 {\n",
	},
	{
		"the loss of an emptyDir is not told", "S29", "engine/plugin/emptydir/verbs.go",
		"\tif lost != \"\" {\n\t\tall = append(", "\tif o.ID == 0 {\n\t\tall = append(",
	},
	{
		"a directory that is taken away is not noticed", "S14, S29", "engine/places.go",
		"return m.h.Watches.Path(at, func() { m.lookAgain(key) })", "return m.h.Watches.Path(at, func() {})",
	},
	{
		"what a mount hides is worked on", "S1, laws 7.3", "engine/core/reconcile.go",
		"if cover, is := c.cover(r); is {", "if cover, is := c.cover(r); is && r == nil {",
	},
	{
		"a pod is ready whose volumes a mount hides", "S21, laws 7.3", "engine/core/waiters.go",
		"if _, isCovered := c.cover(r); isCovered {", "if _, isCovered := c.cover(r); isCovered && r == nil {",
	},
	{
		"a mount that hides places is not noticed", "S21, laws 7.3", "engine/covers.go",
		"\tstep(m, core.Covered{By: covers})\n", "",
	},
	{
		"a teardown that has done nothing ends the watch", "S14, S29", "engine/ops.go",
		"\t\tm.watchAgain(op) // its watch ended when it began\n", "",
	},
	{
		"a mount below an emptyDir is not told", "S29", "engine/covers.go",
		"\t\t\td.below[s.key] = ", "\t\t\td.below[\"x\"+s.key] = ",
	},
	{
		"an emptyDir that somebody has mounted over is up", "S14", "engine/drift.go",
		"return strings.HasPrefix(string(key), string(emptydir.Kind)+\"/\") || ", "return ",
	},
	{
		"what is above an emptyDir is as open as it", "S29", "engine/op/tree.go",
		"\t\tif at == dir {\n", "\t\tif mode != 0 {\n",
	},
	{
		"an emptyDir is for root alone", "S29, K:G97", "engine/plugin/emptydir/verbs.go",
		"op.Mkdirs(h, c, dir, 0o777)", "op.Mkdirs(h, c, dir, 0o750)",
	},
	{
		"what is left of a target goes with all in it", "S1", "engine/op/tree.go",
		"\tif err := h.Tree.Remove(c, name); err != nil && !hal.Is(err, syscall.ENOENT) {\n",
		"\tif _, err := h.Tree.RemoveTree(c, name, 1000); err != nil {\n",
	},
	{
		"what begins like a place is below it", "S21, laws 7.3", "engine/covers.go",
		"len(at) > len(dir) && at[len(dir)] == '/' && at[:len(dir)] == dir",
		"len(at) > len(dir) && at[:len(dir)] == dir",
	},
}
