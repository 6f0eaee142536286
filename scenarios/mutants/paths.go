package mutants

// paths is engines that serve disks with several portals wrong.
var paths = []Mutant{
	{
		"a disk with portals waits for all of them", "L2, laws 8.12", "engine/plugin/iscsi.Ladder",
		"device.Need, device.Renew = 1, renewEvery", "device.Need, device.Renew = 0, renewEvery",
	},
	{
		"one of several portals is used by itself", "L2, laws 8.12", "engine/plugin/iscsi.findDisk",
		"if isMany(o) {", "if !isMany(o) && o.Key == \"\" {",
	},
	{
		"a session of one of several portals is not made again", "L2, laws 8.12", "engine/plugin/iscsi.findPaths",
		"r.BelowUnknown || ended", "r.BelowUnknown && ended",
	},
	{
		"a map of portals stays when its last user has gone", "L1, laws 8.12", "engine/plugin/disk.Paths.TearDown",
		`if is {
		if err := h.Multipath.Remove(`, `if is && o.Key == "" {
		if err := h.Multipath.Remove(`,
	},
	{
		"a start takes a path of a map of portals for the disk", "L1, L2, laws 8.12", "engine/plugin/iscsi.scan.device",
		"return m.HasPath(at)", "return m.HasPath(at) && false",
	},
	{
		"nobody tells which portals are lost", "L18", "engine/plugin/iscsi.look.paths",
		"case len(lost) == 0:", "case len(lost) < len(portals):",
	},
}
