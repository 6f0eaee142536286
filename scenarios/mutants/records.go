package mutants

// records is the journal: what core writes, and how it comes to the disk (laws 5).
var records = []Mutant{
	{
		"a ladder keeps room for what has a record", "L2, laws 5.5", "engine/core.Core.room",
		`if !a.recorded {
			need += a.size()
		}`, "need += a.size()",
	},
	{
		"no intent is written", "S15, laws 5.1, simplyblock-csi#439", "engine/core.Core.announce",
		`if v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {
			return
		}
		first`,
		`if v != TearDown || !r.Intent && !givesUp {
			return
		}
		first`,
	},
	{
		"a repeat does not extend the recorded bound", "laws 5.1", "engine/core.Core.recordInFlight",
		"rec.SetUpUntil = max(rec.SetUpUntil, r.op.until)", "rec.SetUpUntil = max(rec.SetUpUntil, r.bound(SetUp))",
	},
	{
		"a teardown's bound is not recorded", "laws 5.1, 5.2", "engine/core.Core.recordInFlight",
		"rec.TearDownUntil = max(rec.TearDownUntil, r.op.until)", "rec.TearDownUntil = 0",
	},
	{
		"a teardown is not announced", "S14, laws 5.1, kubernetes#85476", "engine/core.Core.announce",
		"if v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {",
		"if v == Inspect || givesUp || v == TearDown || !r.Intent && r.recorded {",
	},
	{
		"a record goes with an unpublish", "S15, laws 5.1, kubernetes#85476", "engine/core.Core.tearDownEnded",
		"if in.quiet {",
		`for _, b := range c.below(r) {
			c.batch.Lines = append(c.batch.Lines, Line{Key: b.Key, Drop: true})
		}
		if in.quiet {`,
	},
	{
		"a rung whose line had no room has a record", "S15, laws 5.1", "engine/core.Core.refused",
		"r.recorded = false", `r.recorded = r.recorded && r.Key != ""`,
	},
	{
		"what a start has found is watched and not looked at again",
		"S29, laws 7.3", "engine.places.watchAndLook",
		"p.lookedAgain(w.key, seen, err, since)",
		`if len(all) == 1 {
			p.lookedAgain(w.key, seen, err, since)
		}`,
	},
	{
		"the end of what was never begun is recorded", "L2, laws 5.5", "engine/core.Core.writeRecord",
		"if !r.recorded && r.state != Present {", "if !r.recorded && !r.Intent && r.state != Present {",
	},
	{
		"what is found late proves no record missing", "S5, laws 5.4", "engine/core.Core.discovered",
		`isMissing := func(orphan Rung) bool { return orphan.Pod == "" &&`,
		`isMissing := func(orphan Rung) bool { return orphan.Pod != "" &&`,
	},
	{
		"a directory of which a record tells holds nothing else", "S5, laws 5.4", "engine/core.New",
		"return !slices.Contains(s.Untold, name) && c.isTold(name)", "return c.isTold(name)",
	},
	{
		"that a rung was up is not recorded", "S7, laws 5.2, nomad#25819", "engine/core.Core.record",
		"MayBeUsed: c.runs(r),", "MayBeUsed: false,",
	},
	{
		"that containers have ended is not recorded", "L2, laws 5.2", "engine/core.Core.recordFreed",
		"if r.recorded && r.mayBeUsed && !isSaid && c.desire(r) != wanted {",
		"if r.recorded && r.mayBeUsed && r.op != nil && !isSaid {",
	},
	{
		"that containers have ended is not recorded while a call is under way", "L2, laws 5.2",
		"engine/core.Core.recordFreed", "isSaid := r.op != nil && slices.ContainsFunc(c.batch.Start,",
		"isSaid := r.op != nil || slices.ContainsFunc(c.batch.Start,",
	},
	{
		"a record of a stage tells of all that depends on it", "S5, laws 5.4", "engine/core.Core.next",
		"if name, is := c.unknownUser(r, d.verb); is {", "if name, is := c.unknownUser(r, d.verb); is && !r.recorded {",
	},
	{
		"a volume of one pod comes up while another pod can not be looked at", "S9, laws 5.4",
		"engine/core.Core.unknownUser",
		`isForOne := verb == SetUp && r.Exclusive != "" && r.state != Present`, "isForOne := false",
	},
	{
		"what a record tells of is not known", "L1, laws 5.4", "engine/core.Core.isTold",
		"return r.recorded && slices.ContainsFunc(r.Places,", "return !r.recorded && slices.ContainsFunc(r.Places,",
	},
	{
		"that a rung was up is not recalled", "S7, laws 5.2", "engine/core.Core.recall",
		"e.mayBeUsed, e.inspected = rec.MayBeUsed, true",
		"e.inspected = true",
	},
	{
		"what is mounted where a record tells of another boot is used by nobody", "S7, laws 5.4", "engine/core.New",
		"c.doubtBoot(rec, found)", "",
	},
	{
		"that a record may be of an old copy is not recorded", "S7, laws 5.2", "engine/core.Core.doubtBoot",
		`r.believe(e)
		r.saw(found[r.Key])
		c.writeRecord(r)`,
		"r.believe(e)",
	},
	{
		"a mount at one place is of a whole ladder", "L2, laws 5.4", "engine/core.Core.doubtBoot",
		`|| isBare(r.Key) || len(r.Below) == 0 ||
			slices.ContainsFunc(r.Below, isBare) {`, "|| isBare(r.Key) {",
	},
	{
		"a start does not list what has no record", "S15, laws 5.4, kubernetes#72257", "engine/core.New",
		"c.addOrphans(slices.DeleteFunc(slices.Clone(s.Orphans),",
		"c.addOrphans(slices.DeleteFunc(slices.Clone(s.Orphans[:0]),",
	},
	{
		"what is mounted again after an unstage is the agent's alone", "L1, S15", "engine/plugin/csi.work.letGo",
		"isNew = slices.ContainsFunc(seen.Stack, func(m hal.Mount) bool { return !m.Was(w.o.Fingerprint) })",
		"isNew = false",
	},
	{
		"records go before directories", "S15, laws 5.5, kubernetes#101911", "engine/plugin/csi.work.letGo",
		"if err := w.clear(seen); err != nil {", "if err := error(nil); err != nil {",
	},
	{
		"lines that were not written are forgotten", "S15, laws 5.5", "engine/journal.Journal.Complete",
		`j.broken = b.err
		if b.image`, "if b.image",
	},
	{
		"the generation before goes first", "S15, laws 5.5", "engine/journal.Batch.writeGeneration",
		"if err := h.Tree.Rename(c, spare, b.path(nameOf(b.generation))); err != nil {",
		`b.tidy(h, c)
		if err := h.Tree.Rename(c, spare, b.path(nameOf(b.generation))); err != nil {`,
	},
	{
		"a teardown in doubt is sent under live containers", "S7, laws 4.2, 5.4", "engine/core.Core.nextUp",
		"if _, ok := c.uncovered(r); !ok || c.live(r) {", "if _, ok := c.uncovered(r); !ok {",
	},
	{
		"containers do not run on what has no record", "S7, laws 5.4", "engine/core.Core.addOrphan",
		`e.veiled, e.foundOnDisk, e.mayBeUsed = false, true, r.Pod != ""`,
		"e.veiled, e.foundOnDisk = false, true",
	},
	{
		"a torn frame is read", "laws 5.4, kubernetes#108217", "engine/journal.parseFrame",
		"if size > len(b) || binary.LittleEndian.Uint32(b[4:]) != of.checksum(b[8:size]) {", "if size > len(b) {",
	},
	{
		"the facts of a setup are not recorded", "laws 1.2", "engine/core.Core.record",
		"Boot: c.boot, Facts: r.facts,", "Boot: c.boot, Facts: nil,",
	},
	{
		"lines are not made durable", "S15, laws 5.1", "engine/core.Core.announce",
		"line := Line{Key: r.Key, Record: rec, Sync: r.Intent || givesUp}", "line := Line{Key: r.Key, Record: rec}",
	},
	{
		"told ready before the record is written", "S7, laws 5.2, kubernetes#40417", "engine.commits.dispatch",
		`c.note(b.Lines)
		all := &c.waiting`,
		`c.note(b.Lines)
		c.release(core.Batch{Wake: b.Wake})
		b.Wake = nil
		all := &c.waiting`,
	},
	{
		"operations start though their lines are not written", "S15, laws 5.5", "engine.commits.committed",
		"c.failed = err != nil", "c.failed, err = err != nil, nil",
	},
	{
		"the name of a new generation is not durable", "S15, laws 5.5", "engine/journal.Batch.writeGeneration",
		`if err := h.Files.Sync(c, b.dir); err != nil {
			return err
		}
		b.tidy(h, c)`, "b.tidy(h, c)",
	},
	{
		"a directory is made without a word", "laws 5.3", "engine/core.Core.announce",
		"if v == Inspect || (!r.Intent && !givesUp && (r.recorded || v == TearDown)) {",
		"if v == Inspect || !r.Intent && !givesUp {",
	},
	{
		"no room is reserved for a ladder", "L2, laws 5.5", "engine/core.Core.announce",
		"line.Room = c.room(r)", "",
	},
	{
		"the room of a record that goes is lost", "L2, laws 5.5", "engine/journal.ledger.drop",
		`g.charge(e, 0)
		if e.base {`, "if e.base {",
	},
	{
		"a teardown needs room", "L4, laws 5.5", "engine/journal.trial.admit",
		"&& l.Record.Phase != core.Leaving {", "{",
	},
	{
		"a full disk is told as a full journal", "L12", "engine/journal.Journal.Refusal",
		`if !j.spare {
			return j.closed()
		}
		taken`, "taken",
	},
	{
		"what is missing in a text leaves its blanks", "L12", "hal.Error.Error",
		`if e.Object != "" {`, "{",
	},
	{
		"a full journal is told as a full disk", "L12", "engine/journal.Journal.Refusal",
		`", which is the maximum; volnode sets up the volume once other records are gone; remove pods"`,
		`", which is the maximum; volnode sets up the volume free space on the disk"`,
	},
	{
		"a journal does not grow", "L2, laws 5.5", "engine.starting.read",
		"n.journal.MayGrow(s.cfg.JournalMost)", "",
	},
	{
		"who waits for a larger journal is refused", "L2, L3", "engine.commits.commit",
		"&& c.journal.Press()", "&& false",
	},
	{
		"a journal that could not grow waits for other lines", "L2, L3", "engine/journal.Journal.Press",
		"&& !j.isInVain", "&& j.growAgain == 0",
	},
	{
		"what hangs keeps others waiting for their turn", "L2", "engine/core.Core.age",
		"if known && c.now < t.begun[0].since.Add(turnEnds) {", "if known {",
	},
	{
		"whose turn has come is not told", "L2", "engine/core.Core.admit",
		`r.isNext = true
		c.mark(r)`, "r.isNext = true",
	},
	{
		"what follows damage is not doubted", "laws 5.4", "engine/journal.Open",
		"if k.doubtful {", "if false {",
	},
	{
		"what is in doubt is written as it was", "S14, laws 5.4", "engine/journal.Open",
		`k := found[key]
		if k.doubtful {`,
		`k := &kept{record: found[key].record}
		if found[key].doubtful {`,
	},
	{
		"a snapshot drops a record", "S15, laws 5.5", "engine/journal.Journal.snapshot",
		"b, of := make([]byte, headerSize", `if len(keys) > 1 {
			delete(j.ledger.entries, keys[0])
			keys = keys[1:]
		}
		b, of := make([]byte, headerSize`,
	},
	{
		"the lines of a batch are written in reverse order", "S15, laws 5.1", "engine/journal.Journal.enter",
		`for i := range lines {
			l := &lines[i]
			sync =`,
		`for i := range lines {
			l := &lines[len(lines)-1-i]
			sync =`,
	},
	{
		"a record is written without its last parameter", "S14, laws 5.1", "engine/journal.appendRung",
		`b = binary.AppendUvarint(b, uint64(len(r.Want)))
		for i := range r.Want {`,
		`b = binary.AppendUvarint(b, uint64(max(len(r.Want), 1)-1))
		for i := range max(len(r.Want), 1) - 1 {`,
	},
	{
		"a record is written with the bounds of the other verb", "S14, laws 5.1", "engine/core.Core.recordInFlight",
		"rec.SetUpUntil = max(rec.SetUpUntil, r.op.until)", "rec.TearDownUntil = max(rec.TearDownUntil, r.op.until)",
	},
	{
		"damage is told by no start that fails", "laws 5, L12", "engine.starting.start",
		"s.damaged(n.loaded.Damages)",
		`if err == nil {
			s.damaged(n.loaded.Damages)
		}`,
	},
	{
		"files of the journal that were replaced stay", "L1", "engine/journal.Batch.writeGeneration",
		"b.tidy(h, c)", "",
	},
}
