package mutants

// records is the journal: what core writes, and how it comes to the disk (laws 5).
var records = []Mutant{
	{
		"a ladder keeps room for what has a record", "L2, laws 5.5", "engine/core/lines.go",
		"\t\tif !a.recorded {\n\t\t\tneed += a.size()\n\t\t}\n", "\t\tneed += a.size()\n",
	},
	{
		"no intent is written", "S15, laws 5.1, simplyblock-csi#439", "engine/core/lines.go",
		"\tif v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {\n\t\treturn\n\t}\n\tfirst",
		"\tif v != TearDown || !r.Intent && !givesUp {\n\t\treturn\n\t}\n\tfirst",
	},
	{
		"a repeat does not extend the recorded bound", "laws 5.1", "engine/core/lines.go",
		"rec.SetUpUntil = max(rec.SetUpUntil, r.op.until)", "rec.SetUpUntil = max(rec.SetUpUntil, r.bound(SetUp))",
	},
	{
		"a teardown's bound is not recorded", "laws 5.1, 5.2", "engine/core/lines.go",
		"rec.TearDownUntil = max(rec.TearDownUntil, r.op.until)", "rec.TearDownUntil = 0",
	},
	{
		"a teardown is not announced", "S14, laws 5.1, kubernetes#85476", "engine/core/lines.go",
		"\tif v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {\n",
		"\tif v == Inspect || givesUp || v == TearDown || !r.Intent && r.recorded {\n",
	},
	{
		"a record goes with an unpublish", "S15, laws 5.1, kubernetes#85476", "engine/core/complete.go",
		"\t\tr.noResidue = in.quiet\n",
		"\t\tr.noResidue = in.quiet\n\t\tfor _, b := range c.below(r) {\n\t\t\tc.batch.Lines = append(c.batch.Lines, " +
			"Line{Key: b.Key, Drop: true})\n\t\t}\n",
	},
	{
		"a rung whose line had no room has a record", "S15, laws 5.1", "engine/core/complete.go",
		"r.recorded = false //", "r.recorded = r.recorded && r.Key != \"\" //",
	},
	{
		"what a start has found is watched and not looked at again", "S29, laws 7.3", "engine/places.go",
		"				m.lookedAgain(w.key, seen, err, since)\n",
		"				if len(all) == 1 {\n					m.lookedAgain(w.key, seen, err, " +
			"since)\n				}\n",
	},
	{
		"the end of what was never begun is recorded", "L2, laws 5.5", "engine/core/lines.go",
		"if !r.recorded && r.state != Present {", "if !r.recorded && !r.Intent && r.state != Present {",
	},
	{
		"what is found late proves no record missing", "S5, laws 5.4", "engine/core/hidden.go",
		"isMissing := func(orphan Rung) bool { return orphan.Pod == \"\" && ",
		"isMissing := func(orphan Rung) bool { return orphan.Pod != \"\" && ",
	},
	{
		"a directory of which a record tells holds nothing else", "S5, laws 5.4", "engine/core/core.go",
		"return !slices.Contains(s.Untold, name) && c.isTold(name)", "return c.isTold(name)",
	},
	{
		"that a rung was up is not recorded", "S7, laws 5.2, nomad#25819", "engine/core/lines.go",
		"MayBeUsed: c.runs(r),", "MayBeUsed: false,",
	},
	{
		"that containers have ended is not recorded", "L2, laws 5.2", "engine/core/desired.go",
		"if r.recorded && r.mayBeUsed && r.op == nil && c.desire(r) != wanted {",
		"if r.recorded && r.mayBeUsed && r.op != nil {",
	},
	{
		"a record of a stage tells of all that depends on it", "S5, laws 5.4", "engine/core/reconcile.go",
		"if name, is := c.unknownUser(r); is {", "if name, is := c.unknownUser(r); is && !r.recorded {",
	},
	{
		"what a record tells of is not known", "L1, laws 5.4", "engine/core/hidden.go",
		"return r.recorded && slices.ContainsFunc(r.Places,", "return !r.recorded && slices.ContainsFunc(r.Places,",
	},
	{
		"that a rung was up is not recalled", "S7, laws 5.2", "engine/core/core.go",
		"r.fingerprint, r.generation, r.mayBeUsed = rec.Fingerprint, rec.Generation, rec.MayBeUsed",
		"r.fingerprint, r.generation = rec.Fingerprint, rec.Generation",
	},
	{
		"what is mounted where a record tells of another boot is used by nobody", "S7, laws 5.4", "engine/core/core.go",
		"\t\tc.doubtBoot(rec, found)\n", "",
	},
	{
		"that a record may be of an old copy is not recorded", "S7, laws 5.2", "engine/core/core.go",
		"\tr.mayBeUsed = true\n\tr.saw(found[r.Key])\n\tc.writeRecord(r)\n", "\tr.mayBeUsed = true\n",
	},
	{
		"a mount at one place is of a whole ladder", "L2, laws 5.4", "engine/core/core.go",
		` || isBare(r.Key) || len(r.Below) == 0 ||
		slices.ContainsFunc(r.Below, isBare) {`, " || isBare(r.Key) {",
	},
	{
		"a start does not list what has no record", "S15, laws 5.4, kubernetes#72257", "engine/core/core.go",
		"c.addOrphans(slices.DeleteFunc(slices.Clone(s.Orphans), ", "c.addOrphans(slices.DeleteFunc(slices.Clone(s.Orphans[:0]), ",
	},
	{
		"what is mounted again after an unstage is the agent's alone", "L1, S15", "engine/plugin/csi/teardown.go",
		"isNew = slices.ContainsFunc(seen.Stack, func(m hal.Mount) bool { return !m.Was(w.o.Fingerprint) })",
		"isNew = false",
	},
	{
		"records go before directories", "S15, laws 5.5, kubernetes#101911", "engine/plugin/csi/teardown.go",
		"\tif err := w.clear(seen); err != nil {\n", "\tif err := error(nil); err != nil {\n",
	},
	{
		"lines that were not written are forgotten", "S15, laws 5.5", "engine/journal/journal.go",
		"\t\tj.broken = b.err\n\t\tif b.image", "\t\tif b.image",
	},
	{
		"the generation before goes first", "S15, laws 5.5", "engine/journal/batch.go",
		"\tif err := h.Tree.Rename(c, spare, b.path(nameOf(b.generation))); err != nil {\n",
		"\tb.tidy(h, c)\n\tif err := h.Tree.Rename(c, spare, b.path(nameOf(b.generation))); err != nil {\n",
	},
	{
		"a teardown in doubt is sent under live containers", "S7, laws 4.2, 5.4", "engine/core/reconcile.go",
		"if _, ok := c.uncovered(r); !ok || c.live(r) {", "if _, ok := c.uncovered(r); !ok {",
	},
	{
		"containers do not run on what has no record", "S7, laws 5.4", "engine/core/hidden.go",
		"\tr.mayBeUsed = r.Pod != \"\"\n", "",
	},
	{
		"a torn frame is read", "laws 5.4, kubernetes#108217", "engine/journal/frame.go",
		"if size > len(b) || binary.LittleEndian.Uint32(b[4:]) != of.checksum(b[8:size]) {", "if size > len(b) {",
	},
	{
		"the facts of a setup are not recorded", "laws 1.2", "engine/core/lines.go",
		"Boot: c.boot, Facts: r.facts,", "Boot: c.boot, Facts: nil,",
	},
	{
		"lines are not made durable", "S15, laws 5.1", "engine/core/lines.go",
		"line := Line{Key: r.Key, Record: rec, Sync: r.Intent || givesUp}", "line := Line{Key: r.Key, Record: rec}",
	},
	{
		"told ready before the record is written", "S7, laws 5.2, kubernetes#40417", "engine/commit.go",
		"\tm.commits.note(b.Lines)\n\tall := &m.commits.waiting\n",
		"\tm.commits.note(b.Lines)\n\tm.release(core.Batch{Wake: b.Wake})\n\tb.Wake = nil\n\tall := " +
			"&m.commits.waiting\n",
	},
	{
		"operations start though their lines are not written", "S15, laws 5.5", "engine/commit.go",
		"\tm.commits.failed = err != nil\n", "\tm.commits.failed, err = err != nil, nil\n",
	},
	{
		"the name of a new generation is not durable", "S15, laws 5.5", "engine/journal/batch.go",
		"\tif err := h.Files.Sync(c, b.dir); err != nil {\n\t\treturn err\n\t}\n\tb.tidy(h, c)\n", "\tb.tidy(h, c)\n",
	},
	{
		"a directory is made without a word", "laws 5.3", "engine/core/lines.go",
		"\tif v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {\n",
		"\tif v == Inspect || !r.Intent && !givesUp {\n",
	},
	{
		"no room is reserved for a ladder", "L2, laws 5.5", "engine/core/lines.go",
		"\t\tline.Room = c.room(r)\n", "",
	},
	{
		"the room of a record that goes is lost", "L2, laws 5.5", "engine/journal/room.go",
		"\tg.charge(e, 0)\n\tif e.base {", "\tif e.base {",
	},
	{
		"a teardown needs room", "L4, laws 5.5", "engine/journal/room.go",
		" && l.Record.Phase != core.Leaving {", " {",
	},
	{
		"a full disk is told as a full journal", "L12", "engine/journal/journal.go",
		"	if !j.spare {\n		return j.closed()\n	}\n	taken", "	taken",
	},
	{
		"what is missing in a text leaves its blanks", "L12", "hal/error.go",
		"	if e.Object != \"\" {\n", "	{\n",
	},
	{
		"a full journal is told as a full disk", "L12", "engine/journal/journal.go",
		"once other records are gone; remove pods\"", "free space on the disk\"",
	},
	{
		"a journal does not grow", "L2, laws 5.5", "engine/start.go",
		"\tn.journal.MayGrow(m.cfg.JournalMost)\n", "",
	},
	{
		"who waits for a larger journal is refused", "L2, L3", "engine/commit.go",
		"&& m.journal.Press()", "&& false",
	},
	{
		"a journal that could not grow waits for other lines", "L2, L3", "engine/journal/journal.go",
		"&& !j.isInVain", "&& j.growAgain == 0",
	},
	{
		"what hangs keeps others waiting for their turn", "L2", "engine/core/turns.go",
		"if known && c.now < t.begun[0].since.Add(turnEnds) {", "if known {",
	},
	{
		"whose turn has come is not told", "L2", "engine/core/turns.go",
		"\t\t\t\tr.isNext = true\n\t\t\t\tc.mark(r)\n", "\t\t\t\tr.isNext = true\n",
	},
	{
		"what follows damage is not doubted", "laws 5.4", "engine/journal/load.go",
		"\t\tif k.doubtful {\n", "\t\tif false {\n",
	},
	{
		"what is in doubt is written as it was", "S14, laws 5.4", "engine/journal/load.go",
		"\t\tk := found[key]\n\t\tif k.doubtful {\n",
		"\t\tk := &kept{record: found[key].record}\n\t\tif found[key].doubtful {\n",
	},
	{
		"a snapshot drops a record", "S15, laws 5.5", "engine/journal/journal.go",
		"\tb, of := make([]byte, headerSize", "\tif len(keys) > 1 {\n\t\tdelete(j.ledger.entries, keys[0])\n\t\tkeys = " +
			"keys[1:]\n\t}\n\tb, of := make([]byte, headerSize",
	},
	{
		"the lines of a batch are written in reverse order", "S15, laws 5.1", "engine/journal/journal.go",
		"\tfor i := range lines {\n\t\tl := &lines[i]\n\t\tsync =",
		"\tfor i := range lines {\n\t\tl := &lines[len(lines)-1-i]\n\t\tsync =",
	},
	{
		"a record is written without its last parameter", "S14, laws 5.1", "engine/journal/encode.go",
		"\tb = binary.AppendUvarint(b, uint64(len(r.Want)))\n\tfor i := range r.Want {\n",
		"\tb = binary.AppendUvarint(b, uint64(max(len(r.Want), 1)-1))\n\tfor i := range max(len(r.Want), 1) - 1 {\n",
	},
	{
		"a record is written with the bounds of the other verb", "S14, laws 5.1", "engine/core/lines.go",
		"rec.SetUpUntil = max(rec.SetUpUntil, r.op.until)", "rec.TearDownUntil = max(rec.TearDownUntil, r.op.until)",
	},
	{
		"damage is told by no start that fails", "laws 5, L12", "engine/start.go",
		"\t\t\tm.tellDamage(n.loaded.Damages)\n",
		"\t\t\tif err == nil {\n\t\t\t\tm.tellDamage(n.loaded.Damages)\n\t\t\t}\n",
	},
	{
		"files of the journal that were replaced stay", "L1", "engine/journal/batch.go",
		"\tb.tidy(h, c)\n", "",
	},
}
