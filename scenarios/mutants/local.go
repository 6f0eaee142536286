package mutants

// locals is engines that serve local volumes wrong.
var locals = []Mutant{
	{
		"the directory of a local volume is emptied", "S1", "engine/op.Mounted.Remove",
		"m := seen.Stack[i]",
		`m, inside := seen.Stack[i], c
		inside.Inside = hal.Inside{Path: d.Path, ID: m.ID}
		all, _ := h.Tree.List(inside, d.Path)
		for _, e := range all {
			_ = h.Tree.Remove(inside, d.Path+"/"+e.Name)
		}`,
	},
	{
		"a local volume is any directory that is there", "S28, K:G95", "engine/plugin/disk.work.find",
		`was != "" && was != is {`, `was != "" && was == is+"?" {`,
	},
	{
		"which directory a pod was given is not kept", "S28, K:G95", "engine/plugin/disk.work.up",
		"{Name: factIs, Value: is}", `{Name: factIs, Value: is[:0]}`,
	},
	{
		"which directory a pod was given is written and not synced", "S28", "engine/core.Core.complete",
		"r.Pins && !slices.Equal(facts, r.facts)", "r.Pins && r.Pod == \"\" && !slices.Equal(facts, r.facts)",
	},
	{
		"the directory of a local volume is made", "K:G95", "engine/plugin/disk.work.find",
		"case !found.Exists:", "case !found.Exists && w.h.HostPaths.Make(w.c, w.source, hal.TypeDirectory) != nil:",
	},
	{
		"a local volume is always writable", "S21", "engine/plugin/disk.work.flags",
		`return strings.Split(all, ",")`, `return strings.Split(all, ",")[:0]`,
	},
	{
		"a read-only claim of a local volume is writable", "S21", "engine/plugin/local.flagsOf",
		"if v.ReadOnly {", "if v.ReadOnly && v.Claim == nil {",
	},
	{
		"mount options of a local volume are dropped", "S21", "engine/plugin/local.flagsOf",
		"flags = append(flags, option)", "flags = append(flags, option)[:len(flags)]",
	},
	{
		"a local volume may lead anywhere", "S34", "engine/plugin/disk.work.find",
		`plugin.OwnedBelow(found.Below)`, `plugin.OwnedBelow(found.Below[:0])`,
	},
	{
		"a local volume is bound without a look where it leads", "L2", "engine/plugin/disk.setUpBind",
		"Source: found.Path,", "Source: w.source,",
	},
	{
		"a local volume of one pod is given to two", "S9", "engine/plugin.Volume.Exclusive",
		"corev1.ReadWriteOncePod", "corev1.ReadOnlyMany",
	},
	{
		"a local volume that no record tells of stays", "S15, L1", "engine/plugin/local.Source",
		"Found: rung, Bad: plugin.BadObjectName",
		`Found: rung, Bad: func(string) string { return "is bad" }`,
	},
	{
		"a local volume that no record tells of is another's", "S15, L1", "engine/plugin/disk.work.owns",
		`case w.o.Fingerprint == "" && !w.o.First && mounts == 1:`,
		`case w.o.Fingerprint == "" && !w.o.First && mounts == 1 && w.source != "":`,
	},
	{
		"any mount at the place of a local volume is its own", "S1", "engine/plugin/disk.work.owns",
		`case w.source == "":
			return false, nil`,
		`case mounts > 0:
			return true, nil`,
	},
	{
		"a mount over a local volume is taken for it", "S14", "engine/plugin/disk.setUpBind",
		"case mounted && !w.isAsked(top, found):", `case mounted && w.source == "":`,
	},
	{
		"what was bound to a directory that is another one by now stays", "L2", "engine/plugin/disk.setUpBind",
		"r.Blocked, r.UndoFirst = false, true", "r.Blocked, r.UndoFirst = true, false",
	},
	{
		"the directory that a local volume was mounted on stays", "L1", "engine/op.Mounted.Remove",
		"if seen.Exists {", `if seen.Exists && d.Path == "" {`,
	},
	{
		"a local volume is not unmounted", "L1", "engine/op.Mounted.Remove",
		"if err := h.Mounts.Unmount(c, d.Path, m.ID); err != nil {",
		"if err := error(nil); err != nil {",
	},
	{
		"a disk that is not blank is formatted", "S2", "engine/plugin/disk.Holds",
		"case is.IsBlank:", "case is.IsBlank, is.UUID == \"\":",
	},
	{
		"a disk that holds another filesystem is taken for the volume's", "S28, S10", "engine/plugin/disk.Holds",
		`was != "" && was != is.UUID && (`, `was == is.UUID+"?" && (`,
	},
	{
		"a filesystem that was begun is not made again", "L2", "engine/plugin/disk.work.format",
		"MayHaveBegun: !w.o.First", "MayHaveBegun: w.o.First",
	},
	{
		"a filesystem that was made by half is refused", "L2", "engine/plugin/disk.Holds",
		`case was == Blank && had != "" &&`, `case was == Blank && had == "" &&`,
	},
	{
		"a blank disk is any disk that is there later", "S2, laws 8.2", "engine/plugin/disk.Holds",
		`had != "" && had == disk:`, `had != disk+"?":`,
	},
	{
		"a number names a disk in each boot", "S2, laws 8.2", "engine/plugin/local.diskOf",
		"is.Is(), is.Size, h.Runtime.BootID())", `is.Device, is.Size, "")`,
	},
	{
		"a disk that was used is formatted once it reads blank", "S10", "engine/plugin/disk.work.format",
		`had != ""`, `had == "?"`,
	},
	{
		"a disk is not looked at once it is mounted", "S10, S28", "engine/plugin/disk.work.isOn",
		"is.Is() == device && is.Device == m.Device && is.UUID == holds", `is.Is() != "" && holds != "" && device != ""`,
	},
	{
		"a start looks what is on each disk", "L6, laws 5.4", "engine/plugin/local.inspectDevice", "h.Blocks.Identify(",
		"h.Blocks.Probe(",
	},
	{
		"a disk that may be back is not looked at again", "L2", "engine/plugin/disk.work.format",
		"r.BelowUnknown = true", `r.BelowUnknown = had == ""`,
	},
	{
		"a filesystem is mounted without a check", "S36, laws 8.5", "engine/plugin/disk.work.prepare",
		"return w.check(device, holds)", "return core.Result{}, true",
	},
	{
		"a filesystem is checked that nobody may write to", "K:G116", "engine/plugin/disk.work.prepare",
		"case w.isReadOnly():", "case w.isReadOnly() && device == \"\":",
	},
	{
		"a filesystem with errors is mounted all the same", "S36, laws 8.5", "engine/plugin/disk.work.check",
		`r := op.Failed(err)
		r.Reason = w.needsMending(err)
		return r, false`, "return core.Result{Reason: w.needsMending(err)}, true",
	},
	{
		"a filesystem with errors is made again", "S2, S10, laws 8.5", "engine/plugin/disk.work.check",
		`r := op.Failed(err)
		r.Reason = w.needsMending(err)
		return r, false`,
		`if r, ok := w.format(device); !ok {
			return r, ok
		}`,
	},
	{
		"a check without a known end is taken for done", "S36, laws 3.1", "engine/plugin/disk.work.check",
		"case err != nil:", "case err != nil && hal.OutcomeOf(err) != hal.Unknown:",
	},
	{
		"a mounted filesystem is checked", "S36, laws 8.5", "engine/plugin/disk.setUpMount",
		"seen, err := op.Inspect(h, w.c, w.path)", "_, _ = w.check(device, holds)\n\tseen, err := op.Inspect(h, w.c, w.path)",
	},
	{
		"a check is of any filesystem that is there by now", "S36, laws 8.3", "engine/plugin/disk.work.check",
		"is, err := w.h.Blocks.Check(",
		`if now, failed := w.h.Blocks.Probe(w.c, w.source); failed == nil {
			device, holds = now.Is(), now.UUID
		}
		is, err := w.h.Blocks.Check(`,
	},
	{
		"a disk that is another one by its check is not looked at again", "L2", "engine/plugin/disk.work.check",
		"r.BelowUnknown = hal.Is(err, syscall.ENODEV)", "r.BelowUnknown = hal.Is(err, syscall.ENOTTY)",
	},
	{
		"a node without e2fsck mounts no filesystem that is not clean", "L2, K:G116", "engine/plugin/disk.work.check",
		`case is.Unchecked != "":`,
		`case is.Unchecked != "" && device != "":
		return op.NotDone(is.Unchecked), false
	case is.Unchecked != "":`,
	},
	{
		"a disk that somebody else has mounted is not mounted", "L2", "engine/plugin/disk.work.check",
		"case hal.Is(err, syscall.EBUSY):", "case hal.Is(err, syscall.ENOTTY):",
	},
	{
		"the kernel mounts no filesystem with errors, and nobody says what to do", "L12",
		"engine/plugin/disk.work.notMounted",
		"if hal.Is(err, syscall.EUCLEAN) {", "if hal.Is(err, syscall.ENOTTY) {",
	},
	{
		"nobody hears what a check has found", "K:G116", "engine/plugin/disk.setUpMount",
		"up.Reason = r.Reason", "up.Reason = r.Reason[:0]",
	},
	{
		"each attempt to mount a filesystem with errors has the disk looked at", "L7, laws 2.5",
		"engine/plugin/disk.work.check",
		`r.Reason = w.needsMending(err)`, `r.Reason, r.BelowUnknown = w.needsMending(err), true`,
	},
}
