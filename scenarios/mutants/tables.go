package mutants

// tables is engines that take notices of the mount table for more than they say, or for less.
var tables = []Mutant{
	{
		"what is noticed while the mount table is read is forgotten", "S14, laws 7.1, kubernetes#109955",
		"engine/drift.go",
		"\td.news = append(slices.Clone(d.news), at...)\n", "\td.news = slices.Clone(at)\n",
	},
	{
		"what is read of some paths is taken for the whole mount table", "S14, laws 7.1", "engine/drift.go",
		", m.differing(at, tops, since)...) {", ", m.differing(nil, tops, since)...) {",
	},
	{
		"a notice that does not say where is no notice", "S14, laws 7.1", "engine/drift.go",
		"if d.isAll = d.isAll || at == nil; d.isAll {",
		"if d.isAll = d.isAll || at == nil && d.blocked == nil; d.isAll {",
	},
	{
		"what others have mounted below the root directory is never forgotten", "L2, laws 7.3", "engine/covers.go",
		"func(s stranger) bool { return isAmong(s.path, paths) })\n",
		"func(s stranger) bool { return s.path == \"\" })\n",
	},
	{
		"what goes from below an emptyDir is not minded", "L2", "engine/drift.go",
		"\tfor _, key := range changed {\n", "\tfor _, key := range changed[:0] {\n",
	},
}
