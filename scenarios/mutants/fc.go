package mutants

// fibreChannel is engines that serve Fibre Channel volumes wrong.
var fibreChannel = []Mutant{
	{
		"a port of a target is taken for another one", "S2, L2, K:G85", "engine/plugin/fc.waysTo",
		"port.Name == name &&", "port.Name != name &&",
	},
	{
		"a disk that only a WWID names is removed", "S1, K:G87", "engine/plugin/disk.Paths.TearDown",
		"if p.Stays {", `if p.Stays && o.Key == "" {`,
	},
	{
		"a disk of a port is waited for, and not scanned for", "L2, K:G85", "engine/plugin/fc.look",
		"disk.ScannedAt(h, o,", "disk.At(h, o,",
	},
	{
		"what the kernel knows of a disk that was exchanged stays", "L2, laws 8.7", "engine/plugin/disk.Paths.exchanged",
		"if p.Stays {", `if p.Stays || o.Key != "" {`,
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
		"of two ways to a disk the first is taken", "K:G85", "engine/plugin/fc.paths",
		"known > 1 ||", "known > 9 ||",
	},
	{
		"a disk of two fabric ports is used by one path", "L2, K:G85, laws 8.12", "engine/plugin/fc.whichHas",
		"cmp.Or(core.Value(params, paramPorts), core.Value(params, paramPort))",
		"cmp.Or(core.Value(params, paramPort), core.Value(params, paramPorts))",
	},
	{
		"nobody tells which fabric ports are lost", "L18", "engine/plugin/fc.health",
		"return disk.Health(h, c, is.people(), ways)", "return disk.Health(h, c, is.people(), ways[:0])",
	},
	{
		"a disk of a port stays with the kernel", "K:G87", "engine/plugin/fc.removeDisk",
		"return d.WWID != p.WWID", "return d.WWID != p.WWID || o.Key != \"\"",
	},
}
