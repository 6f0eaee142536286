package mutants

// Candidates are faulty engines of which it is not shown yet that anything notices them: clauses of the laws taken back that lived through a few
// seconds of hunting. volsim mutants --candidates tries them. One that is killed belongs into the [Table]; one that is not shows what the worlds or
// the checks lack, or that something else in the engine does the same.
var Candidates = []Mutant{
	{
		"a new generation is named before it is durable", "S15, laws 5.5", "engine/journal/batch.go",
		"\tif err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {\n\t\treturn err\n\t}\n" +
			"\tif err := h.Files.Sync(c, spare); err != nil {\n\t\treturn err\n\t}\n",
		"\tif err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {\n\t\treturn err\n\t}\n",
	},
	{
		"what was not synced is taken for durable", "S15, laws 5.1, 5.5", "engine/journal/batch.go",
		"\tif !b.sync {\n\t\treturn nil\n\t}\n\treturn h.Files.Sync(c, file)\n",
		"\tif b.sync {\n\t\t_ = h.Files.Sync(c, file)\n\t}\n\treturn nil\n",
	},
	{
		"a listing is believed of what changed while it was read", "S14, laws 5.4", "engine/hidden.go",
		"return ended[key] || m.core.IsKnown(key)", "return ended[\"\"] || m.core.IsKnown(key)",
	},
	{
		"a mount table is believed of what changed while it was read", "S14, laws 7.1", "engine/drift.go",
		"\tsince := m.drift.since\n", "\tsince := max(m.core.Seq(), m.drift.since)\n",
	},
	{
		"a notice during a reading of the manifests is lost", "S1, a notice is never lost", "hal/manifest/manifest.go",
		"\tcase c.noticed, f.unsettled:\n", "\tcase f.unsettled:\n",
	},
	{
		"what was lost of a manifest does not matter", "S1, another directory says nothing", "hal/manifest/reader.go",
		"before.known || before.lost || ", "before.known || ",
	},
	{
		"a directory that is replaced while it is read is the former one", "S1, another directory says nothing", "hal/manifest/reader.go",
		"err != nil || !here.is(dirOf(info, here.Boot)) {", "err != nil {",
	},
	{
		"a manifest that ends in zeros is whole", "S1, a bad file may hold what it names", "hal/manifest/state.go",
		"len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {", "len(text) == 0 {",
	},
	{
		"a copy of a manifest is named before it is durable", "S1, the next run knows what this one served", "hal/manifest/cache.go",
		"\tif err := r.h.Files.Sync(r.call, at); err != nil {\n\t\treturn err\n\t}\n", "",
	},
	{
		"what begins like a place is below it", "S21, laws 7.3", "engine/covers.go",
		"len(at) > len(dir) && at[len(dir)] == '/' && at[:len(dir)] == dir", "len(at) > len(dir) && at[:len(dir)] == dir",
	},
	{
		"a change of the mount table while it is read is lost", "S14, laws 7.1", "engine/drift.go",
		"\t\tm.drift.again = true\n\t\treturn\n", "\t\treturn\n",
	},
	{
		"of several hidden directories one is pruned", "L1", "engine/hidden.go",
		"return !isAtOrBelow(at, names) })", "return !isAtOrBelow(at, names[:1]) })",
	},
	{
		"of what a rung owns its mount alone is hidden", "S14, S18", "engine/core/hidden.go",
		"range append([]string{Value(r.Want, \"path\")}, r.Places...) {", "range []string{Value(r.Want, \"path\")} {",
	},
	{
		"of several hidden directories one hides", "S14, S18", "engine/core/hidden.go",
		"for _, name := range c.hidden {\n", "for _, name := range c.hidden[:min(1, len(c.hidden))] {\n",
	},
	{
		"a mount over the root directory hides nothing", "S21, laws 7.3", "engine/covers.go",
		"on.ID != base {", "on.ID != base && on.Path != root {",
	},
	{
		"a driver that comes back has the calls of all sent at once", "L7", "engine/core/core.go",
		"for _, r := range c.of(actor) {\n\t\tr.resetBackoff()", "for _, r := range c.sorted() {\n\t\tr.resetBackoff()",
	},
	{
		"who served a driver is never dropped", "S24", "engine/core/serving.go",
		"if c.servers[e.Actor] == e.By {", "if c.servers[e.Actor] == e.By || e.By == \"\" {",
	},
	{
		"a pod of which only an answered call is remembered is recorded", "S1", "engine/core/view.go",
		"return r.recorded && !c.isPast(r) })", "return r.recorded })",
	},
	{
		"a log of deletions that was cut short is the one that was written", "S31, what is in the log stays there", "engine/deletions/deletions.go",
		"info.Inode == l.inode && info.Size == l.end", "info.Inode == l.inode",
	},
	{
		"a log of deletions that was cut short is written on as it was", "S31, what is in the log stays there", "engine/deletions/deletions.go",
		"isAnother := info.Inode != l.inode || info.Size != l.end", "isAnother := info.Inode != l.inode",
	},
	{
		"what a driver was given in an earlier life is never let go", "L12", "engine/meeting.go",
		"\t\tm.releaseGiven(d.name)\n", "\t\t_ = d.name\n",
	},
}
