package mutants

// Candidates are faulty engines of which it is not shown yet that anything notices them: clauses of the laws taken back
// that lived through a few seconds of hunting. volsim mutants --candidates tries them. One that is killed belongs into
// the [Table]; one that is not shows what the worlds or the checks lack, or that something else in the engine does the
// same.
var Candidates = []Mutant{
	{
		"what is wanted and untouched is taken for known", "L2, laws 5.4", "engine/core.Core.IsKnown",
		"&& !r.isUntouched()", "",
	},
	{
		"a new generation is named before it is durable", "S15, laws 5.5", "engine/journal.Batch.writeGeneration",
		`if err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {
			return err
		}
		if err := h.Files.Sync(c, spare); err != nil {
			return err
		}`,
		`if err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {
			return err
		}`,
	},
	{
		"what was not synced is taken for durable", "S15, laws 5.1, 5.5", "engine/journal.Batch.appendFrame",
		`if !b.sync {
			return nil
		}
		return h.Files.Sync(c, file)`,
		`if b.sync {
			_ = h.Files.Sync(c, file)
		}
		return nil`,
	},
	{
		"a listing is believed of what changed while it was read",
		"S14, laws 5.4", "engine.hidden.lookedAtHidden",
		"return ended[key] || d.core.IsKnown(key)", `return ended[""] || d.core.IsKnown(key)`,
	},
	{
		"a mount table is believed of what changed while it was read",
		"S14, laws 7.1", "engine.drift.tableRead",
		"at, since := d.at, d.since", "at, since := d.at, max(d.core.Seq(), d.since)",
	},
	{
		"of what a rung owns its mount alone is hidden", "S14, S18", "engine/core.Core.veil",
		`range append([]string{Value(r.Want, "path")}, r.Places...) {`, `range []string{Value(r.Want, "path")} {`,
	},
	{
		"what never came stays while its pod is not known whole", "L2", "engine/core.Core.choose",
		"want == held && (c.runs(r) || !r.isGone() && !c.givesWay(r))", "want == held",
	},
}
