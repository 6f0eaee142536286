package mutants

// identity is what a name, a path and a volume have to do with each other.
var identity = []Mutant{
	{
		"a path passes to another volume while containers use it", "S13, laws: places", "engine/core/places.go",
		"\to := c.rival(r)\n", "\tvar o *rung\n",
	},
	{
		"a path is kept within one pod only", "S13, laws: places", "engine/core/places.go",
		"return r != o && (", "return r != o && r.Pod != \"\" && r.Pod == o.Pod && (",
	},
	{
		"a path is kept by what is there only", "S13, laws: places", "engine/core/places.go",
		"\t\tif !o.isGone() {\n\t\t\treturn o\n", "\t\tif o.state == Present {\n\t\t\treturn o\n",
	},
	{
		"a path passes to another volume while a call of the first may act", "S13, laws: places",
		"engine/core/places.go",
		"\t\tif !o.isGone() {\n\t\t\treturn o\n",
		"\t\tif o.state != Absent || o.op != nil || o.child != \"\" {\n\t\t\treturn o\n",
	},
	{
		"what is recorded at a path goes before what came there later", "S13, laws: places", "engine/core/places.go",
		"\t\tcase o.isAbove(r),", "\t\tcase r.isAbove(o),",
	},
	{
		"what no record tells of came first", "S13, laws: places", "engine/core/hidden.go",
		"\tr.seq = c.lastSeq\n", "\tr.seq = 0\n",
	},
	{
		"another handle under one name is the same volume", "S21", "engine/plugin/csi/ladder.go",
		"return hal.Key(string(KindPublish) + \"/\" + driver + \"^\" + plugin.Escape(handle) +",
		"return hal.Key(string(KindPublish) + \"/\" + driver + \"^\" +",
	},
	{
		"a record does not keep its path", "S13, laws: places", "engine/start.go",
		"\t\tr.Places = kinds.Places(r)", "\t\tr.Places = nil",
	},
	{
		"what has no record does not keep its path", "S13, laws: places", "engine/plugin/kinds/discover.go",
		"\t\tall[i].Places = Places(&all[i])\n", "\t\tall[i].Places = nil\n",
	},
	{
		"a vol_data.json is anybody's", "S13, laws: places", "engine/plugin/kinds/kinds.go",
		"range [...]string{\"path\", \"data\"} {", "range [...]string{\"path\"} {",
	},
	{
		"containers are taken to run on what a pod that ended does not want", "L2, laws: places",
		"engine/core/desired.go",
		"\t\tcase gone && r.mayBeUsed && !isKept:\n", "\t\tcase gone && r.mayBeUsed && isWanted && !isKept:\n",
	},
	{
		"another file in the place of the journal is taken for it", "S15, L11", "engine/own.go",
		"\t\t\t\tjournalErr = errReplaced\n", "\t\t\t\tjournalErr = nil\n",
	},
	{
		"a journal of which nobody knows which file it is is taken for it", "S15, L11", "engine/own.go",
		"\t\t\t\tjournalErr = errUnsure\n", "",
	},
}
