package mutants

// paths is engines that serve disks with several paths wrong.
var paths = []Mutant{
	{
		"a disk with portals waits for all of them", "L2, laws 8.12", "engine/plugin/iscsi.Ladder",
		"device.Need, device.Renew, device.Looks = 1,", "device.Need, device.Renew, device.Looks = 0,",
	},
	{
		"one of several portals is used by itself", "L2, laws 8.12", "engine/plugin/iscsi.paths",
		"p.IsMany = core.Value(o.Params, paramMany) == plugin.Yes",
		"p.IsMany = core.Value(o.Params, paramMany) == string(o.Key)",
	},
	{
		"what a renewal misses is not made again", "L2, laws 8.12", "engine/core.Core.looked",
		"r.lacks(res.Short, r.renewal", `r.lacks("", r.renewal`,
	},
	{
		"a disk with several paths is set up each minute", "L7, laws 8.12", "engine/core.Core.nextPresent",
		"if r.Looks &&", "if r.Looks && r.Key == \"\" &&",
	},
	{
		"a map of portals stays when its last user has gone", "L1, laws 8.12", "engine/plugin/disk.Paths.TearDown",
		"if err := h.Multipath.Remove(op.Call(o), m, isLeft); err != nil {", "if err := error(nil); isLeft && err != nil {",
	},
	{
		"a map whose paths are gone stays", "L1, L4, laws 8.12", "engine/plugin/disk.Paths.TearDown",
		`return path.Name != ""`, `return path.Name != "?"`,
	},
	{
		"a map is made of a disk that is not fit", "L1, laws 8.12", "engine/plugin/disk.Paths.SetUp",
		`!is && why != ""`, `is && why != ""`,
	},
	{
		"the map of a single path is not used", "L2, laws 8.12", "engine/plugin/disk.Paths.SetUp",
		"!is && (!p.IsMany || at.had(o) >= 0) {", "!is && at.had(o) >= 0 || !p.IsMany {",
	},
	{
		"a disk that multipathd has taken is not looked at again", "L2, laws 8.12", "engine/plugin/disk.isTaken",
		"hal.Is(err, syscall.EBUSY)", "hal.Is(err, syscall.EBUSY) && false",
	},
	{
		"a session whose disk multipathd has taken stays", "L1, L4", "engine/plugin/iscsi.logOut",
		"&& unmap(h, o, s)", "&& s.ID == 0 && unmap(h, o, s)",
	},
	{
		"of two disks under one number the first is taken", "S2, laws 8.12", "engine/plugin/disk.Paths.look",
		"case len(good) > 0 && good[0].is.Says", "case len(good) > 9 && good[0].is.Says",
	},
	{
		"a start takes a path of a map of portals for the disk", "L1, L2, laws 8.12", "engine/plugin/iscsi.scan.device",
		"return m.HasPath(at)", "return m.HasPath(at) && false",
	},
	{
		"nobody tells which portals are lost", "L18", "engine/plugin/disk.Health",
		"case len(lost) == 0:", "case len(lost) < len(ways):",
	},
}
