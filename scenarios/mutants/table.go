package mutants

import "slices"

// Table is the faulty engines. The old text of each is in its file exactly once.
var Table = slices.Concat(first, decisions, outcomes, fences, answers, records, starts, sources, identity, requests,
	registrations, vandals, damage, roots, hostPaths, faces, ties, paces, tables, costs)

// first is of all parts of the engine.
var first = []Mutant{
	{
		"a time-out is read as not done", "laws 3.1, kubernetes#82190", "engine/plugin/csi/outcome.go",
		"case !ok || e.Class != hal.ClassRPC || e.Reply != hal.ReplyStatus:\n\t\treturn verdict{outcome: " +
			"hal.Unknown, fenced: true}",
		"case !ok || e.Class != hal.ClassRPC || e.Reply != hal.ReplyStatus:\n\t\treturn verdict{outcome: hal.NotDone}",
	},
	{
		"a restart forgets the journal", "laws 5.4", "engine/core/core.go",
		"for _, rec := range c.recallActors(s) {", "for _, rec := range c.recallActors(s)[:0] {",
	},
	{
		"unstage while published", "S5, laws 2.1", "engine/core/reconcile.go",
		"\t\tif !a.isGone() {\n\t\t\treturn waitOn(whyInUse, a.Key), false",
		"\t\tif false {\n\t\t\treturn waitOn(whyInUse, a.Key), false",
	},
	{
		"not done means absent", "laws 3.1", "engine/core/complete.go",
		"\t\t// It teaches nothing about the state.\n", "\t\tr.state, r.noResidue = Absent, true\n",
	},
	{
		"no exclusion per rung: beside what it depends on", "laws 2.2", "engine/core/reconcile.go",
		"func (c *Core) undisturbed(r *rung, v Verb) (hal.Key, bool) {\n",
		"func (c *Core) undisturbed(r *rung, v Verb) (hal.Key, bool) {\n\tif c != nil {\n\t\treturn \"\", true\n\t}\n",
	},
	{
		"no exclusion per rung: an operation in flight is not minded", "laws 2.2", "engine/core/reconcile.go",
		"\tif r.op != nil {\n\t\treturn idle(whyInFlight)\n\t}\n", "",
	},
	{
		"publish before the stage is confirmed", "S4, laws 2.1", "engine/core/reconcile.go",
		"if b != nil && b.state == Present && c.isStable(b) {", "if b != nil && (b.state == Present || b.op != nil) {",
	},
	{
		"the intent is written after the effect", "laws 5.1, simplyblock-csi#439", "engine/commit.go",
		"\tall := &m.commits.waiting\n",
		"\tm.release(core.Batch{Start: b.Start})\n\tb.Start = nil\n\tall := &m.commits.waiting\n",
	},
	{
		"a confirmed record ends the fence", "laws 5.2", "engine/core/core.go",
		"\tr.fence(call{verb: SetUp, until: rec.SetUpUntil})\n",
		"\tif rec.Phase != Confirmed {\n\t\tr.fence(call{verb: SetUp, until: rec.SetUpUntil})\n\t}\n",
	},
	{
		"the fence bound the late window is 0", "laws 4.1", "engine/core/lines.go",
		"return deadline.Add(r.Limits.LateWindow)", "return deadline",
	},
	{
		"absent after a undo without the second teardown", "laws 4.4", "engine/core/complete.go",
		"r.noResidue = in.quiet", "r.noResidue = true",
	},
	{
		"a waiter is not woken", "L2", "engine/core/core.go",
		"if r.ownPod != nil {\n\t\tc.touch(r.ownPod)", "if false {\n\t\tc.touch(r.ownPod)",
	},
	{
		"torn down before every source is synced", "S22, kubernetes#120150", "engine/core/reconcile.go",
		"if v == TearDown && !c.synced {", "if false {",
	},
	{
		"taken from running containers", "S7, laws 1.4, kubernetes#28160", "engine/core/reconcile.go",
		"\tcase want == held && (c.runs(r) || !r.isGone() && !c.givesWay(r)):\n\t\treturn idle(whyHeld)\n", "",
	},
	{
		"is set up while a teardown may still act", "laws 4.2, kubernetes#121357", "engine/core/reconcile.go",
		"\t\tif r.bound(TearDown) != 0 {\n", "\t\tif false {\n",
	},
	{
		"a record goes while a call may still act", "laws 5.5", "engine/core/actual.go",
		"return r.state == Absent && r.noResidue && len(r.calls) == 0 && r.op == nil",
		"return r.state == Absent && r.noResidue && r.op == nil",
	},
	{
		"a restart believes every confirmed record", "laws 5.4, kubernetes#51982", "engine/core/core.go",
		"if inspected && fingerprint == rec.Fingerprint && hasProof {", "if inspected && hasProof {",
	},
	{
		"nothing where a start could not look is what was being taken down", "S14", "engine/core/core.go",
		"r.reconfirmable = !inspected && hasProof", "r.reconfirmable = !inspected",
	},
	{
		"records of another boot are believed", "laws 5.4", "engine/core/core.go",
		"if rec.Boot != c.boot {", "if false {",
	},
	{
		"an unknown teardown means absent", "S14, laws 3.1", "engine/core/complete.go",
		"\t\tr.state, r.reconfirmable = Unknown, false\n\t\tc.fenceOff(r, in, res)\n",
		"\t\tr.state, r.reconfirmable, r.noResidue = Absent, false, true\n",
	},
	{
		"told ready of what is not known to be up", "S21", "engine/core/reconcile.go",
		"return r.state == Present && (change", "return r.state != Absent && (change",
	},
	{
		"a new registration ends the calls of the old process", "laws 4.3", "engine/core/core.go",
		"\tdelete(c.serial, actor)\n\tfor _, r := range c.of(actor) {\n",
		"\tdelete(c.serial, actor)\n\tfor _, r := range c.of(actor) {\n\t\tr.calls = nil\n",
	},
	{
		"told ready though a volume is not resolved", "S21, kubernetes#109955", "engine/core/waiters.go",
		"if !p.wanted || !p.complete {", "if !p.wanted {",
	},
	{
		"a pod that is not resolved loses what it had", "S22, kubernetes#130684", "engine/core/desired.go",
		"return r.ownPod != nil && r.ownPod.wanted && !r.ownPod.complete && !slices",
		"return c == nil && !slices",
	},
	{
		"a teardown leaves the data file", "L1", "engine/plugin/csi/teardown.go",
		"if err := op.RemoveFile(w.h, w.c, data); err != nil {", "if err := error(nil); err != nil {",
	},
	{
		"a claim of one pod is given to two", "S9, laws 2.4", "engine/plugin/csi/rungs.go",
		"\tif w.exclusive {\n", "\tif false {\n",
	},
	{
		"no backoff", "L7, laws 2.5, kubernetes#71569", "engine/core/backoff.go",
		"b.until = now.Add(d - jitter(d, key, v, b.attempts))", "b.until = now.Add(d - d)",
	},
	{
		"a final answer alone ends an earlier call", "laws 4.3c", "engine/core/fence.go",
		"\tif r.calls[i].aborted {\n", "\tif true {\n",
	},
	{
		"a call is sent without its deadline", "laws 3.2", "engine/op/place.go",
		"Key: o.Key, Deadline: o.Deadline}", "Key: o.Key}",
	},
	{
		"not done after leaving is not confirmed again", "L11, laws 5.1", "engine/core/lines.go",
		"\tcase r.state == Present:\n", "\tcase r.state == Present && r.phase != Leaving:\n",
	},
	{
		"lost means absent", "laws 7.1", "engine/core/actual.go",
		"r.state, r.reconfirmable = Unknown, reconfirmable\n", "r.state, r.reconfirmable, r.noResidue = Absent, reconfirmable, true\n",
	},
	{
		"what is asked for read-only is published writable", "S19, kubernetes#70503", "engine/plugin/csi/verbs.go",
		"Readonly:          w.is(paramReadOnly),", "Readonly:          false,",
	},
	{
		"the OK of a publish is believed without an inspection", "S21, laws 3.3", "engine/plugin/csi/verbs.go",
		"\tseen, err := op.Inspect(w.h, w.c, w.path())\n\tif err != nil {\n\t\treturn w.answered(op.Unknown(" +
			"\"published",
		"\treturn w.answered(core.Result{Outcome: hal.Done})\n\tseen, err := op.Inspect(w.h, w.c, w.path())\n\tif err " +
			"!= nil {\n" +
			"\t\treturn w.answered(op.Unknown(\"published",
	},
}
