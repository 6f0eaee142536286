package mutants

// fibreChannel is engines that serve Fibre Channel volumes wrong.
var fibreChannel = []Mutant{
	{
		"a port of a target is taken for another one", "S2, L2, K:G85", "engine/plugin/fc.ways",
		"p.Name != d.port || !p.IsTarget", "p.Name == d.port || !p.IsTarget",
	},
	{
		"a disk that only a WWID names is removed", "S1, K:G87", "engine/plugin/fc.removeDisk",
		`if whichHas(o).wwid != "" {`, `if whichHas(o).wwid == "?" {`,
	},
	{
		"a disk of a port is waited for, and not scanned for", "L2, K:G85", "engine/plugin/fc.findDisk",
		"disk.ScannedAt(h, o,", "disk.At(h, o,",
	},
	{
		"what the kernel knows of a disk that was exchanged stays", "L2, laws 8.7", "engine/plugin/fc.findDisk",
		"return disk.Exchanged(h, o, d, is.people(), says)", "return op.NotDone(is.people() + says)",
	},
	{
		"a start does not see what is mounted of Fibre Channel", "L1", "engine/plugin/fc.scan.Node",
		"l.mounts = s.Directories(dir, names);", "_ = s.Directories(dir, names);",
	},
	{
		"a start knows no disk by its WWID", "L1", "engine/plugin/fc.whichOf",
		"return d, isOne && d.entry() == entry\n", "return d, false\n",
	},
	{
		"all disks of a port are one", "S2, S28", "engine/plugin/fc.which.entry",
		"lunMark + strconv.Itoa(int(d.lun))", `lunMark + strconv.Itoa(int(0*d.lun))`,
	},
	{
		"a disk of a port is whoever's", "S2, S28, laws 8.6", "engine/plugin/fc.volume.whose",
		"{Name: core.ParamOwner, Value: v.Owner()}, ", "",
	},
	{
		"of two ways to a disk the first is taken", "K:G85", "engine/plugin/fc.findDisk",
		"case len(all) > 1:", "case len(all) > 9:",
	},
	{
		"a disk of a port stays with the kernel", "K:G87", "engine/plugin/fc.removeDisk",
		"return disk.Remove(h, o, d)", "return core.Result{Outcome: hal.Done}",
	},
}
