package mutants

// Candidates are faulty engines of which it is not shown yet that anything notices them: clauses of the laws taken back that lived through a few
// seconds of hunting. volsim mutants --candidates tries them. One that is killed belongs into the [Table]; one that is not shows what the worlds or
// the checks lack, or that something else in the engine does the same.
var Candidates = []Mutant{
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
		"NOT_FOUND ends a descent though a climb may act", "S8, laws 3.3, kubernetes#82492", "engine/plugin/csi/outcome.go",
		"\t\tif quiet {\n", "\t\tif true {\n",
	},
	{
		"a mount is known by its device", "laws 7.2, democratic-csi#559", "hal/mounts.go",
		"strconv.AppendUint(append(b, \"mount \"...), uint64(m.ID), 10)", "strconv.AppendUint(append(b, \"mount \"...), 0, 10)",
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
		"a new generation is named before it is durable", "S15, laws 5.5", "engine/journal/batch.go",
		"\tif err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {\n\t\treturn err\n\t}\n" +
			"\tif err := h.Files.Sync(c, spare); err != nil {\n\t\treturn err\n\t}\n",
		"\tif err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {\n\t\treturn err\n\t}\n",
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
