package mutants

// measures is how full volumes are.
var measures = []Mutant{
	{
		"nobody is asked how full a volume is", "L18, K:H10", "engine.measuring.begin", "m.cfg.MeasureEvery > 0", "false",
	},
	{
		"volumes are asked all the time how full they are", "L18", "engine.measuring.begin",
		"Add(m.cfg.MeasureEvery)", "Add(m.cfg.MeasureEvery/10)",
	},
	{
		"who failed is not asked again how full it is", "L18", "engine.measuring.ends",
		"max(2*q.wait, m.cfg.MeasureEvery)", "max(0*q.wait, measureRarely)",
	},
	{
		"who hangs is asked again and again how full it is", "L18", "engine.measuring.ends",
		"max(2*q.wait, m.cfg.MeasureEvery)", "0*q.wait",
	},
	{
		"nobody asks drivers about their storage", "L18", "engine.measuring.saysStorage",
		"facts != nil && facts", "facts != nil && !facts",
	},
	{
		"what a driver says of its storage is said once", "L18", "engine.measuring.askStorage",
		"!slices.Equal(troubles(is.wrong), troubles(wrong))", "len(is.wrong) == 0 && len(wrong) > 0",
	},
	{
		"what is over with a driver's storage is said for ever", "L18", "engine.measuring.askStorage",
		"is.wrong = wrong", "is.wrong = append(is.wrong, wrong...)",
	},
	{
		"who can't say how full a volume is is not asked whether it is well", "L18", "engine.measuring.questions",
		"!m.isDue(of.well)", "!m.isDue(of.full)",
	},
	{
		"a driver is asked where it has staged how full a volume is", "L18, K:G53", "engine/plugin/csi.measure",
		"core.Value(made, plugin.ParamPath)", "core.Value(made, paramStaging)",
	},
	{
		"the used bytes are told as the size", "L18, K:H10", "engine/plugin/csi.measure", "Total: of.GetTotal()",
		"Total: of.GetUsed()",
	},
	{
		"a helper of no rung is one of a rung without a name", "S35", "engine.starting.read",
		`return child.Key == ""`, "return false",
	},
	{
		"one silent volume keeps all from saying how full they are", "L18", "engine.measuring.asks",
		`cmp.Or(v.Actor, "/"+string(v.Kind))`, `cmp.Or("/nfs", string(v.Kind))`,
	},
	{
		"the usage of another volume is told", "L18", "engine.measuring.usage", "of := m.known[top]",
		"of := m.known[slices.Min(append(slices.Collect(maps.Keys(m.known)), top))]",
	},
	{
		"a question whose answer does not count is asked again at once", "L18", "engine.measuring.ends",
		"q.asked = now", "q.asked = q.at",
	},
	{
		"nobody looks how much an emptyDir on disk holds", "L18, K:G97", "engine/plugin/emptydir.limitOf",
		"core.Value(made, paramMedium) != \"\"", "core.Value(made, paramMedium) >= \"\"",
	},
	{
		"an emptyDir on disk may hold as much as it has held", "L18, K:G97", "engine.measuring.limits",
		"is.Used > limit", "is.Used > limit+is.Used",
	},
	{
		"an edit of the limit of an emptyDir on disk is not heard", "L18, K:G97", "engine/plugin/emptydir.rung",
		"onSize := core.OnChangeRefresh", "onSize := core.OnChangeKeep",
	},
}
