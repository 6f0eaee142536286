package mutants

// gitRepo is the clones of repositories.
var gitRepo = []Mutant{
	{
		"repositories are cloned though nobody allows it", "CVE-2024-10220", "engine/populator.populator.volume",
		"RepositorySchemes: p.RepositorySchemes", "RepositorySchemes: hal.RepositorySchemes()",
	},
	{
		"half a clone is a volume", "S20", "engine/plugin/gitrepo.setUp",
		"if err := h.Repositories.Clone(c, repository(o)); err != nil {",
		`if err := h.Repositories.Clone(c, repository(o)); err != nil {
			_ = h.Tree.Rename(c, hal.Cloning(at), at)`,
	},
	{
		"a clone that fails is a volume", "S14, S21", "engine/plugin/gitrepo.notCloned",
		"r := op.Unknown(reason)", "r := core.Result{Outcome: hal.Done, Reason: reason}",
	},
	{
		"half a clone stays", "L1", "engine/plugin/gitrepo.partial",
		"Path: hal.Cloning(at)", `Path: hal.Cloning(at) + "x"`,
	},
	{
		"the files of a clone stay", "L1", "engine/plugin/gitrepo.tearDown",
		"return volume(o).Remove(h, o)", "return core.Result{Outcome: hal.Done}",
	},
	{
		"what is left of a half clone stays", "L1", "engine/plugin/gitrepo.setUp",
		"[...]op.Directory{partial(o), volume(o)}", "[...]op.Directory{volume(o), volume(o)}",
	},
	{
		"a clone that no record tells of is deleted", "S30", "engine/plugin/gitrepo.tearDown",
		"plugin.MayDelete(h, o, at, paramRepository)", "plugin.MayDelete(h, o, at, plugin.ParamPath)",
	},
	{
		"a clone that did not end is not found", "S15, L1", "engine/plugin/gitrepo.volumeOf",
		"return hal.Cloned(op.Trashed(entry))", "return op.Trashed(entry)",
	},
	{
		"the revision of a clone does not matter", "S20", "engine/plugin/gitrepo.repository",
		"Revision: core.Value(o.Params, paramRevision)", `Revision: ""`,
	},
	{
		"a clone lies in the volume itself", "S20", "engine/plugin/gitrepo.repository",
		"Below: core.Value(o.Params, paramBelow)", `Below: "."`,
	},
	{
		"a clone is of no group", "S29, K:G102", "engine/plugin/gitrepo.repository",
		"r.IsGroups, r.Group = true, uint32(group)", "r.IsGroups = false",
	},
	{
		"an edit of a repository does not matter", "S20", "engine/plugin/gitrepo.Ladder",
		"core.Param{Name: paramRepository, Value: src.Repository, OnChange: core.OnChangeRebuild}",
		"core.Param{Name: paramRepository, Value: src.Repository}",
	},
	{
		"a clone is deleted without a line in the log of deletions", "S31", "engine/plugin/gitrepo.deletes",
		"paramRepository, isNamed)}, true", "paramRepository, isNamed)}, false",
	},
	{
		"a clone may lie anywhere", "CVE-2024-10220", "engine/plugin/gitrepo.checked",
		`if bad := hal.BadBelow(below); bad != "" {`, `if bad := hal.BadBelow(below); bad != "" && below == "" {`,
	},
}
