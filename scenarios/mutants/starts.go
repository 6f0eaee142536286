package mutants

// starts is what a start reads of the node, and how much a read that failed says (laws 5.4).
var starts = []Mutant{
	{
		"a start that is tried again forgets whose root it is", "S1, the node's name is never derived again",
		"engine/identify.go",
		"\tcase earlier.Node != \"\":\n", "\tcase earlier.Node != \"\" && known:\n",
	},
	{
		"an inspection that fails sees nothing", "S22, laws 5.4, kubernetes#103754", "engine/op/place.go",
		"\tif err != nil && !hal.Is(err, syscall.ENOENT) {\n\t\treturn Seen{}, err\n\t}\n",
		"\tif err != nil {\n\t\treturn Seen{}, nil\n\t}\n",
	},
	{
		"a journal that can't be read is empty", "S15, laws 5.4, kubernetes#33203", "engine/journal/load.go",
		"\tif err != nil {\n\t\treturn image{}, err\n\t}\n",
		"\tif err != nil {\n\t\treturn image{file: file, damages: []Damage{{file, 0, fmt.Sprint(err)}}}, nil\n\t}\n",
	},
	{
		"what comes before a start is done is lost", "L2", "engine/manager.go",
		"\t\tm.early = append(m.early, e)\n", "",
	},
	{
		"a start that fails is not tried again", "L2", "engine/start.go",
		"\t\t\t\tm.h.Runtime.At(m.h.Runtime.Now().Add(wait), m.start)\n", "\t\t\t\t_ = wait\n",
	},
	{
		"the directory of pods may go with the power", "S30", "engine/start.go",
		"\treturn hasRun, m.h.Files.Sync(c, m.cfg.RootDir)\n", "\treturn hasRun, nil\n",
	},
	{
		"a start that can't read the mount table takes it for empty", "S22, laws 5.4, kubernetes#101791",
		"engine/start.go",
		"\ttable, err := m.h.Mounts.Table(c)\n\tif err != nil {\n\t\treturn n, err\n\t}\n",
		"\ttable, _ := m.h.Mounts.Table(c)\n",
	},
	{
		"a directory that can't be listed is empty", "S22, laws 5.4, kubernetes#72257", "engine/plugin/kinds/scan.go",
		"\treturn entries, err\n", "\treturn entries, nil\n",
	},
	{
		"the last data file of a raw volume is not told of", "L1", "engine/plugin/kinds/discover.go",
		"\t\td.left = append(d.left, Unrecognised{\n\t\t\tPath: dir, Volume:",
		"\t\t_ = append(d.left, Unrecognised{\n\t\t\tPath: dir, Volume:",
	},
	{
		"what a start could not look at is not looked at again", "S15, kubernetes#72257", "engine/hidden.go",
		"\tif len(names) == 0 {\n\t\tm.hidden.wait = 0\n", "\tif len(names) >= 0 {\n\t\tm.hidden.wait = 0\n",
	},
	{
		"what is hidden is made again", "S14, S18", "engine/core/actual.go",
		"\tif _, is := c.veil(r); is {\n", "\tif _, is := c.veil(r); is && r == nil {\n",
	},
	{
		"what is found where a start could not look is not taken in", "S15", "engine/core/hidden.go",
		"\tc.addOrphans(slices.DeleteFunc(slices.Clone(e.Orphans), ", "\tc.addOrphans(slices.DeleteFunc(e.Orphans[:0:0], ",
	},
	{
		"what is at an earlier life's trace is another's", "L2", "engine/core/complete.go",
		"\t\tcase r.foundOnDisk && !IsBare(res.Fingerprint):\n", "\t\tcase r.foundOnDisk && r == nil:\n",
	},
	{
		"of several hidden directories one is pruned", "L1", "engine/hidden.go",
		"return !isAtOrBelowAny(at, names) })", "return !isAtOrBelowAny(at, names[:1]) })",
	},
	{
		"of several hidden directories one hides", "S14, S18", "engine/core/hidden.go",
		"for _, name := range c.hidden {\n", "for _, name := range c.hidden[:min(1, len(c.hidden))] {\n",
	},
	{
		"a publish does not tell of its stage", "L1, laws 5.4", "engine/plugin/kinds/discover.go",
		"if data.IsStaged() && d.stages[key] == nil {", "if data.IsStaged() && d.stages[key] != nil {",
	},
	{
		"the data file of a raw volume does not tell of its stage", "L1, laws 5.4", "engine/plugin/kinds/discover.go",
		"isStaged := e.Staged || data.IsStaged()", "isStaged := e.Staged",
	},
	{
		"that a volume is staged is not written beside it", "L1, laws 5.4", "engine/plugin/csi/voldata.go",
		"flag(kind == KindStage || value(paramStaging) != \"\")", "flag(kind == KindStage)",
	},
	{
		"what a publish alone names is not recorded before that goes", "L1, laws 5.1", "engine/core/lines.go",
		"if b.recorded || !b.foundOnDisk || !b.Intent {", "if b.recorded || b.foundOnDisk || !b.Intent {",
	},
	{
		"a start does not say which directory is none", "who waits is told for what", "engine/start.go",
		"if misplaced := m.misplaced(err); misplaced != nil {", "if misplaced := m.misplaced(nil); misplaced != nil {",
	},
	{
		"a file in the place of the pods is an empty directory", "laws 5.4", "engine/plugin/kinds/scan.go",
		"pods, err := s.top(", "pods, err := s.list(",
	},
}
