package mutants

// outcomes is what the end of a call says, and what an inspection after it does (laws 3 and 7).
var outcomes = []Mutant{
	{
		"an unknown setup means absent", "S14, laws 3.1, kubernetes#82190", "engine/core/complete.go",
		"\t\tr.state, r.reconfirmable, r.noResidue = Unknown, false, false\n\t\tr.mustUndo",
		"\t\tr.state, r.reconfirmable = Absent, false\n\t\tr.mustUndo",
	},
	{
		"an unknown setup means present", "S14, laws 3.1, longhorn#2629", "engine/core/complete.go",
		"\t\tr.state, r.reconfirmable, r.noResidue = Unknown, false, false\n\t\tr.mustUndo",
		"\t\tr.state, r.reconfirmable, r.noResidue = Present, false, false\n\t\tr.mustUndo",
	},
	{
		"a call that was not sent may act", "laws 3.3", "engine/plugin/csi/outcome.go",
		"return verdict{outcome: hal.NotDone, unsent: true}",
		"return verdict{outcome: hal.Unknown, fenced: true, unsent: true}",
	},
	{
		"a driver that could not be reached is not looked for", "L6, laws 3.3, nomad#12744",
		"engine/plugin/csi/outcome.go",
		"return verdict{outcome: hal.NotDone, unsent: true}", "return verdict{outcome: hal.NotDone}",
	},
	{
		"INVALID_ARGUMENT ends a teardown", "S14, laws 3.3, swarmkit#3178", "engine/plugin/csi/outcome.go",
		"\t\tnotDone.blocked = tearDown // it will say so for ever: a person must know\n",
		"\t\tif tearDown {\n\t\t\treturn verdict{outcome: hal.Done, answer: core.Final}\n\t\t}\n",
	},
	{
		"NOT_FOUND is no end of a teardown", "L4, laws 3.3, kubernetes#138454", "engine/plugin/csi/outcome.go",
		"\t\tif quiet {\n", "\t\tif quiet && tearDown != tearDown {\n",
	},
	{
		"a stage that its driver denies is believed", "L2, laws 3.3, csi-lib#74", "engine/plugin/csi/outcome.go",
		"\t\t\tnotDone.belowUnknown = true\n", "",
	},
	{
		"ALREADY_EXISTS is not undone", "L2, laws 3.3", "engine/plugin/csi/outcome.go",
		"open.undoFirst = !tearDown", "open.undoFirst = false",
	},
	{
		"ALREADY_EXISTS is taken for OK", "laws 3.3, longhorn#2629", "engine/plugin/csi/outcome.go",
		"\t\topen.undoFirst = !tearDown\n\t\treturn open\n",
		"\t\treturn verdict{outcome: hal.Done, answer: core.Final}\n",
	},
	{
		"INTERNAL is taken for not done", "S14, laws 3.3, kubernetes#82492", "engine/plugin/csi/outcome.go",
		`hal.CodeInternal, hal.CodeDataLoss,
		hal.CodeUnauthenticated:
		return open
`,
		"hal.CodeInternal, hal.CodeDataLoss, hal.CodeUnauthenticated:\n\t\treturn notDone\n",
	},
	{
		"every error is fenced", "laws 3.3", "engine/plugin/csi/outcome.go",
		"open := verdict{outcome: hal.Unknown, answer: core.Failed}",
		"open := verdict{outcome: hal.Unknown, fenced: true, answer: core.Failed}",
	},
	{
		"a publish that mounts nothing is believed", "S21, laws 3.3, kubernetes#109955", "engine/plugin/csi/verbs.go",
		"\tcase !w.block() && !w.is(paramWithoutMount):\n", "\tcase false:\n",
	},
	{
		"a raw block publish that makes nothing is believed", "S21, laws 3.3", "engine/plugin/csi/verbs.go",
		"\tcase w.block() && seen.Type != hal.TypeBlockDevice:\n", "\tcase false:\n",
	},
	{
		"the OK of a teardown is believed without an inspection", "S21, laws 3.3, proxmox-csi-plugin#601",
		"engine/plugin/csi/teardown.go",
		"\tif len(seen.Stack) > 0 {\n\t\tif r, ok := w.unmount(seen); !ok {",
		"\tif false {\n\t\tif r, ok := w.unmount(seen); !ok {",
	},
	{
		"a mount of another device is accepted", "S3, laws 3.4, democratic-csi#559", "engine/plugin/csi/verbs.go",
		"\t\tif top.Device.String() != w.below() {\n", "\t\tif false {\n",
	},
	{
		"what was there before the intent is accepted", "S3, laws 3.4", "engine/plugin/csi/verbs.go",
		"return m.Was(w.o.Seen) && !m.Shows(w.o.Fingerprint)", "return false",
	},
	{
		"nothing is looked at before the intent", "laws 3.4", "engine/core/reconcile.go",
		"\tif r.Intent && !r.inspected && !r.foundOnDisk {\n\t\treturn c.try(r, Inspect, whyWanted)\n\t}\n", "",
	},
	{
		"what changes behind our back is not noticed", "L9, laws 7.1, kubernetes#109955", "engine/drift.go",
		"\t\tif ok && mount.Is(fingerprint) {\n", "\t\tif true {\n",
	},
	{
		"a mount below an emptyDir is deleted through", "S1, laws 7.3, kubernetes#37698",
		"engine/plugin/emptydir/verbs.go",
		"\tif len(below) > 0 {\n", "\tif false {\n",
	},
	{
		"a deletion that has not ended waits as if it had failed", "L2", "engine/core/complete.go",
		"\tif res.Unfinished {\n\t\t*wait = backoff{}\n\t\treturn\n\t}\n", "",
	},
	{
		"what a start finds of a deletion is left", "L1", "engine/plugin/emptydir/verbs.go",
		"\tif more, err := deleteTree(h, c, trash, until); more || err != nil {\n\t\treturn leftover(more, " +
			"err)\n\t}\n\terr := h.Tree.Rename",
		"\terr := h.Tree.Rename",
	},
	{
		"what is left of a deletion stays under the pod that comes again", "L1", "engine/plugin/emptydir/verbs.go",
		"\tif o.First {\n\t\treturn \"\", false\n", "\tif o.ID > 0 {\n\t\treturn \"\", false\n",
	},
	{
		"a deletion is one operation, however long", "a stop waits for no operation", "engine/plugin/emptydir/verbs.go",
		"if !more || err != nil || now >= until {", "if !more || err != nil {",
	},
	{
		"what a driver leaves mounted is always ours", "laws 3.3, 7.3", "engine/plugin/csi/teardown.go",
		"\tif m.Was(w.o.Fingerprint) {\n\t\treturn true\n\t}\n", "\tif m.ID != 0 {\n\t\treturn true\n\t}\n",
	},
	{
		"a pod that comes again is mounted over what its driver has left", "S18, laws 3.3",
		"engine/plugin/csi/teardown.go",
		"return left(w.released() + \", but still mounted", "return op.Unknown(w.released() + \", but still mounted",
	},
	{
		"what an unpublish without a known end has left is mounted over", "S18, laws 3.3, 4.2",
		"engine/plugin/csi/teardown.go",
		"\t\tv.undoFirst = v.outcome == hal.Unknown && w.o.Kind == KindPublish\n", "",
	},
	{
		"what could not be looked at is mounted over", "S18, S21, laws 3.3", "engine/plugin/csi/teardown.go",
		"left(w.released() + \", but volnode cannot inspect", "op.Unknown(w.released() + \", but volnode cannot inspect",
	},
	{
		"what is not known to be ours is mounted over, though it may be", "S18, laws 3.3",
		"engine/plugin/csi/teardown.go",
		"\tr.UndoFirst = slices.ContainsFunc(stack, w.mayBeOurs)\n",
		"\t_ = slices.ContainsFunc(stack, w.mayBeOurs)\n",
	},
	{
		"what a teardown of an earlier run has left is mounted over", "S18, laws 5.4", "engine/core/core.go",
		"r.mustUndo = rec.Phase == Leaving && r.Pod != \"\" && !rec.MayBeUsed", "r.mustUndo = false",
	},
	{
		"what a rung below that is lost was made of is forgotten", "S1, laws 3.3, 7.3", "engine/core/actual.go",
		" || v == TearDown && len(b.facts) > 0", "",
	},
	{
		"what came over an empty directory is not ours", "L4, laws 3.3", "engine/plugin/csi/teardown.go",
		"return op.IsBare(w.o.Seen)", "return w.o.Seen == \"\"",
	},
	{
		"only the confirmed mount is ours", "L4, laws 3.3", "engine/plugin/csi/teardown.go",
		"\tif !w.o.Quiet {\n\t\treturn false\n\t}\n", "\tif w.h != nil {\n\t\treturn false\n\t}\n",
	},
	{
		"nothing is looked at before a teardown", "laws 3.4, 7.3", "engine/core/reconcile.go",
		"\tif c.synced && r.Intent && !r.inspected {\n\t\treturn c.try(r, Inspect, w)\n\t}\n", "",
	},
	{
		"what is mounted on an emptyDir is always ours", "laws 7.3, kubernetes#122114",
		"engine/plugin/emptydir/verbs.go",
		"return m.Fingerprint() == o.Fingerprint || m.FSType == \"tmpfs\" && m.Source == source",
		"return m.ID != 0 || o.Key != \"\"",
	},
	{
		"a drift reading that fails sees nothing", "S22, laws 7.1, kubernetes#105833", "engine/drift.go",
		"\tif err != nil {\n\t\tm.readLater(at)\n", "\tif err != nil && m == nil {\n\t\tm.readLater(at)\n",
	},
	{
		"UNAVAILABLE is taken for an answer", "S6, laws 3.3", "engine/plugin/csi/outcome.go",
		"hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable:\n\t\treturn doubted",
		"hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable:\n\t\treturn open",
	},
	{
		"EBUSY of an unmount of ours is ignored", "S21, laws 3.3, lvm-localpv#469", "engine/plugin/csi/teardown.go",
		"\t\t\treturn left(w.released() + \", but still mounted",
		"\t\t\tif hal.Is(err, syscall.EBUSY) {\n\t\t\t\treturn core.Result{}, true\n\t\t\t}\n" +
			"\t\t\treturn left(w.released() + \", but still mounted",
	},
	{
		"what stands on a lost rung is believed", "laws 7.1, kubernetes#109955", "engine/core/actual.go",
		"\tfor _, a := range c.above[r.Key] {\n\t\tc.lose(a, fmt.Sprintf(\"lost %s below it\", r.Key), true)\n\t}\n",
		"",
	},
	{
		"an emptyDir in memory is left on the disk", "S21, K:G97", "engine/plugin/emptydir/verbs.go",
		"\tif mounted != inMemory || mounted && !own(o, top) {\n",
		"\tif mounted && !inMemory || mounted && !own(o, top) {\n",
	},
	{
		"NOT_FOUND ends a teardown though a setup may act", "S8, laws 3.3, kubernetes#82492",
		"engine/plugin/csi/outcome.go",
		"\t\tif quiet {\n", "\t\tif true {\n",
	},
	{
		"a mount is known by its device", "laws 7.2, democratic-csi#559", "hal/mounts.go",
		"strconv.AppendUint(append(b, \"mount \"...), uint64(m.ID), 10)",
		"strconv.AppendUint(append(b, \"mount \"...), 0, 10)",
	},
	{
		"what is mounted again is another's", "L2", "engine/plugin/csi/verbs.go",
		"!m.Shows(w.o.Fingerprint)", "!m.Was(w.o.Fingerprint)",
	},
	{
		"a drift reading of before a change counts", "S14, laws 7.1, kubernetes#128219", "engine/core/actual.go",
		"r.op != nil || r.changed > e.Since {", "r.op != nil {",
	},
	{
		"what was deleted on purpose is told to be lost", "S29, L12", "engine/plugin/emptydir/verbs.go",
		"!strings.HasPrefix(was, boot) || o.Left || ", "!strings.HasPrefix(was, boot) || ",
	},
	{
		"a start takes a directory that was being deleted for a lost one", "S29, L12", "engine/core/core.go",
		"true, rec.Phase, rec.Phase == Leaving", "true, rec.Phase, false",
	},
	{
		"what was being deleted and is gone is taken to be up", "S14", "engine/core/core.go",
		"if inspected && fingerprint == rec.Fingerprint && hasProof {", "if inspected && fingerprint == rec.Fingerprint {",
	},
	{
		"what a helper may yet take down is written down as up", "S29", "engine/core/lines.go",
		"r.state == Present && r.left && r.child != \"\" && !r.Intent:",
		"r.state == Present && r.left && r.child != \"\" && r.Intent:",
	},
	{
		"what was looked at goes on being given up", "S29", "engine/core/complete.go",
		"r.state, r.denied, r.left, r.mayBeUsed = Present, false, false, r.Pod != \"\"",
		"r.state, r.denied, r.mayBeUsed = Present, false, r.Pod != \"\"",
	},
	{
		"a start goes on with a deletion whose pod has come again", "S1", "engine/core/core.go",
		"rec.Phase != Confirmed && (r.Intent || rec.Phase != Leaving)", "rec.Phase != Confirmed",
	},
	{
		"a stage that its driver can't let go of keeps others out", "L2", "engine/plugin/csi/teardown.go",
		"v.outcome == hal.Unknown && w.o.Kind == KindPublish", "v.outcome == hal.Unknown",
	},
}
