package mutants

// Candidates are faulty engines of which it is not shown yet that anything notices them: clauses of the laws taken back that lived through a few
// seconds of hunting. volsim mutants --candidates tries them. One that is killed belongs into the [Table]; one that is not shows what the worlds or
// the checks lack, or that something else in the engine does the same.
var Candidates = []Mutant{
	{
		"the facts of a climb are not recorded", "laws 1.2", "engine/core/lines.go",
		"Boot: c.boot, Facts: r.facts,", "Boot: c.boot, Facts: nil,",
	},
	{
		"what is made anew below is not minded", "laws 1.3, democratic-csi#559", "engine/core/reconcile.go",
		"\t\t\tif r.Need == 0 {\n\t\t\t\treturn OnChangeRebuild\n\t\t\t}\n", "\t\t\tif r.Need == 0 {\n\t\t\t\treturn OnChangeKeep\n\t\t\t}\n",
	},
	{
		"the generation is not recorded", "laws 1.3", "engine/core/lines.go",
		"Seen: r.seen, Generation: r.generation,", "Seen: r.seen,",
	},
	{
		"a ladder shrinks with its spec", "laws 1.5", "engine/core/desired.go",
		"\t\t\tif !slices.Contains(spec.Below, key) {\n", "\t\t\tif false {\n",
	},
	{
		"an exclusive claim passes while its last publish may act", "S9, laws 2.4", "engine/core/reconcile.go",
		"if o != r && !o.isGone() {\n\t\t\treturn waitOn(whyClaim, o.Key), false",
		"if o != r && o.state == Present {\n\t\t\treturn waitOn(whyClaim, o.Key), false",
	},
	{
		"a change of a rung below does not reset the backoff", "L2, laws 2.5, kubernetes#88141", "engine/core/complete.go",
		"\t\t\ta.up, a.denier = backoff{}, false\n", "\t\t\ta.denier = false\n",
	},
	{
		"a denial resets the backoff of who caused it", "L7, laws 2.5", "engine/core/complete.go",
		"\tr.up, r.down, r.blocked, r.denier = up, down, blocked, true\n", "\t_, _, _ = up, down, blocked\n",
	},
	{
		"a mended denial resets the backoff of its denier", "L7, laws 2.5", "engine/core/complete.go",
		"if !mended || !a.denier {", "if true {",
	},
	{
		"a refresh that fails takes the rung down", "laws 3.1, kubernetes#139045", "engine/core/complete.go",
		"if in.Verb == Refresh && r.state == Present {", "if in.Verb == Refresh && r.state == Absent {",
	},
	{
		"ABORTED is a final answer", "laws 3.3, ceph-csi#2289", "engine/plugin/csi/outcome.go",
		"return verdict{outcome: hal.NotDone, answer: core.Aborted}", "return verdict{outcome: hal.NotDone, answer: core.Final}",
	},
	{
		"NOT_FOUND ends a descent though a climb may act", "S8, laws 3.3, kubernetes#82492", "engine/plugin/csi/outcome.go",
		"\t\tif quiet {\n", "\t\tif true {\n",
	},
	{
		"UNAVAILABLE is taken for an answer", "S6, laws 3.3", "engine/plugin/csi/outcome.go",
		"hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable, hal.CodeUnknown:\n\t\treturn verdict{outcome: hal.Unknown, fenced: true}",
		"hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable, hal.CodeUnknown:\n\t\treturn open",
	},
	{
		"EBUSY of an unmount of ours is ignored", "S21, laws 3.3, lvm-localpv#469", "engine/plugin/csi/descend.go",
		"case hal.Is(err, syscall.EBUSY) && i == len(seen.Stack)-1:\n" +
			"\t\t\treturn op.NotDone(\"the driver has left it mounted, and it is in use: \" + err.Error()), false",
		"case hal.Is(err, syscall.EBUSY) && i == len(seen.Stack)-1:\n\t\t\treturn core.Result{}, true",
	},
	{
		"what stands on a lost rung is believed", "laws 7.1, kubernetes#109955", "engine/core/actual.go",
		"\tfor _, a := range c.upon[r.Key] {\n\t\tc.lose(a, fmt.Sprintf(\"%s below it was lost\", r.Key), true)\n\t}\n", "",
	},
	{
		"a mount is known by its device", "laws 7.2, democratic-csi#559", "hal/mounts.go",
		"strconv.AppendUint(append(b, \"mount \"...), uint64(m.ID), 10)", "strconv.AppendUint(append(b, \"mount \"...), 0, 10)",
	},
	{
		"an emptyDir in memory is left on the disk", "S21, K:G97", "engine/plugin/emptydir/verbs.go",
		"\tif mounted != inMemory || mounted && !own(o, top) {\n", "\tif mounted && !inMemory || mounted && !own(o, top) {\n",
	},
	{
		"an answer that came just before the operation ended is not heard", "laws 4.3a", "engine/core/complete.go",
		"|| (in.ended && !acts) {", "|| (in.ended && acts) {",
	},
	{
		"the end of one process ends the calls of another", "laws 4.3b", "engine/core/fence.go",
		"func(k call) bool { return k.instance == instance })", "func(k call) bool { return k.instance != \"\" })",
	},
	{
		"a final answer ends one of several calls", "laws 4.3c", "engine/core/fence.go",
		"c.openCalls(r) != 1 {", "c.openCalls(r) < 1 {",
	},
	{
		"a final answer of another process ends a call", "laws 4.3c", "engine/core/fence.go",
		"k.verb == fenceVerb(in.Verb) && k.instance == res.Instance", "k.verb == fenceVerb(in.Verb)",
	},
	{
		"an ABORTED that other calls explain counts", "laws 4.3c", "engine/core/fence.go",
		"r.calls[i].aborted || !in.crowded", "true",
	},
	{
		"a descent that began before the end of a climb is enough", "laws 4.4", "engine/core/complete.go",
		"r.purged = in.quiet", "r.purged = r.bound(Climb) == 0",
	},
	{
		"a record goes without the second descent", "S8, laws 4.4, kubernetes#82190", "engine/core/actual.go",
		"return r.state == Absent && r.purged && len(r.calls) == 0", "return r.state == Absent && len(r.calls) == 0",
	},
	{
		"the first helper that ends stands for all of a rung", "S6, laws 4.5", "engine/start.go",
		"\t\t\tif living[child.Key] == 0 {\n", "\t\t\tif living[child.Key] >= 0 {\n",
	},
	{
		"lines are not made durable", "S15, laws 5.1", "engine/core/lines.go",
		"line := Line{Key: r.Key, Record: rec, Sync: r.Intent}", "line := Line{Key: r.Key, Record: rec}",
	},
	{
		"told ready before the record is written", "S7, laws 5.2, kubernetes#40417", "engine/commit.go",
		"\tm.commits.note(b.Lines)\n\tm.commits.waiting = append(m.commits.waiting, b)\n",
		"\tm.commits.note(b.Lines)\n\tm.release(core.Batch{Wake: b.Wake})\n\tb.Wake = nil\n\tm.commits.waiting = append(m.commits.waiting, b)\n",
	},
	{
		"a directory is made without a word", "laws 5.3", "engine/core/lines.go",
		"\tif v == Look || (!r.Intent && (r.recorded || v == Descend)) {\n", "\tif v == Look || !r.Intent {\n",
	},
	{
		"no room is reserved for a ladder", "L2, laws 5.5", "engine/core/lines.go",
		"\t\tline.Room = c.room(r)\n", "",
	},
	{
		"a descent needs room", "L4, laws 5.5", "engine/journal/room.go",
		" && l.Record.Phase != core.Leaving {", " {",
	},
	{
		"operations start though their lines are not written", "S15, laws 5.5", "engine/commit.go",
		"\tm.commits.failed = err != nil\n", "\tm.commits.failed, err = err != nil, nil\n",
	},
	{
		"a new generation is named before it is durable", "S15, laws 5.5", "engine/journal/batch.go",
		"\tif err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {\n\t\treturn err\n\t}\n" +
			"\tif err := h.Files.Sync(c, spare); err != nil {\n\t\treturn err\n\t}\n",
		"\tif err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {\n\t\treturn err\n\t}\n",
	},
	{
		"the name of a new generation is not durable", "S15, laws 5.5", "engine/journal/batch.go",
		"\tif err := h.Files.Sync(c, b.dir); err != nil {\n\t\treturn err\n\t}\n\tb.tidy(h, c)\n", "\tb.tidy(h, c)\n",
	},
	{
		"what follows damage is not doubted", "laws 5.4", "engine/start.go",
		"if slices.Contains(loaded.Doubtful, rec.Rung.Key) {", "if false {",
	},
	{
		"a drift reading of before a change counts", "S14, laws 7.1, kubernetes#128219", "engine/core/actual.go",
		"r.op != nil || r.changed > e.Since ||", "r.op != nil ||",
	},
	{
		"the process of a call is not known", "laws 4.3b", "engine/ops.go",
		"if m.drivers.instance(op.Actor) == instance {", "if instance != \"\" {",
	},
}
