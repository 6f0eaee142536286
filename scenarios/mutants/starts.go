package mutants

// starts is what a start reads of the node, and how much a read that failed says (laws 5.4).
var starts = []Mutant{
	{
		"a start that is tried again forgets whose root it is", "S1, the node's name is never derived again",
		"engine.starting.identify",
		`case earlier.Node != "":`, `case earlier.Node != "" && known:`,
	},
	{
		"an inspection that fails sees nothing", "S22, laws 5.4, kubernetes#103754", "engine/op.Inspect",
		`if err != nil && !hal.Is(err, syscall.ENOENT) {
			return Seen{}, err
		}`,
		`if err != nil {
			return Seen{}, nil
		}`,
	},
	{
		"a journal that can't be read is empty", "S15, laws 5.4, kubernetes#33203", "engine/journal.readImage",
		`if err != nil {
			return image{}, err
		}`,
		`if err != nil {
			return image{file: file, damages: []Damage{{file, 0, fmt.Sprint(err)}}}, nil
		}`,
	},
	{
		"what comes before a start is done is lost", "L2", "engine.step",
		"p.early = append(p.early, e)", "",
	},
	{
		"a start that fails is not tried again", "L2", "engine.starting.start",
		"s.h.Runtime.At(s.h.Runtime.Now().Add(wait), s.start)", "_ = wait",
	},
	{
		"the directory of pods may go with the power", "S30", "engine.starting.makeDirs",
		"return hasRun, s.h.Files.Sync(c, s.cfg.RootDir)", "return hasRun, nil",
	},
	{
		"a start that can't read the mount table takes it for empty", "S22, laws 5.4, kubernetes#101791",
		"engine.starting.read",
		`table, err := s.h.Mounts.Table(c)
		if err != nil {
			return n, err
		}`,
		"table, _ := s.h.Mounts.Table(c)",
	},
	{
		"a directory that can't be listed is empty",
		"S22, laws 5.4, kubernetes#72257", "engine/plugin.Scanner.Top",
		"return nil, err", "return nil, nil",
	},
	{
		"a name in the place of a directory is an empty directory", "laws 5.4", "engine/plugin.Scanner.Names",
		"s.noDirectory(dir, info.Type)", "_ = info; return nil, true",
	},
	{
		"the last data file of a raw volume is not told of", "L1", "engine/plugin/csi.scan.block",
		`l.Left = append(l.Left, plugin.Unrecognised{
			Path: dir, Volume:`,
		`_ = append(l.Left, plugin.Unrecognised{
			Path: dir, Volume:`,
	},
	{
		"what a start could not look at is not looked at again",
		"S15, kubernetes#72257", "engine.hidden.lookAtHidden",
		`if len(names) == 0 {
			d.wait = 0`, `if len(names) >= 0 {
			d.wait = 0`,
	},
	{
		"what is hidden is made again", "S14, S18", "engine/core.Core.add",
		"r.believe(fresh(isVeiled))",
		"r.believe(fresh(isVeiled && r == nil))",
	},
	{
		"what comes where a pod waits is not minded", "S8, laws 5.4", "engine/core.Core.mayComeUnknown",
		"return c.earlier != 0 &&", "return false &&",
	},
	{
		"what comes at no place is not looked for", "S8, laws 5.4", "engine.hidden.strangerCame",
		"if d.h.Runtime.Now() < d.until {", "if false {",
	},
	{
		"what the host said of a pod is lost before its volume comes to light", "L2, laws 5.4", "engine/core.Core.gone",
		"if p == nil && c.mayComeToLight() {", "if p == nil && len(c.hidden) > 0 {",
	},
	{
		"what is found where a start could not look is not taken in", "S15", "engine/core.Core.discovered",
		"c.addOrphans(slices.DeleteFunc(slices.Clone(e.Orphans),", "c.addOrphans(slices.DeleteFunc(e.Orphans[:0:0],",
	},
	{
		"what is at an earlier life's trace is another's", "L2", "engine/core.Core.inspectEnded",
		"case r.foundOnDisk && !IsBare(res.Fingerprint):", "case r.foundOnDisk && r == nil:",
	},
	{
		"of several hidden directories one is pruned", "L1", "engine.hidden.listAgain",
		"return !isAtOrBelowAny(at, names) })", "return !isAtOrBelowAny(at, names[:1]) })",
	},
	{
		"of several hidden directories one hides", "S14, S18", "engine/core.Core.veil",
		"for _, name := range c.hidden {", "for _, name := range c.hidden[:min(1, len(c.hidden))] {",
	},
	{
		"a publish does not tell of its stage", "L1, laws 5.4", "engine/plugin/csi.scan.published",
		"if data.IsStaged() && l.stages[key] == nil {", "if data.IsStaged() && l.stages[key] != nil {",
	},
	{
		"the data file of a raw volume does not tell of its stage",
		"L1, laws 5.4", "engine/plugin/csi.scan.block",
		"isStaged := e.isStaged || data.IsStaged()", "isStaged := e.isStaged",
	},
	{
		"that a volume is staged is not written beside it", "L1, laws 5.4", "engine/plugin/csi.volData",
		`flag(kind == KindStage || value(paramStaging) != "")`, "flag(kind == KindStage)",
	},
	{
		"what a publish alone names is not recorded before that goes", "L1, laws 5.1", "engine/core.Core.announceBelow",
		"if b.recorded || !b.foundOnDisk || !b.Intent {", "if b.recorded || b.foundOnDisk || !b.Intent {",
	},
	{
		"a start does not say which directory is none", "a status says what a volume waits for", "engine.starting.start",
		"if misplaced := s.misplaced(err); misplaced != nil {", "if misplaced := s.misplaced(nil); misplaced != nil {",
	},
	{
		"a file in the place of the pods is an empty directory", "laws 5.4", "engine/plugin/kinds.Table.Scan",
		"pods, err := s.Top(plugin.PodsDir(root))", "pods, err := plugin.List(h, c, plugin.PodsDir(root))",
	},
}
