package mutants

// quotas is limits that project quotas hold.
var quotas = []Mutant{
	{
		"no quota holds an emptyDir to its limit", "S37", "engine/plugin/emptydir.Ladder",
		"size = held + size", "_ = held",
	},
	{
		"quotas hold emptyDirs though nobody wants it", "S37", "engine/plugin/emptydir.Ladder",
		`if v.HoldsLimits && size != "" {`, `if size != "" {`,
	},
	{
		"a quota holds an emptyDir to twice its limit", "S37", "engine/plugin/emptydir.hold",
		"limitOf(o.Params), d.Project)", "2*limitOf(o.Params), d.Project)",
	},
	{
		"a limit that no quota holds keeps no pod waiting", "S37", "engine/plugin/emptydir.hold",
		"case err == nil:", "case err == nil || hal.Is(err, syscall.EOPNOTSUPP):",
	},
	{
		"it is not told that no quota holds a limit", "S37, L12", "engine/plugin/emptydir.hold",
		"return d.Project, short, r, true", `return d.Project, "", r, true`,
	},
	{
		"a limit is not lifted once nobody wants it", "S37", "engine/plugin/emptydir.hold",
		"case d.IsLimited:", "case false:",
	},
	{
		"the limit of an emptyDir stays", "L1", "engine/op.Directory.discard",
		"if d.IsLimited {", "if false {",
	},
	{
		"the limit of an emptyDir that never was up stays", "L1", "engine/plugin/emptydir.mayBeHeld",
		"isUnsure && !o.First", "isUnsure && o.First",
	},
	{
		"the limit of another project is not looked for", "L1", "engine/op.Directory.discard",
		"isOther && !more && err == nil", "false",
	},
	{
		"the limit of another project is lifted", "S37", "engine/op.Directory.discard",
		"err := h.Quotas.Lift(c, trash, d.Project)", "err := h.Quotas.Lift(c, trash, 0)",
	},
	{
		"the limit of another project is set", "S37", "engine/plugin/emptydir.hold",
		"limitOf(o.Params), d.Project)", "limitOf(o.Params), 0)",
	},
	{
		"a filesystem in memory may be swapped", "S29", "engine/op.Directory.mount",
		`mount.Options = append(slices.Clone(options), hal.Option{Key: "noswap"})`, "mount.Options = slices.Clone(options)",
	},
	{
		"a filesystem in memory gives rights", "S29, K:G97", "engine/op.Directory.mount",
		`[]string{"nosuid", "nodev"}`, `[]string{"nodev"}`,
	},
	{
		"the limit of an emptyDir in memory is not its size", "S29, K:G97", "engine/op.Directory.mount",
		`if d.Size != "" {`, `if d.Size != "" && d.PageSize != "" {`,
	},
	{
		"a new directory is of the project of the former one", "S37", "engine/plugin/emptydir.setUp",
		"core.FactOf(o.Facts, plugin.FactIs) != r.Fingerprint", "false",
	},
	{
		"a start does not lift what limits nothing", "L1", "engine.starting.read",
		"_ = s.h.Quotas.Lift(c, s.cfg.RootDir, 0)", "",
	},
	{
		"what an emptyDir takes is what its disk has", "L18", "engine/plugin/emptydir.measure",
		"h.Quotas.Usage(c, plugin.PathOf(made))", "h.HostPaths.Usage(c, plugin.PathOf(made))",
	},
}
