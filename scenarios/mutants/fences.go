package mutants

// fences is calls without a known end, and helpers that outlive the agent (laws 4).
var fences = []Mutant{
	{
		"what is found late is not fenced", "S8, laws 4.4", "engine/core.Core.discovered",
		`c.addOrphans(slices.DeleteFunc(slices.Clone(e.Orphans), func(orphan Rung) bool { return c.IsKnown(
			orphan.Key) }))`,
		`for _, orphan := range e.Orphans {
			if !c.IsKnown(orphan.Key) {
				c.addOrphan(orphan)
			}
		}`,
	},
	{
		"what a late call mounts where nothing was is not looked at", "L6, laws 4", "engine.drift.mindsMount",
		"|| b.SetUpOpen != 0", "|| b.SetUpOpen < 0",
	},
	{
		"what no record tells of is gone at once", "S5, S8, laws 4.4", "engine/core.Core.addOrphans",
		"fence(SetUp, r.Limits.SetUp)", "",
	},
	{
		"what no record tells of is gone half a minute after a start", "S8, laws 4.4", "engine/core.Core.addOrphans",
		"c.earlier.Add(limit + r.Limits.LateWindow)", "c.earlier.Add(min(limit+r.Limits.LateWindow, 30*time.Second))",
	},
	{
		"an unstage of a lost journal is not minded", "S6, laws 4.4", "engine/core.Core.addOrphans",
		"fence(TearDown, r.Limits.TearDown)", "",
	},
	{
		"what a lost journal knew of a stage is not minded", "laws 4.4", "engine/core.Core.fenceForgotten",
		"if !c.hasLost ||", "if c.hasLost || !c.hasLost ||",
	},
	{
		"no call is fenced", "S8, laws 4.1, kubernetes#82190", "engine/core.rung.fence",
		"if k.until != 0 {", "if k.until == 1 {",
	},
	{
		"a teardown that was given up is not fenced", "laws 4.1, spec#389", "engine/core.Core.tearDownEnded",
		`c.fenceOff(r, in, res)
		e = e.doubted()`,
		"e = e.doubted()",
	},
	{
		"a setup that was given up is not fenced", "laws 4.1, kubernetes#82190", "engine/core.Core.setUpEnded",
		`c.fenceOff(r, in, res)
		if in.Verb == Refresh`, "if in.Verb == Refresh",
	},
	{
		"a call of another boot may act", "L2, laws 4.1, kubernetes#124057", "engine/core.Core.recall",
		"if rec.Boot != c.boot {",
		`r.fence(call{verb: SetUp, until: rec.SetUpUntil})
		if rec.Boot != c.boot {`,
	},
	{
		"is set up from absent while a teardown may still act",
		"laws 4.2, kubernetes#121357", "engine/core.Core.nextUp",
		`case Absent:
			if at := r.bound(TearDown); at != 0 {
				return waitUntil(whyTearDownOpen, at)
			}`,
		"",
	},
	{
		"a repeated teardown that is done ends those before it", "laws 4.2, spec#389", "engine/core.Core.tearDownEnded",
		"if in.quiet {",
		`r.calls = slices.DeleteFunc(r.calls, func(k call) bool { return k.verb == TearDown })
		if in.quiet {`,
	},
	{
		"a late answer ends every call of its rung", "laws 4.3a", "engine/core.Core.answered",
		"func(k call) bool { return k.op == op })", "func(k call) bool { return k.op != 0 })",
	},
	{
		"the second teardown does not wait for the bound", "laws 4.4", "engine/core.Core.nextDown",
		`if at := r.bound(SetUp); at != 0 {
			return waitUntil(whySetUpOpen, at)
		}`, "",
	},
	{
		"a helper of an earlier run excludes nothing", "S6, laws 4.5", "engine/core.Core.choose",
		`if r.child != "" {
			return idle(whyChild)
		}`, "",
	},
	{
		"helpers of an earlier run are not looked for", "S6, laws 4.5", "engine.starting.read",
		"s.follow(children)", "children = nil",
	},
	{
		"a setup that was given up is not undone before its bound", "L4, laws 4.2", "engine/core.Core.nextDown",
		`if r.state != Absent {
			return c.takeDown(r, whyUnwanted)
		}
		if at := r.bound(SetUp); at != 0 {
			return waitUntil(whySetUpOpen, at)
		}`,
		`if at := r.bound(SetUp); at != 0 {
			return waitUntil(whySetUpOpen, at)
		}
		if r.state != Absent {
			return c.takeDown(r, whyUnwanted)
		}`,
	},
	{
		"a late answer is not heard", "laws 4.3a", "engine/core.Core.answered",
		"if r := c.open[op]; r != nil && !c.acted(r) {", "if r := c.open[op]; r != nil && c.acted(r) {",
	},
	{
		"every late answer ends its call", "laws 4.3a", "engine.operations.answeredLate",
		"if o.cfg.VolumeSources.Ends(o.core.KindOf(op), err) {", `if o.cfg.VolumeSources.Ends(o.core.KindOf(op), nil) {
			_ = err`,
	},
	{
		"the end of a process is not heard", "laws 4.3b", "engine/core.Core.actorGone",
		"func(k call) bool { return k.instance == instance })",
		`func(k call) bool { return k.instance == "" && k.op != 0 })`,
	},
	{
		"a lost connection is taken for the end of a process", "laws 4.3b", "engine.VolumeManager.operationEnded",
		`if res.Unsent {
			m.drivers.unreached(op.Actor)`,
		`if res.Unsent {
			step(&m.port, core.ActorGone{Actor: op.Actor, Instance: m.drivers.instance(op.Actor)})
			m.drivers.unreached(op.Actor)`,
	},
	{
		"a helper of an earlier run has done nothing", "S14, laws 4.5", "engine/core.Core.childGone",
		"r.believe(r.doubted())",
		`if e := r.evidence; e.trust == reconfirmable {
			e.trust = plain
			r.believe(e)
		}`,
	},
	{
		"a helper without a record excludes nothing", "S6, laws 4.5", "engine/core.Core.childSeen",
		"r = c.add(Rung{Key: e.Key})",
		"return",
	},
	{
		"told ready while a helper may still act", "S21, laws 4.5", "engine/core.Core.ready",
		`!c.isAsWanted(r) || r.child != "" ||`, "!c.isAsWanted(r) ||",
	},
	{
		"an answer that came just before the operation ended is not heard", "laws 4.3a", "engine/core.Core.fenceOff",
		"if !acts && (in.ended || !res.Fenced) {", "if !acts && !res.Fenced {",
	},
	{
		"the end of one process ends the calls of another", "laws 4.3b", "engine/core.Core.actorGone",
		"func(k call) bool { return k.instance == instance })", `func(k call) bool { return k.instance != "" })`,
	},
	{
		"a final answer ends one of several calls", "laws 4.3c", "engine/core.Core.hasSole",
		"return n == 1 &&", "return n >= 1 &&",
	},
	{
		"a call that no record tells of is never at work", "S6, laws 4.3c", "engine/core.Core.hasSole",
		"(c.earlier == 0 ||", "(true ||",
	},
	{
		"an agent that finds its directories has never run", "S6, laws 4.3c", "engine.starting.read",
		"n.start.HasRun = hasRun ||", "n.start.HasRun = false && hasRun &&",
	},
	{
		"a final answer of another process ends a call", "laws 4.3c", "engine/core.Core.learnFromReply",
		"k.verb == fenceVerb(in.Verb) && k.instance == res.Instance", "k.verb == fenceVerb(in.Verb)",
	},
	{
		"an ABORTED that other calls explain counts", "laws 4.3c", "engine/core.Core.learnFromReply",
		"r.calls[i].aborted || !in.isConcurrent", "true",
	},
	{
		"a teardown that began before the end of a setup is enough", "laws 4.4", "engine/core.Core.tearDownEnded",
		"if in.quiet {",
		"if r.bound(SetUp) == 0 {",
	},
	{
		"a record goes without the second teardown", "S8, laws 4.4, kubernetes#82190", "engine/core.rung.isGone",
		"return r.trust == clean && len(r.calls) == 0",
		"return r.state == Absent && len(r.calls) == 0",
	},
	{
		"the process of a call is not known", "laws 4.3b", "engine.task.finishes",
		"if o.drivers.instance(t.op.Actor) == t.instance {", `if t.instance != "" {`,
	},
	{
		"a call without an end is waited for for ever", "L2, laws 4.1", "engine/core.Core.expireCalls",
		"over := k.until <= c.now || end(k)", "over := end(k)",
	},
	{
		"a start forgets a teardown that may act", "S6, laws 4.2, 5.2, kubernetes#121357", "engine/core.Core.recall",
		"r.fence(call{verb: TearDown, until: rec.TearDownUntil})", "",
	},
	{
		"a volume in doubt is told not to be in use", "S8, laws 4.4", "engine/core.Core.IsVolumeLeft",
		"slices.ContainsFunc(c.volumes[volume], (*rung).isLeft)",
		"slices.ContainsFunc(c.volumes[volume], func(r *rung) bool { return r.state != Absent })",
	},
}
