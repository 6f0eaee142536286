package mutants

// roots is what a start may believe of the root directory, and what of it volnode may delete.
var roots = []Mutant{
	{
		"a journal is believed wherever it was made", "S30, what is outside of the root directory is not ours",
		"engine/identify.go",
		"core.Lingering && !m.isBelowRoot(at) {", "core.Lingering && at == \"\" {",
	},
	{
		"a journal is believed whatever node has made it", "S30, a journal tells of its own node", "engine/identify.go",
		`name != "" &&
			name != id.Node {`, "name != \"\" && id.Node == \"\" {",
	},
	{
		"a node is called what its host is called", "S7, S10", "engine/identify.go",
		"\tcase known && id.MachineID == machine, known && machine == \"\":\n\t\treturn id, known, nil\n",
		"\tcase known && id.MachineID == machine, known && machine == \"\":\n\t\tid.Node = " +
			"m.cfg.NodeName\n\t\treturn id, known, nil\n",
	},
	{
		"another agent's root directory is taken over without a word", "S30", "engine/identify.go",
		"\tif m.cfg.Adopt {\n", "\tif m != nil {\n",
	},
	{
		"a copied root directory is served", "S30", "engine/identify.go",
		"\tcase known && id.MachineID != \"\" && !m.cfg.AcceptMachine:\n", "\tcase false:\n",
	},
	{
		"what has no record is deleted with its content", "S30, kubernetes#72257", "engine/plugin/emptydir/verbs.go",
		"\tif MayDelete(o.Params, o.IsNamed) {\n", "\tif o.Kind == Kind {\n",
	},
	{
		"one bad entry fails the start", "L2", "engine/plugin/kinds/scan.go",
		"\tif !isItsOwn(err) && !s.isPatient {\n", "\tif s.h != nil {\n",
	},
	{
		"a directory of a stage that was never staged stays", "L1", "engine/plugin/kinds/scan.go",
		"\t\tif !s.isIncomplete(dir+\"/\"+name, \"globalmount\") {\n", "\t\tif name != \"\" {\n",
	},
	{
		"data is deleted without an entry in the log", "S31", "engine/deleting.go",
		"\t\tif !does {\n", "\t\tif does || !does {\n",
	},
	{
		"data is deleted though its entry could not be written", "S31", "engine/commit.go",
		"\t\t\tif unlogged != nil {\n", "\t\t\tif unlogged != nil && why != \"\" {\n",
	},
	{
		"a pod that was removed is told to have been named by nobody", "S31, an entry has the true cause",
		"engine/deleting.go",
		"\t\treturn \"the pod was removed from its source\"\n",
		"\t\treturn \"volnode has read all sources, and none names the pod\"\n",
	},
	{
		"a pod that nobody has named is told to have been removed", "S31, an entry has the true cause",
		"engine/deleting.go",
		"\tcase m.objects.named[pod] != podName{}:\n", "\tcase m.objects.named[pod] != podName{}, !doomed.IfEmpty:\n",
	},
	{
		"a volume that a pod has no more is told to have gone with the pod", "S31, an entry has the true cause",
		"engine/deleting.go",
		"\tcase m.objects.pods[pod] != nil:\n", "\tcase m.objects.pods[pod] != nil && doomed.IfEmpty:\n",
	},
	{
		"the log of deletions is not durable", "S31", "engine/deletions/deletions.go",
		"\tif err == nil {\n\t\terr = h.Files.Sync(c, file)\n", "\tif err == nil {\n",
	},
	{
		"the name of the log of deletions is not durable", "S31", "engine/deletions/deletions.go",
		"err == nil && isAnother {", "err == nil && l.end < 0 {",
	},
	{
		"a log of deletions that is begun has only its name synced", "S31", "engine/deletions/deletions.go",
		"\tif err == nil {\n\t\terr = h.Files.Sync(c, file)\n",
		"\tif err == nil && !isAnother {\n\t\terr = h.Files.Sync(c, file)\n",
	},
	{
		"what the log of deletions had is not told again", "S31, what is in the log stays there",
		"engine/deletions/deletions.go",
		"len(before) > 0 && l.isThere(h, c)", "len(before) > 0",
	},
	{
		"what the log of deletions had is not told again once others are written",
		"S31, what is in the log stays there", "engine/deletions/deletions.go",
		"l.isThere(h, c) && !slices.ContainsFunc(before, isLost)",
		"l.isThere(h, c) && (!slices.ContainsFunc(before, isLost) || true)",
	},
	{
		"another file of the log of deletions takes the place of the last", "S31, what is in the log stays there",
		"engine/deletions/deletions.go",
		"\tif l.end != 0 {\n\t\tif err := h.Tree.Rename(c, file, older(file))",
		"\tif l.end != l.end {\n\t\tif err := h.Tree.Rename(c, file, older(file))",
	},
	{
		"a log of deletions that can't be read takes the place of the older one", "S31, what is in the log stays there",
		"engine/deletions/deletions.go",
		"l.end < 0 && !hal.Is(err, syscall.ENOENT)", "l.end < 0 && err == nil && hal.Is(err, syscall.ENOENT)",
	},
	{
		"a log of deletions is written on behind what may be in memory alone", "S31, what is in the log stays there",
		"engine/deletions/deletions.go",
		"l.end-int64(len(found)), append(found, lines...))", "l.end, append(found[:0], lines...))",
	},
	{
		"a data file goes while a call may still bring its volume", "S5, S15", "engine/plugin/csi/teardown.go",
		"\tif !w.o.Quiet {\n\t\treturn nil // there", "\tif !w.o.Quiet && w.h == nil {\n\t\treturn nil // there",
	},
	{
		"a journal that is removed under a living agent is not made again", "S15, L11", "engine/own.go",
		"\tisLost := hal.Is(journalErr, syscall.ENOENT) ||", "\tisLost := hal.Is(journalErr, syscall.EIO) ||",
	},
	{
		"a journal whose file alone is removed is not made again", "S15, L11", "engine/own.go",
		"\tif file == m.own.journal {", "\tif file != \"\" {",
	},
	{
		"what was at a path before a reboot may be the volume that is not known", "L2, laws: places",
		"engine/core/desired.go",
		"\t\treturn slices.Contains(o.pods, r.ownPod)\n",
		"\t\treturn slices.Contains(o.pods, r.ownPod) && r.state == Present\n",
	},
	{
		"a volume that was replaced is wanted while its pod is not known whole", "S27, L4", "engine/core/desired.go",
		"\t\tif !isReplaced {\n", "\t\tif !isReplaced || key != \"\" {\n",
	},
	{
		"a target that is made again as it goes stays", "L1", "engine/plugin/csi/teardown.go",
		"if err == nil && seen.Exists {\n\t\terr = &hal.Error{",
		"if err == nil && !seen.Exists && dir == \"\" {\n\t\terr = &hal.Error{",
	},
	{
		"an identity file that is removed under a living agent is not made again", "L2", "engine/own.go",
		"return is, hal.Is(err, syscall.ENOENT), err\n", "return is, hal.Is(err, syscall.EIO), err\n",
	},
	{
		"a damaged identity file stays under a living agent", "L2", "engine/own.go",
		"err != nil || (is == was || isFirst) && !isDue {", "err != nil || isFirst || !isFirst {",
	},
	{
		"an identity file that could not be written again is good", "L2", "engine/own.go",
		"if idErr == nil && !isBad {", "if true {",
	},
	{
		"an identity file that could not be read is good", "L2", "engine/own.go",
		"if idErr == nil && !isBad {", "if !isBad {",
	},
	{
		"an identity file that could not be written when it was found damaged is looked at late", "L2", "engine/own.go",
		"own.isDue && (journalErr != nil || idErr != nil)", "own.isDue && journalErr != nil",
	},
	{
		"the watch of a former journal file stays", "L1", "engine/own.go",
		"\t\t\tif m.own.end != nil {\n", "\t\t\tif m.own.end != nil && m.own.journal == \"\" {\n",
	},
	{
		"a directory that was removed is not made again for the journal", "L2", "engine/journal/batch.go",
		"\tif hal.Is(err, syscall.ENOENT) { // somebody has removed the directory\n", "\tif err == nil {\n",
	},
	{
		"a data file that can't be read at a start is no volume's", "S15", "engine/plugin/kinds/scan.go",
		"\tif err != nil && !s.isPatient && !isItsOwn(err) {\n", "\tif err != nil && s.h == nil {\n",
	},
	{
		"a log of deletions that was cut short is the one that was written", "S31, what is in the log stays there",
		"engine/deletions/deletions.go",
		"info.Inode != l.inode || info.Size != l.end || info.Changed != l.changed", "info.Inode != l.inode",
	},
}
