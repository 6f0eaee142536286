package mutants

// outcomes is what the end of a call says, and what an inspection after it does (laws 3 and 7).
var outcomes = []Mutant{
	{
		"an unknown setup means absent", "S14, laws 3.1, kubernetes#82190", "engine/core.Core.setUpEnded",
		"e = e.doubted()",
		`if e.state, e.mayBeUsed = Absent, false; e.trust != clean {
			e.trust = plain
		}`,
	},
	{
		"an unknown setup means present", "S14, laws 3.1, longhorn#2629", "engine/core.Core.setUpEnded",
		"e = e.doubted()",
		"e.state, e.trust = Present, plain",
	},
	{
		"a call that was not sent may act", "laws 3.3", "engine/plugin/csi.judge",
		"return verdict{outcome: hal.NotDone, unsent: true}",
		"return verdict{outcome: hal.Unknown, fenced: true, unsent: true}",
	},
	{
		"a driver that could not be reached is not looked for", "L6, laws 3.3, nomad#12744",
		"engine/plugin/csi.judge",
		"return verdict{outcome: hal.NotDone, unsent: true}", "return verdict{outcome: hal.NotDone}",
	},
	{
		"INVALID_ARGUMENT ends a teardown", "S14, laws 3.3, swarmkit#3178", "engine/plugin/csi.judge",
		"notDone.blocked = tearDown",
		`if tearDown {
			return verdict{outcome: hal.Done, answer: core.Final}
		}`,
	},
	{
		"NOT_FOUND is no end of a teardown", "L4, laws 3.3, kubernetes#138454", "engine/plugin/csi.judge",
		"if quiet {", "if quiet && tearDown != tearDown {",
	},
	{
		"a stage that its driver denies is believed", "L2, laws 3.3, csi-lib#74", "engine/plugin/csi.judge",
		"notDone.belowUnknown = true", "",
	},
	{
		"ALREADY_EXISTS is not undone", "L2, laws 3.3", "engine/plugin/csi.judge",
		"open.undoFirst = !tearDown", "open.undoFirst = false",
	},
	{
		"ALREADY_EXISTS is taken for OK", "laws 3.3, longhorn#2629", "engine/plugin/csi.judge",
		`open.undoFirst = !tearDown
		return open`,
		"return verdict{outcome: hal.Done, answer: core.Final}",
	},
	{
		"INTERNAL is taken for not done", "S14, laws 3.3, kubernetes#82492", "engine/plugin/csi.judge",
		`hal.CodeInternal, hal.CodeDataLoss,
			hal.CodeUnauthenticated:
			return open`,
		`hal.CodeInternal, hal.CodeDataLoss, hal.CodeUnauthenticated:
			return notDone`,
	},
	{
		"every error is fenced", "laws 3.3", "engine/plugin/csi.judge",
		"open := verdict{outcome: hal.Unknown, answer: core.Failed}",
		"open := verdict{outcome: hal.Unknown, fenced: true, answer: core.Failed}",
	},
	{
		"a publish that mounts nothing is believed",
		"S21, laws 3.3, kubernetes#109955", "engine/plugin/csi.work.published",
		"case !w.block() && !w.is(paramWithoutMount):", "case false:",
	},
	{
		"a raw block publish that makes nothing is believed", "S21, laws 3.3", "engine/plugin/csi.work.published",
		"case w.block() && seen.Type != hal.TypeBlockDevice:", "case false:",
	},
	{
		"the OK of a teardown is believed without an inspection", "S21, laws 3.3, proxmox-csi-plugin#601",
		"engine/plugin/csi.work.letGo",
		`if len(seen.Stack) > 0 {
			if r, ok := w.unmount(seen); !ok {`,
		`if false {
			if r, ok := w.unmount(seen); !ok {`,
	},
	{
		"a mount of an earlier publish is taken as it is", "S21, S19", "engine/plugin/csi.work.isOfEarlier",
		"m.ReadOnly != w.is", "m.ReadOnly && !w.is",
	},
	{
		"a mount of another device is accepted", "S3, laws 3.4, democratic-csi#559", "engine/plugin/csi.work.published",
		"if top.Device.String() != w.below() {", "if false {",
	},
	{
		"what was there before the intent is accepted", "S3, laws 3.4", "engine/plugin/csi.work.wasThere",
		"return m.Was(w.o.Seen) && !m.Shows(w.o.Fingerprint)", "return false",
	},
	{
		"nothing is looked at before the intent", "laws 3.4", "engine/core.Core.nextUp",
		`if r.Intent && !r.inspected && !r.foundOnDisk {
			return c.try(r, Inspect, whyWanted)
		}`, "",
	},
	{
		"what changes behind our back is not noticed",
		"L9, laws 7.1, kubernetes#109955", "engine.drift.differing",
		"if ok && mount.Is(fingerprint) {", "if true {",
	},
	{
		"a mount below an emptyDir is deleted through", "S1, laws 7.3, kubernetes#37698",
		"engine/op.Directory.clearMounts",
		"if len(below) > 0 {", "if false {",
	},
	{
		"a deletion that has not ended waits as if it had failed", "L2", "engine/core.Core.setBack",
		`if res.Unfinished {
			*wait = backoff{}
			return
		}`, "",
	},
	{
		"what a start finds of a deletion is left", "L1", "engine/op.Directory.Remove",
		`if more, err := d.discard(h, c, trash, until); more || err != nil {
			return leftover(more, err)
		}
		err := h.Tree.Rename`,
		"err := h.Tree.Rename",
	},
	{
		"what is left of a deletion stays under the pod that comes again", "L1", "engine/op.Directory.ClearTrash",
		`if o.First {
			return "", false`, `if o.ID > 0 {
			return "", false`,
	},
	{
		"a deletion is one operation, however long",
		"a stop waits for no operation", "engine/op.deleteTree",
		"if !more || err != nil || now >= until {", "if !more || err != nil {",
	},
	{
		"what a driver leaves mounted is always ours", "laws 3.3, 7.3", "engine/plugin/csi.work.own",
		`if m.Was(w.o.Fingerprint) {
			return true
		}`, `if m.ID != 0 {
			return true
		}`,
	},
	{
		"a pod that comes again is mounted over what its driver has left", "S18, laws 3.3",
		"engine/plugin/csi.work.unmount",
		`return left(w.released() + ", but still mounted, and volnode cannot unmount it: "`,
		`return op.Unknown(w.released() + ", but still mounted, and volnode cannot unmount it: "`,
	},
	{
		"what an unpublish without a known end has left is mounted over", "S18, laws 3.3, 4.2",
		"engine/plugin/csi.work.letGo",
		"v.undoFirst = v.outcome == hal.Unknown && w.o.Kind == KindPublish", "",
	},
	{
		"what a late unpublish has let go of is mounted over", "S18, laws 4.2", "engine/core.Core.nextUp",
		"if r.trust == letGo {", "if false {",
	},
	{
		"what could not be looked at is mounted over", "S18, S21, laws 3.3", "engine/plugin/csi.work.letGo",
		`left(w.released() + ", but volnode cannot inspect the path: "`,
		`op.Unknown(w.released() + ", but volnode cannot inspect the path: "`,
	},
	{
		"what is not known to be ours is mounted over, though it may be", "S18, laws 3.3",
		"engine/plugin/csi.work.stuck",
		"r.UndoFirst = slices.ContainsFunc(stack, w.mayBeOurs)",
		"_ = slices.ContainsFunc(stack, w.mayBeOurs)",
	},
	{
		"what a teardown of an earlier run has left is mounted over", "S18, laws 5.4", "engine/core.Core.recall",
		`if rec.Phase == Leaving && r.Pod != "" && !rec.MayBeUsed {`,
		"if false {",
	},
	{
		"what a rung below that is lost was made of is forgotten", "S1, laws 3.3, 7.3", "engine/core.Core.foundations",
		"|| v == TearDown && len(b.facts) > 0", "",
	},
	{
		"what came over an empty directory is not ours", "L4, laws 3.3", "engine/plugin/csi.work.own",
		"return op.IsBare(w.o.Seen)", `return w.o.Seen == ""`,
	},
	{
		"only the confirmed mount is ours", "L4, laws 3.3", "engine/plugin/csi.work.own",
		`if !w.o.Quiet {
			return false
		}`, `if w.h != nil {
			return false
		}`,
	},
	{
		"nothing is looked at before a teardown", "laws 3.4, 7.3", "engine/core.Core.takeDown",
		`if c.synced && r.Intent && !r.inspected {
			return c.try(r, Inspect, w)
		}`, "",
	},
	{
		"what is mounted on an emptyDir is always ours", "laws 7.3, kubernetes#122114",
		"engine/op.Directory.owns",
		`return m.Fingerprint() == o.Fingerprint || (m.FSType == "tmpfs" || m.FSType == hugePages) && m.Source == d.Source`,
		`return m.ID != 0 || o.Key != ""`,
	},
	{
		"a drift reading that fails sees nothing", "S22, laws 7.1, kubernetes#105833", "engine.drift.tableRead",
		`if err != nil {
			d.readLater(at)`, `if err != nil && d == nil {
			d.readLater(at)`,
	},
	{
		"UNAVAILABLE is taken for an answer", "S6, laws 3.3", "engine/plugin/csi.judge",
		`hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable:
			return doubted`,
		`hal.CodeDeadlineExceeded, hal.CodeCanceled, hal.CodeUnavailable:
			return open`,
	},
	{
		"EBUSY of an unmount of ours is ignored", "S21, laws 3.3, lvm-localpv#469", "engine/plugin/csi.work.unmount",
		`return left(w.released() + ", but still mounted, and volnode cannot unmount it: "`,
		`if hal.Is(err, syscall.EBUSY) {
			return core.Result{}, true
		}
		return left(w.released() + ", but still mounted, and volnode cannot unmount it: "`,
	},
	{
		"what stands on a lost rung is believed", "laws 7.1, kubernetes#109955", "engine/core.Core.lose",
		`for _, a := range c.above[r.Key] {
			c.lose(a, fmt.Sprintf("lost %s below it", r.Key), true)
		}`,
		"",
	},
	{
		"an emptyDir in memory is left on the disk", "S21, K:G97", "engine/op.Directory.Make",
		"if mounted != d.InMemory || mounted && !d.owns(o, top) {",
		"if mounted && !d.InMemory || mounted && !d.owns(o, top) {",
	},
	{
		"NOT_FOUND ends a teardown though a setup may act", "S8, laws 3.3, kubernetes#82492",
		"engine/plugin/csi.judge",
		"if quiet {", "if true {",
	},
	{
		"a mount is known by its device", "laws 7.2, democratic-csi#559", "hal.Mount.appendFingerprint",
		`strconv.AppendUint(append(b, "mount "...), uint64(m.ID), 10)`,
		`strconv.AppendUint(append(b, "mount "...), 0, 10)`,
	},
	{
		"what is mounted again is another's", "L2", "engine/plugin/csi.work.wasThere",
		"!m.Shows(w.o.Fingerprint)", "!m.Was(w.o.Fingerprint)",
	},
	{
		"a drift reading of before a change counts", "S14, laws 7.1, kubernetes#128219", "engine/core.Core.observed",
		"r.op != nil || r.changed > e.Since {", "r.op != nil {",
	},
	{
		"what was deleted on purpose is told to be lost", "S29, L12", "engine/plugin.DirectoryFacts",
		"strings.HasPrefix(was, boot) && !o.Left &&", "strings.HasPrefix(was, boot) &&",
	},
	{
		"a start takes a directory that was being deleted for a lost one", "S29, L12", "engine/core.Core.recall",
		"e := evidence{left: rec.Phase == Leaving}",
		"e := evidence{}",
	},
	{
		"what was being deleted and is gone is taken to be up", "S14", "engine/core.Core.recall",
		"case inspected && fingerprint == rec.Fingerprint && hasProof:",
		"case inspected && fingerprint == rec.Fingerprint:",
	},
	{
		"what a helper may yet take down is written down as up", "S29", "engine/core.Core.writeRecord",
		`r.state == Present && r.left && r.child != "" && !r.Intent:`,
		`r.state == Present && r.left && r.child != "" && r.Intent:`,
	},
	{
		"what was looked at goes on being given up", "S29", "engine/core.Core.inspectEnded",
		`e.state, e.trust, e.left, e.mayBeUsed = Present, plain, false, r.Pod != ""`,
		`e.state, e.trust, e.mayBeUsed = Present, plain, r.Pod != ""`,
	},
	{
		"a start goes on with a deletion whose pod has come again", "S1", "engine/core.Core.recall",
		"rec.Phase != Confirmed && (r.Intent || rec.Phase != Leaving)", "rec.Phase != Confirmed",
	},
	{
		"a stage that its driver can't let go of keeps others out", "L2", "engine/plugin/csi.work.letGo",
		"v.outcome == hal.Unknown && w.o.Kind == KindPublish", "v.outcome == hal.Unknown",
	},
}
