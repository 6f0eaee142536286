package mutants

// damage is engines that take what somebody has changed in place for what they have written.
var damage = []Mutant{
	{
		"what is in the journal is never compared with what was written", "S30, S15", "engine/own.go",
		"\t\t\tjournalErr = print.Check(&m.h, hal.Call{})\n", "\t\t\t_ = print\n",
	},
	{
		"a journal is compared with what was written once alone", "S30, S15", "engine/own.go",
		"\tm.own.isDue = false\n", "\tm.own.isDue = m.own.isDue && m.own.changed == 0\n",
	},
	{
		"a journal that was cut short is damaged only where a frame is cut", "S30, laws 5.4", "engine/journal/load.go",
		"\tif size < written.size {\n", "\tif false {\n",
	},
	{
		"a hole in the journal is always of a power cut", "S30, laws 5.4", "engine/journal/scan.go",
		"h.last < synced || isThisBoot && !h.tail", "h.last < synced",
	},
	{
		"what nobody has written to the journal is a write that was cut short", "S30, laws 5.4",
		"engine/journal/scan.go",
		"good < len(frameTrailer)-1 && bytes", "good < len(frameTrailer)-1 {\n\t\treturn true\n\t} else if bytes",
	},
	{
		"a spare that somebody has cut short becomes a generation", "S30", "engine/journal/batch.go",
		"err == nil && info.Size >= b.spareSize", "err == nil && info.Size >= 0",
	},
	{
		"a log of deletions that was changed in place is gone on with", "S31", "engine/deletions/deletions.go",
		" && info.Changed == l.changed", "",
	},
	{
		"nobody is told that the journal was cut short", "S30", "engine/commit.go",
		" || hal.Is(err, syscall.ERANGE) {", " {",
	},
}
