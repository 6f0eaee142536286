package mutants

// identity is what a name, a path and a volume have to do with each other.
var identity = []Mutant{
	{
		"a path passes to another volume while containers use it", "S13, laws: places", "engine/core.Core.alone",
		"o := c.rival(r)", "var o *rung",
	},
	{
		"a path is kept within one pod only", "S13, laws: places", "engine/core.rung.isRival",
		"return r != o && (", `return r != o && r.Pod != "" && r.Pod == o.Pod && (`,
	},
	{
		"a path is kept by what is there only", "S13, laws: places", "engine/core.Core.rival",
		`if !o.isGone() {
			return o`, `if o.state == Present {
			return o`,
	},
	{
		"a path passes to another volume while a call of the first may act", "S13, laws: places",
		"engine/core.Core.rival",
		`if !o.isGone() {
			return o`,
		`if o.state != Absent || o.op != nil || o.child != "" {
			return o`,
	},
	{
		"what is recorded at a path goes before what came there later", "S13, laws: places", "engine/core.Core.unused",
		"case o.isAbove(r),", "case r.isAbove(o),",
	},
	{
		"what no record tells of came first", "S13, laws: places", "engine/core.Core.addOrphan",
		"r.seq = c.lastSeq", "r.seq = 0",
	},
	{
		"another handle under one name is the same volume", "S21", "engine/plugin/csi.PublishKey",
		`return hal.Key(string(KindPublish) + "/" + driver + "^" + plugin.Escape(handle) +`,
		`return hal.Key(string(KindPublish) + "/" + driver + "^" +`,
	},
	{
		"a record does not keep its path", "S13, laws: places", "engine.starting.recorded",
		"r.Places = s.cfg.VolumeSources.Places(r)", "r.Places = nil",
	},
	{
		"what has no record does not keep its path", "S13, laws: places", "engine/plugin/kinds.Table.Discover",
		"all[i].Places = t.Places(&all[i])", "all[i].Places = nil",
	},
	{
		"a vol_data.json is anybody's", "S13, laws: places", "engine/plugin/kinds.Table.Places",
		`range [...]string{plugin.ParamPath, plugin.ParamData} {`, `range [...]string{plugin.ParamPath} {`,
	},
	{
		"containers are taken to run on what a pod that ended does not want", "L2, laws: places",
		"engine/core.Core.revive",
		"case gone && r.mayBeUsed && !isKept:", "case gone && r.mayBeUsed && isWanted && !isKept:",
	},
	{
		"another file in the place of the journal is taken for it", "S15, L11", "engine.own.ownChanged",
		"journalErr = errReplaced", "journalErr = nil",
	},
	{
		"a journal of which nobody knows which file it is is taken for it",
		"S15, L11", "engine.own.ownChanged",
		"journalErr = errUnsure", "",
	},
}
