package mutants

// tables is engines that take notices of the mount table for more than they say, or for less.
var tables = []Mutant{
	{
		"what is noticed while the mount table is read is forgotten", "S14, laws 7.1, kubernetes#109955",
		"engine.drift.readLater",
		"d.news = append(slices.Clone(d.news), at...)", "d.news = slices.Clone(at)",
	},
	{
		"what is read of some paths is taken for the whole mount table",
		"S14, laws 7.1", "engine.drift.tableRead",
		", d.differing(at, tops, since)...) {", ", d.differing(nil, tops, since)...) {",
	},
	{
		"a notice that does not say where is no notice", "S14, laws 7.1", "engine.drift.readLater",
		"if d.isAll = d.isAll || at == nil; d.isAll {",
		"if d.isAll = d.isAll || at == nil && d.blocked == nil; d.isAll {",
	},
	{
		"what others have mounted below the root directory is never forgotten",
		"L2, laws 7.3", "engine.drift.mindStrangers",
		"func(s stranger) bool { return isAmong(s.path, paths) })",
		`func(s stranger) bool { return s.path == "" })`,
	},
	{
		"what goes from below an emptyDir is not minded", "L2", "engine.drift.unblocked",
		"for _, key := range changed {", "for _, key := range changed[:0] {",
	},
}
