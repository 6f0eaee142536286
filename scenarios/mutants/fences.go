package mutants

// fences is calls without a known end, and helpers that outlive the agent (laws 4).
var fences = []Mutant{
	{
		"what is found late is not fenced", "S8, laws 4.4", "engine/core/hidden.go",
		"\tc.addOrphans(slices.DeleteFunc(slices.Clone(e.Orphans), func(orphan Rung) bool { return c.IsKnown(orphan.Key) }))\n",
		"\tfor _, orphan := range e.Orphans {\n\t\tif !c.IsKnown(orphan.Key) {\n\t\t\tc.addOrphan(orphan)\n\t\t}\n\t}\n",
	},
	{
		"what a late call mounts where nothing was is not looked at", "L6, laws 4", "engine/drift.go",
		" || b.SetUpOpen != 0\n", " || b.SetUpOpen < 0\n",
	},
	{
		"what no record tells of is gone at once", "S5, S8, laws 4.4", "engine/core/hidden.go",
		"\t\tfence(SetUp, r.Limits.SetUp)\n", "",
	},
	{
		"what no record tells of is gone half a minute after a start", "S8, laws 4.4", "engine/core/hidden.go",
		"c.earlier.Add(limit + r.Limits.LateWindow)", "c.earlier.Add(min(limit+r.Limits.LateWindow, 30*time.Second))",
	},
	{
		"an unstage of a lost journal is not minded", "S6, laws 4.4", "engine/core/hidden.go",
		"\t\t\tfence(TearDown, r.Limits.TearDown)\n", "",
	},
	{
		"no call is fenced", "S8, laws 4.1, kubernetes#82190", "engine/core/fence.go",
		"\tif k.until != 0 {\n", "\tif k.until == 1 {\n",
	},
	{
		"a teardown that was given up is not fenced", "laws 4.1, spec#389", "engine/core/complete.go",
		"\t\tr.state, r.reconfirmable = Unknown, false\n\t\tc.fenceOff(r, in, res)\n",
		"\t\tr.state, r.reconfirmable = Unknown, false\n",
	},
	{
		"a setup that was given up is not fenced", "laws 4.1, kubernetes#82190", "engine/core/complete.go",
		"\t\tc.fenceOff(r, in, res)\n\t\tif in.Verb == Refresh", "\t\tif in.Verb == Refresh",
	},
	{
		"a call of another boot may act", "L2, laws 4.1, kubernetes#124057", "engine/core/core.go",
		"\tif rec.Boot != c.boot {\n",
		"\tr.fence(call{verb: SetUp, until: rec.SetUpUntil})\n\tif rec.Boot != c.boot {\n",
	},
	{
		"is set up from absent while a teardown may still act", "laws 4.2, kubernetes#121357", "engine/core/reconcile.go",
		"\tcase Absent:\n\t\tif at := r.bound(TearDown); at != 0 {\n\t\t\treturn waitUntil(whyTearDownOpen, at)\n\t\t}\n",
		"",
	},
	{
		"a repeated teardown that is done ends those before it", "laws 4.2, spec#389", "engine/core/complete.go",
		"\t\tr.noResidue = in.quiet\n", "\t\tr.noResidue = in.quiet\n\t\tr.calls = slices.DeleteFunc(r.calls, func(k " +
			"call) bool { return k.verb == TearDown })\n",
	},
	{
		"a late answer ends every call of its rung", "laws 4.3a", "engine/core/fence.go",
		"func(k call) bool { return k.op == op })", "func(k call) bool { return k.op != 0 })",
	},
	{
		"the second teardown does not wait for the bound", "laws 4.4", "engine/core/reconcile.go",
		"\tif at := r.bound(SetUp); at != 0 {\n\t\treturn waitUntil(whySetUpOpen, at)\n\t}\n", "",
	},
	{
		"a helper of an earlier run excludes nothing", "S6, laws 4.5", "engine/core/reconcile.go",
		"\tif r.child != \"\" {\n\t\treturn idle(whyChild)\n\t}\n", "",
	},
	{
		"helpers of an earlier run are not looked for", "S6, laws 4.5", "engine/start.go",
		"\tm.follow(children)\n", "\tchildren = nil\n",
	},
	{
		"a setup that was given up is not undone before its bound", "L4, laws 4.2", "engine/core/reconcile.go",
		"\tif r.state != Absent {\n\t\treturn c.takeDown(r, whyUnwanted)\n\t}\n\tif at := r.bound(SetUp); at != 0 {\n" +
			"\t\treturn waitUntil(whySetUpOpen, at)\n\t}\n",
		"\tif at := r.bound(SetUp); at != 0 {\n\t\treturn waitUntil(whySetUpOpen, at)\n\t}\n\tif r.state != Absent {\n" +
			"\t\treturn c.takeDown(r, whyUnwanted)\n\t}\n",
	},
	{
		"a late answer is not heard", "laws 4.3a", "engine/core/fence.go",
		"if r := c.open[op]; r != nil && !c.acted(r) {", "if r := c.open[op]; r != nil && c.acted(r) {",
	},
	{
		"every late answer ends its call", "laws 4.3a", "engine/ops.go",
		"\tif csiplugin.Ends(err) {\n", "\tif csiplugin.Ends(nil) {\n\t\t_ = err\n",
	},
	{
		"the end of a process is not heard", "laws 4.3b", "engine/core/fence.go",
		"func(k call) bool { return k.instance == instance })",
		"func(k call) bool { return k.instance == \"\" && k.op != 0 })",
	},
	{
		"a lost connection is taken for the end of a process", "laws 4.3b", "engine/ops.go",
		"\tif res.Unsent {\n\t\tm.unreached(op.Actor)\n",
		"\tif res.Unsent {\n\t\tstep(m, core.ActorGone{Actor: op.Actor, Instance: " +
			"m.drivers.instance(op.Actor)})\n\t\tm.unreached(op.Actor)\n",
	},
	{
		"a helper of an earlier run has done nothing", "S14, laws 4.5", "engine/core/core.go",
		"\t\t\tr.state, r.noResidue, r.reconfirmable = Unknown, false, false\n", "\t\t\tr.reconfirmable = false\n",
	},
	{
		"a helper without a record excludes nothing", "S6, laws 4.5", "engine/core/core.go",
		"\t\tr = c.add(Rung{Key: e.Key})\n\t\tr.state = Absent\n", "\t\treturn\n",
	},
	{
		"told ready while a helper may still act", "S21, laws 4.5", "engine/core/waiters.go",
		"!c.isAsWanted(r) || r.child != \"\" ||", "!c.isAsWanted(r) ||",
	},
	{
		"an answer that came just before the operation ended is not heard", "laws 4.3a", "engine/core/complete.go",
		"if !acts && (in.ended || !res.Fenced) {", "if !acts && !res.Fenced {",
	},
	{
		"the end of one process ends the calls of another", "laws 4.3b", "engine/core/fence.go",
		"func(k call) bool { return k.instance == instance })", "func(k call) bool { return k.instance != \"\" })",
	},
	{
		"a final answer ends one of several calls", "laws 4.3c", "engine/core/fence.go",
		"return n == 1 &&", "return n >= 1 &&",
	},
	{
		"a call that no record tells of is never at work", "S6, laws 4.3c", "engine/core/fence.go",
		"(c.earlier == 0 || ", "(true || ",
	},
	{
		"an agent that finds its directories has never run", "S6, laws 4.3c", "engine/start.go",
		"n.start.HasRun = hasRun || ", "n.start.HasRun = false && hasRun && ",
	},
	{
		"a final answer of another process ends a call", "laws 4.3c", "engine/core/fence.go",
		"k.verb == fenceVerb(in.Verb) && k.instance == res.Instance", "k.verb == fenceVerb(in.Verb)",
	},
	{
		"an ABORTED that other calls explain counts", "laws 4.3c", "engine/core/fence.go",
		"r.calls[i].aborted || !in.isConcurrent", "true",
	},
	{
		"a teardown that began before the end of a setup is enough", "laws 4.4", "engine/core/complete.go",
		"r.noResidue = in.quiet", "r.noResidue = r.bound(SetUp) == 0",
	},
	{
		"a record goes without the second teardown", "S8, laws 4.4, kubernetes#82190", "engine/core/actual.go",
		"return r.state == Absent && r.noResidue && len(r.calls) == 0", "return r.state == Absent && len(r.calls) == 0",
	},
	{
		"the process of a call is not known", "laws 4.3b", "engine/ops.go",
		"if m.drivers.instance(t.op.Actor) == t.instance {", "if t.instance != \"\" {",
	},
	{
		"a call without an end is waited for for ever", "L2, laws 4.1", "engine/core/fence.go",
		"over := k.until <= c.now || end(k)", "over := end(k)",
	},
	{
		"a start forgets a teardown that may act", "S6, laws 4.2, 5.2, kubernetes#121357", "engine/core/core.go",
		"\tr.fence(call{verb: TearDown, until: rec.TearDownUntil})\n", "",
	},
	{
		"a volume in doubt is told not to be in use", "S8, laws 4.4", "engine/core/view.go",
		"slices.ContainsFunc(c.volumes[volume], (*rung).isLeft)",
		"slices.ContainsFunc(c.volumes[volume], func(r *rung) bool { return r.state != Absent })",
	},
}
