package mutants

// roots is what a start may believe of the root directory, and what of it volnode may delete.
var roots = []Mutant{
	{
		"a journal is believed wherever it was made", "S30, what is outside of the root directory is not ours",
		"engine.starting.areInRoot",
		"core.Lingering && !s.cfg.isBelowRoot(at) {", `core.Lingering && at == "" {`,
	},
	{
		"a journal is believed whatever node has made it",
		"S30, a journal tells of its own node", "engine.starting.areOurs",
		`name != "" &&
			name != id.Node {`, `name != "" && id.Node == "" {`,
	},
	{
		"a node is called what its host is called", "S7, S10", "engine.starting.identify",
		`case known && id.MachineID == machine, known && machine == "":
			return id, known, nil`,
		`case known && id.MachineID == machine, known && machine == "":
			id.Node = s.cfg.NodeName
			return id, known, nil`,
	},
	{
		"another agent's root directory is taken over without a word", "S30", "engine.starting.mayTakeOver",
		"if s.cfg.Adopt {", "if s != nil {",
	},
	{
		"a copied root directory is served", "S30", "engine.starting.identify",
		`case known && id.MachineID != "" && !s.cfg.AcceptMachine:`, "case false:",
	},
	{
		"what has no record is deleted with its content", "S30, kubernetes#72257", "engine/plugin.MayDelete",
		"if IsOurs(o.Params, recorded, o.IsNamed) {", "if IsOurs(o.Params, recorded, true) {",
	},
	{
		"one bad entry fails the start", "L2", "engine/plugin.Scanner.trouble",
		"if !isItsOwn(err) && !s.IsPatient {", "if s.Host != nil {",
	},
	{
		"a directory of a stage that was never staged stays", "L1", "engine/plugin/csi.scan.listStaged",
		`if !s.IsIncomplete(dir+"/"+name, "globalmount") {`, `if name != "" {`,
	},
	{
		"data is deleted without an entry in the log", "S31", "engine.deleting.announcementOf",
		"if !does {", "if does || !does {",
	},
	{
		"data is deleted though its entry could not be written", "S31", "engine.commits.commit",
		"if unlogged != nil {", `if unlogged != nil && why != "" {`,
	},
	{
		"a pod that was removed is told to have been named by nobody", "S31, an entry has the true cause",
		"engine.deleting.causeOf",
		`return "the pod was removed from its source"`,
		`return "volnode has read all sources, and none names the pod"`,
	},
	{
		"a pod that nobody has named is told to have been removed", "S31, an entry has the true cause",
		"engine.deleting.causeOf",
		"case d.pods.isNamed(pod):", "case d.pods.isNamed(pod), !doomed.IfEmpty:",
	},
	{
		"a volume that a pod has no more is told to have gone with the pod", "S31, an entry has the true cause",
		"engine.deleting.causeOf",
		"case d.pods.isWanted(pod):", "case d.pods.isWanted(pod) && doomed.IfEmpty:",
	},
	{
		"the log of deletions is not durable", "S31", "engine/deletions.Log.write",
		`if err == nil {
			err = h.Files.Sync(c, file)`, "if err == nil {",
	},
	{
		"the name of the log of deletions is not durable", "S31", "engine/deletions.Log.write",
		"err == nil && isAnother {", "err == nil && l.end < 0 {",
	},
	{
		"a log of deletions that is begun has only its name synced", "S31", "engine/deletions.Log.write",
		`if err == nil {
			err = h.Files.Sync(c, file)`,
		`if err == nil && !isAnother {
			err = h.Files.Sync(c, file)`,
	},
	{
		"what the log of deletions had is not told again", "S31, what is in the log stays there",
		"engine/deletions.Log.Append",
		"len(before) > 0 && l.isThere(h, c)", "len(before) > 0",
	},
	{
		"what the log of deletions had is not told again once others are written",
		"S31, what is in the log stays there", "engine/deletions.Log.Append",
		"l.isThere(h, c) && !slices.ContainsFunc(before, isLost)",
		"l.isThere(h, c) && (!slices.ContainsFunc(before, isLost) || true)",
	},
	{
		"another file of the log of deletions takes the place of the last", "S31, what is in the log stays there",
		"engine/deletions.Log.begin",
		`if l.end != 0 {
			if err := h.Tree.Rename(c, file, older(file))`,
		`if l.end != l.end {
			if err := h.Tree.Rename(c, file, older(file))`,
	},
	{
		"a log of deletions that can't be read takes the place of the older one", "S31, what is in the log stays there",
		"engine/deletions.Log.write",
		"l.end < 0 && !hal.Is(err, syscall.ENOENT)", "l.end < 0 && err == nil && hal.Is(err, syscall.ENOENT)",
	},
	{
		"a log of deletions is written on behind what may be in memory alone", "S31, what is in the log stays there",
		"engine/deletions.Log.write",
		"l.end-int64(len(found)), append(found, lines...))", "l.end, append(found[:0], lines...))",
	},
	{
		"a data file goes while a call may still bring its volume", "S5, S15", "engine/plugin/csi.work.clear",
		`if !w.o.Quiet {
			return nil`, `if !w.o.Quiet && w.h == nil {
			return nil`,
	},
	{
		"a journal that is removed under a living agent is not made again", "S15, L11", "engine.own.ownSeen",
		"isLost := hal.Is(journalErr, syscall.ENOENT) ||", "isLost := hal.Is(journalErr, syscall.EIO) ||",
	},
	{
		"a journal whose file alone is removed is not made again", "S15, L11", "engine.own.followJournal",
		"if file == o.followed {", `if file != "" {`,
	},
	{
		"what was at a path before a reboot may be the volume that is not known", "L2, laws: places",
		"engine/core.Core.unresolved",
		"return slices.Contains(o.pods, r.ownPod)",
		"return slices.Contains(o.pods, r.ownPod) && r.state == Present",
	},
	{
		"a volume that was replaced is wanted while its pod is not known whole",
		"S27, L4", "engine/core.Core.unreplaced",
		"if !isReplaced {", `if !isReplaced || key != "" {`,
	},
	{
		"a target that is made again as it goes stays", "L1", "engine/plugin/csi.work.prune",
		`if err == nil && seen.Exists {
			err = &hal.Error{`,
		`if err == nil && !seen.Exists && dir == "" {
			err = &hal.Error{`,
	},
	{
		"an identity file that is removed under a living agent is not made again",
		"L2", "engine.own.lookAtIdentity",
		"return is, hal.Is(err, syscall.ENOENT), err", "return is, hal.Is(err, syscall.EIO), err",
	},
	{
		"a damaged identity file stays under a living agent", "L2", "engine.own.lookAtIdentity",
		"err != nil || (is == was || isFirst) && !isDue {", "err != nil || isFirst || !isFirst {",
	},
	{
		"an identity file that could not be written again is good", "L2", "engine.own.ownChanged",
		"if idErr == nil && !isBad {", "if true {",
	},
	{
		"an identity file that could not be read is good", "L2", "engine.own.ownChanged",
		"if idErr == nil && !isBad {", "if !isBad {",
	},
	{
		"an identity file that could not be written when it was found damaged is looked at late",
		"L2", "engine.own.ownChanged",
		"own.isDue && (journalErr != nil || idErr != nil)", "own.isDue && journalErr != nil",
	},
	{
		"the watch of a former journal file stays", "L1", "engine.own.followJournal",
		"if o.end != nil {", `if o.end != nil && o.followed == "" {`,
	},
	{
		"a directory that was removed is not made again for the journal", "L2", "engine/journal.Batch.makeSpare",
		"if hal.Is(err, syscall.ENOENT) {", "if err == nil {",
	},
	{
		"a data file that can't be read at a start is no volume's", "S15", "engine/plugin.Scanner.Read",
		"if err != nil && !s.IsPatient && !isItsOwn(err) {", "if err != nil && s.Host == nil {",
	},
	{
		"a log of deletions that was cut short is the one that was written", "S31, what is in the log stays there",
		"engine/deletions.Log.isAsLeft",
		"info.Inode != l.inode || info.Size != l.end || info.Changed != l.changed", "info.Inode != l.inode",
	},
}
