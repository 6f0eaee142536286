package mutants

// groups is engines that give what they make to the wrong group, or not at all.
var groups = []Mutant{
	{
		"an emptyDir is of no group", "S29, K:G102", "engine/op.Directory.furnish",
		"return d.give(h, c)", "return nil",
	},
	{
		"an emptyDir in memory is of no group", "S29, K:G102", "engine/op.Directory.mount",
		`if d.Group != "" {`, `if d.Group == "-" {`,
	},
	{
		"what is made in an emptyDir is not of its group", "S29, K:G102", "engine/op.Directory.FullMode",
		"return d.Mode | setGroupID", "return d.Mode",
	},
	{
		"an emptyDir is given to the group at each start", "S29, K:G97", "engine/op.Directory.give",
		"is.UID == 0 && is.GID == 0 && is.Mode|setGroupID == d.FullMode()", "is.Mode != 0",
	},
	{
		"a directory that was made is not given any more", "S29", "engine/op.Directory.Make",
		"if err := d.furnish(h, c); err != nil {",
		`furnish := d.furnish
	if !o.First && !d.InMemory {
		furnish = func(*hal.Host, hal.Call) error { return nil }
	}
	if err := furnish(h, c); err != nil {`,
	},
	{
		"an emptyDir is of a user that has the number of the group", "S29", "engine/op.Directory.give",
		"h.Tree.Chown(c, d.Path, -1, group)", "h.Tree.Chown(c, d.Path, group, group)",
	},
	{
		"the files of a Secret are of no group", "S20, K:G99", "engine/plugin/projected.setUp",
		"group: max(0, op.Number(d.Group))", "group: min(0, op.Number(d.Group))",
	},
	{
		"the files of a Secret keep the group that they had", "S20, K:G99", "engine/plugin/projected.writer.shows",
		"info.UID == uint32(f.user) && info.GID == uint32(w.group) &&", "info.UID == uint32(f.user) &&",
	},
	{
		"an edit of the group changes no Secret", "S20, K:G99", "engine/plugin/projected.source.ladder",
		"Value: group, OnChange: core.OnChangeRefresh", "Value: group",
	},
	{
		"the group of a pod may not read its Secrets", "S20, K:G102", "engine/plugin/projected.collect",
		"f.mode |= 0o440", "f.mode |= 0o400",
	},
	{
		"all files of Secrets are readable by their group", "S20, K:G102", "engine/plugin/projected.collect",
		`core.Value(o.Params, plugin.ParamFSGroup) != ""`, `core.Value(o.Params, plugin.ParamFSGroup) >= ""`,
	},
	{
		"a group is asked for of a driver that knows none", "L2, K:G29", "engine.objects.keepApart",
		`if o.givesToGroups(r) && core.Value(r.Want, plugin.ParamGroup) == ""`,
		`if o.givesToGroups != nil && core.Value(r.Want, plugin.ParamGroup) == ""`,
	},
	{
		"huge pages are of no group", "S29, K:G102", "engine/op.Directory.giveHuge",
		`d.PageSize == "" || d.Group == ""`, `d.PageSize == "" || d.Group >= ""`,
	},
	{
		"huge pages are of the usual size", "S29, K:G97", "engine/op.Directory.mount",
		`append(options, hal.Option{Key: "pagesize", Value: d.PageSize})`, `options`,
	},
}
