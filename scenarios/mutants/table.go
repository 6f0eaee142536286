package mutants

import "slices"

// Table is the faulty engines. The old text of each is in its function exactly once.
var Table = slices.Concat(first, decisions, outcomes, projections, groups, locals, iscsis, paths, fibreChannel, raws,
	nfsVolumes, flexVolumes, fences,
	answers, records, starts, sources, manifests, identity, requests, renewals, accountTokens, measures, podEvents,
	image, gitRepo, quotas, registrations, vandals, damage, secrets, roots, hostPaths, faces, ties, paces, tables, costs)

// first is of all parts of the engine.
var first = []Mutant{
	{
		"a time-out is read as not done", "laws 3.1, kubernetes#82190", "engine/plugin/csi.judge",
		`case !ok || e.Class != hal.ClassRPC || e.Reply != hal.ReplyStatus:
			return verdict{outcome: hal.Unknown, fenced: true}`,
		`case !ok || e.Class != hal.ClassRPC || e.Reply != hal.ReplyStatus:
			return verdict{outcome: hal.NotDone}`,
	},
	{
		"a restart forgets the journal", "laws 5.4", "engine/core.New",
		"for _, rec := range c.recallActors(s) {", "for _, rec := range c.recallActors(s)[:0] {",
	},
	{
		"unstage while published", "S5, laws 2.1", "engine/core.Core.uncovered",
		`if !a.isGone() {
			return waitOn(whyInUse, a.Key), false`,
		`if false {
			return waitOn(whyInUse, a.Key), false`,
	},
	{
		"a panic of a verb ends the agent", "panic", "engine.task.runs",
		`if t.panicked, t.stack = hal.Guard(t.verb); t.panicked != "" {`, "if t.verb(); t.panicked != \"\" {",
	},
	{
		"what was taken down may be in use", "panic, laws 1.4", "engine/core.Core.tearDownEnded",
		"e.state, e.trust, e.mayBeUsed = Absent, plain, false", "e.state, e.trust = Absent, plain",
	},
	{
		"not done means absent", "laws 3.1", "engine/core.Core.setUpEnded",
		"r.refuses(r.refused || in.Verb == Refresh && !slices.Equal(r.made, in.Params))",
		`r.believe(evidence{state: Absent, trust: clean})
		r.refuses(r.refused || in.Verb == Refresh && !slices.Equal(r.made, in.Params))`,
	},
	{
		"no exclusion per rung: beside what it depends on", "laws 2.2", "engine/core.Core.undisturbed",
		"func (c *Core) undisturbed(r *rung, v Verb) (hal.Key, bool) {",
		`func (c *Core) undisturbed(r *rung, v Verb) (hal.Key, bool) {
			if c != nil {
				return "", true
			}`,
	},
	{
		"no exclusion per rung: an operation in flight is not minded", "laws 2.2", "engine/core.Core.choose",
		`if r.op != nil {
			return idle(whyInFlight)
		}`, "",
	},
	{
		"publish before the stage is confirmed", "S4, laws 2.1", "engine/core.Core.foundation",
		"if b != nil && b.state == Present && c.isStable(b) {", "if b != nil && (b.state == Present || b.op != nil) {",
	},
	{
		"the intent is written after the effect", "laws 5.1, simplyblock-csi#439", "engine.commits.dispatch",
		"all := &c.waiting",
		`c.release(core.Batch{Start: b.Start})
		b.Start = nil
		all := &c.waiting`,
	},
	{
		"a confirmed record ends the fence", "laws 5.2", "engine/core.Core.recall",
		"r.fence(call{verb: SetUp, until: rec.SetUpUntil})",
		`if rec.Phase != Confirmed {
			r.fence(call{verb: SetUp, until: rec.SetUpUntil})
		}`,
	},
	{
		"the fence bound the late window is 0", "laws 4.1", "engine/core.rung.within",
		"return deadline.Add(r.Limits.LateWindow)", "return deadline",
	},
	{
		"absent after a undo without the second teardown", "laws 4.4", "engine/core.Core.tearDownEnded",
		`if in.quiet {
			e.trust = clean
		}`,
		"e.trust = clean",
	},
	{
		"a waiter is not woken when a rung below comes back", "L2", "engine/core.Core.markAround",
		"c.touch(a.ownPod)", "c.mark(a)",
	},
	{
		"a waiter is not woken", "L2", "engine/core.Core.markAround",
		`if r.ownPod != nil {
			c.touch(r.ownPod)`, `if false {
			c.touch(r.ownPod)`,
	},
	{
		"torn down before every source is synced", "S22, kubernetes#120150", "engine/core.Core.try",
		"if v == TearDown && !c.synced {", "if false {",
	},
	{
		"taken from running containers", "S7, laws 1.4, kubernetes#28160", "engine/core.Core.choose",
		`case want == held && (c.runs(r) || !r.isGone() && !c.givesWay(r)):
			return idle(whyHeld)`, "",
	},
	{
		"is set up while a teardown may still act", "laws 4.2, kubernetes#121357", "engine/core.Core.nextUp",
		"if r.bound(TearDown) != 0 {", "if false {",
	},
	{
		"a record goes while a call may still act", "laws 5.5", "engine/core.rung.isGone",
		"return r.trust == clean && len(r.calls) == 0 && r.op == nil",
		"return r.trust == clean && r.op == nil",
	},
	{
		"a restart believes every confirmed record", "laws 5.4, kubernetes#51982", "engine/core.Core.recall",
		"case inspected && fingerprint == rec.Fingerprint && hasProof:",
		"case inspected && hasProof:",
	},
	{
		"nothing where a start could not look is what was being taken down", "S14", "engine/core.Core.recall",
		"case !inspected && hasProof:",
		"case !inspected:",
	},
	{
		"records of another boot are believed", "laws 5.4", "engine/core.Core.recall",
		"if rec.Boot != c.boot {", "if false {",
	},
	{
		"an unknown teardown means absent", "S14, laws 3.1", "engine/core.Core.tearDownEnded",
		`c.fenceOff(r, in, res)
		e = e.doubted()`,
		"e.state, e.trust, e.mayBeUsed, res.UndoFirst = Absent, clean, false, false",
	},
	{
		"told ready of what is not known to be up", "S21", "engine/core.Core.isAsWanted",
		"return r.state == Present && (change", "return r.state != Absent && (change",
	},
	{
		"a new registration ends the calls of the old process", "laws 4.3", "engine/core.Core.registered",
		`delete(c.serial, actor)
		for _, r := range c.of(actor) {`,
		`delete(c.serial, actor)
		for _, r := range c.of(actor) {
			r.calls = nil`,
	},
	{
		"told ready though a volume is not resolved", "S21, kubernetes#109955", "engine/core.Core.ready",
		"if !p.wanted || !p.complete {", "if !p.wanted {",
	},
	{
		"a pod that is not resolved loses what it had", "S22, kubernetes#130684", "engine/core.Core.unresolved",
		"return r.ownPod != nil && r.ownPod.wanted && !r.ownPod.complete && !slices",
		"return c == nil && !slices",
	},
	{
		"a teardown leaves the data file", "L1", "engine/plugin/csi.work.clear",
		"if err := op.RemoveFile(w.h, w.c, data); err != nil {", "if err := error(nil); err != nil {",
	},
	{
		"a claim of one pod is given to two", "S9, laws 2.4", "engine/plugin/csi.publishRung",
		"if w.exclusive {", "if false {",
	},
	{
		"no backoff", "L7, laws 2.5, kubernetes#71569", "engine/core.backoff.fail",
		"b.until = now.Add(d - jitter(d, key, v, b.attempts))", "b.until = now.Add(d - d)",
	},
	{
		"a final answer alone ends an earlier call", "laws 4.3c", "engine/core.Core.learnFromReply",
		"if r.calls[i].aborted {", "if true {",
	},
	{
		"a call is sent without its deadline", "laws 3.2", "engine/op.Call",
		"Key: o.Key, Deadline: o.Deadline}", "Key: o.Key}",
	},
	{
		"not done after leaving is not confirmed again", "L11, laws 5.1", "engine/core.Core.writeRecord",
		"case r.state == Present:", "case r.state == Present && r.phase != Leaving:",
	},
	{
		"lost means absent", "laws 7.1", "engine/core.Core.lose",
		"e.state = Unknown",
		"e.state, e.trust, e.mayBeUsed = Absent, clean, false",
	},
	{
		"what is asked for read-only is published writable", "S19, kubernetes#70503", "engine/plugin/csi.publish",
		"Readonly:          w.is(plugin.ParamReadOnly),", "Readonly:          false,",
	},
	{
		"the OK of a publish is believed without an inspection", "S21, laws 3.3", "engine/plugin/csi.work.published",
		`seen, err := op.Inspect(w.h, w.c, w.path())
		if err != nil {
			return w.answered(op.Unknown("published, but volnode cannot inspect the path: "`,
		`return w.answered(core.Result{Outcome: hal.Done})
		seen, err := op.Inspect(w.h, w.c, w.path())
		if err != nil {
			return w.answered(op.Unknown("published, but volnode cannot inspect the path: "`,
	},
}
